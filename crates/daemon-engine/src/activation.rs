//! The activation: one durable wake-execute cycle, and its states.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use daemon_event::{ActivationId, DaemonKey, InvalidId, Subject, TriggerKey};
use daemon_schedule::MissedTicks;
use jiff::Timestamp;

use crate::chain::Chain;
use crate::crash::Blame;

/// Fences the writes of one attempt: it rises with every claim, and a write under an older one changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunLease(pub u64);

/// Names one host process over one home: the epoch rises with every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostEpoch(pub u64);

/// Where an activation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivationState {
    /// Durable; its reason says what it waits for.
    Pending,
    /// Leased by a host; worktree and context are being made.
    Claimed,
    /// The provider works.
    Running,
    /// The run ended well; its outputs are in the outbox.
    Delivering,
    /// Every output is settled, or there was none.
    Succeeded,
    /// Failed for good, or an output gave up; never run again by itself.
    Failed,
    /// Attempts exhausted, or it took the host down with it; a person may revive it.
    Dead,
    /// Stopped by a person, by removal of its daemon, or expired.
    Cancelled,
}

impl ActivationState {
    /// Every state, in the order of a life.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Claimed,
        Self::Running,
        Self::Delivering,
        Self::Succeeded,
        Self::Failed,
        Self::Dead,
        Self::Cancelled,
    ];

    /// Returns the word used in rows, JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Delivering => "delivering",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reports whether nothing happens to it any more by itself.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Dead | Self::Cancelled
        )
    }

    /// Reports whether a host holds it under a lease.
    pub fn is_leased(self) -> bool {
        matches!(self, Self::Claimed | Self::Running)
    }
}

impl fmt::Display for ActivationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ActivationState {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| InvalidId::new(text, "an activation state"))
    }
}

/// One reason of an activation to exist; the first made it, later ones joined it while it was pending.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Unique together with the daemon.
    pub key: TriggerKey,
    /// Indexes of the conditions that an event met.
    pub conditions: Vec<u32>,
    /// Who asked, for a person's request.
    pub by: Option<String>,
    /// What a tick tells beside its instant; `None` for other reasons.
    pub occasion: Option<Arc<Occasion>>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

/// What a tick tells beside its instant, as it was when the tick was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// The expression, as written.
    pub expression: String,
    /// The IANA name of the zone.
    pub zone: String,
    /// What clocks in the zone showed, with their offset.
    pub local: String,
    /// The ticks before it that got no activation of their own.
    pub missed: Option<MissedTicks>,
}

/// One durable wake-execute cycle; unique per (daemon, trigger key).
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// Its id.
    pub id: ActivationId,
    /// Whose it is.
    pub daemon: DaemonKey,
    /// The revision of the daemon it runs, or ran, on.
    pub rev: String,
    /// What it is about; pending activations of one daemon and subject are one.
    pub subject: Option<Subject>,
    /// Why it exists, oldest first, never empty.
    pub triggers: Vec<Trigger>,
    /// Its place among activations that wake each other: that of the trigger nearest to a root.
    pub chain: Chain,
    /// Where it stands.
    pub state: ActivationState,
    /// What a pending one waits for, or why it ended as it did.
    pub reason: Option<String>,
    /// How many attempts were claimed.
    pub attempts: u32,
    /// The crashes of the host that it can have caused.
    pub blame: Blame,
    /// The fence of the newest attempt.
    pub run_lease: RunLease,
    /// Who holds the lease.
    pub owner: Option<HostEpoch>,
    /// When the lease ends.
    pub lease_until: Option<Timestamp>,
    /// The earliest instant of the next claim.
    pub not_before: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
    /// When a provider first began.
    pub started_at: Option<Timestamp>,
    /// When it reached a final state.
    pub finished_at: Option<Timestamp>,
    /// Tokens of all attempts, where the provider told.
    pub tokens: Option<u64>,
    /// Cost of all attempts in US dollars, where the provider told.
    pub cost_usd: Option<f64>,
    /// The head of the result, for the history in later contexts.
    pub summary: Option<String>,
}
