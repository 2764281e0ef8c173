//! The end of an attempt: what the activation becomes, and when it is tried again.

use jiff::{SignedDuration, Timestamp};

use crate::activation::{Activation, ActivationState};
use crate::crash::{Blame, Departure};
use crate::facts::next_look;
use crate::output::{NewOutput, StateChange};

/// How many attempts a retryable failure is given.
pub const MAX_ATTEMPTS: u32 = 5;
/// How many activations in a row must fail before the daemon's gate trips.
pub const TRIP_AFTER: u32 = 5;

const BACKOFF_FIRST: SignedDuration = SignedDuration::from_secs(10);
const BACKOFF_CAP: SignedDuration = SignedDuration::from_mins(30);

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The provider finished the work.
    Done,
    /// Trying again may help: a timeout, a crash, no terminal event.
    Retryable {
        /// What happened, for people.
        reason: String,
    },
    /// Trying again cannot help: configuration, authentication, policy.
    Final {
        /// What happened, for people.
        reason: String,
    },
    /// Somebody stopped it.
    Cancelled {
        /// Who or what, for people.
        reason: String,
    },
    /// The host is stopping: the attempt does not count.
    HostStopping,
    /// What it would work on is not there: nothing ran, the attempt does not count, and it is looked for as facts are.
    Missing {
        /// What.
        what: Missing,
        /// Which, for people.
        detail: String,
    },
}

/// What an activation may have to wait for before anything can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The commit that its event names.
    Commit,
    /// The daemon's files, since its repository could not be read yet.
    Repository,
}

impl Missing {
    /// Returns the word that begins the reason of what waits for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Repository => "repository",
        }
    }

    /// Reads the reason of something that is pending.
    pub fn of_reason(reason: &str) -> Option<Self> {
        let (word, _) = reason.split_once(':')?;
        [Self::Commit, Self::Repository]
            .into_iter()
            .find(|missing| missing.as_str() == word)
    }
}

/// All that the end of an attempt commits, in one transaction under its lease.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptEnd {
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// What it proposed and validators let through or refused; kept only for [`AttemptOutcome::Done`].
    pub outputs: Vec<NewOutput>,
    /// What it changed in its daemon's state; kept only for [`AttemptOutcome::Done`].
    pub state: Vec<StateChange>,
    /// Tokens it used, where the provider told.
    pub tokens: Option<u64>,
    /// Cost in US dollars, where the provider told.
    pub cost_usd: Option<f64>,
    /// The head of the result.
    pub summary: Option<String>,
    /// When it ended.
    pub at: Timestamp,
    /// A number drawn uniformly from 0 to 2³²−1, which spreads retries.
    pub jitter: u32,
}

/// What an activation becomes when an attempt ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The new state.
    pub state: ActivationState,
    /// Why.
    pub reason: Option<String>,
    /// The earliest next claim, for [`ActivationState::Pending`].
    pub not_before: Option<Timestamp>,
    /// Whether the attempt counts.
    pub counts: Counting,
}

/// Whether an attempt counts against [`MAX_ATTEMPTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// It counts.
    Counted,
    /// It is given back.
    Uncounted,
}

/// Decides what an activation becomes when its attempt ends; `unsettled` counts outputs that are to be sent.
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

/// Decides what becomes of an activation that cannot work yet. What it asks for is as old as its newest trigger.
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

/// What an activation becomes whose attempt was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// Where it stands from now on.
    pub next: Next,
    /// The crashes of the host that it can have caused, this one included.
    pub blame: Blame,
}

impl TakenBack {
    /// Reports whether crashes of the host ended the activation; its daemon is not to blame, so that this never trips it.
    pub fn is_poison(&self) -> bool {
        self.blame.poison().is_some()
    }
}

/// Decides what an activation becomes whose host ended, or whose lease ran out, while it was leased.
///
/// An attempt counts where the activation can be the reason: its lease ran out at a host that lives, or its host ended
/// with a fault. A host that was killed gives the attempt back.
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
    let factor = 3_i64.saturating_pow(n.saturating_sub(1).min(20));
    let ceiling = BACKOFF_FIRST
        .as_millis()
        .saturating_mul(i128::from(factor))
        .min(BACKOFF_CAP.as_millis());
    let millis = ceiling * i128::from(jitter) / i128::from(u32::MAX);
    SignedDuration::from_millis(i64::try_from(millis).expect("30 minutes fit"))
}

/// Whether a daemon may start activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// It may.
    Open,
    /// A person held it: events and ticks are recorded, nothing starts.
    Held,
    /// It failed too often in a row; a person's `go` or a new revision opens it.
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
