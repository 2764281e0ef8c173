//! Starting a process without copying this one.
//!
//! A fork copies the page tables of the whole process: a host of half a gigabyte needs a tenth of a second for each git
//! command. A child here borrows the memory of its parent instead, whose thread waits until the child runs its program.

mod child;
mod image;
mod vfork;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use crate::ExitStatus;
use crate::mark::Mark;
use crate::sandbox::{Keeper, Prepared};
use crate::supervisor::{ChildLimits, ControlGroup};

pub(crate) use child::{Child, Failed, Step, die_with};
pub(crate) use image::Image;
pub(crate) use vfork::{
    Body, ChildSignals, Entrance, Stack, clone_and_wait, inherit_no_descriptors, reset_signals,
};

/// What a process is started from.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) image: Image,
    pub(crate) input: Input,
    pub(crate) group: Group,
    pub(crate) limits: Option<ChildLimits>,
    /// The mark that it bears and hands down.
    pub(crate) mark: Option<Mark>,
    /// The control groups it is to be in, where there are some.
    pub(crate) control_group: Option<ControlGroup>,
    pub(crate) sandbox: Prepared,
}

/// What a process reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing.
    Null,
    /// What is written to its pipe.
    Pipe,
}

/// What a process leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// A process group of the session of this process.
    Group,
    /// A session.
    Session,
}

/// A process that was started, and that only the caller reaps.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) pid: Pid,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    /// What holds its namespaces, where it has some.
    pub(crate) keeper: Option<Keeper>,
}

/// The ends of the pipes that a child is given.
struct Stdio {
    input: OwnedFd,
    output: OwnedFd,
    complaints: OwnedFd,
}

/// Starts a process, and returns when it runs its program.
///
/// # Errors
/// It does not; nothing is left of it then.
pub(crate) fn spawn(recipe: &Recipe) -> io::Result<Spawned> {
    let (input, stdin) = match recipe.input {
        Input::Null => (null(OFlags::RDONLY)?, None),
        Input::Pipe => {
            let (reading, writing) = pipe()?;
            (reading, Some(writing))
        }
    };
    let (stdout, output) = pipe()?;
    let (stderr, complaints) = pipe()?;
    let stdio = Stdio {
        input,
        output,
        complaints,
    };
    let entrance = recipe
        .control_group
        .as_ref()
        .and_then(ControlGroup::entrance);
    let (pid, keeper) = match &recipe.sandbox {
        Prepared::Isolated(isolation) => {
            let child = child(recipe, &stdio, None);
            let (pid, keeper) = isolation.start(&child, entrance)?;
            (pid, Some(keeper))
        }
        Prepared::Contained | Prepared::Confined(_) => {
            let child = child(recipe, &stdio, Some(rustix::process::getpid()));
            (start(&child, entrance)?, None)
        }
    };
    Ok(Spawned {
        pid,
        stdin,
        stdout: Some(stdout),
        stderr: Some(stderr),
        keeper,
    })
}

fn child<'a>(recipe: &'a Recipe, stdio: &'a Stdio, parent: Option<Pid>) -> Child<'a> {
    Child {
        image: &recipe.image,
        input: stdio.input.as_fd(),
        output: stdio.output.as_fd(),
        complaints: stdio.complaints.as_fd(),
        parent,
        group: recipe.group,
        mark: recipe.mark,
        counter: recipe
            .control_group
            .as_ref()
            .and_then(ControlGroup::counter),
        limits: recipe.limits,
        confinement: recipe.sandbox.confinement(),
        failed: Failed::default(),
    }
}

fn start(child: &Child<'_>, entrance: Option<Entrance<'_>>) -> io::Result<Pid> {
    let mut stack = Stack::new();
    let pid = clone_and_wait(0, entrance, &mut stack, child)?;
    match child.failed.error() {
        None => Ok(pid),
        Some(error) => {
            reap(pid)?;
            Err(error)
        }
    }
}

/// Kills and reaps a process.
pub(crate) fn end(pid: Pid) -> io::Result<()> {
    // One that has ended already is as good as killed.
    kill_process(pid, Signal::KILL).unwrap_or(());
    reap(pid).map(|_| ())
}

/// Waits for the end of a child of this process.
pub(crate) fn reap(pid: Pid) -> io::Result<ExitStatus> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(exit_status(status)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reaps a child of this process that has ended; `None` if it has not.
pub(crate) fn try_reap(pid: Pid) -> io::Result<Option<ExitStatus>> {
    let reaped = waitpid(Some(pid), WaitOptions::NOHANG)?;
    Ok(reaped.map(|(_, status)| exit_status(status)))
}

/// Reads how a process ended.
pub(crate) fn exit_status(status: WaitStatus) -> ExitStatus {
    let killed = Signal::KILL.as_raw();
    status.exit_status().map_or_else(
        || ExitStatus::Signal(status.terminating_signal().unwrap_or(killed)),
        ExitStatus::Code,
    )
}

/// Makes a pipe that no other child inherits: its reading end, and its writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

pub(crate) fn null(access: OFlags) -> io::Result<OwnedFd> {
    let flags = access | OFlags::CLOEXEC;
    Ok(rustix::fs::open(c"/dev/null", flags, Mode::empty())?)
}
