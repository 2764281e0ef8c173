//! The oracle: its own books of what was acknowledged, leased and delivered, compared with what is stored.

use std::collections::{BTreeMap, BTreeSet};

use daemon_engine::{Activation, OutputState, RunLease};
use daemon_event::{ActivationId, EventId};
use daemon_store::{Matching, Reclaimed};

use super::{HostWorld, MINUTE};

/// How long an activation may be leased to no run while a host is up: a lease, a sweep, and outages of the store between.
const LONGEST_ORPHAN: u64 = 15 * MINUTE;

/// What the oracle keeps.
#[derive(Debug, Default)]
pub(super) struct HostOracle {
    pub(super) violations: Vec<String>,
    pub(super) acknowledged: BTreeSet<EventId>,
    /// The lease of the attempt that may write.
    granted: BTreeMap<ActivationId, RunLease>,
    /// Since when something is leased that no run works on.
    orphans: BTreeMap<ActivationId, u64>,
}

impl HostOracle {
    pub(super) fn granted(&mut self, activation: &Activation) {
        let (id, lease) = (activation.id.clone(), activation.run_lease);
        if let Some(held) = self.granted.insert(id, lease) {
            let id = &activation.id;
            let text = format!("P10: {id} was claimed under {lease:?} while {held:?} was held");
            self.violations.push(text);
        }
    }

    pub(super) fn taken_back(&mut self, taken: &Reclaimed) {
        self.granted.remove(&taken.id);
    }

    /// Notes that the store took the end of an attempt.
    pub(super) fn ended(&mut self, id: &ActivationId, lease: RunLease) {
        let held = self.granted.remove(id);
        if held != Some(lease) {
            let text = format!("P10: an attempt under {lease:?} ended {id}, held under {held:?}");
            self.violations.push(text);
        }
    }
}

impl HostWorld {
    /// Finds leases that no run holds.
    pub(super) fn watch(&mut self) {
        let Some(host) = &self.host else {
            return self.oracle.orphans.clear();
        };
        let is_up = self.real - host.started_at >= LONGEST_ORPHAN;
        let leased = self.store.all_activations();
        let orphans: Vec<ActivationId> = leased
            .filter(|activation| activation.state.is_leased())
            .filter(|activation| !self.is_worked_on(activation))
            .map(|activation| activation.id.clone())
            .collect();
        let known = std::mem::take(&mut self.oracle.orphans);
        for id in orphans {
            let since = known.get(&id).copied().unwrap_or(self.real);
            if is_up && self.real - since >= LONGEST_ORPHAN {
                let text = format!("P9: {id} is leased to no run for 15 minutes");
                self.oracle.violations.push(text);
            }
            self.oracle.orphans.insert(id, since);
        }
    }

    fn is_worked_on(&self, activation: &Activation) -> bool {
        self.attempts.values().any(|attempt| {
            attempt.life == self.life
                && attempt.id == activation.id
                && attempt.lease == activation.run_lease
        })
    }

    /// Reports whether everything that was acknowledged has its outcome.
    pub(super) fn is_drained(&self) -> bool {
        let mut activations = self.store.all_activations();
        let is_matched = self.store.unmatched(0, 1).is_empty();
        is_matched && activations.all(|activation| activation.state.is_final())
    }

    /// Compares the books with what is stored at the end.
    pub(super) fn judge(&mut self) {
        let mut broken = Vec::new();
        let mut triggers = BTreeSet::new();
        for activation in self.store.all_activations() {
            self.tally.add(activation.state);
            let (id, state) = (&activation.id, activation.state);
            if !state.is_final() {
                let reason = activation.reason.as_deref().unwrap_or_default();
                broken.push(format!("G4: {id} is {state} at the end: {reason}"));
            }
            for trigger in &activation.triggers {
                let key = (activation.daemon.clone(), trigger.key.to_string());
                if !triggers.insert(key) {
                    broken.push(format!("G2: two activations of {}", trigger.key));
                }
            }
            broken.extend(self.judge_outputs(id));
        }
        for id in &self.oracle.acknowledged {
            let Some(row) = self.store.event(id) else {
                broken.push(format!("P1: {id} was acknowledged and is not stored"));
                continue;
            };
            if row.matching == Matching::Due {
                broken.push(format!("P1: {id} was acknowledged and is not matched"));
            }
            for (place, key) in self.keys.iter().enumerate() {
                let is_woken = row.triggers.iter().any(|woken| woken.daemon == *key);
                if is_woken != (self.wakes[id] >> place & 1 == 1) {
                    broken.push(format!("G6: {id} does not wake what it concerns: {key}"));
                }
            }
        }
        self.oracle.violations.extend(broken);
    }

    fn judge_outputs(&self, activation: &ActivationId) -> Vec<String> {
        let mut broken = Vec::new();
        for output in self.store.outputs_of(activation) {
            let (key, state) = (&output.key, output.state);
            let is_landed = self.landed.contains_key(key);
            // A surface that could not be asked for a day, by a clock that may have been set, leaves it unknown.
            let is_known = state != OutputState::Unknown;
            if !state.is_settled() {
                broken.push(format!(
                    "P12: output {key} is {} at the end",
                    state.as_str()
                ));
            } else if is_known && is_landed != (state == OutputState::Confirmed) {
                let there = if is_landed { "there" } else { "not there" };
                broken.push(format!(
                    "P12: output {key} is {} and {there}",
                    state.as_str()
                ));
            }
        }
        broken
    }
}
