//! What is known of the facts of an event, as programs read it.

use daemon_engine::{FactOrigin, FactState, WantedFact};
use daemon_event::{Event, Need};
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;

/// A fact of an event that payloads may lack: where it came from, or why it is not there.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactObject {
    /// `changed_files`, `pull_requests`, `channel_name` or `label_name`.
    pub need: &'static str,
    /// `known`, `waiting`, `gave_up`, or `missing` where nobody waits for it.
    pub state: &'static str,
    /// `payload`, `given`, `local_git` or `api`.
    pub from: Option<&'static str>,
    /// How often it was asked for.
    pub tries: u32,
    /// When it is asked for next.
    pub next_try_at: Option<String>,
    /// Why it is not there, or what a reader should know of it.
    pub note: Option<String>,
}

impl FactObject {
    /// Lists what is known of the facts of an event: what its payload says, and what was wanted beside it.
    pub fn all(event: &Event, wanted: &[WantedFact]) -> Vec<Self> {
        let told = Need::ALL.into_iter().filter_map(|need| {
            if let Some(fact) = wanted.iter().find(|fact| fact.need == need) {
                return Some(Self::wanted(fact));
            }
            let is_known = event.facts.get(need.field()).is_some();
            is_known.then(|| Self::known(need, "payload"))
        });
        told.collect()
    }

    /// Says that a fact is known from somewhere.
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

    /// Says that a fact is not there, and why.
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
