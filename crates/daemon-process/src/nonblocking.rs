//! Non-blocking reads and waits.

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// The largest size of a pipe that the kernel allows an unprivileged process.
const LARGEST_PIPE: usize = 1 << 20;
const CHUNK: usize = 16 << 10;

pub(crate) fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}

/// Whether a pipe can have more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    /// A writer is left, or bytes are left to read.
    Open,
    /// The pipe is empty at the moment.
    Dry,
    /// No writer is left and everything was read.
    Ended,
}

/// Passes the bytes in the pipe to `take`, until it returns `Stop` or as much as the largest possible pipe was read.
///
/// The limit prevents a program that never stops writing from blocking everything else.
pub(crate) fn drain(pipe: impl AsFd, mut take: impl FnMut(&[u8]) -> More) -> io::Result<Drained> {
    let mut chunk = [0; CHUNK];
    for _ in 0..LARGEST_PIPE / CHUNK {
        match rustix::io::read(&pipe, &mut chunk) {
            Ok(0) => return Ok(Drained::Ended),
            Ok(n_read) => {
                if take(chunk.get(..n_read).unwrap_or_default()) == More::Stop {
                    return Ok(Drained::Open);
                }
            }
            Err(Errno::AGAIN) => return Ok(Drained::Dry),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Drained::Open)
}

/// Whether a reader wants more bytes now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Read,
    Stop,
}

/// Waits until a descriptor is ready or the timeout has passed.
pub(crate) fn wait(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> io::Result<()> {
    match poll(fds, timeout) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Writes as much of `bytes` as fits; returns `None` if the reader has closed the pipe.
pub(crate) fn write_some(pipe: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    match rustix::io::write(pipe, bytes) {
        Ok(n_written) => Ok(Some(n_written)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Some(0)),
        // A program may exit or close its input before it has read everything.
        Err(Errno::PIPE) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
