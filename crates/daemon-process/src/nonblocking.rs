//! Reading and waiting without blocking.

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// The size the kernel allows an unprivileged process to give a pipe.
const LARGEST_PIPE: usize = 1 << 20;
const CHUNK: usize = 16 << 10;

pub(crate) fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}

/// Whether a pipe can give more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    /// A writer may still write, or has written more than was read.
    Open,
    /// Nothing is in the pipe at this moment.
    Dry,
    /// No writer is left and all of it was read.
    Ended,
}

/// Hands `take` what is in the pipe at this moment, until it says stop or the largest possible pipe was read.
///
/// The bound keeps a program that never stops writing from holding up everything else.
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

/// Waits until a descriptor is ready or the time is over.
pub(crate) fn wait(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> io::Result<()> {
    match poll(fds, timeout) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Writes what fits of `bytes`, or returns `None` when the reader is gone.
pub(crate) fn write_some(pipe: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    match rustix::io::write(pipe, bytes) {
        Ok(n_written) => Ok(Some(n_written)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Some(0)),
        // A program may end, or close its input, without reading all of it.
        Err(Errno::PIPE) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
