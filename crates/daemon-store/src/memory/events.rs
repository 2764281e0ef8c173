//! Events in the model.

use daemon_engine::{Activation, Admission};
use daemon_event::{Event, EventId, RepoName, Subject, TriggerKey};
use jiff::Timestamp;

use super::model::{StoreModel, StoredEvent, StoredIdentity};
use crate::decide::{is_same_report, pull_request, still_counts};
use crate::error::StoreError;
use crate::rows::{
    Accepted, Bookmark, ClaimRequest, EventRow, EventTrigger, Freshness, Identity, Matched,
    Matching, NewEvent, RefCursor,
};

impl StoreModel {
    /// Stores events; see [`Events::accept`](crate::Events::accept).
    pub fn accept(&mut self, events: Vec<NewEvent>) -> Vec<Accepted> {
        events.into_iter().map(|new| self.accept_one(new)).collect()
    }

    fn accept_one(&mut self, new: NewEvent) -> Accepted {
        let received_at = new.event.received_at;
        // Before the look for a report: the repeated delivery of a report is a duplicate and no further report.
        if let Some(place) = self.first_of(&new) {
            let first = &mut self.events[place];
            first.duplicates += 1;
            return Accepted {
                id: first.event.id.clone(),
                freshness: Freshness::Duplicate,
            };
        }
        if let Some(place) = self.happening(&new) {
            return self.add_report(place, new);
        }
        self.note_head(&new.event);
        let id = new.event.id.clone();
        for identity in new.identities.into_iter().chain(new.happenings) {
            let stored = StoredIdentity {
                event: id.clone(),
                at: received_at,
            };
            self.identities.insert(identity.key, stored);
        }
        self.event_places.insert(id.clone(), self.events.len());
        self.events.push(StoredEvent {
            event: new.event,
            later_reports: Vec::new(),
            duplicates: 0,
            matching: new.matching,
            wanted: Vec::new(),
        });
        Accepted {
            id,
            freshness: Freshness::New,
        }
    }

    /// Returns the event of which this one would be a duplicate or report; see [`Events::known`](crate::Events::known).
    pub fn known(&self, new: &NewEvent) -> Option<EventId> {
        let place = self.first_of(new).or_else(|| self.happening(new))?;
        Some(self.events[place].event.id.clone())
    }

    /// Finds the event that this one repeats.
    fn first_of(&self, new: &NewEvent) -> Option<usize> {
        let at = new.event.received_at;
        self.named(&new.identities, at, |_| true)
            .or_else(|| self.named(&new.counterparts, at, |_| true))
    }

    /// Finds an event of the same change that this source has not reported as this kind.
    fn happening(&self, new: &NewEvent) -> Option<usize> {
        self.named(&new.happenings, new.event.received_at, |known| {
            let mut reports = std::iter::once(&known.event).chain(&known.later_reports);
            !reports.any(|report| is_same_report(report, &new.event))
        })
    }

    /// Finds the event that the first key names which still counts at an instant and whose event fits.
    fn named(
        &self,
        keys: &[Identity],
        at: Timestamp,
        fits: impl Fn(&StoredEvent) -> bool,
    ) -> Option<usize> {
        keys.iter().find_map(|key| {
            let stored = self.identities.get(&key.key)?;
            let place = *self.event_places.get(&stored.event)?;
            (still_counts(key, stored.at, at) && fits(&self.events[place])).then_some(place)
        })
    }

    /// Stores another report of a change with its event.
    fn add_report(&mut self, place: usize, new: NewEvent) -> Accepted {
        self.note_head(&new.event);
        let stored = &mut self.events[place];
        let id = stored.event.id.clone();
        stored.duplicates += 1;
        if new.matching == Matching::Due {
            stored.matching = Matching::Due;
        }
        stored.event.facts.complete(&new.event.facts);
        let at = new.event.received_at;
        stored.later_reports.push(Event {
            id: id.clone(),
            ..new.event
        });
        for key in new.identities.into_iter().chain(new.happenings) {
            let known = self.identities.get(&key.key);
            if known.is_none_or(|stored| !still_counts(&key, stored.at, at)) {
                let event = id.clone();
                self.identities
                    .insert(key.key, StoredIdentity { event, at });
            }
        }
        Accepted {
            id,
            freshness: Freshness::Report,
        }
    }

    /// Stores moves of refs; see [`Events::accept_moves`](crate::Events::accept_moves).
    pub fn accept_moves(
        &mut self,
        repo: &RepoName,
        cursors: Vec<RefCursor>,
        events: Vec<NewEvent>,
    ) -> Vec<Accepted> {
        let known = self.cursors.entry(repo.clone()).or_default();
        for cursor in cursors {
            known.insert(cursor.name.clone(), cursor);
        }
        self.accept(events)
    }

    /// Returns where refs were last seen; see [`Events::ref_cursors`](crate::Events::ref_cursors).
    pub fn ref_cursors(&self, repo: &RepoName) -> Vec<RefCursor> {
        self.cursors
            .get(repo)
            .map(|cursors| cursors.values().cloned().collect())
            .unwrap_or_default()
    }

    /// Stores events with bookmarks; see [`Events::accept_marked`](crate::Events::accept_marked).
    pub fn accept_marked(
        &mut self,
        bookmarks: Vec<Bookmark>,
        events: Vec<NewEvent>,
    ) -> Vec<Accepted> {
        let named = bookmarks.into_iter().map(|one| (one.name.clone(), one));
        self.bookmarks.extend(named);
        self.accept(events)
    }

    /// Returns bookmarks; see [`Events::bookmarks`](crate::Events::bookmarks).
    pub fn bookmarks(&self, prefix: &str) -> Vec<Bookmark> {
        let from = self.bookmarks.range(prefix.to_owned()..);
        let named = from.take_while(|(name, _)| name.starts_with(prefix));
        named.map(|(_, bookmark)| bookmark.clone()).collect()
    }

    /// Returns what is to be matched; see [`Events::unmatched`](crate::Events::unmatched).
    pub fn unmatched(&self, after: u64, limit: u32) -> Vec<EventRow> {
        // The event at place 0 has the number 1.
        let first = usize::try_from(after).unwrap_or(usize::MAX);
        (first..self.events.len())
            .filter(|place| self.events[*place].matching == Matching::Due)
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .map(|place| self.event_row(place))
            .collect()
    }

    /// Commits matches; see [`Events::commit_matches`](crate::Events::commit_matches).
    ///
    /// # Errors
    /// `NotFound` for an event that is not stored; nothing is written then.
    pub fn commit_matches(
        &mut self,
        matched: Vec<Matched>,
        now: Timestamp,
    ) -> Result<Vec<Admission>, StoreError> {
        // All events are found before the first is changed, so that an unknown one leaves nothing written.
        let places = matched
            .iter()
            .map(|one| {
                self.event_places
                    .get(&one.event)
                    .copied()
                    .ok_or_else(|| StoreError::not_found("event", &one.event))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut admissions = Vec::new();
        for (one, place) in matched.into_iter().zip(places) {
            let stored = &mut self.events[place];
            // A report that came after the event was read brought facts which it was not matched with.
            if stored.matching == Matching::Done || stored.later_reports.len() != one.n_later {
                continue;
            }
            stored.matching = Matching::Done;
            stored.want(one.wanted, now);
            for trigger in one.triggers {
                admissions.push(self.enqueue(trigger));
            }
        }
        Ok(admissions)
    }

    /// Commits matches and leases; see [`Events::match_and_claim`](crate::Events::match_and_claim).
    ///
    /// # Errors
    /// `NotFound` for an event that is not stored; nothing is written then.
    pub fn match_and_claim(
        &mut self,
        claim: &ClaimRequest,
        matched: Vec<Matched>,
    ) -> Result<(Vec<Admission>, Option<Activation>), StoreError> {
        let admissions = self.commit_matches(matched, claim.now)?;
        let claimed = (!admissions.is_empty())
            .then(|| self.claim(claim))
            .flatten();
        Ok((admissions, claimed))
    }

    /// Returns one event; see [`Events::event`](crate::Events::event).
    pub fn event(&self, id: &EventId) -> Option<EventRow> {
        self.event_places
            .get(id)
            .map(|place| self.event_row(*place))
    }

    /// Returns the branch of a pull request; see [`Events::head_of`](crate::Events::head_of).
    pub fn head_of(&self, pull_request: &Subject) -> Option<String> {
        self.heads.get(pull_request).cloned().flatten()
    }

    fn note_head(&mut self, event: &Event) {
        if let Some((subject, head)) = pull_request(event) {
            self.heads.insert(subject.clone(), head.map(str::to_owned));
        }
    }

    pub(super) fn event_row(&self, place: usize) -> EventRow {
        let stored = &self.events[place];
        let key = TriggerKey::Event(stored.event.id.clone());
        EventRow {
            seq: u64::try_from(place).expect("a count fits") + 1,
            event: stored.event.clone(),
            later_reports: stored.later_reports.clone(),
            duplicates: stored.duplicates,
            matching: stored.matching,
            triggers: self
                .triggers
                .iter()
                .filter(|row| row.key == key)
                .map(|row| EventTrigger {
                    daemon: row.daemon.clone(),
                    conditions: row.conditions.clone(),
                    activation: row.activation.clone(),
                })
                .collect(),
            wanted: stored.wanted.clone(),
        }
    }

    /// Returns the newest event that was stored, or received until an instant; 0 without one.
    pub(super) fn newest_seq(&self, until: Option<Timestamp>) -> u64 {
        let is_early = |received: Timestamp| until.is_none_or(|until| received <= until);
        let mut events = self.events.iter();
        let newest = events.rposition(|one| is_early(one.event.received_at));
        newest.map_or(0, |place| u64::try_from(place + 1).expect("a count fits"))
    }
}
