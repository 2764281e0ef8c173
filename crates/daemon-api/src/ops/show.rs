//! Operations that return one daemon, activation or event.

use daemon_event::{Event, Field};
use daemon_records::error::OpError;
use daemon_registry::{Registered, Registry};
use serde_json::{Map, Value, json};

use super::act::activation_id;
use super::{Operations, Params, members, value};
use crate::explain::{Decided, indexed};
use crate::wire::{FactObject, OutputObject, VerdictObject, instant};

/// The default number of instants that `daemon/next` returns.
const DEFAULT_NEXT: u64 = 5;
/// The maximum number of instants that `daemon/next` returns.
const MAX_NEXT: u64 = 1_000;

impl Operations {
    pub(super) async fn daemon_get(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        let repo = params.repo()?;
        params.finish()?;
        let registry = self.registry.get();
        let found = registry.find(&id, repo.as_ref())?;
        let mut map = Map::new();
        map.insert(
            "daemon".to_owned(),
            value(&self.daemon_object(&found.row).await?)?,
        );
        map.insert("conditions".to_owned(), conditions(found));
        map.insert("support".to_owned(), value(&found.definition.support)?);
        Ok(map)
    }

    pub(super) async fn daemon_next(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        let repo = params.repo()?;
        let now = self.live.now();
        let from = params.instant("from", now)?.unwrap_or(now);
        let n = params.number("n")?.unwrap_or(DEFAULT_NEXT).min(MAX_NEXT);
        params.finish()?;
        let registry = self.registry.get();
        let found = registry.find(&id, repo.as_ref())?;
        let (expression, zone) = found.schedule_text().ok_or_else(|| {
            OpError::not_found("schedule", &id).with_help(match found.is_valid() {
                true => format!("`{id}` has no `schedule`; it wakes on events"),
                false => format!("its file has errors: daemon-run lint {}", found.row.path),
            })
        })?;
        let mut times = Vec::new();
        let mut at = from;
        while u64::try_from(times.len()).expect("a length fits") < n {
            let Some(next) = found.next_after(at) else {
                break;
            };
            times.push(instant(next));
            at = next;
        }
        let mut map = Map::new();
        map.insert("daemon_id".to_owned(), json!(id));
        map.insert("expression".to_owned(), json!(expression));
        map.insert("zone".to_owned(), json!(zone));
        map.insert("never".to_owned(), json!(times.is_empty() && n > 0));
        map.insert("times".to_owned(), json!(times));
        Ok(map)
    }

    pub(super) async fn activation_get(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = activation_id(&mut params)?;
        params.finish()?;
        let found = self.store.activation(&id).await?;
        let activation = found.ok_or_else(|| OpError::not_found("activation", id.as_str()))?;
        members(&self.activation_object(&activation).await?)
    }

    pub(super) async fn output_get(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        params.finish()?;
        let found = match id.parse() {
            Ok(key) => self.store.output(&key).await?,
            Err(_) => None,
        };
        let output = found.ok_or_else(|| OpError::not_found("output", &id))?;
        members(&OutputObject::new(&output))
    }

    pub(super) async fn event_get(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        params.finish()?;
        let Ok(event_id) = id.parse() else {
            return Err(OpError::not_found("event", &id));
        };
        let row = self
            .store
            .event(&event_id)
            .await?
            .ok_or_else(|| OpError::not_found("event", &id))?;
        let mut object = self.event_object(&row).await?;
        complete_verdicts(&self.registry.get(), &row.event, &mut object.verdicts);
        let mut map = members(&object)?;
        map.insert("payload".to_owned(), payload(&row.event.payload));
        let known = enrichment(&row.event);
        map.insert("changed_files".to_owned(), known["changed_files"].clone());
        map.insert("enrichment".to_owned(), known);
        let facts = FactObject::all(&row.event, &row.wanted);
        map.insert("facts".to_owned(), value(&facts)?);
        Ok(map)
    }
}

/// Adds to the verdicts of an event one for every condition that did not wake its daemon.
pub(super) fn complete_verdicts(
    registry: &Registry,
    event: &Event,
    verdicts: &mut Vec<VerdictObject>,
) {
    for daemon in registry.iter() {
        let concerns = match &event.repo {
            // An event without a repository, such as a Slack message, can wake the daemons of all repositories.
            None => true,
            Some(repo) => repo.folded() == daemon.row.key.repo.folded(),
        };
        if !concerns {
            continue;
        }
        for index in 0..daemon.readings.len() {
            let condition = u32::try_from(index).expect("a list has few entries");
            let id = daemon.row.key.id.as_str();
            let is_known =
                |known: &VerdictObject| known.daemon_id == id && known.condition == condition;
            if !verdicts.iter().any(is_known) {
                verdicts.push(VerdictObject {
                    daemon_id: id.to_owned(),
                    condition,
                    wakes: false,
                    activation_id: None,
                });
            }
        }
    }
}

/// Returns the readings of a daemon's conditions as an array.
fn conditions(daemon: &Registered) -> Value {
    Value::Array(indexed(&Decided::all(&daemon.definition.watch, None)))
}

/// Returns the facts that the payload does not contain, in the form of an envelope.
fn enrichment(event: &Event) -> Value {
    let facts = &event.facts;
    let files: Option<Vec<&str>> = facts
        .get(Field::ChangedFiles)
        .map(|files| files.texts().collect());
    json!({
        "changed_files": files,
        "pull_requests": pull_requests(event),
        "channel_name": facts.text(Field::Channel),
    })
}

/// Returns the pull requests of a check, or the one of a comment. The stored facts hold for all of them.
fn pull_requests(event: &Event) -> Option<Vec<Value>> {
    let facts = &event.facts;
    let numbers: Vec<u64> = match event.kind.as_str() {
        "check_run" | "check_suite" | "status" | "workflow_run" => {
            let numbers = facts.get(Field::PullRequests)?.texts();
            numbers.filter_map(|number| number.parse().ok()).collect()
        }
        "issue_comment" => {
            facts.get(Field::Base)?;
            vec![facts.number(Field::Number)?]
        }
        _ => return None,
    };
    let state = facts.text(Field::State);
    let state = state.filter(|state| matches!(*state, "open" | "closed"));
    let one = |number: u64| {
        json!({
            "number": number,
            "draft": facts.flag(Field::Draft),
            "state": state,
            "is_current_head": facts.flag(Field::CurrentHead),
            "base": facts.text(Field::Base),
            "head": facts.text(Field::Head),
            "is_fork": facts.flag(Field::Fork),
            "is_merged": facts.flag(Field::Merged),
        })
    };
    Some(numbers.into_iter().map(one).collect())
}

/// Returns a payload as JSON, or as a string if it is not JSON.
fn payload(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
