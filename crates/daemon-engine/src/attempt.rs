//! The end of an attempt: the next state of its activation, and the time of a retry.

use jiff::{SignedDuration, Timestamp};

use crate::activation::{Activation, ActivationState};
use crate::crash::{Blame, Departure};
use crate::facts::next_look;
use crate::output::{NewOutput, StateChange};

/// The number of attempts after which a retryable failure is final.
pub const MAX_ATTEMPTS: u32 = 5;
/// The number of consecutive failed activations that trips a daemon's gate.
pub const TRIP_AFTER: u32 = 5;

const BACKOFF_FIRST: SignedDuration = SignedDuration::from_secs(10);
const BACKOFF_CAP: SignedDuration = SignedDuration::from_mins(30);

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The provider finished the work.
    Done,
    /// A failure that a retry may fix: a timeout, a crash, no terminal event.
    Retryable {
        /// The failure, as shown to people.
        reason: String,
    },
    /// A failure that a retry cannot fix: configuration, authentication, policy.
    Final {
        /// The failure, as shown to people.
        reason: String,
    },
    /// The run was stopped.
    Cancelled {
        /// The reason, as shown to people.
        reason: String,
    },
    /// The host stopped the run: it stops itself, or could not renew the lease. The attempt does not count.
    HostStopping,
    /// The commit or the repository that it needs does not exist yet. Nothing ran and the attempt does not count; the
    /// wait before the next attempt follows the rule for facts.
    Missing {
        /// The kind of the missing thing.
        what: Missing,
        /// Its name, as shown to people.
        detail: String,
    },
}

/// Something without which no attempt can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The commit that its event names.
    Commit,
    /// The daemon's files, since its repository could not be read yet.
    Repository,
    /// The rolling branch that its daemon adds to, in a state that another commit can follow.
    Branch,
}

impl Missing {
    /// Returns the word that begins the reason of an activation that waits for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Repository => "repository",
            Self::Branch => "branch",
        }
    }

    /// Parses the reason of a pending activation; `None` if it waits for something else.
    pub fn of_reason(reason: &str) -> Option<Self> {
        // The reason is the only column that says what a pending activation waits for; a column of its own would repeat it.
        let (word, _) = reason.split_once(':')?;
        [Self::Commit, Self::Repository, Self::Branch]
            .into_iter()
            .find(|missing| missing.as_str() == word)
    }
}

/// The results of an attempt, which a store commits in one transaction under the lease.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptEnd {
    /// How the attempt ended, which decides the next state.
    pub outcome: AttemptOutcome,
    /// The outputs it proposed, planned or refused by a validator; kept only for [`AttemptOutcome::Done`].
    pub outputs: Vec<NewOutput>,
    /// Changes of its daemon's state; kept only for [`AttemptOutcome::Done`].
    pub state: Vec<StateChange>,
    /// Tokens it used, if the provider reported them.
    pub tokens: Option<u64>,
    /// Cost in US dollars, if the provider reported it.
    pub cost_usd: Option<f64>,
    /// The beginning of the result.
    pub summary: Option<String>,
    /// The instant of the end.
    pub at: Timestamp,
    /// A random number, uniform over 0 to 2³²−1, which spreads retries.
    pub jitter: u32,
}

/// The next state of an activation whose attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The state that the store writes.
    pub state: ActivationState,
    /// Why it is in that state, as people read it; `None` for a success without a note.
    pub reason: Option<String>,
    /// The earliest next claim, for [`ActivationState::Pending`].
    pub not_before: Option<Timestamp>,
    /// Whether the attempt counts against the limit of attempts.
    pub counts: Counting,
}

/// Whether an attempt counts against [`MAX_ATTEMPTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The attempt counts.
    Counted,
    /// The attempt does not count.
    Uncounted,
}

/// Decides the next state of an activation whose attempt ended; `unsettled` is the number of outputs to be sent.
pub fn end_attempt(activation: &Activation, end: &AttemptEnd, unsettled: usize) -> Next {
    let settled = |state, reason| Next {
        state,
        reason,
        not_before: None,
        counts: Counting::Counted,
    };
    match &end.outcome {
        AttemptOutcome::Done if unsettled > 0 => settled(ActivationState::Delivering, None),
        AttemptOutcome::Done => settled(ActivationState::Succeeded, None),
        AttemptOutcome::Final { reason } => settled(ActivationState::Failed, Some(reason.clone())),
        AttemptOutcome::Cancelled { reason } => {
            settled(ActivationState::Cancelled, Some(reason.clone()))
        }
        AttemptOutcome::Retryable { reason } if activation.attempts >= MAX_ATTEMPTS => settled(
            ActivationState::Dead,
            Some(format!("{reason}; {MAX_ATTEMPTS} attempts")),
        ),
        AttemptOutcome::Retryable { reason } => Next {
            state: ActivationState::Pending,
            reason: Some(format!("backoff: {reason}")),
            not_before: Some(end.at + backoff(activation.attempts, end.jitter)),
            counts: Counting::Counted,
        },
        AttemptOutcome::HostStopping => Next {
            state: ActivationState::Pending,
            reason: Some("slot".to_owned()),
            not_before: Some(end.at),
            counts: Counting::Uncounted,
        },
        AttemptOutcome::Missing { what, detail } => missing(activation, end.at, (*what, detail)),
    }
}

/// Decides the next state of an activation that cannot start yet. The wait is measured from its newest trigger, which
/// may have named the missing thing.
fn missing(activation: &Activation, now: Timestamp, (what, detail): (Missing, &str)) -> Next {
    let newest = activation.triggers.last();
    let asked_at = newest.map_or(activation.created_at, |trigger| trigger.recorded_at);
    let what = what.as_str();
    let (state, reason, not_before) = match next_look(asked_at, now) {
        Some(next) => (
            ActivationState::Pending,
            format!("{what}: {detail}"),
            Some(next),
        ),
        None => (
            ActivationState::Failed,
            format!("{what}: {detail}; it was looked for during 24 hours"),
            None,
        ),
    };
    Next {
        state,
        reason: Some(reason),
        not_before,
        counts: Counting::Uncounted,
    }
}

/// The next state of an activation whose lease was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The state that the store writes, with its reason.
    pub next: Next,
    /// The crashes of the host that it may have caused, including this one.
    pub blame: Blame,
}

impl TakenBack {
    /// Reports whether crashes of the host ended the activation. Such an end never trips the daemon's gate, because it is not
    /// a failure of the daemon's own work.
    pub fn is_poison(&self) -> bool {
        self.blame.poison().is_some()
    }
}

/// Decides the next state of a leased activation whose host ended or whose lease expired.
///
/// The attempt counts if the activation may be the reason: its lease expired while the host was alive, or the host ended
/// by a fault. After a kill of the host the attempt does not count.
pub fn reclaim(activation: &Activation, departure: Departure, now: Timestamp) -> TakenBack {
    let (blame, counts) = match departure {
        Departure::LeaseOver => (activation.blame, Counting::Counted),
        Departure::HostEnded(crash) if crash.end.is_fault() => {
            (activation.blame.present_in(crash), Counting::Counted)
        }
        Departure::HostEnded(_) => (activation.blame, Counting::Uncounted),
    };
    let dead = |reason| Next {
        state: ActivationState::Dead,
        reason: Some(reason),
        not_before: None,
        counts: Counting::Counted,
    };
    // Before the number of attempts: an activation that crashes its host must not get the attempts that are left.
    let next = if let Some(n) = blame.poison() {
        dead(format!("poison: {n} host crashes while it ran"))
    } else if departure == Departure::LeaseOver && activation.attempts >= MAX_ATTEMPTS {
        dead(format!("its lease ran out; {MAX_ATTEMPTS} attempts"))
    } else {
        Next {
            state: ActivationState::Pending,
            reason: Some("slot".to_owned()),
            not_before: Some(now),
            counts,
        }
    };
    TakenBack { next, blame }
}

/// Returns the wait before attempt `n + 1`: full jitter over 10 s × 3ⁿ⁻¹, at most 30 minutes.
pub fn backoff(n: u32, jitter: u32) -> SignedDuration {
    // From `n` = 6 on the cap decides, so that a larger exponent changes nothing.
    let factor = 3_i64.saturating_pow(n.saturating_sub(1).min(20));
    let ceiling = BACKOFF_FIRST
        .as_millis()
        .saturating_mul(i128::from(factor))
        .min(BACKOFF_CAP.as_millis());
    // Full jitter: many runs that failed together, as when an API is down, would otherwise all return at once.
    let millis = ceiling * i128::from(jitter) / i128::from(u32::MAX);
    SignedDuration::from_millis(i64::try_from(millis).expect("30 minutes fit"))
}

/// The gate of a daemon, or of the host: whether activations may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Activations may start.
    Open,
    /// A person holds it: events and ticks are recorded, and nothing starts.
    Held,
    /// Too many consecutive activations failed; a person's `go` or a new revision opens it.
    Tripped,
}

impl Gate {
    /// Returns the word used in rows and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Held => "held",
            Self::Tripped => "tripped",
        }
    }
}

impl std::str::FromStr for Gate {
    type Err = daemon_event::InvalidId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Open, Self::Held, Self::Tripped]
            .into_iter()
            .find(|gate| gate.as_str() == text)
            .ok_or_else(|| daemon_event::InvalidId::new(text, "a gate (open, held or tripped)"))
    }
}

#[cfg(test)]
mod tests;
