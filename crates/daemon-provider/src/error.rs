//! Why a provider could not run.

use std::error::Error as StdError;

use crate::ErrorClass;

/// A provider could not start, or lost, a run.
///
/// A run that ended, well or not, is no error: it says so in its terminal event.
#[derive(Debug, thiserror::Error)]
#[error("provider `{provider}`: {message}")]
pub struct ProviderError {
    /// The provider's name.
    pub provider: String,
    /// What kind of fault it is.
    pub kind: ProviderErrorKind,
    /// Whether trying again can help.
    pub class: ErrorClass,
    /// One line for a person.
    pub message: String,
    /// The cause, where there is one.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of [`ProviderError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// What runs could not be started: no such program, not executable, a flag refused.
    Spawn,
    /// The request asks for what this provider cannot do.
    Unsupported,
    /// A file the run needs could not be read or written.
    Files,
    /// The run was lost on the way.
    Lost,
}

impl ProviderError {
    /// Describes a fault of the class that is usual for its kind: a lost run and a fault of files may be tried again.
    pub fn new(
        provider: impl Into<String>,
        kind: ProviderErrorKind,
        message: impl Into<String>,
    ) -> Self {
        let class = match kind {
            ProviderErrorKind::Lost | ProviderErrorKind::Files => ErrorClass::Retryable,
            ProviderErrorKind::Spawn | ProviderErrorKind::Unsupported => ErrorClass::Final,
        };
        Self {
            provider: provider.into(),
            kind,
            class,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
