//! The comparison of a service's objects with the events that its webhooks brought.

use async_trait::async_trait;
use daemon_event::{DeliveryId, RepoName, Source};

use crate::facts::FactError;

/// Finds what the webhooks of a service did not bring.
///
/// The caller stores a cursor per place in the transaction that stores the missed events, and passes it to the next comparison.
#[async_trait]
pub trait Reconciler: Send + Sync {
    /// Returns the service.
    fn source(&self) -> Source;

    /// Returns what is compared, in the order of the comparisons.
    fn places(&self) -> Vec<ReconcilePlace>;

    /// Compares one place with the state at `cursor`; without a cursor the state becomes the baseline, and nothing is missed.
    ///
    /// The missed events depend only on the cursor and on the state of the service.
    ///
    /// # Errors
    /// If the service cannot be read completely; nothing may be stored then.
    async fn compare(
        &self,
        place: &ReconcilePlace,
        cursor: Option<&str>,
    ) -> Result<Comparison, FactError>;
}

/// A thing that is compared by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconcilePlace {
    /// The name, unique among all services, under which its cursor is stored.
    pub name: String,
    /// The repository, if it is one.
    pub repo: Option<RepoName>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The new cursor; `None` if nothing changed.
    pub cursor: Option<String>,
    /// What no webhook may have brought, oldest first as far as that is known.
    pub missed: Vec<MissedEvent>,
    /// The number of deliveries that the service was asked to send again.
    pub n_asked: usize,
    /// What limits the comparison, for people.
    pub note: Option<String>,
    /// Whether more was missed than the comparison reports, so that a gap stays open.
    pub is_partial: bool,
}

/// A change that the service's objects show, in the form of its webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedEvent {
    /// The service's name for the kind.
    pub kind: &'static str,
    /// The id, which is the same whenever the same cursor meets the same change.
    pub delivery: DeliveryId,
    /// The body, with the members that the webhook would have.
    pub body: Vec<u8>,
}
