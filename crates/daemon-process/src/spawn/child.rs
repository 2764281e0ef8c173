//! What a child does before it becomes its program.

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
use crate::mark::Mark;
use crate::sandbox::Confinement;
use crate::supervisor::ChildLimits;

/// The code of a child that did not become its program; it is not read.
const NOT_RUN: c_int = 127;

/// A child that is about to become a program.
pub(crate) struct Child<'a> {
    pub(crate) image: &'a Image,
    pub(crate) input: BorrowedFd<'a>,
    pub(crate) output: BorrowedFd<'a>,
    pub(crate) complaints: BorrowedFd<'a>,
    /// The process that it must not outlive; none where the child cannot see it.
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Group,
    pub(crate) mark: Option<Mark>,
    /// What it writes 0 to in order to be counted.
    pub(crate) counter: Option<BorrowedFd<'a>>,
    pub(crate) limits: Option<ChildLimits>,
    pub(crate) confinement: Option<&'a Confinement>,
    pub(crate) failed: Failed,
}

impl Body for Child<'_> {
    fn run(&self) -> c_int {
        self.become_program();
        NOT_RUN
    }
}

impl Child<'_> {
    fn become_program(&self) {
        let prepared = self.prepare().and_then(|()| {
            reset_signals(ChildSignals::Usual);
            let limits = self.limits.as_ref();
            let priority = limits.map_or(Ok(()), ChildLimits::lower_priority);
            priority.map_err(|error| (Step::Limits, error))
        });
        if let Err((step, error)) = prepared {
            self.failed.note(step, error);
            return;
        }
        self.failed.note(Step::Execute, self.image.run());
    }

    fn prepare(&self) -> Result<(), (Step, Errno)> {
        die_with(self.parent).map_err(|error| (Step::Tie, error))?;
        match self.group {
            Group::Group => setpgid(None, None),
            Group::Session => setsid().map(|_| ()),
        }
        .map_err(|error| (Step::Group, error))?;
        dup2_stdin(self.input)
            .and_then(|()| dup2_stdout(self.output))
            .and_then(|()| dup2_stderr(self.complaints))
            .map_err(|error| (Step::Streams, error))?;
        inherit_no_descriptors();
        self.image
            .enter_directory()
            .map_err(|error| (Step::Directory, error))?;
        if let Some(counter) = self.counter {
            // What cannot enter is watched like where there is no such group.
            rustix::io::write(counter, b"0").unwrap_or(0);
        }
        if let Some(mark) = &self.mark {
            mark.apply();
        }
        if let Some(limits) = &self.limits {
            limits.apply().map_err(|error| (Step::Limits, error))?;
            if self.parent.is_none() {
                let applied = limits.apply_to_namespace();
                applied.map_err(|error| (Step::Limits, error))?;
            }
        }
        if let Some(confinement) = self.confinement {
            confinement
                .apply()
                .map_err(|error| (Step::Confine, error))?;
        }
        Ok(())
    }
}

/// Has the calling process killed when the thread that started it dies; makes system calls only.
pub(crate) fn die_with(parent: Option<Pid>) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the request was made; the signal would then never come.
    match parent {
        Some(_) if getppid() != parent => Err(Errno::SRCH),
        _ => Ok(()),
    }
}

/// Where a child, or what prepares its surroundings, failed; filled by the child in the memory it borrows.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    step: AtomicU8,
    error: AtomicI32,
}

impl Failed {
    pub(crate) fn note(&self, step: Step, error: Errno) {
        self.step.store(step as u8, Ordering::Relaxed);
        self.error.store(error.raw_os_error(), Ordering::Relaxed);
    }

    /// Returns whether something was noted.
    pub(crate) fn is_noted(&self) -> bool {
        self.error.load(Ordering::Relaxed) != 0
    }

    /// Returns what was noted. The parent asks after the child is gone, so there is nothing to wait for.
    pub(crate) fn error(&self) -> Option<io::Error> {
        let error = self.error.load(Ordering::Relaxed);
        let noted = self.step.load(Ordering::Relaxed);
        let step = STEPS.iter().find(|(step, _)| *step as u8 == noted);
        let error = (error != 0).then(|| io::Error::from_raw_os_error(error))?;
        Some(match step {
            // Said in the words of the system, which callers look at.
            None | Some((Step::Execute | Step::Directory, _)) => error,
            Some((_, what)) => io::Error::new(error.kind(), format!("cannot {what}: {error}")),
        })
    }
}

/// A step on the way to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
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
    Root,
    Places,
    Mounts,
    Processes,
    Enter,
    Loopback,
    Keep,
    Start,
}

const STEPS: [(Step, &str); 18] = [
    (Step::Tie, "tie its life to this process"),
    (Step::Group, "lead a group of its own"),
    (Step::Streams, "take its streams"),
    (Step::Directory, "enter its directory"),
    (Step::Limits, "set its limits"),
    (Step::Confine, "confine it"),
    (Step::Execute, "run"),
    (Step::Identity, "keep its user in a user namespace"),
    (Step::Namespaces, "make a process namespace"),
    (Step::Sources, "take hold of what it may see"),
    (Step::Root, "mount a root of its own"),
    (Step::Places, "make the places of what it may see"),
    (Step::Mounts, "mount what it may see"),
    (Step::Processes, "mount its process table"),
    (Step::Enter, "enter its root"),
    (Step::Loopback, "start its loopback"),
    (Step::Keep, "hold its namespaces"),
    (Step::Start, "start it in its namespaces"),
];
