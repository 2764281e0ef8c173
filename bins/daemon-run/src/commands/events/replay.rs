//! `events replay`: events come once more, from the store or from envelopes.

use daemon_event::EventId;
use daemon_host::ops::Operation;
use daemon_watch::corpus;
use serde_json::{Map, Value, json};

use crate::cli::Replay;
use crate::commands::columns::{Column, table};
use crate::event_input;
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::place::Place;
use crate::session::{Intent, Session, parameter};

const COLUMNS: &[Column] = &[
    Column {
        title: "EVENT",
        pointer: "/id",
    },
    Column {
        title: "SOURCE",
        pointer: "/source",
    },
    Column {
        title: "KIND",
        pointer: "/kind",
    },
    Column {
        title: "ACTION",
        pointer: "/action",
    },
    Column {
        title: "SUBJECT",
        pointer: "/subject",
    },
    Column {
        title: "DELIVERY",
        pointer: "/delivery_id",
    },
    Column {
        title: "DUPLICATE",
        pointer: "/duplicate",
    },
];

/// Replays every event that is named, after all of them were read.
pub(super) async fn run(args: &Replay, place: &Place, out: Out) -> Result<(), Failure> {
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
    let mut session = Session::open(place, intent).await?;
    let mut events = Vec::new();
    for params in requests {
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
    out.text(&table(COLUMNS, &events))?;
    if args.dry_run {
        for event in &events {
            out.text(&woken(event))?;
        }
        return Ok(());
    }
    if events.iter().all(|event| event["duplicate"] == true) {
        out.note("all were known already, and wake nothing; --as-new makes them other deliveries");
    } else if matches!(session, Session::Store { .. }) {
        out.note("no host runs: they are matched when one serves this home");
    }
    Ok(())
}

/// Says whom an event would wake.
fn woken(event: &Value) -> String {
    let verdicts = event["verdicts"].as_array().into_iter().flatten();
    let woken = verdicts.filter(|verdict| verdict["wakes"] == true);
    let told: Vec<String> = woken
        .map(|verdict| {
            let daemon = verdict["daemon_id"].as_str().unwrap_or_default();
            format!("{daemon} (watch[{}])", verdict["condition"])
        })
        .collect();
    let id = event["id"].as_str().unwrap_or_default();
    match (event["duplicate"] == true, told.is_empty()) {
        (true, _) => format!("{id} would be counted as a duplicate"),
        (false, true) => format!("{id} would wake nothing"),
        (false, false) => format!("{id} would wake {}", told.join(", ")),
    }
}

/// Reads what is to be replayed: an id of the store, else an envelope.
fn request(name: &str, place: &Place) -> Result<Map<String, Value>, Failure> {
    let path = place.directory.join(name);
    if name.parse::<EventId>().is_ok() && !path.exists() {
        return Ok(parameter("id", name));
    }
    let bytes = event_input::bytes(name.as_ref(), place)?;
    let invalid = |reason: String| {
        let message = format!("`{name}` is no envelope: {reason}");
        Failure::new(Exit::Invalid, "invalid-event", message)
            .help("`daemon-run events record` writes them; `daemon-run schema fixture` says what they are")
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| invalid(error.to_string()))?;
    let envelope =
        corpus::envelope(text).map_err(|error| invalid(daemon_host::ops::chain(&error)))?;
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
