//! Failures of commands: an exit code, a word for programs, a message for people.

use daemon_host::ops::{OpError, OpErrorKind};

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command line makes no sense.
    Usage = 64,
    /// An invalid daemon file, expression or event.
    Invalid = 65,
    /// It cannot be read, or there is no such id.
    NoInput = 66,
    /// Host, store or provider cannot be reached.
    Unavailable = 69,
    /// A bug.
    Internal = 70,
    /// It cannot be written.
    CannotWrite = 73,
    /// Held, busy, or the home has an owner.
    TryLater = 75,
    /// Policy or budget says no.
    Refused = 77,
    /// The configuration is wrong.
    Config = 78,
}

/// Why a command was not done.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// A diagnostic code or a kebab-case word.
    pub(crate) code: String,
    /// What happened.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

impl Failure {
    /// Makes a failure.
    pub(crate) fn new(exit: Exit, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.into(),
            message: message.into(),
            help: None,
        }
    }

    /// Adds what to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says that the command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Says that something cannot be read.
    pub(crate) fn unreadable(what: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(
            Exit::NoInput,
            "unreadable",
            format!("cannot read `{}`: {error}", what.display()),
        )
    }

    /// Says that something cannot be written.
    pub(crate) fn unwritable(what: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(
            Exit::CannotWrite,
            "unwritable",
            format!("cannot write `{}`: {error}", what.display()),
        )
    }

    /// Says that this is a bug.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(Exit::Internal, "internal", message)
    }
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        let exit = match error.kind {
            OpErrorKind::InvalidParams | OpErrorKind::Unsupported => Exit::Usage,
            OpErrorKind::InvalidInput => Exit::Invalid,
            OpErrorKind::NotFound => Exit::NoInput,
            OpErrorKind::Unavailable => Exit::Unavailable,
            OpErrorKind::Broken => Exit::CannotWrite,
            OpErrorKind::Conflict | OpErrorKind::Busy => Exit::TryLater,
            OpErrorKind::Forbidden => Exit::Refused,
            OpErrorKind::Config => Exit::Config,
            OpErrorKind::Internal => Exit::Internal,
        };
        Self {
            exit,
            code: error.code,
            message: error.message,
            help: error.help,
        }
    }
}
