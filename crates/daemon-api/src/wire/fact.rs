//! The wire object of a fact of an event.

use daemon_engine::{FactOrigin, FactState, WantedFact};
use daemon_event::{Event, Need};
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;

/// A fact of an event that its payload may not contain: its origin, or why it is missing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactObject {
    /// `changed_files`, `pull_requests`, `channel_name` or `label_name`.
    pub need: &'static str,
    /// `known`, `waiting`, `gave_up`, or `missing` if the host does not fetch it.
    pub state: &'static str,
    /// `payload`, `given`, `local_git` or `api`.
    pub from: Option<&'static str>,
    /// The number of attempts to fetch it.
    pub tries: u32,
    /// The instant of the next attempt, while it is `waiting`.
    pub next_try_at: Option<String>,
    /// Why it is missing, or a remark on its origin.
    pub note: Option<String>,
}

impl FactObject {
    /// Lists the facts of an event: those in its payload, and those that were wanted in addition.
    pub fn all(event: &Event, wanted: &[WantedFact]) -> Vec<Self> {
        let facts = Need::ALL.into_iter().filter_map(|need| {
            if let Some(fact) = wanted.iter().find(|fact| fact.need == need) {
                return Some(Self::wanted(fact));
            }
            let is_known = event.facts.get(need.field()).is_some();
            is_known.then(|| Self::known(need, "payload"))
        });
        facts.collect()
    }

    /// Creates the object of a known fact with its origin.
    pub fn known(need: Need, from: &'static str) -> Self {
        Self {
            need: need.as_str(),
            state: FactState::Known.as_str(),
            from: Some(from),
            tries: 0,
            next_try_at: None,
            note: None,
        }
    }

    /// Creates the object of a missing fact with the reason.
    pub fn missing(need: Need, why: String) -> Self {
        Self {
            state: "missing",
            from: None,
            note: Some(why),
            ..Self::known(need, "payload")
        }
    }

    fn wanted(fact: &WantedFact) -> Self {
        let waits = fact.state == FactState::Waiting;
        Self {
            need: fact.need.as_str(),
            state: fact.state.as_str(),
            from: fact.origin.map(FactOrigin::as_str),
            tries: fact.tries,
            next_try_at: waits.then(|| instant(fact.not_before)),
            note: fact.note.clone(),
        }
    }
}
