//! `explain`: how conditions are read, and what they say of an event.

use daemon_event::Event;
use daemon_host::driver::Checked;
use daemon_host::registry::explanations;
use daemon_watch::{InterpretationWire, Verdict, interpret};
use serde_json::{Map, Value, json};

use super::{corpus, reading};
use crate::cli::Explain;
use crate::event_input;
use crate::failure::Failure;
use crate::local::{self, LocalDaemon};
use crate::out::Out;
use crate::place::Place;

/// Whether something wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// It does.
    Yes,
    /// Nothing does.
    No,
}

impl From<bool> for Wakes {
    fn from(wakes: bool) -> Self {
        if wakes { Self::Yes } else { Self::No }
    }
}

/// Explains a condition, a daemon, all daemons, or scores a corpus.
///
/// Returns whether something wakes.
pub(crate) async fn run(args: &Explain, place: &Place, out: Out) -> Result<Wakes, Failure> {
    if let (Some(corpus), Some(payloads)) = (&args.corpus, &args.payloads) {
        let (corpus, payloads) = (place.directory.join(corpus), place.directory.join(payloads));
        let answers = args
            .answers
            .as_ref()
            .map(|answers| place.directory.join(answers));
        corpus::run(&corpus, &payloads, answers.as_deref(), out)?;
        return Ok(Wakes::Yes);
    }
    let event = event(args, place).await?;
    match &args.condition {
        Some(condition) => one_condition(condition, event.as_ref(), out),
        None => daemons(args, place, event.as_ref(), out),
    }
}

/// Reads the event: a payload, or the id of a stored event.
async fn event(args: &Explain, place: &Place) -> Result<Option<Event>, Failure> {
    if let Some(id) = &args.event.event
        && let Some(id) = id
            .to_str()
            .filter(|id| id.parse::<daemon_event::EventId>().is_ok())
        && !place.directory.join(id).exists()
    {
        return Ok(Some(super::stored_event(id, place).await?));
    }
    match event_input::read(&args.event, place)? {
        Some(fired) => Ok(Some(fired.event(daemon_host::random::now())?)),
        None => Ok(None),
    }
}

fn one_condition(condition: &str, event: Option<&Event>, out: Out) -> Result<Wakes, Failure> {
    let interpretation = interpret(condition);
    let explanation = event.map(|event| interpretation.explain(event));
    let wakes = event.is_some_and(|event| interpretation.wakes(event) == Verdict::Wakes);
    let wire = InterpretationWire::new(condition, &interpretation, explanation.as_ref());
    let Ok(Value::Object(mut object)) = serde_json::to_value(wire) else {
        return Err(Failure::bug("an interpretation cannot be written"));
    };
    if out.is_json() {
        out.envelope(object)?;
    } else {
        object.insert("condition".to_owned(), json!(condition));
        out.text(&reading::condition_text(&Value::Object(object)))?;
    }
    Ok(wakes.into())
}

fn daemons(
    args: &Explain,
    place: &Place,
    event: Option<&Event>,
    out: Out,
) -> Result<Wakes, Failure> {
    let root = local::root(place, args.repo.as_deref())?;
    let all = local::judged(&root, &|_| "UTC".to_owned())?;
    if let Some(id) = &args.id {
        local::find(&root, &all, id)?;
    }
    let chosen = all.iter().filter(|(daemon, _)| {
        let asked = args.id.as_deref();
        args.all_daemons || asked.is_none_or(|id| daemon.is_named(id))
    });
    let mut objects = Vec::new();
    let mut any = false;
    for (daemon, checked) in chosen {
        let conditions = explanations(&checked.watch, event);
        let met = conditions
            .iter()
            .position(|condition| condition["wakes"] == true);
        let wakes = met.is_some() && checked.is_registrable;
        any |= wakes;
        let why = why(daemon, checked, &conditions, event);
        objects.push(
            json!({"daemon_id": daemon.id(), "wakes": wakes, "why": why, "conditions": conditions}),
        );
    }
    if out.is_json() {
        let mut map = Map::new();
        map.insert("event".to_owned(), event.map_or(Value::Null, event_json));
        map.insert("daemons".to_owned(), Value::Array(objects));
        out.envelope(map)?;
    } else {
        out.text(&reading::daemons_text(&objects, event))?;
        if objects.is_empty() {
            out.note(&format!("no daemons in `{}`", root.display()));
        }
        if let Some(id) = &args.id {
            out.note(&format!("next: daemon-run fire {id} --dry-run"));
        }
    }
    Ok(any.into())
}

/// Says in one sentence why a daemon wakes or not.
fn why(
    daemon: &LocalDaemon,
    checked: &Checked,
    conditions: &[Value],
    event: Option<&Event>,
) -> String {
    if !checked.is_registrable {
        let path = daemon.source.path();
        return format!("its file has errors: daemon-run lint {path}");
    }
    if conditions.is_empty() {
        return "it has no conditions; its schedule wakes it".to_owned();
    }
    if event.is_none() {
        return "no event was given".to_owned();
    }
    if let Some(index) = conditions
        .iter()
        .position(|condition| condition["wakes"] == true)
    {
        return format!("watch[{index}] is met");
    }
    match conditions.iter().find_map(missing_fact) {
        Some(need) => format!("a needed fact is missing: {need}"),
        None => "no condition is met".to_owned(),
    }
}

/// Returns the fact without which a clause that names the event cannot be decided.
fn missing_fact(condition: &Value) -> Option<&str> {
    let clauses = condition["clauses"].as_array()?.iter();
    clauses
        .filter(|clause| clause["verdict"] == "missing")
        .flat_map(|clause| clause["filters"].as_array().into_iter().flatten())
        .filter_map(|index| condition["filters"].get(usize::try_from(index.as_u64()?).ok()?))
        .filter(|filter| filter["verdict"] == "missing")
        .find_map(|filter| filter["needs"].as_str())
}

fn event_json(event: &Event) -> Value {
    json!({
        "source": event.source.as_str(),
        "kind": event.kind,
        "action": event.action,
        "subject": event.subject.as_ref().map(ToString::to_string),
        "actor": event.actor.as_ref().map(|actor| actor.name.clone()),
        "repo": event.repo.as_ref().map(ToString::to_string),
        "time": event.time.to_string(),
        "delivery_id": event.delivery.to_string(),
    })
}
