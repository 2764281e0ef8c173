//! `events record`: writes stored events as envelopes, for tests and other hosts.

use daemon_api::ops::Operation;
use daemon_api::recording::{envelope, file_name};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use daemon_event::Source;
use daemon_host::serve::Compose as _;
use daemon_provider::redact::Redactor;
use serde_json::{Map, Value, json};

use crate::cli::RecordArgs;
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::out::plain;
use crate::out::{Out, put};
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};

/// One event that was written to a file.
struct Recorded {
    event_id: String,
    delivery_id: String,
    source: String,
    kind: String,
    file: String,
}

/// Writes the newest events to a directory.
pub(super) async fn run(args: &RecordArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    if args.count == 0 {
        return Err(CommandFailure::usage(
            "-n is 0, but at least 1 event is recorded",
        ));
    }
    let source = match &args.source {
        None => None,
        Some(text) => Some(
            text.parse::<Source>()
                .map_err(|error| CommandFailure::usage(error.to_string()))?,
        ),
    };
    let known = known_secrets(place)?;
    let mut session = CommandSession::open(place, Intent::Look).await?;
    let ids = newest(&mut session, source, args.count).await?;
    let directory = place.directory.join(&args.out);
    std::fs::create_dir_all(&directory)
        .map_err(|error| CommandFailure::unwritable(&directory, &error))?;
    let mut recorded: Vec<Recorded> = Vec::new();
    let mut skipped: Vec<String> = Vec::new();
    let mut names = BTreeSet::new();
    for id in ids {
        let event = session
            .call(Operation::EventGet, parameter("id", &id))
            .await?;
        let event = Value::Object(event);
        // The payload is null after its retention period.
        if !event["payload"].is_object() {
            skipped.push(id);
            continue;
        }
        let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let mut name = file_name(&word("delivery_id"));
        // Two sources may use the same delivery id, and long ones are truncated.
        if !names.insert(name.clone()) {
            name = format!("{name}-{id}");
            names.insert(name.clone());
        }
        let file = format!("{name}.json");
        let text = serde_json::to_string_pretty(&envelope(&event, &known))
            .map_err(|error| CommandFailure::bug(error.to_string()))?;
        write(&directory, &file, &text)?;
        recorded.push(Recorded {
            event_id: id,
            delivery_id: word("delivery_id"),
            source: word("source"),
            kind: word("kind"),
            file,
        });
    }
    print(&directory, &recorded, &skipped, out)
}

/// Returns what finds the secrets that the configuration names.
fn known_secrets(place: &Place) -> Result<Redactor, CommandFailure> {
    let config = Composer::new(place, Overrides::default()).load()?;
    let home = place.home.as_deref();
    Ok(Redactor::of(home.map_or_else(Vec::new, |home| {
        daemon_host::secrets::read(home, &config)
    })))
}

/// Returns the ids of the newest events of a source, or of all.
async fn newest(
    session: &mut CommandSession,
    source: Option<Source>,
    count: u32,
) -> Result<Vec<String>, CommandFailure> {
    let count = usize::try_from(count).expect("a count fits");
    let mut ids = Vec::new();
    let mut after: Option<String> = None;
    while ids.len() < count {
        let mut params = Map::new();
        // The largest page. Listings cannot filter by source, so that is done here.
        params.insert("limit".to_owned(), json!(500));
        if let Some(after) = after.take() {
            params.insert("after".to_owned(), json!(after));
        }
        let page = session.call(Operation::EventList, params).await?;
        let rows = page.get("events").and_then(Value::as_array);
        let own = rows
            .into_iter()
            .flatten()
            .filter(|row| source.is_none_or(|source| row["source"] == source.as_str()));
        ids.extend(own.filter_map(|row| row["id"].as_str().map(str::to_owned)));
        match page.get("next").and_then(Value::as_str) {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    ids.truncate(count);
    Ok(ids)
}

/// Writes a file atomically, so that no reader sees a part of it.
fn write(directory: &Path, file: &str, text: &str) -> Result<(), CommandFailure> {
    let path = directory.join(file);
    let written = || -> std::io::Result<()> {
        let mut new = tempfile::Builder::new()
            .prefix(".record-")
            .tempfile_in(directory)?;
        new.write_all(text.as_bytes())?;
        new.write_all(b"\n")?;
        new.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|error| CommandFailure::unwritable(&path, &error))
}

fn print(
    directory: &Path,
    recorded: &[Recorded],
    skipped: &[String],
    out: Out,
) -> Result<(), CommandFailure> {
    let shown = directory.display().to_string();
    if out.is_json() {
        let rows = recorded.iter().map(|one| {
            json!({
                "id": one.event_id,
                "delivery_id": one.delivery_id,
                "source": one.source,
                "kind": one.kind,
                "file": one.file,
            })
        });
        let mut map = Map::new();
        map.insert("dir".to_owned(), json!(shown));
        map.insert("events".to_owned(), rows.collect());
        map.insert("skipped".to_owned(), json!(skipped));
        map.insert("next".to_owned(), Value::Null);
        return out.envelope(map);
    }
    let mut text = String::new();
    for one in recorded {
        put!(
            text,
            "{}  {} {}  {}\n",
            one.event_id,
            one.source,
            plain(&one.kind),
            one.file
        );
    }
    out.text(&text)?;
    for id in skipped {
        out.note(&format!("{id} is skipped: its payload has expired"));
    }
    if recorded.is_empty() {
        out.note("no events to record");
    } else {
        out.note(&format!(
            "next: review `{shown}` before you publish it: names and messages are unchanged"
        ));
    }
    Ok(())
}
