//! `events replay`: delivers stored events or envelopes again.

use daemon_api::ops::Operation;
use daemon_watch::corpus;
use serde_json::{Map, Value, json};

use crate::cli::ReplayArgs;
use crate::commands::which;
use crate::event_input;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::Out;
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};
use daemon_view::columns::{Column, column, ids, table};

const COLUMNS: &[Column] = &[
    ids("EVENT", "/id"),
    column("SOURCE", "/source"),
    column("KIND", "/kind"),
    column("ACTION", "/action"),
    column("SUBJECT", "/subject"),
    column("DELIVERY", "/delivery_id"),
    column("DUPLICATE", "/duplicate"),
];

/// Replays events. All are read first, so that an invalid file stops the command before anything is delivered.
pub(super) async fn run(args: &ReplayArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut requests = Vec::new();
    for name in &args.events {
        let mut params = request(name, place)?;
        params.insert("as_new".to_owned(), json!(args.as_new));
        params.insert("dry_run".to_owned(), json!(args.dry_run));
        requests.push(params);
    }
    let intent = if args.dry_run {
        Intent::Look
    } else {
        Intent::Change
    };
    let mut session = CommandSession::open(place, intent).await?;
    let mut events = Vec::new();
    for mut params in requests {
        if let Some(Value::String(id)) = params.get_mut("id") {
            *id = which::event_or_file(id, &mut session).await?;
        }
        events.push(Value::Object(
            session.call(Operation::EventReplay, params).await?,
        ));
    }
    if out.is_json() {
        let mut map = Map::new();
        map.insert("dry_run".to_owned(), json!(args.dry_run));
        map.insert("events".to_owned(), Value::Array(events));
        map.insert("next".to_owned(), Value::Null);
        return out.envelope(map);
    }
    out.text(&table(COLUMNS, &events, &out.layout()))?;
    if args.dry_run {
        for event in &events {
            out.text(&woken(event))?;
        }
        return Ok(());
    }
    if events.iter().all(|event| event["duplicate"] == true) {
        out.note("all are duplicates and wake nothing; use --as-new to give them new delivery ids");
    } else if matches!(session, CommandSession::Store { .. }) {
        out.note("no host is running: the events are matched when one is started for this home");
    }
    Ok(())
}

/// Describes which daemons an event would wake.
fn woken(event: &Value) -> String {
    let verdicts = event["verdicts"].as_array().into_iter().flatten();
    let woken = verdicts.filter(|verdict| verdict["wakes"] == true);
    let daemons: Vec<String> = woken
        .map(|verdict| {
            let daemon = verdict["daemon_id"].as_str().unwrap_or_default();
            format!("{daemon} (watch[{}])", verdict["condition"])
        })
        .collect();
    let id = event["id"].as_str().unwrap_or_default();
    match (event["duplicate"] == true, daemons.is_empty()) {
        (true, _) => format!("{id} would be counted as a duplicate"),
        (false, true) => format!("{id} would wake nothing"),
        (false, false) => format!("{id} would wake {}", daemons.join(", ")),
    }
}

/// Returns the parameters of a replay: the id of a stored event, else the event in an envelope.
fn request(name: &str, place: &Place) -> Result<Map<String, Value>, CommandFailure> {
    if which::may_be_event(name, place) {
        return Ok(parameter("id", name));
    }
    let bytes = event_input::bytes(name.as_ref(), place)?;
    let invalid = |reason: String| {
        let message = format!("`{name}` is not an envelope: {reason}");
        CommandFailure::new(ExitKind::Invalid, "invalid-event", message)
            .help("`daemon-run events record` writes envelopes; `daemon-run schema fixture` prints their schema")
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| invalid(error.to_string()))?;
    let envelope =
        corpus::envelope(text).map_err(|error| invalid(daemon_records::error::chain(&error)))?;
    let given: Value = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    let delivery = Some(envelope.id).filter(|id| !id.is_empty());
    let mut params = Map::new();
    params.insert(
        "event".to_owned(),
        json!({
            "source": envelope.source,
            "kind": envelope.event,
            "payload": envelope.body.get(),
            "delivery_id": delivery,
            "enrichment": given.get("enrichment"),
        }),
    );
    Ok(params)
}
