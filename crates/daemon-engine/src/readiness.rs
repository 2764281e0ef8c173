//! When an activation may be claimed: the one rule, over rows that a store read in its transaction.
//!
//! A store that finds ready activations by a query of its own repeats parts of this rule; the conformance suite of
//! `daemon-store` compares both over generated states.

use daemon_event::TriggerKey;
use jiff::{SignedDuration, Timestamp};

use crate::activation::{Activation, ActivationState, HostEpoch};
use crate::attempt::Gate;

/// How far back [`Rates`] look.
pub const RATE_PERIOD: SignedDuration = SignedDuration::from_hours(1);
/// How far back [`ClaimRequest::day_usd`] looks.
pub const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A request for an activation to work on, and the limits of the host that makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRequest {
    /// The host that gets the lease.
    pub owner: HostEpoch,
    /// The instant of the claim.
    pub now: Timestamp,
    /// When the lease ends unless it is renewed.
    pub lease_until: Timestamp,
    /// How many activations may be leased at the same time, over all daemons.
    pub host_slots: u32,
    /// How many activations of one daemon may be leased at the same time.
    pub daemon_slots: u32,
    /// How many activations may begin within an hour. Over a rate they stay pending, where later triggers join them.
    pub rates: Rates,
    /// The cost in US dollars, over activations that began within 24 hours, at which nothing more is claimed; `None` is
    /// no limit.
    pub day_usd: Option<f64>,
}

impl ClaimRequest {
    /// Returns the same request made at another instant, with a lease of the same length.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        Self {
            now,
            lease_until: self.lease_until + now.duration_since(self.now),
            ..*self
        }
    }
}

/// How many activations may begin within an hour; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Of one daemon about one subject. Ticks, and requests that are about nothing, are not limited by it.
    pub subject: Option<u32>,
    /// Activations that one daemon may begin within an hour; `None` for no limit.
    pub daemon: Option<u32>,
    /// Activations that all daemons together may begin within an hour; `None` for no limit.
    pub host: Option<u32>,
}

/// The state that decides, together with an activation itself, whether it is ready.
#[derive(Clone, Copy, Debug)]
pub struct ClaimState<Unfinished, All> {
    /// The gate of the whole host.
    pub host_gate: Gate,
    /// The gate of the activation's daemon; `None` if no valid file registers it.
    pub daemon_gate: Option<Gate>,
    /// Every activation that is not final, as an iterator that is walked several times.
    pub unfinished: Unfinished,
    /// Every activation that began within [`DAY`]; older ones change nothing. Walked only if a rate or a budget is set,
    /// because it is the longer list.
    pub all: All,
}

/// Why an activation is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is leased, delivering or final.
    NotPending,
    /// Its `not_before` is later.
    Early,
    /// The gate of the host is not open.
    HostHeld,
    /// No valid file registers its daemon, or the daemon's gate is not open.
    DaemonHeld,
    /// As many activations as the host has slots are leased.
    HostBusy,
    /// The same for the slots of its daemon.
    DaemonBusy,
    /// Another activation of its daemon and subject is leased or delivering.
    SubjectBusy,
    /// It may have crashed a host, and another such activation is leased.
    Suspect,
    /// Too many activations began within an hour; see [`Rates`].
    OverRate,
    /// The cost of a day is reached.
    OverBudget,
}

impl Activation {
    /// Reports whether it is pending and its `not_before` is reached.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.state == ActivationState::Pending && self.not_before <= now
    }

    /// Reports whether a person asked for it, alone or among others.
    pub fn has_person(&self) -> bool {
        self.triggers
            .iter()
            .any(|trigger| matches!(trigger.key, TriggerKey::Person(_)))
    }

    /// Reports whether a tick is among its triggers.
    pub fn has_tick(&self) -> bool {
        self.triggers
            .iter()
            .any(|trigger| matches!(trigger.key, TriggerKey::Tick(_)))
    }

    fn is_of_same_daemon(&self, other: &Self) -> bool {
        self.daemon == other.daemon
    }

    fn is_about_same(&self, other: &Self) -> bool {
        self.is_of_same_daemon(other) && self.subject == other.subject
    }
}

impl ActivationState {
    /// Reports whether an activation in this state is leased or delivers, so that no other one of its daemon about the
    /// same subject may start.
    pub fn blocks_subject(self) -> bool {
        self.is_leased() || self == Self::Delivering
    }
}

/// Returns why an activation cannot be claimed; `None` if it is ready.
pub fn obstacle<'a, U, A>(
    activation: &Activation,
    around: &ClaimState<U, A>,
    request: &ClaimRequest,
) -> Option<Obstacle>
where
    U: Iterator<Item = &'a Activation> + Clone,
    A: Iterator<Item = &'a Activation> + Clone,
{
    // From the cheapest to the dearest: the twin of the simulator asks this of each pending activation at each claim.
    if activation.state != ActivationState::Pending {
        return Some(Obstacle::NotPending);
    }
    if !activation.is_due(request.now) {
        return Some(Obstacle::Early);
    }
    if around.host_gate != Gate::Open {
        return Some(Obstacle::HostHeld);
    }
    if around.daemon_gate != Some(Gate::Open) {
        return Some(Obstacle::DaemonHeld);
    }
    around
        .suspect(activation)
        .or_else(|| around.busy(activation, request))
        .or_else(|| {
            let all = around.all.clone();
            is_over_rate(activation, all, request.rates, request.now).then_some(Obstacle::OverRate)
        })
        .or_else(|| over_budget(around.all.clone(), request))
}

impl<'a, U, A> ClaimState<U, A>
where
    U: Iterator<Item = &'a Activation> + Clone,
{
    fn busy(&self, activation: &Activation, request: &ClaimRequest) -> Option<Obstacle> {
        let (mut of_host, mut of_daemon, mut is_subject_busy) = (0_u32, 0_u32, false);
        for other in self.unfinished.clone() {
            // A delivering one frees its slots, because its outputs may wait a day for a server that does not respond, and
            // four of those would stop the host. It keeps its subject: the next run has to see what it delivered.
            let is_leased = other.state.is_leased();
            of_host += u32::from(is_leased);
            of_daemon += u32::from(is_leased && activation.is_of_same_daemon(other));
            is_subject_busy |= other.state.blocks_subject() && activation.is_about_same(other);
        }
        if of_host >= request.host_slots {
            Some(Obstacle::HostBusy)
        } else if of_daemon >= request.daemon_slots {
            Some(Obstacle::DaemonBusy)
        } else if is_subject_busy {
            Some(Obstacle::SubjectBusy)
        } else {
            None
        }
    }

    fn suspect(&self, activation: &Activation) -> Option<Obstacle> {
        // Only what is leased: a suspect that delivers has ended its run, and cannot crash the host any more.
        let is_leased_suspect =
            |other: &Activation| other.state.is_leased() && other.blame.is_suspect();
        let has_to_wait =
            activation.blame.is_suspect() && self.unfinished.clone().any(is_leased_suspect);
        has_to_wait.then_some(Obstacle::Suspect)
    }
}

/// Reports whether rates alone keep an activation from beginning at `now`; `all` holds at least what began within
/// [`RATE_PERIOD`].
pub fn is_over_rate<'a>(
    activation: &Activation,
    all: impl Iterator<Item = &'a Activation> + Clone,
    rates: Rates,
    now: Timestamp,
) -> bool {
    let is_over = |limit: Option<u32>, counts: &dyn Fn(&Activation) -> bool| {
        let Some(limit) = limit else {
            return false;
        };
        let began = all.clone().filter(|other| {
            // A clock that stepped back leaves starts in the future; they count once it is there again.
            let is_recent = |at| now - RATE_PERIOD < at && at <= now;
            other.started_at.is_some_and(is_recent) && counts(other)
        });
        u32::try_from(began.count()).unwrap_or(u32::MAX) >= limit
    };
    let has_subject_rate = activation.subject.is_some() && !activation.has_tick();
    is_over(rates.host, &|_| true)
        || is_over(rates.daemon, &|other| activation.is_of_same_daemon(other))
        || (has_subject_rate && is_over(rates.subject, &|other| activation.is_about_same(other)))
}

fn over_budget<'a>(
    all: impl Iterator<Item = &'a Activation>,
    request: &ClaimRequest,
) -> Option<Obstacle> {
    let limit = request.day_usd?;
    // Starts in the future count, unlike for rates: after a step of the clock a budget errs on the side of spending less.
    let since = request.now - DAY;
    let today = all.filter(|other| other.started_at.is_some_and(|at| at > since));
    let spent: f64 = today.filter_map(|other| other.cost_usd).sum();
    if spent < limit {
        None
    } else {
        Some(Obstacle::OverBudget)
    }
}

#[cfg(test)]
mod tests;
