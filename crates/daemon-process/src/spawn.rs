//! Starts a process without copying this one.
//!
//! A fork copies the page tables of the process, which takes a tenth of a second in a host of half a gigabyte, for each git command.
//! A child started here shares the memory of its parent instead; the calling thread waits until the child runs its program.

mod child;
mod image;
mod vfork;

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use crate::ExitStatus;
use crate::mark::ProcessMark;
use crate::sandbox::{NamespaceKeeper, PreparedSandbox};
use crate::supervisor::{ChildLimits, ControlGroup};

pub(crate) use child::{ChildStart, Failed, StartStep, die_with};
pub(crate) use image::Image;
pub(crate) use vfork::{
    Body, ChildSignals, Entrance, Stack, clone_and_wait, inherit_no_descriptors, reset_signals,
};

/// The parameters of a new process.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) image: Image,
    pub(crate) input: Input,
    pub(crate) group: Group,
    pub(crate) limits: Option<ChildLimits>,
    /// The mark that it and its descendants have.
    pub(crate) mark: Option<ProcessMark>,
    /// The control groups that it enters, if there are any.
    pub(crate) control_group: Option<ControlGroup>,
    pub(crate) sandbox: PreparedSandbox,
}

/// The standard input of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input is empty.
    Null,
    /// Standard input is a pipe with this content.
    Pipe,
}

/// Whether a process leads a group or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// A process group in the session of this process.
    Group,
    /// A session of its own.
    Session,
}

/// A process that was started. Only the caller reaps it.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) pid: Pid,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    /// The process that keeps its namespaces, if it has its own.
    pub(crate) keeper: Option<NamespaceKeeper>,
    /// The sockets of the ports of its network that this process serves.
    pub(crate) listeners: Vec<TcpListener>,
}

/// The ends of the pipes that a child receives.
struct Stdio {
    input: OwnedFd,
    output: OwnedFd,
    complaints: OwnedFd,
}

/// Starts a process and returns when it runs its program.
///
/// # Errors
/// Returns an error if the program cannot be run; the process has ended and was reaped then.
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
    let (pid, keeper, listeners) = match &recipe.sandbox {
        PreparedSandbox::Isolated(isolation) => {
            let child = child(recipe, &stdio, None);
            let (pid, keeper, listeners) = isolation.start(&child, entrance)?;
            (pid, Some(keeper), listeners)
        }
        PreparedSandbox::Contained | PreparedSandbox::Confined(_) => {
            let child = child(recipe, &stdio, Some(rustix::process::getpid()));
            (start(&child, entrance)?, None, Vec::new())
        }
    };
    Ok(Spawned {
        pid,
        stdin,
        stdout: Some(stdout),
        stderr: Some(stderr),
        keeper,
        listeners,
    })
}

fn child<'a>(recipe: &'a Recipe, stdio: &'a Stdio, parent: Option<Pid>) -> ChildStart<'a> {
    ChildStart {
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

fn start(child: &ChildStart<'_>, entrance: Option<Entrance<'_>>) -> io::Result<Pid> {
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

/// Kills a process and reaps it.
pub(crate) fn end(pid: Pid) -> io::Result<()> {
    // The process may have ended already.
    kill_process(pid, Signal::KILL).unwrap_or(());
    reap(pid).map(|_| ())
}

/// Waits until a child of this process has ended.
pub(crate) fn reap(pid: Pid) -> io::Result<ExitStatus> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(exit_status(status)),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reaps a child of this process if it has ended; returns `None` otherwise.
pub(crate) fn try_reap(pid: Pid) -> io::Result<Option<ExitStatus>> {
    let reaped = waitpid(Some(pid), WaitOptions::NOHANG)?;
    Ok(reaped.map(|(_, status)| exit_status(status)))
}

/// Converts the wait status of a process.
pub(crate) fn exit_status(status: WaitStatus) -> ExitStatus {
    let killed = Signal::KILL.as_raw();
    status.exit_status().map_or_else(
        || ExitStatus::Signal(status.terminating_signal().unwrap_or(killed)),
        ExitStatus::Code,
    )
}

/// Creates a pipe that other children do not inherit; returns its reading end and its writing end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

pub(crate) fn null(access: OFlags) -> io::Result<OwnedFd> {
    let flags = access | OFlags::CLOEXEC;
    Ok(rustix::fs::open(c"/dev/null", flags, Mode::empty())?)
}
