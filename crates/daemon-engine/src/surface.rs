//! The surface seam: what delivers outputs and finds them again.

use async_trait::async_trait;

use crate::output::Output;

/// What a surface knows of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is there.
    At(RemoteId),
    /// It is not there.
    Absent,
    /// The surface cannot tell.
    Unreadable,
}

/// The surface's own name for a delivered output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteId {
    /// The id.
    pub id: String,
    /// Where a person can look at it.
    pub url: Option<String>,
}

/// A failed delivery.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct SurfaceError {
    /// What can be done about it.
    pub kind: SurfaceErrorKind,
    /// What happened, for people.
    pub message: String,
}

impl SurfaceError {
    /// Makes an error.
    pub fn new(kind: SurfaceErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

/// What can be done about a failed delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceErrorKind {
    /// The surface said no: it is never sent again.
    Refused,
    /// Nothing arrived: it is sent again later.
    Retryable,
    /// It may have arrived: it is looked up first.
    Ambiguous,
}

/// Delivers outputs to one surface.
#[async_trait]
pub trait Surface: Send + Sync {
    /// Returns the name outputs carry in `surface`.
    fn name(&self) -> &str;

    /// Looks an output up by its marker and our own authorship.
    ///
    /// # Errors
    /// Where the surface cannot be asked at the moment.
    async fn find(&self, output: &Output) -> Result<Found, SurfaceError>;

    /// Sends an output; the caller has made sure that it is not there yet.
    ///
    /// # Errors
    /// Says whether it was refused, did not arrive, or may have arrived.
    async fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError>;

    /// Examines each place that outputs go to, without delivering anything.
    async fn examine(&self) -> Vec<PlaceReport> {
        Vec::new()
    }
}

/// What was found of a place that outputs go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceReport {
    /// Which place.
    pub place: String,
    /// How it is.
    pub condition: PlaceCondition,
}

/// How a place that outputs go to is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceCondition {
    /// It would take an output.
    Takes {
        /// Where it is.
        detail: String,
    },
    /// It would take one, which may not last.
    Doubtful {
        /// Why not.
        detail: String,
        /// What to do about it.
        remedy: String,
    },
    /// It would not.
    Refuses {
        /// Why.
        detail: String,
        /// What to do about it.
        remedy: String,
    },
}
