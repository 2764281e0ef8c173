//! Admission: a new trigger makes an activation, joins one, or is refused.

use daemon_event::{ActivationId, DaemonKey, Subject};
use jiff::{SignedDuration, Timestamp};

use crate::activation::Trigger;
use crate::chain::{ChainEnd, Link, Notice, ends};

/// How long a pending activation may wait before it expires.
pub const PENDING_EXPIRY: SignedDuration = SignedDuration::from_hours(24);
/// How many activations of one daemon may be pending.
pub const MAX_PENDING_PER_DAEMON: u64 = 1_000;
/// How many activations may be pending over all daemons.
pub const MAX_PENDING: u64 = 100_000;

/// A reason to wake a daemon, before it is admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrigger {
    /// The daemon that it wakes.
    pub daemon: DaemonKey,
    /// The revision registered when it was matched.
    pub rev: String,
    /// What it is about; `None` joins other triggers without a subject.
    pub subject: Option<Subject>,
    /// The trigger as it is stored.
    pub trigger: Trigger,
    /// The id the activation gets if this trigger makes one.
    pub activation_id: ActivationId,
    /// The earliest instant of its first claim.
    pub not_before: Timestamp,
    /// Whether it may join an activation that is already waiting.
    pub joining: Joining,
    /// The chain that it continues; `None` for a person, a tick, or an event that no output caused, which begin one.
    pub link: Option<Link>,
}

/// Whether a trigger may join a waiting activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// The trigger joins the pending activation of its daemon and subject, if one exists.
    Coalesce,
    /// The trigger always makes its own activation.
    Separate,
}

/// What a store reads in the transaction that admits a trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionState {
    /// The activation that this daemon and trigger key already name.
    pub known: Option<ActivationId>,
    /// The pending activation of the same daemon and subject.
    pub joinable: Option<ActivationId>,
    /// Pending activations of the daemon.
    pub pending_of_daemon: u64,
    /// Pending activations of all daemons.
    pub pending_in_all: u64,
    /// Activations of the trigger's root made within [`ROOT_PERIOD`](crate::ROOT_PERIOD) and not cancelled.
    pub of_root: u64,
    /// Activations of the trigger's root within that period that were cancelled before they began.
    pub ended_of_root: u64,
}

/// The result of an admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The trigger made this activation.
    Enqueued(ActivationId),
    /// The trigger joined this pending activation.
    Joined(ActivationId),
    /// The same daemon and key had already made or joined this one.
    Duplicate(ActivationId),
    /// A queue limit was reached; the trigger is recorded without an activation.
    Refused(QueueLimit),
    /// The trigger's chain ends: the activation that it made is cancelled.
    Ended(ActivationId, ChainEnd, Notice),
}

impl Admission {
    /// Returns the activation that carries the trigger, if one does.
    pub fn activation(&self) -> Option<&ActivationId> {
        match self {
            Self::Enqueued(id) | Self::Joined(id) | Self::Duplicate(id) | Self::Ended(id, _, _) => {
                Some(id)
            }
            Self::Refused(_) => None,
        }
    }
}

/// The queue limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// [`MAX_PENDING_PER_DAEMON`].
    Daemon,
    /// [`MAX_PENDING`].
    Host,
}

impl QueueLimit {
    /// Returns the word used in rows and reasons.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Daemon => "pending-per-daemon",
            Self::Host => "pending-in-all",
        }
    }
}

/// Decides whether a trigger makes an activation, joins one, or is refused.
///
/// The caller holds the transaction in which `standing` was read and writes the decision in it.
pub fn admit(new: &NewTrigger, standing: &AdmissionState) -> Admission {
    // First: a repetition must be answered by its activation also when the queue is full or the chain has ended since.
    if let Some(known) = &standing.known {
        return Admission::Duplicate(known.clone());
    }
    match (&standing.joinable, new.joining) {
        (Some(waiting), Joining::Coalesce) => return Admission::Joined(waiting.clone()),
        (None, Joining::Coalesce) | (_, Joining::Separate) => {}
    }
    // After joining: a trigger that joins a pending activation starts nothing, so that it prolongs no chain.
    if let Some(end) = new
        .link
        .as_ref()
        .and_then(|link| ends(link, standing.of_root))
    {
        let notice = match standing.ended_of_root {
            0 => Notice::Due,
            _ => Notice::Given,
        };
        return Admission::Ended(new.activation_id.clone(), end, notice);
    }
    // The narrower limit first, so that the reason names the daemon that floods the queue.
    if standing.pending_of_daemon >= MAX_PENDING_PER_DAEMON {
        Admission::Refused(QueueLimit::Daemon)
    } else if standing.pending_in_all >= MAX_PENDING {
        Admission::Refused(QueueLimit::Host)
    } else {
        Admission::Enqueued(new.activation_id.clone())
    }
}

#[cfg(test)]
mod tests;
