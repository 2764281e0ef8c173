//! The operation that explains whether an event wakes registered daemons.

use daemon_engine::Gate;
use daemon_event::{Event, EventId};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_registry::Registered;
use daemon_store::{DaemonRow, EventRow, Matching};
use serde_json::{Map, Value, json};

use super::{Operations, Params};
use crate::explain::{DaemonSummary, Decided, daemon_json, event_json};
use crate::fire::FiredEvent;
use crate::wire::FactObject;

impl Operations {
    /// Explains one condition, one daemon, or all of them.
    pub(super) async fn explain(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let condition = params.text("condition")?;
        let id = params.text("id")?;
        let repo = params.repo()?;
        let all_daemons = params.flag("all_daemons")?;
        let event = params.value("event");
        params.finish()?;
        let (event, mut facts, stored) = match event {
            None => (None, None, None),
            Some(given) => {
                let given = self.event_given(given).await?;
                (Some(given.event), Some(given.facts), given.stored)
            }
        };
        if let Some(condition) = condition {
            if id.is_some() || all_daemons {
                let message = "`condition` and `id` exclude each other";
                return Err(OpError::invalid(message));
            }
            return one_condition(&condition, event.as_ref(), facts);
        }
        let reports = stored.as_ref().map(EventRow::reports).unwrap_or_default();
        let registry = self.registry.get();
        let asked = match &id {
            Some(id) => Some(registry.find(id, repo.as_ref())?.row.key.clone()),
            None => None,
        };
        let chosen = registry.iter().filter(|daemon| {
            let is_asked = asked.as_ref().is_none_or(|key| daemon.row.key == *key);
            let in_repo = repo
                .as_ref()
                .is_none_or(|repo| daemon.row.key.repo.folded() == repo.folded());
            is_asked || all_daemons && in_repo
        });
        let mut daemons = Vec::new();
        for daemon in chosen {
            let watch = &daemon.definition.watch;
            // The report that wakes the daemon is explained, since an event may have reports of several sources.
            let wakes =
                |report: &&Event| Decided::all(watch, Some(report)).iter().any(Decided::wakes);
            let report = reports.iter().find(wakes).or(event.as_ref());
            let decided = Decided::all(watch, report);
            miss(&mut facts, report, &decided);
            let mut object = registered_json(daemon, &decided, report);
            hinder(&mut object, &daemon.row, stored.as_ref());
            daemons.push(object);
        }
        let mut map = Map::new();
        let event = event.as_ref().map_or(Value::Null, event_json);
        map.insert("event".to_owned(), event);
        map.insert("facts".to_owned(), super::value(&facts)?);
        map.insert("daemons".to_owned(), Value::Array(daemons));
        Ok(map)
    }

    /// Reads the event of a request: the id of a stored one, or an object with a payload.
    async fn event_given(&self, given: Value) -> Result<Given, OpError> {
        match given {
            Value::String(id) => {
                let parsed: EventId = match id.parse() {
                    Ok(parsed) => parsed,
                    Err(_) => return Err(OpError::not_found("event", &id)),
                };
                let row = self.store.event(&parsed).await?;
                let row = row.ok_or_else(|| OpError::not_found("event", &id))?;
                Ok(Given {
                    event: row.event.clone(),
                    facts: FactObject::all(&row.event, &row.wanted),
                    stored: Some(row),
                })
            }
            Value::Object(members) => {
                let event = FiredEvent::take(Params::new(members))?.event(self.live.now())?;
                Ok(Given {
                    facts: FactObject::all(&event, &[]),
                    event,
                    stored: None,
                })
            }
            _ => Err(OpError::new(
                OpErrorKind::InvalidParams,
                "invalid-argument",
                "`event` must be the id of an event, or an object",
            )),
        }
    }
}

fn one_condition(
    condition: &str,
    event: Option<&Event>,
    mut facts: Option<Vec<FactObject>>,
) -> Result<Map<String, Value>, OpError> {
    let decided = Decided::new(condition, event);
    let mut object = super::object(decided.to_json())?;
    // The envelope of the response has the same version.
    object.remove("schema_version");
    miss(&mut facts, event, &[decided]);
    object.insert("facts".to_owned(), super::value(&facts)?);
    Ok(object)
}

/// The event to explain, the state of its facts, and its row if it is stored.
struct Given {
    event: Event,
    facts: Vec<FactObject>,
    stored: Option<EventRow>,
}

/// Adds the facts that conditions need and that the host is not fetching.
fn miss(facts: &mut Option<Vec<FactObject>>, event: Option<&Event>, decided: &[Decided<'_>]) {
    let (Some(facts), Some(event)) = (facts, event) else {
        return;
    };
    let needs = decided.iter().flat_map(|one| one.reading.missing(event));
    for need in needs {
        if facts.iter().all(|fact| fact.need != need.as_str()) {
            let why = "it is asked for when such an event comes in";
            facts.push(FactObject::missing(need, why.to_owned()));
        }
    }
}

/// Explains one registered daemon; an event of another repository never wakes it.
fn registered_json(daemon: &Registered, decided: &[Decided<'_>], event: Option<&Event>) -> Value {
    let row = &daemon.row;
    let summary = DaemonSummary {
        id: row.key.id.as_str(),
        path: &row.path,
        is_valid: daemon.is_valid(),
    };
    let mut object = daemon_json(summary, decided, event);
    object["repo"] = json!(row.key.repo.to_string());
    let elsewhere = event
        .and_then(|event| event.repo.as_ref())
        .filter(|repo| repo.folded() != row.key.repo.folded());
    if let Some(repo) = elsewhere {
        object["wakes"] = json!(false);
        object["why"] = json!(format!(
            "the event is of `{repo}`, the daemon of `{}`",
            row.key.repo
        ));
    }
    object
}

/// Adds the reason why a daemon whose condition matches was not woken, or would start no run.
fn hinder(object: &mut Value, daemon: &DaemonRow, stored: Option<&EventRow>) {
    if object["wakes"] != true {
        return;
    }
    let passed_over = stored.filter(|row| {
        let mut woken = row.triggers.iter();
        woken.all(|trigger| trigger.daemon != daemon.key)
    });
    let hindrance = match passed_over {
        Some(row) if row.seq <= daemon.since_seq => {
            "it was registered after the event came".to_owned()
        }
        Some(row) if row.matching == Matching::Due => "the event waits to be matched".to_owned(),
        Some(_) => "it was not woken: the event is an output of daemons, or was given to another"
            .to_owned(),
        None if daemon.gate != Gate::Open => {
            format!("it is {}: nothing starts", daemon.gate.as_str())
        }
        None => return,
    };
    let why = object["why"].as_str().unwrap_or_default();
    object["why"] = json!(format!("{why}; {hindrance}"));
}
