//! Failures of commands: an exit code, a code for programs and a message for people.

use daemon_records::error::{OpError, OpErrorKind, RefusalDetails};

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// What was asked for ended badly, such as a turn of a conversation.
    Failed = 1,
    /// Wrong usage of the command line.
    Usage = 64,
    /// An invalid daemon file, expression or event.
    Invalid = 65,
    /// An input cannot be read, or an id is unknown.
    NoInput = 66,
    /// Host, store or provider cannot be reached.
    Unavailable = 69,
    /// A bug.
    Internal = 70,
    /// An output cannot be written.
    CannotWrite = 73,
    /// Held, busy, or the home has an owner.
    TryLater = 75,
    /// Refused by policy or budget.
    Refused = 77,
    /// The configuration is invalid.
    Config = 78,
    /// A signal interrupted the command.
    Interrupted = 130,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    pub(crate) exit: ExitKind,
    /// A diagnostic code or a kebab-case word.
    pub(crate) code: String,
    /// One sentence in lower case, without a period.
    pub(crate) message: String,
    /// A remedy, printed on a line of its own.
    pub(crate) help: Option<String>,
    /// What programs read about a refusal of the roster.
    pub(crate) refusal: Option<Box<RefusalDetails>>,
}

impl CommandFailure {
    /// Creates a failure without help.
    pub(crate) fn new(exit: ExitKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.into(),
            message: message.into(),
            help: None,
            refusal: None,
        }
    }

    /// Adds a remedy.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Creates a usage error.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Usage, "usage", message)
    }

    /// Creates the failure of a path that cannot be read.
    pub(crate) fn unreadable(what: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(
            ExitKind::NoInput,
            "unreadable",
            format!("cannot read `{}`: {error}", what.display()),
        )
    }

    /// Creates the failure of a path that cannot be written.
    pub(crate) fn unwritable(what: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(
            ExitKind::CannotWrite,
            "unwritable",
            format!("cannot write `{}`: {error}", what.display()),
        )
    }

    /// Creates the failure of a broken invariant.
    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Internal, "internal", message)
    }
}

impl From<OpError> for CommandFailure {
    fn from(error: OpError) -> Self {
        let exit = match error.kind {
            OpErrorKind::InvalidParams | OpErrorKind::Unsupported => ExitKind::Usage,
            OpErrorKind::InvalidInput => ExitKind::Invalid,
            OpErrorKind::NotFound => ExitKind::NoInput,
            OpErrorKind::Unavailable => ExitKind::Unavailable,
            OpErrorKind::Broken | OpErrorKind::Damaged => ExitKind::CannotWrite,
            OpErrorKind::Provider { .. } | OpErrorKind::Killed => ExitKind::Failed,
            OpErrorKind::Cancelled => ExitKind::Interrupted,
            OpErrorKind::Stopping => ExitKind::TryLater,
            OpErrorKind::Conflict | OpErrorKind::Busy | OpErrorKind::Roster { .. } => {
                ExitKind::TryLater
            }
            OpErrorKind::Forbidden => ExitKind::Refused,
            OpErrorKind::Config => ExitKind::Config,
            OpErrorKind::Internal => ExitKind::Internal,
        };
        Self {
            exit,
            code: error.code,
            message: error.message,
            help: error.help,
            refusal: error.refusal,
        }
    }
}
