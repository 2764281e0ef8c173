//! The trait of surfaces, which deliver outputs and find them again.

use async_trait::async_trait;

use crate::facts::RetryAfter;
use crate::output::Output;

/// The result of looking an output up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The output is on the surface.
    At(RemoteId),
    /// The output is not on the surface.
    Absent,
    /// The surface cannot be read back.
    Unreadable,
}

/// The surface's own name for a delivered output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteId {
    /// The id.
    pub id: String,
    /// Where a person can look at it.
    pub url: Option<String>,
    /// The name of its content, where only the surface knows it: the check suite that a check run or a retry is part of.
    pub revision: Option<String>,
}

/// A failed delivery or look-up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SurfaceError {
    /// Whether the output may be sent again.
    pub kind: SurfaceErrorKind,
    /// The failure, as shown to people.
    pub message: String,
    /// When the surface accepts requests again, if it named a time.
    pub retry_after: Option<RetryAfter>,
}

impl SurfaceError {
    /// Makes an error.
    pub fn new(kind: SurfaceErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Sets when the surface accepts requests again.
    #[must_use]
    pub fn with_retry_after(self, retry_after: RetryAfter) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..self
        }
    }

    /// Adds the name of the service that failed.
    #[must_use]
    pub fn of(self, service: &str) -> Self {
        Self {
            message: format!("{service}: {}", self.message),
            ..self
        }
    }
}

/// Whether an output may be sent again after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceErrorKind {
    /// The surface refused the output: it is never sent again.
    Refused,
    /// Nothing arrived: the output is sent again later.
    Retryable,
    /// The output may have arrived: the next step is a look-up.
    Ambiguous,
}

/// Delivers outputs to one surface.
#[async_trait]
pub trait Surface: Send + Sync {
    /// Returns the name that outputs have in [`Output::surface`].
    fn name(&self) -> &str;

    /// Looks an output up by its marker and our own authorship.
    ///
    /// # Errors
    /// If the surface cannot be read at the moment.
    async fn find(&self, output: &Output) -> Result<Found, SurfaceError>;

    /// Sends an output. The caller has looked it up before if it may be on the surface.
    ///
    /// # Errors
    /// Whether the output was refused, did not arrive, or may have arrived.
    async fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError>;

    /// Returns the account that writes the outputs, as the service's events name it; `None` if there is no such account.
    ///
    /// # Errors
    /// If the surface cannot be read at the moment.
    async fn account(&self) -> Result<Option<String>, SurfaceError> {
        Ok(None)
    }

    /// Examines each place that outputs go to, without delivering anything.
    async fn examine(&self) -> Vec<PlaceReport> {
        Vec::new()
    }
}

/// The condition of one target of outputs, for `doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceReport {
    /// The name of the target.
    pub place: String,
    /// Whether it would accept an output.
    pub condition: PlaceCondition,
}

/// Whether a target of outputs would accept one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceCondition {
    /// It would accept an output.
    Takes {
        /// A description of the target.
        detail: String,
    },
    /// It would accept one, but the output may be removed later.
    Doubtful {
        /// The reason.
        detail: String,
        /// What the operator can do.
        remedy: String,
    },
    /// It would refuse one.
    Refuses {
        /// The reason.
        detail: String,
        /// What the operator can do.
        remedy: String,
    },
}
