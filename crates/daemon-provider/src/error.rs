//! The errors of providers.

use std::error::Error as StdError;

use crate::ErrorClass;

/// A provider could not start, or lost, a run.
///
/// A run that ended, successfully or not, is not an error: its terminal event contains the outcome.
#[derive(Debug, thiserror::Error)]
#[error("provider `{provider}`: {message}")]
pub struct ProviderError {
    /// The name of the provider, as [`Provider::name`](crate::Provider::name) returns it.
    pub provider: String,
    /// The kind of the error.
    pub kind: ProviderErrorKind,
    /// Whether another attempt can succeed.
    pub class: ErrorClass,
    /// One line for a person.
    pub message: String,
    /// The error that caused it, if any.
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of [`ProviderError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// The program could not be started: it does not exist, is not executable, or refused a flag.
    Spawn,
    /// The request needs a feature that this provider does not have.
    Unsupported,
    /// A file that the run needs could not be read or written.
    Files,
    /// The connection to a running run was lost.
    Lost,
}

impl ProviderError {
    /// Makes an error of the class that is usual for its kind: `Lost` and `Files` are retryable, the others final.
    pub fn new(
        provider: impl Into<String>,
        kind: ProviderErrorKind,
        message: impl Into<String>,
    ) -> Self {
        // A missing program and an impossible request are the same at the next attempt; files and connections may recover.
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

    /// Sets the error that caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
