//! Transitions: the changes of an activation by a claim, an end, a crash and so on.
//!
//! Stores read an activation, let one of these functions change it, and write it back in the same transaction; so no two
//! stores can differ in what a claim, an end or a crash means.

use jiff::{SignedDuration, Timestamp};

use crate::activation::{Activation, ActivationState, HostEpoch, RunLease, Trigger};
use crate::admit::{NewTrigger, PENDING_EXPIRY};
use crate::attempt::{AttemptEnd, AttemptOutcome, Counting, Missing, Next, TakenBack};
use crate::chain::{Chain, ChainEnd, Link};
use crate::crash::Blame;
use crate::output::OutputState;

/// The duration of a lease that is not renewed.
pub const LEASE: SignedDuration = SignedDuration::from_secs(60);

/// Whether a backward step of the clock changed an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteppedBack {
    /// One of its instants was later than the clock allows.
    Changed,
    /// Nothing changed.
    Unchanged,
}

impl Activation {
    /// Makes the pending activation of an admitted trigger.
    pub fn pending(new: NewTrigger) -> Self {
        let recorded_at = new.trigger.recorded_at;
        let waits_for = if new.not_before > recorded_at {
            "settle"
        } else {
            "slot"
        };
        let chain = match new.link {
            Some(link) => link.chain,
            None => Chain::begin(new.activation_id.clone()),
        };
        Self {
            id: new.activation_id,
            chain,
            daemon: new.daemon,
            rev: new.rev,
            subject: new.subject,
            triggers: vec![new.trigger],
            state: ActivationState::Pending,
            reason: Some(waits_for.to_owned()),
            attempts: 0,
            blame: Blame::default(),
            run_lease: RunLease(0),
            owner: None,
            lease_until: None,
            not_before: new.not_before,
            created_at: recorded_at,
            started_at: None,
            finished_at: None,
            tokens: None,
            cost_usd: None,
            summary: None,
        }
    }

    /// Makes the cancelled activation of a trigger whose chain ends.
    pub fn ended(new: NewTrigger, end: ChainEnd) -> Self {
        let recorded_at = new.trigger.recorded_at;
        let mut activation = Self::pending(new);
        activation.cancel(&end.reason(), recorded_at);
        activation
    }

    /// Adds a trigger to the pending activation; `link` is the chain that the trigger continues.
    ///
    /// The shortest of several chains counts, and a trigger without a chain makes the activation a root: the depth is the
    /// distance to a root, so that every path through outputs ends.
    pub fn join(&mut self, trigger: Trigger, link: Option<Link>) {
        let missing = self.reason.as_deref().and_then(Missing::of_reason);
        if missing.is_some() {
            // The newer trigger may name the missing thing, so the wait for it is over.
            self.hasten(trigger.recorded_at);
        }
        self.triggers.push(trigger);
        match link {
            Some(link) if link.chain.depth < self.chain.depth => self.chain = link.chain,
            Some(_) => {}
            None => self.chain = Chain::begin(self.id.clone()),
        }
    }

    /// Leases it to a new attempt; writes of earlier attempts are fenced off.
    pub fn lease(&mut self, owner: HostEpoch, until: Timestamp, rev: &str) {
        self.state = ActivationState::Claimed;
        self.reason = None;
        // Counted at the claim and not at the end, so that an attempt which crashes the host counts too.
        self.attempts += 1;
        self.run_lease = RunLease(self.run_lease.0 + 1);
        self.owner = Some(owner);
        self.lease_until = Some(until);
        rev.clone_into(&mut self.rev);
    }

    /// Reports whether an attempt with this lease may still write.
    pub fn is_held_under(&self, lease: RunLease) -> bool {
        self.state.is_leased() && self.run_lease == lease
    }

    /// Marks it as running; `started_at` keeps the first start of a provider.
    pub fn begin_run(&mut self, now: Timestamp) {
        self.state = ActivationState::Running;
        self.started_at.get_or_insert(now);
    }

    /// Reports whether its lease belongs to an earlier epoch or has expired.
    pub fn is_reclaimable(&self, epoch: HostEpoch, now: Timestamp) -> bool {
        self.state.is_leased()
            && (self.owner.is_none_or(|owner| owner < epoch)
                || self.lease_until.is_none_or(|until| until <= now))
    }

    /// Adds the usage of an attempt and enters the state that [`end_attempt`](crate::end_attempt) decided.
    pub fn finish(&mut self, end: &AttemptEnd, next: Next) {
        self.tokens = sum(self.tokens, end.tokens, u64::saturating_add);
        self.cost_usd = sum(self.cost_usd, end.cost_usd, |a, b| a + b);
        // A later attempt without a result keeps the text of an earlier one, which contexts show as history.
        if end.summary.is_some() {
            self.summary.clone_from(&end.summary);
        }
        self.enter(next, end.at);
    }

    /// Enters the state that [`reclaim`](crate::reclaim) decided, with the crashes that count against the activation.
    pub fn take_back(&mut self, taken: TakenBack, now: Timestamp) {
        self.blame = taken.blame;
        self.enter(taken.next, now);
    }

    /// Cancels it. The lease ends, so that an attempt which still runs can write nothing more.
    pub fn cancel(&mut self, reason: &str, now: Timestamp) {
        self.close(ActivationState::Cancelled, Some(reason.to_owned()), now);
    }

    /// Makes it pending again; its attempts and crashes count from 0.
    pub fn revive(&mut self, now: Timestamp) {
        self.state = ActivationState::Pending;
        self.reason = Some("slot".to_owned());
        self.attempts = 0;
        self.blame = Blame::default();
        self.not_before = now;
        self.finished_at = None;
        // The revival is a person's request, which begins a chain of its own.
        self.chain = Chain::begin(self.id.clone());
    }

    /// Reports whether a person may revive it.
    pub fn is_revivable(&self) -> bool {
        matches!(
            self.state,
            ActivationState::Failed | ActivationState::Dead | ActivationState::Cancelled
        )
    }

    /// Adjusts its instants to a clock that stepped back to `now`, and reports whether that changed anything.
    ///
    /// A pending activation is due at once instead of when the clock has caught up, and a lease lasts no longer than a new one.
    pub fn step_back(&mut self, now: Timestamp) -> SteppedBack {
        if self.state == ActivationState::Pending && self.not_before > now {
            self.not_before = now;
            return SteppedBack::Changed;
        }
        // A lease from before the step would keep its activation from being reclaimed for as long as the step.
        let longest = now + LEASE;
        match &mut self.lease_until {
            Some(until) if *until > longest => {
                *until = longest;
                SteppedBack::Changed
            }
            _ => SteppedBack::Unchanged,
        }
    }

    /// Makes a pending activation due at once, and reports whether that changed anything.
    pub fn hasten(&mut self, now: Timestamp) -> bool {
        let is_early = self.state == ActivationState::Pending && self.not_before > now;
        if is_early {
            self.not_before = now;
        }
        is_early
    }

    /// Reports whether it has been due for so long that it expires.
    ///
    /// The time counts from `not_before`, so that a backoff and a person's retry restart it.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.state == ActivationState::Pending
            && now.duration_since(self.not_before) >= PENDING_EXPIRY
    }

    /// Ends a delivering activation if all of its outputs are settled, and reports whether it did.
    pub fn close_delivery(
        &mut self,
        outputs: impl IntoIterator<Item = OutputState>,
        now: Timestamp,
    ) -> DeliveryEnd {
        if self.state != ActivationState::Delivering {
            return DeliveryEnd::Open;
        }
        let mut end = ActivationState::Succeeded;
        for output in outputs {
            if !output.is_settled() {
                return DeliveryEnd::Open;
            }
            // No return here: an output that is not settled keeps the activation open.
            if output == OutputState::GaveUp {
                end = ActivationState::Failed;
            }
        }
        let reason =
            (end == ActivationState::Failed).then(|| "an output could not be delivered".to_owned());
        self.close(end, reason, now);
        DeliveryEnd::Closed
    }

    fn enter(&mut self, next: Next, now: Timestamp) {
        if next.counts == Counting::Uncounted {
            // The claim has counted it.
            self.attempts = self.attempts.saturating_sub(1);
        }
        if let Some(not_before) = next.not_before {
            self.not_before = not_before;
        }
        if next.state.is_final() {
            self.close(next.state, next.reason, now);
        } else {
            self.state = next.state;
            self.reason = next.reason;
            self.release();
        }
    }

    fn close(&mut self, state: ActivationState, reason: Option<String>, now: Timestamp) {
        self.state = state;
        self.reason = reason;
        self.finished_at = Some(now);
        self.release();
    }

    fn release(&mut self) {
        self.owner = None;
        self.lease_until = None;
    }
}

/// Whether an activation ended with its last output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryEnd {
    /// An output is not settled, or the activation was not delivering.
    Open,
    /// The activation ended.
    Closed,
}

impl AttemptEnd {
    /// Makes the end of an attempt without outputs, changes and usage; for `jitter` see [`AttemptEnd::jitter`].
    pub fn new(outcome: AttemptOutcome, at: Timestamp, jitter: u32) -> Self {
        Self {
            outcome,
            outputs: Vec::new(),
            state: Vec::new(),
            tokens: None,
            cost_usd: None,
            summary: None,
            at,
            jitter,
        }
    }

    /// Reports whether the end counts for the daemon's gate. After [`AttemptOutcome::Missing`] nothing of the daemon ran.
    pub fn counts_for_gate(&self) -> bool {
        !matches!(self.outcome, AttemptOutcome::Missing { .. })
    }

    /// Reports whether its outputs and state changes are kept.
    pub fn keeps_results(&self) -> bool {
        self.outcome == AttemptOutcome::Done
    }
}

fn sum<T: Copy>(before: Option<T>, more: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    match (before, more) {
        (Some(before), Some(more)) => Some(add(before, more)),
        (known, None) | (None, known) => known,
    }
}

#[cfg(test)]
mod tests;
