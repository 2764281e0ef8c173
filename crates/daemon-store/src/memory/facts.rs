//! Wanted facts in the model.

use daemon_engine::{Admission, FactState, WantedFact};
use daemon_event::Need;
use jiff::Timestamp;

use super::model::{StoreModel, StoredEvent};
use crate::error::StoreError;
use crate::rows::{EventRow, TriedFact};

impl StoredEvent {
    /// Wants facts from now on, unless they were wanted before.
    pub(super) fn want(&mut self, needs: Vec<Need>, now: Timestamp) {
        for need in needs {
            if self.wanted.iter().all(|known| known.need != need) {
                self.wanted.push(WantedFact::new(need, now));
            }
        }
        self.wanted.sort_by_key(|fact| fact.need.as_str());
    }

    /// The earliest try of a fact that waits.
    fn next_try(&self) -> Option<Timestamp> {
        let waiting = self.wanted.iter();
        waiting
            .filter(|fact| fact.state == FactState::Waiting)
            .map(|fact| fact.not_before)
            .min()
    }
}

impl StoreModel {
    /// Returns what waits for a due fact; see [`WantedFacts::due_facts`](crate::WantedFacts::due_facts).
    pub fn due_facts(&self, now: Timestamp, limit: u32) -> Vec<EventRow> {
        let mut due: Vec<(Timestamp, usize)> = self
            .events
            .iter()
            .enumerate()
            .filter_map(|(place, stored)| Some((stored.next_try()?, place)))
            .filter(|(at, _)| *at <= now)
            .collect();
        due.sort_unstable();
        due.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        due.into_iter()
            .map(|(_, place)| self.event_row(place))
            .collect()
    }

    /// Returns the earliest try; see [`WantedFacts::next_fact_at`](crate::WantedFacts::next_fact_at).
    pub fn next_fact_at(&self) -> Option<Timestamp> {
        self.events.iter().filter_map(StoredEvent::next_try).min()
    }

    /// Stores a try; see [`WantedFacts::settle_fact`](crate::WantedFacts::settle_fact).
    ///
    /// # Errors
    /// `NotFound` for a fact that is not wanted; nothing is written then.
    pub fn settle_fact(
        &mut self,
        tried: TriedFact,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError> {
        let missing = || StoreError::not_found("wanted fact", &tried.event);
        let place = *self.event_places.get(&tried.event).ok_or_else(missing)?;
        let stored = &mut self.events[place];
        let mut wanted = stored.wanted.iter_mut();
        let fact = wanted.find(|fact| fact.need == tried.fact.need);
        let fact = fact.ok_or_else(missing)?;
        if fact.state != FactState::Waiting {
            return Ok(Vec::new());
        }
        *fact = tried.fact;
        let Some(found) = tried.found else {
            return Ok(Vec::new());
        };
        stored.event.facts = found.facts;
        for report in &stored.later_reports {
            stored.event.facts.complete(&report.facts);
        }
        stored.want(found.wanted, now);
        let triggers = found.triggers.into_iter();
        Ok(triggers.map(|trigger| self.enqueue(trigger)).collect())
    }
}
