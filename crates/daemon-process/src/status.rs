//! The exit status of a child.

use std::fmt;

/// The exit status of a process: an exit code or a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// The process exited with this code.
    Code(i32),
    /// The process was ended by this signal number.
    Signal(i32),
}

impl ExitStatus {
    /// Whether the process exited with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Returns the exit code, or `None` if a signal ended the process.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }

    /// Returns the signal that ended the process, or `None` if it exited by itself.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Code(_) => None,
            Self::Signal(signal) => Some(signal),
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}
