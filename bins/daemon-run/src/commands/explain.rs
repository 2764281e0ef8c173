//! `explain`: how conditions are read, and what they say of an event.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use daemon_event::Event;
use daemon_watch::corpus::{conditions, envelope, score};
use daemon_watch::{Interpretation, InterpretationWire, Verdict, interpret};
use serde_json::{Map, Value, json};

use crate::cli::Explain;
use crate::event_input;
use crate::failure::{Exit, Failure};
use crate::local;
use crate::out::{Out, put};
use crate::place::Place;

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
        score_corpus(&corpus, &payloads, answers.as_deref(), out)?;
        return Ok(Wakes::Yes);
    }
    let event = event(args, place).await?;
    let woken = match &args.condition {
        Some(condition) => one_condition(condition, event.as_ref(), out)?,
        None => daemons(args, place, event.as_ref(), out)?,
    };
    Ok(woken)
}

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

/// Reads the event: a payload, or for a daemon the id of a stored event.
async fn event(args: &Explain, place: &Place) -> Result<Option<Event>, Failure> {
    let now = daemon_host::random::now();
    if let Some(id) = &args.event.event
        && let Some(id) = id
            .to_str()
            .filter(|id| id.parse::<daemon_event::EventId>().is_ok())
        && !place.directory.join(id).exists()
    {
        return Ok(Some(super::stored_event(id, place).await?));
    }
    match event_input::read(&args.event, place)? {
        Some(fired) => Ok(Some(fired.event(now)?)),
        None => Ok(None),
    }
}

fn one_condition(condition: &str, event: Option<&Event>, out: Out) -> Result<Wakes, Failure> {
    let reading = interpret(condition);
    let object = object(condition, &reading, event)?;
    let wakes = event.is_some_and(|event| reading.wakes(event) == Verdict::Wakes);
    if out.is_json() {
        out.envelope(object)?;
    } else {
        let mut value = Value::Object(object);
        value["condition"] = json!(condition);
        out.text(&reading_text(&value))?;
    }
    Ok(wakes.into())
}

fn object(
    condition: &str,
    reading: &Interpretation,
    event: Option<&Event>,
) -> Result<Map<String, Value>, Failure> {
    let explanation = event.map(|event| reading.explain(event));
    match serde_json::to_value(InterpretationWire::new(
        condition,
        reading,
        explanation.as_ref(),
    )) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Failure::bug("an interpretation cannot be written")),
    }
}

fn daemons(
    args: &Explain,
    place: &Place,
    event: Option<&Event>,
    out: Out,
) -> Result<Wakes, Failure> {
    let root = local::root(&place.directory, args.repo.as_deref());
    let all = local::daemons(&root)?;
    if let Some(id) = &args.id {
        local::daemon(&root, id)?;
    }
    let chosen = all.iter().filter(|daemon| {
        args.all_daemons
            || args
                .id
                .as_deref()
                .is_none_or(|id| daemon.id() == id || daemon.source.dir.as_str() == id)
    });
    let mut objects = Vec::new();
    let mut any = false;
    for daemon in chosen {
        let mut conditions = Vec::new();
        let mut wakes = false;
        for (index, line) in daemon.watch().iter().enumerate() {
            let reading = interpret(line);
            let mut map = object(line, &reading, event)?;
            wakes |= event.is_some_and(|event| reading.wakes(event) == Verdict::Wakes);
            map.insert("index".to_owned(), json!(index));
            map.insert("condition".to_owned(), json!(line));
            conditions.push(Value::Object(map));
        }
        any |= wakes;
        let why = why(&conditions, event, wakes);
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
        out.text(&text(&objects, event))?;
    }
    Ok(any.into())
}

/// Says in one sentence why a daemon wakes or not.
fn why(conditions: &[Value], event: Option<&Event>, wakes: bool) -> String {
    if conditions.is_empty() {
        return "it has no conditions; its schedule wakes it".to_owned();
    }
    if event.is_none() {
        return "no event was given".to_owned();
    }
    if wakes {
        let met = conditions
            .iter()
            .find(|condition| condition["wakes"] == true);
        let index = met.map_or(0, |condition| condition["index"].as_u64().unwrap_or(0));
        return format!("watch[{index}] is met");
    }
    let missing = conditions
        .iter()
        .flat_map(|condition| condition["filters"].as_array().into_iter().flatten());
    let needs: Vec<&str> = missing
        .filter(|filter| filter["verdict"] == "missing")
        .filter_map(|filter| filter["needs"].as_str())
        .collect();
    match needs.first() {
        Some(need) => format!("a needed fact is missing: {need}"),
        None => "no condition is met".to_owned(),
    }
}

pub(crate) fn event_json(event: &Event) -> Value {
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

fn text(daemons: &[Value], event: Option<&Event>) -> String {
    let mut text = String::new();
    let told = event.map(|event| {
        let action = event
            .action
            .as_ref()
            .map(|action| format!(".{action}"))
            .unwrap_or_default();
        let actor = event
            .actor
            .as_ref()
            .map(|actor| format!(" by {}", actor.name))
            .unwrap_or_default();
        format!("{} {}{action}{actor}", event.source, event.kind)
    });
    for daemon in daemons {
        let verb = match (&told, daemon["wakes"] == true) {
            (None, _) => String::new(),
            (Some(told), true) => format!("  wakes on {told}"),
            (Some(told), false) => format!(
                "  does not wake on {told}: {}",
                daemon["why"].as_str().unwrap_or_default()
            ),
        };
        put!(
            text,
            "{}{verb}\n",
            daemon["daemon_id"].as_str().unwrap_or_default()
        );
        for condition in daemon["conditions"].as_array().into_iter().flatten() {
            text.push_str(&reading_text(condition));
        }
    }
    text
}

/// Writes how a condition is read, for people.
pub(crate) fn reading_text(condition: &Value) -> String {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let index = condition["index"]
        .as_u64()
        .map(|index| format!("watch[{index}]  "))
        .unwrap_or_default();
    let mut text = format!(
        "  {index}{}  \"{}\"\n",
        string(&condition["status"]),
        string(&condition["condition"])
    );
    for clause in condition["clauses"].as_array().into_iter().flatten() {
        let events: Vec<String> = clause["events"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|event| {
                let action = event["action"]
                    .as_str()
                    .map(|action| format!(".{action}"))
                    .unwrap_or_default();
                format!(
                    "{} {}{action}",
                    string(&event["source"]),
                    string(&event["kind"])
                )
            })
            .collect();
        put!(
            text,
            "    on {}{}\n",
            events.join(" or "),
            verdict(&clause["verdict"])
        );
    }
    for filter in condition["filters"].as_array().into_iter().flatten() {
        let value = match &filter["value"] {
            Value::Null => String::new(),
            Value::String(one) => one.clone(),
            Value::Array(many) => many.iter().map(string).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        let got = filter["got"]
            .as_str()
            .map(|got| format!("   got {got}"))
            .unwrap_or_default();
        put!(
            text,
            "    if {} {} {value}  \"{}\"{}{got}\n",
            string(&filter["field"]),
            string(&filter["op"]),
            string(&filter["text"]),
            verdict(&filter["verdict"])
        );
    }
    for words in condition["remainder"].as_array().into_iter().flatten() {
        put!(text, "    not understood: \"{}\"\n", string(&words["text"]));
    }
    for note in condition["notes"].as_array().into_iter().flatten() {
        put!(text, "    note: {}\n", string(note));
    }
    text
}

fn verdict(value: &Value) -> String {
    value
        .as_str()
        .map(|verdict| format!("  {verdict}"))
        .unwrap_or_default()
}

/// Scores a labelled corpus.
fn score_corpus(
    corpus: &Path,
    payloads: &Path,
    answers: Option<&Path>,
    out: Out,
) -> Result<(), Failure> {
    let text =
        std::fs::read_to_string(corpus).map_err(|error| Failure::unreadable(corpus, &error))?;
    let invalid = |error: String| Failure::new(Exit::Invalid, "invalid-corpus", error);
    let labelled = conditions(&text).map_err(|error| {
        invalid(format!(
            "`{}`: {}",
            corpus.display(),
            daemon_host::ops::chain(&error)
        ))
    })?;
    let events = read_payloads(payloads)?;
    let (score, given) = score(&labelled, &events, interpret);
    if let Some(path) = answers {
        let write = || -> std::io::Result<()> {
            let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
            for answer in &given {
                serde_json::to_writer(&mut file, answer)?;
                file.write_all(b"\n")?;
            }
            file.flush()
        };
        write().map_err(|error| Failure::unwritable(path, &error))?;
    }
    let Ok(Value::Object(map)) = serde_json::to_value(&score) else {
        return Err(Failure::bug("a score cannot be written"));
    };
    if out.is_json() {
        return out.envelope(map);
    }
    let mut text = String::new();
    for name in [
        "conditions",
        "status_correct",
        "false_wakes",
        "missed_wakes",
        "silent_remainders",
        "exact",
    ] {
        put!(text, "{name:<18} {}\n", map[name]);
    }
    for failure in map["failures"].as_array().into_iter().flatten() {
        put!(
            text,
            "  {}  \"{}\"  expected {}, got {}\n",
            failure["id"].as_str().unwrap_or_default(),
            failure["condition"].as_str().unwrap_or_default(),
            failure["expected"].as_str().unwrap_or_default(),
            failure["got"].as_str().unwrap_or_default()
        );
    }
    out.text(&text)
}

/// Reads the envelopes of a directory, or of `derived/` in it.
fn read_payloads(directory: &Path) -> Result<BTreeMap<String, Event>, Failure> {
    let mut events = BTreeMap::new();
    let derived = directory.join("derived");
    let directory = if derived.is_dir() {
        derived
    } else {
        directory.to_owned()
    };
    let entries =
        std::fs::read_dir(&directory).map_err(|error| Failure::unreadable(&directory, &error))?;
    for entry in entries {
        let path = entry
            .map_err(|error| Failure::unreadable(&directory, &error))?
            .path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text =
            std::fs::read_to_string(&path).map_err(|error| Failure::unreadable(&path, &error))?;
        let read =
            envelope(&text).and_then(|envelope| Ok((envelope.id.clone(), envelope.event()?)));
        let (id, event) = read.map_err(|error| {
            let message = format!("`{}`: {}", path.display(), daemon_host::ops::chain(&error));
            Failure::new(Exit::Invalid, "invalid-payload", message)
        })?;
        events.insert(id, event);
    }
    if events.is_empty() {
        let message = format!("`{}` holds no payloads", directory.display());
        return Err(Failure::new(Exit::NoInput, "no-payloads", message));
    }
    Ok(events)
}
