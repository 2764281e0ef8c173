//! The steps of a child before it runs its program.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setpgid, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::Group;
use super::image::Image;
use super::vfork::{Body, ChildSignals, inherit_no_descriptors, reset_signals};
use crate::mark::ProcessMark;
use crate::sandbox::Confinement;
use crate::supervisor::ChildLimits;

/// The exit code of a child that could not run its program; it is not read.
const NOT_RUN: c_int = 127;

/// A child that has not run its program yet.
pub(crate) struct ChildStart<'a> {
    pub(crate) image: &'a Image,
    pub(crate) input: BorrowedFd<'a>,
    pub(crate) output: BorrowedFd<'a>,
    pub(crate) complaints: BorrowedFd<'a>,
    /// The parent with whose end it has to end; `None` if the parent is not visible in its namespace.
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Group,
    pub(crate) mark: Option<ProcessMark>,
    /// The file to which it writes 0 in order to be counted.
    pub(crate) counter: Option<BorrowedFd<'a>>,
    pub(crate) limits: Option<ChildLimits>,
    pub(crate) confinement: Option<&'a Confinement>,
    pub(crate) failed: Failed,
}

impl Body for ChildStart<'_> {
    fn run(&self) -> c_int {
        self.become_program();
        NOT_RUN
    }
}

impl ChildStart<'_> {
    fn become_program(&self) {
        let prepared = self.prepare().and_then(|()| {
            reset_signals(ChildSignals::Usual);
            let last = self.limits.as_ref().map_or(Ok(()), |limits| {
                limits.limit_open_files()?;
                limits.lower_priority()
            });
            last.map_err(|error| (StartStep::Limits, error))
        });
        if let Err((step, error)) = prepared {
            self.failed.note(step, error);
            return;
        }
        self.failed.note(StartStep::Execute, self.image.run());
    }

    fn prepare(&self) -> Result<(), (StartStep, Errno)> {
        die_with(self.parent).map_err(|error| (StartStep::Tie, error))?;
        match self.group {
            Group::Group => setpgid(None, None),
            Group::Session => setsid().map(|_| ()),
        }
        .map_err(|error| (StartStep::Group, error))?;
        dup2_stdin(self.input)
            .and_then(|()| dup2_stdout(self.output))
            .and_then(|()| dup2_stderr(self.complaints))
            .map_err(|error| (StartStep::Streams, error))?;
        inherit_no_descriptors();
        self.image
            .enter_directory()
            .map_err(|error| (StartStep::Directory, error))?;
        if let Some(counter) = self.counter {
            // A child that cannot enter the group is supervised as on a machine without control groups.
            rustix::io::write(counter, b"0").unwrap_or(0);
        }
        if let Some(mark) = &self.mark {
            mark.apply();
        }
        if let Some(limits) = &self.limits {
            limits.apply().map_err(|error| (StartStep::Limits, error))?;
            if self.parent.is_none() {
                let applied = limits.apply_to_namespace();
                applied.map_err(|error| (StartStep::Limits, error))?;
            }
        }
        if let Some(confinement) = self.confinement {
            confinement
                .apply()
                .map_err(|error| (StartStep::Confine, error))?;
        }
        Ok(())
    }
}

/// Requests that the kernel kills the calling process when its parent thread ends. Makes only system calls.
pub(crate) fn die_with(parent: Option<Pid>) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the parent died before the request, the signal would never come.
    match parent {
        Some(_) if getppid() != parent => Err(Errno::SRCH),
        _ => Ok(()),
    }
}

/// The step that failed, written by the child into the memory that it shares with its parent.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    step: AtomicU8,
    error: AtomicI32,
}

impl Failed {
    pub(crate) fn note(&self, step: StartStep, error: Errno) {
        self.step.store(step as u8, Ordering::Relaxed);
        self.error.store(error.raw_os_error(), Ordering::Relaxed);
    }

    /// Whether a failure was recorded.
    pub(crate) fn is_noted(&self) -> bool {
        self.error.load(Ordering::Relaxed) != 0
    }

    /// Returns the recorded failure. The child has ended when the parent calls this, so there is no race.
    pub(crate) fn error(&self) -> Option<io::Error> {
        let error = self.error.load(Ordering::Relaxed);
        let noted = self.step.load(Ordering::Relaxed);
        let step = STEPS.iter().find(|(step, _)| *step as u8 == noted);
        let error = (error != 0).then(|| io::Error::from_raw_os_error(error))?;
        Some(match step {
            // Uses the system's error, which callers examine.
            None | Some((StartStep::Execute | StartStep::Directory, _)) => error,
            Some((_, what)) => io::Error::new(error.kind(), format!("cannot {what}: {error}")),
        })
    }
}

/// A step of starting a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum StartStep {
    Tie = 1,
    Group,
    Streams,
    Directory,
    Limits,
    Confine,
    Execute,
    Identity,
    Namespaces,
    Sources,
    Layers,
    Overlay,
    Root,
    Places,
    Mounts,
    Processes,
    Enter,
    Loopback,
    Serve,
    Keep,
    Start,
}

const STEPS: [(StartStep, &str); 21] = [
    (StartStep::Tie, "tie its life to this process"),
    (StartStep::Group, "lead a group of its own"),
    (StartStep::Streams, "take its streams"),
    (StartStep::Directory, "enter its directory"),
    (StartStep::Limits, "set its limits"),
    (StartStep::Confine, "confine it"),
    (StartStep::Execute, "run"),
    (StartStep::Identity, "keep its user in a user namespace"),
    (StartStep::Namespaces, "make a process namespace"),
    (StartStep::Sources, "take hold of what it may see"),
    (StartStep::Layers, "open the directories of its overlay"),
    (StartStep::Overlay, "make its overlay"),
    (StartStep::Root, "mount a root of its own"),
    (StartStep::Places, "make the places of what it may see"),
    (StartStep::Mounts, "mount what it may see"),
    (StartStep::Processes, "mount its process table"),
    (StartStep::Enter, "enter its root"),
    (StartStep::Loopback, "start its loopback"),
    (StartStep::Serve, "open the ports of its network"),
    (StartStep::Keep, "hold its namespaces"),
    (StartStep::Start, "start it in its namespaces"),
];
