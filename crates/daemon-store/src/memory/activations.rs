//! Activations in the model: claims, attempts and their ends.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;

use daemon_engine::{
    Activation, ActivationState, AttemptEnd, ClaimState, DAY, DaemonState, Departure, Gate,
    HostEpoch, Output, OutputState, PastActivation, RunLease, apply, end_attempt, is_over_rate,
    obstacle, reclaim,
};
use daemon_event::{ActivationId, DaemonKey};
use jiff::Timestamp;

use super::model::StoreModel;
use crate::decide::HISTORY;
use crate::error::StoreError;
use crate::rows::{ClaimRequest, Ended, Rates, Reclaimed, RunEnd, RunRow};

impl StoreModel {
    /// Leases the next ready activation; see [`Activations::claim`](crate::Activations::claim).
    pub fn claim(&mut self, request: &ClaimRequest) -> Option<Activation> {
        // A scan with the engine's own rule, where a durable store uses indexes: the twin is what those are compared with.
        let place = self
            .unfinished
            .iter()
            .filter(|place| self.is_ready(**place, request))
            .min_by_key(|place| {
                let activation = &self.activations[**place];
                let turn = self.turns.get(&activation.daemon).copied().unwrap_or(0);
                (Reverse(activation.has_person()), turn, **place)
            })?;
        Some(self.lease(*place, request))
    }

    /// Leases one activation; see [`Activations::claim_one`](crate::Activations::claim_one).
    pub fn claim_one(&mut self, id: &ActivationId, request: &ClaimRequest) -> Option<Activation> {
        let place = *self.activation_places.get(id)?;
        self.is_ready(place, request)
            .then(|| self.lease(place, request))
    }

    fn is_ready(&self, place: usize, request: &ClaimRequest) -> bool {
        let activation = &self.activations[place];
        let around = ClaimState {
            host_gate: self.host_gate,
            daemon_gate: self.valid_row(&activation.daemon).map(|row| row.gate),
            unfinished: self.unfinished(),
            all: self.activations.iter(),
        };
        obstacle(activation, &around, request).is_none()
    }

    /// Returns what rates hold back; see [`Activations::over_rate`](crate::Activations::over_rate).
    pub fn over_rate(
        &self,
        ids: &[ActivationId],
        rates: Rates,
        now: Timestamp,
    ) -> BTreeSet<ActivationId> {
        let asked = self.activations.iter().filter(|one| ids.contains(&one.id));
        let over = asked.filter(|one| is_over_rate(one, self.activations.iter(), rates, now));
        over.map(|one| one.id.clone()).collect()
    }

    /// Returns what has not ended; see [`Activations::unfinished_among`](crate::Activations::unfinished_among).
    pub fn unfinished_among(&self, ids: &[ActivationId]) -> BTreeSet<ActivationId> {
        let asked = self.unfinished().filter(|one| ids.contains(&one.id));
        asked.map(|one| one.id.clone()).collect()
    }

    fn lease(&mut self, place: usize, request: &ClaimRequest) -> Activation {
        let daemon = self.activations[place].daemon.clone();
        let rev = self
            .valid_row(&daemon)
            .expect("only a valid daemon is ready")
            .rev
            .clone();
        self.next_turn(daemon);
        let activation = &mut self.activations[place];
        activation.lease(request.owner, request.lease_until, &rev);
        activation.clone()
    }

    /// Returns when the next pending activation becomes ready; see
    /// [`Activations::next_claim_at`](crate::Activations::next_claim_at).
    pub fn next_claim_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.unfinished()
            .filter(|row| row.state == ActivationState::Pending && row.not_before > now)
            .map(|row| row.not_before)
            .min()
    }

    fn held(&mut self, id: &ActivationId, lease: RunLease) -> Result<usize, StoreError> {
        #[cfg(feature = "internal-testing")]
        let lease = match self.has(crate::Canary::FenceOff) {
            true => self
                .activation_places
                .get(id)
                .map_or(lease, |place| self.activations[*place].run_lease),
            false => lease,
        };
        self.activation_places
            .get(id)
            .copied()
            .filter(|place| self.activations[*place].is_held_under(lease))
            .ok_or(StoreError::LeaseLost)
    }

    /// Marks an activation as running; see [`Activations::start_run`](crate::Activations::start_run).
    ///
    /// # Errors
    /// `LeaseLost` if the lease is not held.
    pub fn start_run(
        &mut self,
        id: &ActivationId,
        lease: RunLease,
        run: RunRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let place = self.held(id, lease)?;
        self.activations[place].begin_run(now);
        self.write_run(run);
        Ok(())
    }

    /// Stores a run; see [`Activations::put_run`](crate::Activations::put_run).
    ///
    /// # Errors
    /// `LeaseLost` if the run's activation is not held under the lease.
    pub fn put_run(&mut self, run: RunRow, lease: Option<RunLease>) -> Result<(), StoreError> {
        if let Some(id) = &run.activation {
            self.held(id, lease.ok_or(StoreError::LeaseLost)?)?;
        }
        self.write_run(run);
        Ok(())
    }

    fn write_run(&mut self, run: RunRow) {
        if let Some(place) = self.run_places.get(&run.id) {
            self.runs.insert(*place, run);
            return;
        }
        // Not the number of runs: forgotten ones leave gaps, and a place that is used again would change the order of
        // listings.
        let place = self.runs.last_key_value().map_or(0, |(last, _)| last + 1);
        self.run_places.insert(run.id.clone(), place);
        let of = run.activation.as_ref();
        if let Some(activation) = of.and_then(|id| self.activation_places.get(id)) {
            self.runs_of.insert((*activation, place));
        }
        self.runs.insert(place, run);
    }

    /// Stores how a run ended; see [`Activations::end_run`](crate::Activations::end_run).
    pub fn end_run(&mut self, id: &str, end: RunEnd) {
        let place = self.run_places.get(id);
        if let Some(run) = place.and_then(|place| self.runs.get_mut(place)) {
            run.state = end.state;
            run.finished_at = Some(end.finished_at);
            run.object = end.object;
        }
    }

    /// Forgets an ended run; see [`Activations::forget_run`](crate::Activations::forget_run).
    pub fn forget_run(&mut self, id: &str) {
        let Some(place) = self.run_places.get(id).copied() else {
            return;
        };
        if self.runs[&place].finished_at.is_some() {
            self.runs.remove(&place);
            self.run_places.remove(id);
            self.runs_of.retain(|(_, run)| *run != place);
        }
    }

    fn close_runs(&mut self, activation: &ActivationId, state: &str, now: Timestamp) {
        let Some(of) = self.activation_places.get(activation).copied() else {
            return;
        };
        for (_, place) in self.runs_of.range((of, 0)..(of + 1, 0)) {
            let run = self.runs.get_mut(place).expect("a place has its run");
            if run.state == "running" {
                state.clone_into(&mut run.state);
                run.finished_at = Some(now);
            }
        }
    }

    /// Renews leases; see [`Activations::renew`](crate::Activations::renew).
    pub fn renew(
        &mut self,
        leases: Vec<(ActivationId, RunLease)>,
        until: Timestamp,
    ) -> Vec<ActivationId> {
        let mut lost = Vec::new();
        for (id, lease) in leases {
            match self.held(&id, lease) {
                Ok(place) => self.activations[place].lease_until = Some(until),
                Err(_) => lost.push(id),
            }
        }
        lost
    }

    /// Ends an attempt; see [`Activations::end_attempt`](crate::Activations::end_attempt).
    ///
    /// # Errors
    /// `LeaseLost` if the lease is not held; `State` if the changes do not fit.
    pub fn end_attempt(
        &mut self,
        id: &ActivationId,
        lease: RunLease,
        end: AttemptEnd,
    ) -> Result<Ended, StoreError> {
        let place = self.held(id, lease)?;
        let daemon = self.activations[place].daemon.clone();
        if end.keeps_results() {
            // First, because it is the only step that can fail, and then nothing may have been written.
            apply(self.values.entry(daemon.clone()).or_default(), &end.state)?;
            for new in &end.outputs {
                let output = Output::new(new.clone(), &self.activations[place], end.at);
                self.propose(output);
            }
        }
        let unsettled = self
            .outputs
            .iter()
            .filter(|output| output.activation == *id && !output.state.is_settled())
            .count();
        let next = end_attempt(&self.activations[place], &end, unsettled);
        self.activations[place].finish(&end, next);
        if end.counts_for_gate() {
            return Ok(self.ended(place));
        }
        self.note_end(place);
        let gate = self
            .conduct(&daemon)
            .map_or(Gate::Open, |conduct| conduct.gate);
        let activation = self.activations[place].clone();
        Ok(Ended { activation, gate })
    }

    /// Makes pending activations ready; see [`Activations::hasten`](crate::Activations::hasten).
    pub fn hasten(&mut self, ids: &[ActivationId], now: Timestamp) {
        let named = self
            .activations
            .iter_mut()
            .filter(|one| ids.contains(&one.id));
        for activation in named {
            activation.hasten(now);
        }
    }

    fn propose(&mut self, output: Output) {
        match self.outputs.iter_mut().find(|row| row.key == output.key) {
            // What is, or may be, on the surface keeps its row: a replaced one would be sent a second time.
            Some(row) if row.gives_way() => *row = output,
            Some(_) => {}
            None => self.outputs.push(output),
        }
    }

    /// Counts the activation's new state for its daemon.
    pub(super) fn ended(&mut self, place: usize) -> Ended {
        self.note_end(place);
        let activation = self.activations[place].clone();
        let gate = match self.conduct(&activation.daemon) {
            None => Gate::Open,
            Some(conduct) => {
                let conduct = conduct.after(activation.state);
                self.set_conduct(&activation.daemon, conduct);
                conduct.gate
            }
        };
        Ended { activation, gate }
    }

    /// Takes leases back; see [`Activations::reclaim`](crate::Activations::reclaim).
    pub fn reclaim(&mut self, epoch: HostEpoch, now: Timestamp) -> Vec<Reclaimed> {
        let mut reclaimed = Vec::new();
        for place in self.unfinished.clone() {
            let activation = &self.activations[place];
            if !activation.is_reclaimable(epoch, now) {
                continue;
            }
            let Ok::<_, Infallible>(departure) =
                Departure::of(activation.owner, epoch, |owner| Ok(self.crash_of(owner)));
            let taken = reclaim(activation, departure, now);
            let is_poison = taken.is_poison();
            self.activations[place].take_back(taken, now);
            // Crashes of the host are no failures of the daemon, so that poison does not count for its gate.
            let activation = if is_poison {
                self.note_end(place);
                self.activations[place].clone()
            } else {
                self.ended(place).activation
            };
            self.close_runs(&activation.id, "unknown", now);
            reclaimed.push(Reclaimed {
                id: activation.id,
                lease: activation.run_lease,
                state: activation.state,
            });
        }
        reclaimed
    }

    /// Lists what can be taken back; see [`Activations::reclaimable`](crate::Activations::reclaimable).
    pub fn reclaimable(&self, epoch: HostEpoch, now: Timestamp) -> Vec<Activation> {
        self.unfinished()
            .filter(|row| row.is_reclaimable(epoch, now))
            .cloned()
            .collect()
    }

    /// Cancels what waited too long; see [`Activations::expire`](crate::Activations::expire).
    pub fn expire(&mut self, now: Timestamp) -> u64 {
        let mut n_expired = 0;
        for place in self.unfinished.clone() {
            let activation = &mut self.activations[place];
            if activation.is_expired(now) {
                activation.cancel("expired", now);
                self.note_end(place);
                n_expired += 1;
            }
        }
        n_expired
    }

    /// Cancels an activation; see [`Activations::cancel`](crate::Activations::cancel).
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a final one.
    pub fn cancel(
        &mut self,
        id: &ActivationId,
        reason: &str,
        now: Timestamp,
    ) -> Result<Ended, StoreError> {
        let place = self.place(id)?;
        let activation = &mut self.activations[place];
        if activation.state.is_final() {
            return Err(StoreError::conflict("activation", id, activation.state));
        }
        activation.cancel(reason, now);
        self.close_runs(id, "cancelled", now);
        for output in &mut self.outputs {
            if output.activation == *id {
                output.withdraw();
            }
        }
        Ok(self.ended(place))
    }

    /// Revives an activation; see [`Activations::retry`](crate::Activations::retry).
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for one that is not failed, dead or cancelled.
    pub fn retry(&mut self, id: &ActivationId, now: Timestamp) -> Result<Activation, StoreError> {
        let place = self.place(id)?;
        let activation = &mut self.activations[place];
        if !activation.is_revivable() {
            return Err(StoreError::conflict("activation", id, activation.state));
        }
        activation.revive(now);
        let revived = activation.clone();
        self.note_end(place);
        Ok(revived)
    }

    fn place(&self, id: &ActivationId) -> Result<usize, StoreError> {
        self.activation_places
            .get(id)
            .copied()
            .ok_or_else(|| StoreError::not_found("activation", id))
    }

    /// Returns one activation; see [`Activations::activation`](crate::Activations::activation).
    pub fn activation(&self, id: &ActivationId) -> Option<Activation> {
        self.place(id)
            .ok()
            .map(|place| self.activations[place].clone())
    }

    /// Returns one run; see [`Activations::run`](crate::Activations::run).
    pub fn run(&self, id: &str) -> Option<RunRow> {
        self.run_places
            .get(id)
            .map(|place| self.runs[place].clone())
    }

    /// Returns an activation's runs; see [`Activations::runs_of`](crate::Activations::runs_of).
    pub fn runs_of(&self, activation: &ActivationId) -> Vec<RunRow> {
        let Some(of) = self.activation_places.get(activation).copied() else {
            return Vec::new();
        };
        let places = self.runs_of.range((of, 0)..(of + 1, 0));
        places.map(|(_, run)| self.runs[run].clone()).collect()
    }

    /// Returns what a daemon remembers; see [`Activations::state`](crate::Activations::state).
    pub fn state(&self, daemon: &DaemonKey, now: Timestamp) -> DaemonState {
        let is_today = |at: Option<Timestamp>| at.is_some_and(|at| at > now - DAY);
        let mut ended: Vec<(Timestamp, usize)> = (0..self.activations.len())
            .filter(|place| self.activations[*place].daemon == *daemon)
            .filter_map(|place| Some((self.activations[place].finished_at?, place)))
            .collect();
        ended.sort_by_key(|newest| Reverse(*newest));
        let count = |n: usize| u64::try_from(n).expect("a count fits");
        DaemonState {
            values: self.values.get(daemon).cloned().unwrap_or_default(),
            activations_today: count(ended.iter().filter(|(at, _)| is_today(Some(*at))).count()),
            outputs_today: count(
                self.outputs
                    .iter()
                    .filter(|row| {
                        row.daemon == *daemon
                            && row.state == OutputState::Confirmed
                            && is_today(row.delivered_at)
                    })
                    .count(),
            ),
            history: ended
                .into_iter()
                .take(HISTORY)
                .map(|(finished_at, place)| past(&self.activations[place], finished_at))
                .collect(),
        }
    }
}

fn past(activation: &Activation, finished_at: Timestamp) -> PastActivation {
    PastActivation {
        id: activation.id.clone(),
        state: activation.state,
        trigger: activation
            .triggers
            .first()
            .map(|trigger| trigger.key.to_string())
            .expect("an activation has a trigger"),
        finished_at,
        summary: activation.summary.clone(),
    }
}
