//! The part of starting a child that runs between fork and exec.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Returns a command with an empty environment.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is the one place that starts processes"
)]
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command
}

/// Makes the child run `hook` between fork and exec, after it asked to be killed when the forking thread dies.
///
/// `hook` must be async-signal-safe: the child is a copy of one thread of a process that may have many, so it may make
/// system calls and nothing else (no allocation, no lock, no panic).
#[expect(
    unsafe_code,
    reason = "`pre_exec` is the only way to act between fork and exec"
)]
pub(crate) fn before_exec<F>(command: &mut Command, mut hook: F)
where
    F: FnMut() -> io::Result<()> + Send + Sync + 'static,
{
    let parent = getpid();
    // SAFETY: `die_with` and, by this function's contract, `hook` only make system calls.
    unsafe {
        command.pre_exec(move || {
            die_with(parent)?;
            hook()
        });
    }
}

fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the request was made; the signal would then never come.
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}
