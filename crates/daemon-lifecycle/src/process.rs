//! A run's process, output and tool calls.

use crate::word::words;

/// The exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The process exited with this code.
    Code(i32),
    /// This signal terminated the process.
    Signal(i32),
}

impl Exit {
    /// Returns the exit code, or the negated signal.
    pub fn returncode(self) -> i32 {
        match self {
            Self::Code(code) => code,
            // Negated, so that a signal is not taken for an exit code.
            Self::Signal(signal) => -signal,
        }
    }
}

/// The stream on which a process printed a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

words!(OutputStream, "an output stream", {
    Stdout => "stdout",
    Stderr => "stderr",
});

/// The result of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolStatus {
    /// The tool returned a result.
    Ok,
    /// The tool returned an error.
    Error,
}

words!(ToolStatus, "a tool status", {
    Ok => "ok",
    Error => "error",
});
