//! A run's process, output, messages and tool calls.

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

/// The identity of a child process, which stays unique after its process id is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChildProcess {
    /// The process id.
    pub pid: i32,
    /// The start of the process, in clock ticks since boot.
    pub start: u64,
    /// The id of its process group, which is signalled as a whole.
    pub pgid: i32,
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

/// Whether a line of output is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// The whole line.
    Whole,
    /// The end of the line was cut off during capture.
    Cut,
}

/// The author of a message in a conversation with a model, and the purpose of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The host, with the task.
    Task,
    /// The host, with the results of the model's tool calls.
    ToolResults,
    /// The parent, with a follow-up message.
    Followup,
    /// The model, with its reply.
    Assistant,
}

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

/// One attempt of a run's program to reach a destination, reported when it is refused or when its connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkUse {
    /// The name in lower case, or the address; IPv6 addresses are in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the destination is permitted.
    pub allowed: bool,
    /// Why there was no connection; `None` if there was one.
    pub error: Option<String>,
    /// Bytes to the destination.
    pub sent: u64,
    /// Bytes from the destination.
    pub received: u64,
}
