//! The outbox in the model.

use std::collections::BTreeMap;

use daemon_engine::{DeliveryEnd, Output, OutputKey, OutputState, Settlement};
use daemon_event::{ActivationId, RepoName};
use jiff::Timestamp;

use super::model::StoreModel;
use crate::error::StoreError;
use crate::listing::MAX_PAGE;
use crate::rows::OutputPlace;

impl StoreModel {
    /// Returns outputs to send or look up; see [`Outbox::due_outputs`](crate::Outbox::due_outputs).
    pub fn due_outputs(&self, now: Timestamp, limit: u32) -> Vec<Output> {
        let mut taken: BTreeMap<(&str, &RepoName), u32> = BTreeMap::new();
        let due = self.waiting().filter(|output| output.not_before <= now);
        due.filter(|output| {
            let of_lane = taken.entry((&output.surface, &output.daemon.repo));
            let n_taken = of_lane.or_default();
            *n_taken += 1;
            *n_taken <= limit
        })
        .cloned()
        .collect()
    }

    /// Returns when the next output is due; see [`Outbox::next_output_at`](crate::Outbox::next_output_at).
    pub fn next_output_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.waiting()
            .map(|output| output.not_before)
            .filter(|at| *at > now)
            .min()
    }

    /// Makes every unsettled output due; see [`Outbox::hasten_outputs`](crate::Outbox::hasten_outputs).
    pub fn hasten_outputs(&mut self, now: Timestamp) {
        for output in &mut self.outputs {
            output.hasten(now);
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Output> {
        self.outputs
            .iter()
            .filter(|output| matches!(output.state, OutputState::Planned | OutputState::Ambiguous))
    }

    /// Marks an output as being sent; see [`Outbox::begin_send`](crate::Outbox::begin_send).
    ///
    /// # Errors
    /// `NotFound`; `Conflict` unless it is planned.
    pub fn begin_send(&mut self, key: &OutputKey) -> Result<(), StoreError> {
        let place = self.output_place(key)?;
        let output = &mut self.outputs[place];
        if output.state != OutputState::Planned {
            return Err(StoreError::conflict("output", key, output.state.as_str()));
        }
        output.begin_send();
        Ok(())
    }

    /// Stores the result of a step; see [`Outbox::settle`](crate::Outbox::settle).
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for one that is settled.
    pub fn settle(
        &mut self,
        key: &OutputKey,
        settlement: Settlement,
    ) -> Result<Output, StoreError> {
        let place = self.output_place(key)?;
        let state = self.outputs[place].state;
        if state.is_settled() {
            return Err(StoreError::conflict("output", key, state.as_str()));
        }
        let id = self.outputs[place].activation.clone();
        let at = settlement.at;
        let owner = self.activation_places[&id];
        self.outputs[place].settle(settlement, self.activations[owner].state);
        let states: Vec<OutputState> = self.of(&id).map(|output| output.state).collect();
        if self.activations[owner].close_delivery(states, at) == DeliveryEnd::Closed {
            self.ended(owner);
        }
        Ok(self.outputs[place].clone())
    }

    fn of<'a>(&'a self, id: &'a ActivationId) -> impl Iterator<Item = &'a Output> {
        self.outputs
            .iter()
            .filter(move |output| output.activation == *id)
    }

    fn output_place(&self, key: &OutputKey) -> Result<usize, StoreError> {
        self.outputs
            .iter()
            .position(|output| output.key == *key)
            .ok_or_else(|| StoreError::not_found("output", key))
    }

    /// Returns an output; see [`Outbox::output`](crate::Outbox::output).
    pub fn output(&self, key: &OutputKey) -> Option<Output> {
        self.outputs
            .iter()
            .find(|output| output.key == *key)
            .cloned()
    }

    /// Returns an activation's outputs; see [`Outbox::outputs_of`](crate::Outbox::outputs_of).
    pub fn outputs_of(&self, activation: &ActivationId) -> Vec<Output> {
        let mut outputs: Vec<Output> = self.of(activation).cloned().collect();
        outputs.sort_by_key(|output| output.ordinal);
        outputs
    }

    /// Returns the outputs at a place; see [`Outbox::outputs_at`](crate::Outbox::outputs_at).
    pub fn outputs_at(&self, surface: &str, place: &OutputPlace) -> Vec<Output> {
        let is_there = |row: &&Output| match place {
            OutputPlace::RemoteId(id) => row.remote_id.as_ref() == Some(id),
            OutputPlace::Target(target) => row.target == *target,
            OutputPlace::Revision(revision) => row.revision.as_ref() == Some(revision),
        };
        self.outputs
            .iter()
            .rev()
            .filter(|row| row.surface == surface && row.may_be_there())
            .filter(is_there)
            .take(usize::try_from(MAX_PAGE).expect("a page is small"))
            .cloned()
            .collect()
    }
}
