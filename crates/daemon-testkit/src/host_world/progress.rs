//! The oracle of progress: while nothing fails, leases are kept, ready activations claimed and events matched.

use std::collections::BTreeMap;

use daemon_engine::{Activation, ActivationState, ClaimState, obstacle};
use daemon_event::EventId;

use super::{HostWorld, SECOND};

/// How long after the last fault a lease may still be lost: it was granted or ended in a call whose answer was lost, lasts a
/// minute, and is found by the next sweep.
const LEASE_AFTER_TROUBLE: u64 = 90 * SECOND;
/// How long after the last fault a claim may still wait: a dispatcher rests for a second, and a disk is read every other.
const CLAIM_AFTER_TROUBLE: u64 = 5 * SECOND;
/// How long nothing may be claimed although something is ready and slots are free: the longest rest of a dispatcher, 15 seconds,
/// and the time that the operations take.
const LONGEST_REST: u64 = 20 * SECOND;
/// How many rounds of matching may pass before an event is read, plus one for each event that waits: failures begin a pass again.
const ROUNDS: u64 = 60;

/// What the oracle keeps of the pace of a host.
#[derive(Debug, Default)]
pub(super) struct ProgressOracle {
    /// When the last fault ended that may delay something.
    troubled_until: u64,
    /// Since when something is ready, with no claim tried.
    ready_since: Option<u64>,
    n_rounds: u64,
    /// The round in which an event that can be matched was first seen.
    matchable: BTreeMap<EventId, u64>,
}

impl ProgressOracle {
    /// Notes a fault that lasts until an instant.
    pub(super) fn trouble(&mut self, until: u64) {
        self.troubled_until = self.troubled_until.max(until);
        self.ready_since = None;
    }

    pub(super) fn claims_were_tried(&mut self) {
        self.ready_since = None;
    }

    fn is_quiet(&self, now: u64, long: u64) -> bool {
        now >= self.troubled_until + long
    }
}

impl HostWorld {
    /// Checks that a lease which is taken back was lost for a reason.
    pub(super) fn check_lost_lease(&mut self, activation: &Activation) {
        // A lease of an earlier host is taken back because that host has ended.
        let is_own = activation.owner == Some(self.epoch);
        if is_own && self.progress.is_quiet(self.real, LEASE_AFTER_TROUBLE) {
            let (id, lease) = (&activation.id, activation.run_lease);
            let text = format!("P9: {id} lost {lease:?} although nothing had failed");
            self.oracle.violations.push(text);
        }
    }

    /// Finds activations that are ready, with slots free, and that no claim is tried for.
    pub(super) fn watch_claims(&mut self) {
        let takes_claims = self.host.as_ref().is_some_and(|host| !host.is_stopping);
        let is_quiet = self.progress.is_quiet(self.real, CLAIM_AFTER_TROUBLE);
        if !takes_claims || !is_quiet || self.is_disk_full || !self.is_something_ready() {
            self.progress.ready_since = None;
            return;
        }
        let since = *self.progress.ready_since.get_or_insert(self.real);
        if self.real - since >= LONGEST_REST {
            let text =
                "G4: something is ready, slots are free, and no claim is tried for 20 seconds";
            self.oracle.violations.push(text.to_owned());
            self.progress.ready_since = None;
        }
    }

    fn is_something_ready(&self) -> bool {
        let request = self.settings().claim_request(self.now());
        let activations = self.store.all_activations();
        let unfinished: Vec<&Activation> =
            activations.filter(|one| !one.state.is_final()).collect();
        let daemons = self.store.daemons();
        let is_ready = |activation: &&Activation| {
            let around = ClaimState {
                host_gate: self.store.host_gate(),
                daemon_gate: daemons
                    .iter()
                    .find(|row| row.key == activation.daemon)
                    .map(|row| row.gate),
                unfinished: unfinished.iter().copied(),
                all: std::iter::empty(),
            };
            obstacle(activation, &around, &request).is_none()
        };
        let mut pending = unfinished.iter().copied();
        pending.any(|one| one.state == ActivationState::Pending && is_ready(&one))
    }

    /// Counts a round of matching, and checks that no event is passed over again and again.
    pub(super) fn check_matching(&mut self) {
        self.progress.n_rounds += 1;
        let round = self.progress.n_rounds;
        let due = self.store.unmatched(0, u32::MAX);
        let known = std::mem::take(&mut self.progress.matchable);
        let longest = ROUNDS + u64::try_from(due.len()).expect("a count fits");
        for row in due {
            let id = row.event.id;
            if self.waits_for_repository(&id) {
                continue;
            }
            let since = known.get(&id).copied().unwrap_or(round);
            if round - since == longest {
                let text = format!("P1: {id} is not matched after {longest} rounds");
                self.oracle.violations.push(text);
            }
            self.progress.matchable.insert(id, since);
        }
    }

    /// Checks that a host reports no more waiting events than are stored.
    pub(super) fn check_backlog(&mut self, n: u64) {
        let n_stored = self.store.unmatched(0, u32::MAX).len();
        if n > u64::try_from(n_stored).expect("a count fits") {
            let text = format!("a backlog of {n} is reported, and {n_stored} events wait");
            self.oracle.violations.push(text);
        }
    }
}
