//! The standard streams of a child.

use std::io;
use std::os::fd::OwnedFd;

use super::channel::Channel;
use super::lines::{LineBuffer, LongLineRoom};
use super::{ChildEvent, OutputPipe};
use crate::nonblocking::{Drained, More, drain, set_nonblocking, write_some};
use crate::spawn::Spawned;

/// The caller's ends of a child's standard input and output.
///
/// Both descriptors are non-blocking. Dropping `input` closes the child's standard input.
#[derive(Debug)]
pub struct ChildPipes {
    /// The writing end of the child's standard input.
    pub input: OwnedFd,
    /// The reading end of the child's standard output.
    pub output: OwnedFd,
}

impl ChildPipes {
    /// Takes the pipes of a child that was started with them.
    pub(crate) fn take(child: &mut Spawned) -> io::Result<Self> {
        let missing = || io::Error::other("a pipe of the child is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        set_nonblocking(&input)?;
        set_nonblocking(&output)?;
        Ok(Self { input, output })
    }
}

/// The input that a child has not read yet.
#[derive(Debug)]
pub(crate) struct ChildInput {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    n_written: usize,
}

/// An output stream of a child.
#[derive(Debug)]
pub(crate) struct ChildOutput {
    stream: OutputPipe,
    pipe: Option<OwnedFd>,
    lines: LineBuffer,
}

/// How much of the input was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fed {
    Part,
    Whole,
}

impl ChildInput {
    pub(crate) fn new(pipe: OwnedFd, bytes: Vec<u8>) -> io::Result<Self> {
        set_nonblocking(&pipe)?;
        Ok(Self {
            pipe,
            bytes,
            n_written: 0,
        })
    }

    pub(crate) fn pipe(&self) -> &OwnedFd {
        &self.pipe
    }

    /// Writes as much as fits into the pipe.
    pub(crate) fn feed(&mut self) -> io::Result<Fed> {
        let unsent = self.bytes.get(self.n_written..).unwrap_or_default();
        let written = write_some(&self.pipe, unsent)?;
        self.n_written += written.unwrap_or(unsent.len());
        Ok(if self.n_written == self.bytes.len() {
            Fed::Whole
        } else {
            Fed::Part
        })
    }
}

impl ChildOutput {
    pub(crate) fn new(stream: OutputPipe, pipe: Option<OwnedFd>) -> io::Result<Self> {
        pipe.as_ref().map_or(Ok(()), set_nonblocking)?;
        Ok(Self {
            stream,
            pipe,
            lines: LineBuffer::default(),
        })
    }

    /// Returns the descriptor, unless the stream has ended.
    pub(crate) fn pipe(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref()
    }

    /// Reads the bytes that are available now.
    pub(crate) fn read(
        &mut self,
        channel: &Channel,
        room: &mut LongLineRoom,
    ) -> io::Result<Drained> {
        let (stream, lines) = (self.stream, &mut self.lines);
        let emit = |line| channel.push(ChildEvent::Line { stream, line });
        let Some(pipe) = &self.pipe else {
            return Ok(Drained::Ended);
        };
        if !channel.has_room() {
            return Ok(Drained::Open);
        }
        let drained = drain(pipe, |bytes| {
            lines.push(bytes, room, emit);
            if channel.has_room() {
                More::Read
            } else {
                More::Stop
            }
        })?;
        if drained == Drained::Ended {
            lines.finish(room, emit);
            self.pipe = None;
        }
        Ok(drained)
    }

    /// Reads the rest when every writer has ended or is out of reach.
    pub(crate) fn close_if_dry(
        &mut self,
        channel: &Channel,
        room: &mut LongLineRoom,
    ) -> io::Result<()> {
        if self.read(channel, room)? == Drained::Dry {
            let stream = self.stream;
            self.lines
                .finish(room, |line| channel.push(ChildEvent::Line { stream, line }));
            self.pipe = None;
        }
        Ok(())
    }
}
