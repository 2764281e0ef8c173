//! The records of the roster: loaded at a start, changed by whole decisions.

use async_trait::async_trait;
use daemon_roster::{CheckInRecord, Principal, RequestKey, RosterChanges, RosterTables, RowId};
use jiff::{SignedDuration, Timestamp};

use crate::error::StoreError;

/// How long check-ins are kept.
pub const CHECK_IN_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long audit entries are kept. No entry can be removed before.
pub const AUDIT_RETENTION: SignedDuration = SignedDuration::from_hours(400 * 24);
/// How long signals are kept after their end.
pub const SIGNAL_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The number of the last commit of the roster.
///
/// Each decision depends on the rows that it was made over, so it is committed only if nothing was committed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RosterVersion(pub u64);

/// The rows of a roster, as [`daemon_roster::Roster::new`] takes them, with their version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedRoster {
    /// What the next commit has to name.
    pub version: RosterVersion,
    /// The rows. Signals that ended long ago and answers that were given long ago are not among them.
    pub tables: RosterTables,
}

/// An audit entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAudit {
    /// Its number; later entries have greater ones.
    pub number: u64,
    /// When it was.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Principal,
    /// The machine of a transition, or the request that was refused.
    pub kind: String,
    /// The row that it is about.
    pub row: Option<RowId>,
    /// The state before.
    pub from: Option<String>,
    /// The state after a transition.
    pub to: Option<String>,
    /// By which rule a request was refused.
    pub rule: Option<String>,
    /// The reason or the message.
    pub reason: String,
    /// The request id of the caller.
    pub request: Option<RequestKey>,
    /// How often it happened.
    pub count: u32,
}

/// Which audit entries to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only those about a row.
    pub row: Option<RowId>,
    /// Only those with a number below.
    pub before: Option<u64>,
    /// How many.
    pub limit: u32,
}

/// The roster: its rows, its check-ins and its audit log.
#[async_trait]
pub trait RosterRecords: Send + Sync {
    /// Returns the rows, without signals that ended and answers that were given more than [`daemon_roster::REPLY_RETENTION`] before
    /// `now`.
    async fn load_roster(&self, now: Timestamp) -> Result<LoadedRoster, StoreError>;

    /// Stores the changes of a decision and its audit entries in one transaction, and returns the new version.
    ///
    /// # Errors
    /// `Conflict` if another commit was made since `expected`; nothing is written then.
    async fn commit_roster(
        &self,
        expected: RosterVersion,
        changes: RosterChanges,
    ) -> Result<RosterVersion, StoreError>;

    /// Returns the newest check-ins of a row, the newest first.
    async fn check_ins_of(&self, row: &RowId, limit: u32)
    -> Result<Vec<CheckInRecord>, StoreError>;

    /// Lists audit entries, the newest first.
    async fn roster_audit(&self, query: &AuditQuery) -> Result<Vec<StoredAudit>, StoreError>;

    /// Removes check-ins, ended signals, answers and audit entries that are older than they are kept.
    ///
    /// Audit entries are compared with the newest one as well, so that a clock in the future removes none.
    async fn prune_roster(&self, now: Timestamp) -> Result<(), StoreError>;
}
