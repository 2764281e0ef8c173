//! Listings of the model.

use daemon_engine::{Activation, Output};
use daemon_event::{DaemonKey, EventId, TriggerKey};
use jiff::Timestamp;

use super::model::StoreModel;
use crate::error::StoreError;
use crate::listing::{Bounds, Listing, Position};
use crate::rows::{EventRow, Page, Query, RunRow, StoredTick};

impl StoreModel {
    /// Lists events; see [`Events::events`](crate::Events::events).
    ///
    /// # Errors
    /// `Query` for what the listing does not know.
    pub fn events(&self, query: &Query) -> Result<Page<EventRow>, StoreError> {
        let bounds = query.bounds(Listing::Events)?;
        let rows = (0..self.events.len())
            .map(|place| (Position::of_event(number(place)), place))
            .filter(|(_, place)| self.is_listed(*place, &bounds));
        let page = newest(rows, &bounds);
        let rows = page
            .into_iter()
            .map(|(position, place)| (position, self.listed_event(place)))
            .collect();
        Ok(bounds.page(Listing::Events, rows))
    }

    /// Returns some events; see [`Events::events_among`](crate::Events::events_among).
    pub fn events_among(&self, ids: &[EventId]) -> Vec<EventRow> {
        let places =
            (0..self.events.len()).filter(|place| ids.contains(&self.events[*place].event.id));
        places.map(|place| self.listed_event(place)).collect()
    }

    fn listed_event(&self, place: usize) -> EventRow {
        let mut row = self.event_row(place);
        row.event.payload = [].into();
        row.event.facts = crate::stored::facts::listed(&row.event.facts);
        row.later_reports.clear();
        row
    }

    fn is_listed(&self, place: usize, bounds: &Bounds) -> bool {
        let event = &self.events[place].event;
        let key = TriggerKey::Event(event.id.clone());
        let reached = |daemon: &String| {
            self.triggers
                .iter()
                .any(|row| row.key == key && row.daemon.id.as_str() == daemon)
        };
        let named = |repo: &daemon_event::RepoName| {
            event
                .repo
                .as_ref()
                .is_some_and(|named| named.folded() == repo.folded())
        };
        bounds.daemon.as_ref().is_none_or(reached)
            && bounds.repo.as_ref().is_none_or(named)
            && bounds.covers(event.received_at)
    }

    /// Lists ticks; see [`Ticks::ticks`](crate::Ticks::ticks).
    ///
    /// # Errors
    /// `Query` for what the listing does not know.
    pub fn ticks(&self, query: &Query) -> Result<Page<StoredTick>, StoreError> {
        let bounds = query.bounds(Listing::Ticks)?;
        let rows = self.ticks.iter().filter_map(|(number, tick)| {
            let fits = bounds.is_of(Some(&tick.daemon))
                && bounds.has_state(tick.outcome.as_str())
                && bounds.covers(tick.scheduled_at);
            fits.then(|| (Position::new(tick.scheduled_at, *number), tick.clone()))
        });
        Ok(bounds.page(Listing::Ticks, newest(rows, &bounds)))
    }

    /// Lists activations; see [`Activations::activations`](crate::Activations::activations).
    ///
    /// # Errors
    /// `Query` for what the listing does not know.
    pub fn activations(&self, query: &Query) -> Result<Page<Activation>, StoreError> {
        let bounds = query.bounds(Listing::Activations)?;
        let rows = self
            .activations
            .iter()
            .enumerate()
            .filter_map(|(place, row)| {
                let fits = bounds.is_of(Some(&row.daemon))
                    && bounds.has_state(row.state.as_str())
                    && bounds.covers(row.created_at);
                fits.then(|| (Position::new(row.created_at, number(place)), row.clone()))
            });
        Ok(bounds.page(Listing::Activations, newest(rows, &bounds)))
    }

    /// Lists runs; see [`Activations::runs`](crate::Activations::runs).
    ///
    /// # Errors
    /// `Query` for what the listing does not know.
    pub fn runs(&self, query: &Query) -> Result<Page<RunRow>, StoreError> {
        let bounds = query.bounds(Listing::Runs)?;
        let rows = self.runs.iter().filter_map(|(&place, row)| {
            let fits = bounds.is_of(row.daemon.as_ref())
                && bounds.has_state(&row.state)
                && bounds.covers(row.started_at);
            fits.then(|| (Position::new(row.started_at, number(place)), row.clone()))
        });
        Ok(bounds.page(Listing::Runs, newest(rows, &bounds)))
    }

    /// Lists outputs; see [`Outbox::outputs`](crate::Outbox::outputs).
    ///
    /// # Errors
    /// `Query` for what the listing does not know.
    pub fn outputs(&self, query: &Query) -> Result<Page<Output>, StoreError> {
        let bounds = query.bounds(Listing::Outputs)?;
        let rows = self.outputs.iter().enumerate().filter_map(|(place, row)| {
            let fits = bounds.is_of(Some(&row.daemon))
                && bounds.has_state(row.state.as_str())
                && bounds.covers(row.created_at);
            fits.then(|| (Position::new(row.created_at, number(place)), row.clone()))
        });
        Ok(bounds.page(Listing::Outputs, newest(rows, &bounds)))
    }
}

impl Bounds {
    fn is_of(&self, daemon: Option<&DaemonKey>) -> bool {
        self.daemon
            .as_ref()
            .is_none_or(|id| daemon.is_some_and(|key| key.id.as_str() == id))
            && self
                .repo
                .as_ref()
                .is_none_or(|repo| daemon.is_some_and(|key| key.repo == *repo))
    }

    fn has_state(&self, state: &str) -> bool {
        self.state.as_ref().is_none_or(|wanted| wanted == state)
    }

    fn covers(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }
}

fn newest<T>(rows: impl Iterator<Item = (Position, T)>, bounds: &Bounds) -> Vec<(Position, T)> {
    let mut rows: Vec<(Position, T)> = rows
        .filter(|(position, _)| bounds.before.is_none_or(|before| *position < before))
        .collect();
    rows.sort_by_key(|(position, _)| std::cmp::Reverse(*position));
    rows.truncate(bounds.limit + 1);
    rows
}

fn number(place: usize) -> u64 {
    u64::try_from(place).expect("a place fits") + 1
}
