//! Admission: what becomes of a new trigger.

use daemon_event::{ActivationId, DaemonKey, Subject};
use jiff::{SignedDuration, Timestamp};

use crate::activation::Trigger;
use crate::chain::{ChainEnd, Link, Notice, ends};

/// How long a pending activation may wait before it expires.
pub const PENDING_EXPIRY: SignedDuration = SignedDuration::from_hours(24);
/// How many activations of one daemon may be pending.
pub const MAX_PENDING_PER_DAEMON: u64 = 1_000;
/// How many activations may be pending in all.
pub const MAX_PENDING: u64 = 100_000;

/// A reason to wake a daemon, before it is admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrigger {
    /// Whom it wakes.
    pub daemon: DaemonKey,
    /// The revision registered when it was matched.
    pub rev: String,
    /// What it is about; `None` joins other triggers without a subject.
    pub subject: Option<Subject>,
    /// The reason itself.
    pub trigger: Trigger,
    /// The id the activation gets if this trigger makes one.
    pub activation_id: ActivationId,
    /// The earliest instant of its first claim.
    pub not_before: Timestamp,
    /// Whether it may join an activation that is already waiting.
    pub joining: Joining,
    /// The chain that it continues; `None` for the beginning of one: a person, a tick, an event that no output caused.
    pub link: Option<Link>,
}

/// Whether a trigger may join a waiting activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// It joins the pending activation of its daemon and subject, if there is one.
    Coalesce,
    /// It always makes its own activation.
    Separate,
}

/// What the store knows, inside the transaction that admits a trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The activation that this daemon and trigger key already name.
    pub known: Option<ActivationId>,
    /// The pending activation of the same daemon and subject.
    pub joinable: Option<ActivationId>,
    /// Pending activations of the daemon.
    pub pending_of_daemon: u64,
    /// Pending activations in all.
    pub pending_in_all: u64,
    /// Activations of the trigger's root made within [`ROOT_PERIOD`](crate::ROOT_PERIOD) and not cancelled.
    pub of_root: u64,
    /// Those of them that were cancelled before they began.
    pub ended_of_root: u64,
}

/// What became of a trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It made this activation.
    Enqueued(ActivationId),
    /// It joined this pending activation.
    Joined(ActivationId),
    /// The same daemon and key had already made or joined this one.
    Duplicate(ActivationId),
    /// A queue limit was reached.
    Refused(QueueLimit),
    /// Its chain ends: it made this activation, which is cancelled.
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

/// Which queue was full.
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

/// Decides what becomes of a trigger.
///
/// The caller holds the transaction in which `standing` was read and writes the decision in it.
pub fn admit(new: &NewTrigger, standing: &Standing) -> Admission {
    if let Some(known) = &standing.known {
        return Admission::Duplicate(known.clone());
    }
    match (&standing.joinable, new.joining) {
        (Some(waiting), Joining::Coalesce) => return Admission::Joined(waiting.clone()),
        (None, Joining::Coalesce) | (_, Joining::Separate) => {}
    }
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
