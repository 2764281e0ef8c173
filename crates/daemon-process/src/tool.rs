//! Short synchronous programs, run until they exit or until a deadline.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, waitpgid,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::ExitStatus;
use crate::nonblocking::{Drained, More, drain, set_nonblocking, wait, write_some};
use crate::sandbox::PreparedSandbox;
use crate::spawn::{Group, Image, Input, Recipe, Spawned, exit_status, spawn};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub usize);

/// A program with its arguments, environment, directory and input.
///
/// The environment contains only the variables of [`Tool::env`] and [`Tool::envs`]. A bare program name is searched in the `PATH`
/// among them, so an absolute path from [`resolve_program`](crate::resolve_program) is the safer choice.
#[derive(Debug, Clone)]
pub struct Tool {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The exit status.
    pub status: ExitStatus,
    /// The start of standard output, up to the cap.
    pub stdout: Vec<u8>,
    /// The start of standard error, up to the cap.
    pub stderr: Vec<u8>,
    /// Whether either stream exceeded the cap; the excess was read and dropped.
    pub truncated: bool,
}

/// The error of running a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolRunError {
    /// The program could not be started.
    #[error("cannot start `{program}`")]
    Spawn {
        /// The program as given.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The program was still running at its deadline; its process group was killed.
    #[error("`{program}` was still running after {timeout:?}")]
    TimedOut {
        /// The program as given.
        program: PathBuf,
        /// The timeout.
        timeout: Duration,
    },
    /// The program was started but could not be supervised; its process group was killed.
    #[error("cannot follow `{program}`")]
    Watch {
        /// The program as given.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Tool {
    /// Creates a tool from a program.
    pub fn new(program: impl AsRef<Path>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            stdin: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets environment variables.
    #[must_use]
    pub fn envs<K, V>(self, variables: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        variables
            .into_iter()
            .fold(self, |acc, (name, value)| acc.env(name, value))
    }

    /// Sets the working directory; the default is that of this process.
    #[must_use]
    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.cwd = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets the content of standard input; the default is empty.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Runs the program and keeps at most `cap` bytes of each output stream.
    ///
    /// Blocks until the program has exited. The rest of its process group is then killed, so that a background job cannot keep the
    /// pipes open.
    ///
    /// # Errors
    /// Returns [`ToolRunError::Spawn`] if the program cannot be started, and [`ToolRunError::TimedOut`] if it exceeds `timeout`. A non-zero
    /// exit code is not an error; see [`CapturedOutput::status`].
    pub fn run(&self, timeout: Duration, cap: ByteCount) -> Result<CapturedOutput, ToolRunError> {
        let mut child = self.spawn()?;
        let watched =
            Watch::new(&mut child, timeout).and_then(|watch| watch.follow(&self.stdin, cap));
        // The group is killed before the leader is reaped: until then the kernel does not reuse the group's number.
        kill_group_of(child.pid);
        let status = reap_group_of(child.pid);
        let watch_error = |source| ToolRunError::Watch {
            program: self.program.clone(),
            source,
        };
        match watched.map_err(watch_error)? {
            Some([stdout, stderr]) => Ok(CapturedOutput {
                status: status.map_err(watch_error)?,
                truncated: stdout.truncated || stderr.truncated,
                stdout: stdout.bytes,
                stderr: stderr.bytes,
            }),
            None => Err(ToolRunError::TimedOut {
                program: self.program.clone(),
                timeout,
            }),
        }
    }

    fn spawn(&self) -> Result<Spawned, ToolRunError> {
        let image = Image::new(&self.program, &self.args, &self.env, self.cwd.as_deref());
        let spawned = image.and_then(|image| {
            spawn(&Recipe {
                image,
                input: if self.stdin.is_empty() {
                    Input::Null
                } else {
                    Input::Pipe
                },
                group: Group::Group,
                limits: None,
                mark: None,
                control_group: None,
                sandbox: PreparedSandbox::Contained,
            })
        });
        spawned.map_err(|source| ToolRunError::Spawn {
            program: self.program.clone(),
            source,
        })
    }
}

/// The descriptors of a running tool.
struct Watch {
    exit: OwnedFd,
    deadline: OwnedFd,
    stdin: Option<OwnedFd>,
    outputs: [Stream; 2],
}

/// An output pipe and the part of the output that is kept.
struct Stream {
    pipe: Option<OwnedFd>,
    kept: Kept,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    truncated: bool,
}

impl Watch {
    fn new(child: &mut Spawned, timeout: Duration) -> io::Result<Self> {
        let exit = pidfd_open(child.pid, PidfdFlags::empty())?;
        let deadline = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // A value of zero would disarm the timer instead of firing at once.
        let value =
            Timespec::try_from(timeout.max(Duration::from_nanos(1))).map_err(io::Error::other)?;
        timerfd_settime(
            &deadline,
            TimerfdTimerFlags::empty(),
            &Itimerspec {
                it_interval: none,
                it_value: value,
            },
        )?;
        let stdin = child.stdin.take();
        let outputs = [child.stdout.take(), child.stderr.take()].map(|pipe| Stream {
            pipe,
            kept: Kept::default(),
        });
        for pipe in outputs.iter().filter_map(|stream| stream.pipe.as_ref()) {
            set_nonblocking(pipe)?;
        }
        if let Some(pipe) = &stdin {
            set_nonblocking(pipe)?;
        }
        Ok(Self {
            exit,
            deadline,
            stdin,
            outputs,
        })
    }

    /// Moves bytes until the program has exited; returns `None` at the deadline.
    fn follow(mut self, input: &[u8], cap: ByteCount) -> io::Result<Option<[Kept; 2]>> {
        let mut unsent = input;
        loop {
            let ready = self.wait()?;
            if ready.stdin {
                self.feed(&mut unsent)?;
            }
            for stream in &mut self.outputs {
                stream.drain(cap)?;
            }
            if ready.exited {
                // Everything that the program itself wrote is in the pipes by now; processes that survive it are not waited for.
                for stream in &mut self.outputs {
                    stream.drain(cap)?;
                }
                return Ok(Some(self.outputs.map(|stream| stream.kept)));
            }
            if ready.timed_out {
                return Ok(None);
            }
        }
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut fds = vec![
            PollFd::new(&self.exit, PollFlags::IN),
            PollFd::new(&self.deadline, PollFlags::IN),
        ];
        let writable = self.stdin.as_ref().map(|pipe| {
            fds.push(PollFd::new(pipe, PollFlags::OUT));
            fds.len() - 1
        });
        fds.extend(
            self.outputs
                .iter()
                .filter_map(|stream| stream.pipe.as_ref())
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        wait(&mut fds, None)?;
        let is_ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        Ok(Ready {
            exited: is_ready(0),
            timed_out: is_ready(1),
            stdin: writable.is_some_and(is_ready),
        })
    }

    fn feed(&mut self, unsent: &mut &[u8]) -> io::Result<()> {
        let Some(pipe) = &self.stdin else {
            return Ok(());
        };
        let n_written = write_some(pipe, unsent)?.unwrap_or(unsent.len());
        *unsent = unsent.get(n_written..).unwrap_or_default();
        if unsent.is_empty() {
            self.stdin = None;
        }
        Ok(())
    }
}

struct Ready {
    exited: bool,
    timed_out: bool,
    stdin: bool,
}

impl Stream {
    fn drain(&mut self, cap: ByteCount) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        let kept = &mut self.kept;
        let drained = drain(pipe, |bytes| {
            kept.extend(bytes, cap);
            More::Read
        })?;
        if drained == Drained::Ended {
            self.pipe = None;
        }
        Ok(())
    }
}

impl Kept {
    fn extend(&mut self, bytes: &[u8], cap: ByteCount) {
        let room = cap.0.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes
            .extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.truncated |= room < bytes.len();
    }
}

fn kill_group_of(leader: Pid) {
    // The only possible failure is that the group has no members left.
    kill_process_group(leader, Signal::KILL).unwrap_or(());
}

/// Reaps the leader, and members of its killed group that became orphans of this process, if it is their reaper.
fn reap_group_of(leader: Pid) -> io::Result<ExitStatus> {
    let mut ended = None;
    loop {
        match waitpgid(leader, WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => ended = Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(exit_status(ended.ok_or(Errno::CHILD)?))
}

#[cfg(test)]
mod tests;
