//! The activation: one durable wake-execute cycle, and its states.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use daemon_event::{ActivationId, DaemonKey, InvalidId, Subject, TriggerKey};
use daemon_schedule::MissedTicks;
use jiff::Timestamp;

use crate::chain::Chain;
use crate::crash::Blame;

/// Fences the writes of one attempt: it increases with every claim, and a write under an older lease changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunLease(pub u64);

/// Identifies one host process of a home: the epoch increases with every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostEpoch(pub u64);

/// The state of an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActivationState {
    /// Stored; its reason names the thing it waits for.
    Pending,
    /// Leased by a host, which prepares the work tree and the context.
    Claimed,
    /// Leased by a host, and its provider has started.
    Running,
    /// The run succeeded; its outputs are in the outbox.
    Delivering,
    /// Every output is settled; an activation without outputs enters this state at once.
    Succeeded,
    /// A failure that is not retried, or an output that gave up. Only a person can revive it.
    Failed,
    /// Its attempts are used up, or it crashed the host too often. Only a person can revive it.
    Dead,
    /// Stopped by a person, by the removal of its daemon, or because it waited too long.
    Cancelled,
}

impl ActivationState {
    /// Every state, in the order in which an activation passes through them.
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

    /// Reports whether the state ends the activation until a person revives it.
    pub fn is_final(self) -> bool {
        // `Delivering` is not final: its outputs are part of the work, and it blocks its subject until they are settled.
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

/// A reason of an activation to exist. The first trigger made it; later ones joined it while it was pending.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Unique together with the daemon.
    pub key: TriggerKey,
    /// Indexes of the conditions that an event met.
    pub conditions: Vec<u32>,
    /// The name of the person, for a person's request.
    pub by: Option<String>,
    /// The details of a tick; `None` for events and requests.
    pub occasion: Option<Arc<Occasion>>,
    /// When the store recorded it.
    pub recorded_at: Timestamp,
}

/// The details of a tick, at the time it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// The five-field expression, as the daemon file spells it.
    pub expression: String,
    /// The IANA name of the zone.
    pub zone: String,
    /// The local time of the tick in the zone, with its offset.
    pub local: String,
    /// Earlier ticks that got no activation of their own.
    pub missed: Option<MissedTicks>,
}

/// One durable wake-execute cycle; unique per (daemon, trigger key).
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// A time-ordered id, chosen by the host.
    pub id: ActivationId,
    /// The daemon that it wakes.
    pub daemon: DaemonKey,
    /// The daemon's revision: the registered one when it was claimed, before that the one that was matched.
    pub rev: String,
    /// The subject of its triggers; triggers of one daemon and subject join one pending activation.
    pub subject: Option<Subject>,
    /// Its triggers, oldest first; never empty.
    pub triggers: Vec<Trigger>,
    /// Its position among activations that wake each other through outputs: the position of the trigger nearest to a root.
    pub chain: Chain,
    /// The state, which only a claim, the end of an attempt, an output or a person changes.
    pub state: ActivationState,
    /// The thing that a pending activation waits for, or the reason of a final state.
    pub reason: Option<String>,
    /// How many attempts counted, of at most [`MAX_ATTEMPTS`](crate::MAX_ATTEMPTS).
    pub attempts: u32,
    /// Crashes of the host that it may have caused.
    pub blame: Blame,
    /// The lease of the newest attempt; 0 before the first.
    pub run_lease: RunLease,
    /// The host that holds the lease; `None` if it is not leased.
    pub owner: Option<HostEpoch>,
    /// When the lease ends unless it is renewed; `None` if it is not leased.
    pub lease_until: Option<Timestamp>,
    /// The earliest time of the next claim.
    pub not_before: Timestamp,
    /// When its first trigger was recorded.
    pub created_at: Timestamp,
    /// When a provider first started to work on it.
    pub started_at: Option<Timestamp>,
    /// When it reached a final state.
    pub finished_at: Option<Timestamp>,
    /// Tokens of all attempts that reported any.
    pub tokens: Option<u64>,
    /// Cost in US dollars of all attempts that reported any.
    // A sum of estimates for people and for the day's limit. What may be spent is counted in whole millionths elsewhere.
    pub cost_usd: Option<f64>,
    /// The beginning of the newest result, which later contexts show as history.
    pub summary: Option<String>,
}
