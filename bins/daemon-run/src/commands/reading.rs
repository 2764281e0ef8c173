//! Formats explanations of conditions as text.

use daemon_api::explain::kind_of;
use daemon_event::Event;
use daemon_ingest::sender;
use serde_json::Value;

use super::listings::error_lines;
use crate::out::{plain, put};

/// Formats daemons with their conditions, and whether an event wakes them.
pub(crate) fn daemons_text(daemons: &[Value], event: Option<&Event>) -> String {
    let mut text = String::new();
    let description = event.map(|event| {
        let actor = event.actor.as_ref();
        let actor = actor.map(|actor| format!(" by {}", plain(&actor.name)));
        let sender = sender(&event.delivery).map(|sender| format!(", sent by {}", plain(sender)));
        let (actor, sender) = (actor.unwrap_or_default(), sender.unwrap_or_default());
        format!("{}{actor}{sender}", kind_of(event))
    });
    for daemon in daemons {
        let is_invalid = daemon["diagnostics"].is_array();
        let verb = match (&description, daemon["wakes"] == true) {
            (None, _) if is_invalid => {
                format!("  does not wake: {}", plain(word(&daemon["why"])))
            }
            (None, _) => String::new(),
            (Some(event), true) => format!("  wakes on {event}"),
            (Some(event), false) => {
                format!(
                    "  does not wake on {event}: {}",
                    plain(word(&daemon["why"]))
                )
            }
        };
        put!(text, "{}{verb}\n", plain(word(&daemon["daemon_id"])));
        for line in error_lines(word(&daemon["path"]), &daemon["diagnostics"]) {
            put!(text, "  {line}\n");
        }
        for condition in members(&daemon["conditions"]) {
            text.push_str(&condition_text(condition, event));
        }
    }
    text
}

/// Formats where facts that are not in the payload came from, and why others are missing.
pub(crate) fn facts_text(facts: &Value) -> String {
    let mut text = String::new();
    for fact in members(facts) {
        let from = match fact["from"].as_str() {
            // Facts of the payload need no explanation.
            Some("payload") => continue,
            Some("given") => "as given",
            Some("local_git") => "from local git",
            Some(_) => "from the API",
            None if fact["state"] == "gave_up" => "given up",
            None => word(&fact["state"]),
        };
        let note = fact["note"]
            .as_str()
            .map(|note| format!(": {}", plain(note)));
        let (need, note) = (word(&fact["need"]), note.unwrap_or_default());
        put!(text, "  fact {need}  {from}{note}\n");
    }
    text
}

/// Formats the chain that an event continues; empty for an event that no output caused, or that woke no daemon.
pub(crate) fn chain_text(chain: &Value) -> String {
    match (chain["root"].as_str(), chain["depth"].as_u64()) {
        (Some(root), Some(depth)) => format!(
            "  {:<12} an output of a daemon, depth {depth} of the chain of activation {}\n",
            "origin",
            plain(root)
        ),
        _ => String::new(),
    }
}

/// Formats how a condition is read, and with an event its verdicts.
pub(crate) fn condition_text(condition: &Value, event: Option<&Event>) -> String {
    match event {
        Some(event) => decided_text(condition, event),
        None => reading_text(condition),
    }
}

/// One line of an explanation: the verdict, the requirement, the author's words, the value in the event.
struct VerdictRow {
    verdict: String,
    asked: String,
    words: String,
    got: String,
}

fn decided_text(condition: &Value, event: &Event) -> String {
    let head = match condition["index"].as_u64() {
        Some(index) => format!("  watch[{index}]  "),
        None => "  ".to_owned(),
    };
    let margin = " ".repeat(head.len());
    let rows = rows(condition, event);
    let width = |of: fn(&VerdictRow) -> &String| {
        let widths = rows.iter().map(|row| of(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let (verdicts, asked, words) = (
        width(|row| &row.verdict),
        width(|row| &row.asked),
        width(|row| &row.words),
    );
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let line = format!(
            "{}{:<verdicts$}  {:<asked$}  {:<words$}  {}",
            if index == 0 { &head } else { &margin },
            row.verdict,
            row.asked,
            row.words,
            row.got
        );
        put!(text, "{}\n", line.trim_end());
    }
    for words in members(&condition["remainder"]) {
        let words = plain(word(&words["text"]));
        put!(text, "{margin}not understood: \"{words}\"\n");
    }
    for note in members(&condition["notes"]) {
        put!(text, "{margin}note: {}\n", plain(word(note)));
    }
    text
}

fn rows(condition: &Value, event: &Event) -> Vec<VerdictRow> {
    let clauses = || members(&condition["clauses"]);
    let named: Vec<&Value> = clauses()
        .filter(|clause| members(&clause["events"]).any(|pattern| is_met(pattern, event)))
        .collect();
    let events: Vec<String> = clauses()
        .flat_map(|clause| members(&clause["events"]))
        .map(event_text)
        .collect();
    let (verdict, asked, got) = if named.is_empty() {
        let asked = if events.is_empty() {
            word(&condition["status"]).to_owned()
        } else {
            few(events)
        };
        ("fail", asked, format!("got {}", kind_of(event)))
    } else {
        ("pass", kind_of(event), String::new())
    };
    let mut rows = vec![VerdictRow {
        verdict: verdict.to_owned(),
        asked,
        words: format!("\"{}\"", plain(word(&condition["condition"]))),
        got,
    }];
    let mut indexes: Vec<u64> = named
        .iter()
        .flat_map(|clause| members(&clause["filters"]).filter_map(Value::as_u64))
        .collect();
    indexes.sort_unstable();
    indexes.dedup();
    let filters = indexes
        .into_iter()
        .filter_map(|index| condition["filters"].get(usize::try_from(index).ok()?));
    rows.extend(filters.map(filter_row));
    rows
}

/// Joins the first three names, with the number of the others.
fn few(mut names: Vec<String>) -> String {
    // A condition can name dozens of events.
    const SHOWN: usize = 3;
    names.dedup();
    let n_more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if n_more > 0 {
        format!(" or {n_more} more")
    } else {
        String::new()
    };
    format!("{}{more}", names.join(" or "))
}

fn is_met(pattern: &Value, event: &Event) -> bool {
    pattern["source"] == event.source.as_str()
        && pattern["kind"] == event.kind.as_str()
        && (pattern["action"].is_null() || pattern["action"].as_str() == event.action.as_deref())
}

fn filter_row(filter: &Value) -> VerdictRow {
    let got = match (filter["needs"].as_str(), filter["got"].as_str()) {
        (Some(need), _) => format!("needs {need}"),
        (None, Some(got)) if filter["verdict"] != "pass" => format!("got {}", plain(got)),
        (None, _) => String::new(),
    };
    let asked = format!(
        "{} {} {}",
        word(&filter["field"]),
        sign(word(&filter["op"])),
        value_text(&filter["value"])
    );
    VerdictRow {
        verdict: word(&filter["verdict"]).to_owned(),
        asked: asked.trim_end().to_owned(),
        words: format!("\"{}\"", plain(word(&filter["text"]))),
        got,
    }
}

/// Returns equality as a sign and other operators as words.
fn sign(op: &str) -> String {
    match op {
        "is" => "=".to_owned(),
        "is_not" => "≠".to_owned(),
        other => other.replace('_', " "),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(one) => plain(one),
        Value::Array(many) => {
            let many: Vec<String> = many.iter().map(|one| plain(word(one))).collect();
            many.join(", ")
        }
        other => other.to_string(),
    }
}

fn reading_text(condition: &Value) -> String {
    let index = condition["index"].as_u64();
    let index = index
        .map(|index| format!("watch[{index}]  "))
        .unwrap_or_default();
    let (status, line) = (
        word(&condition["status"]),
        plain(word(&condition["condition"])),
    );
    let mut text = format!("  {index}{status}  \"{line}\"\n");
    for clause in members(&condition["clauses"]) {
        let events: Vec<String> = members(&clause["events"]).map(event_text).collect();
        put!(text, "    on {}\n", events.join(" or "));
        let filters = members(&clause["filters"]).filter_map(Value::as_u64);
        for index in filters.filter_map(|index| usize::try_from(index).ok()) {
            let VerdictRow { asked, words, .. } = filter_row(&condition["filters"][index]);
            put!(text, "      if {asked}  {words}\n");
        }
    }
    for words in members(&condition["remainder"]) {
        let words = plain(word(&words["text"]));
        put!(text, "    not understood: \"{words}\"\n");
    }
    if let Some(nearest) = condition["suggestion"].as_str() {
        put!(text, "    nearest: \"{}\"\n", plain(nearest));
    }
    for note in members(&condition["notes"]) {
        put!(text, "    note: {}\n", plain(word(note)));
    }
    text
}

fn event_text(event: &Value) -> String {
    let action = event["action"]
        .as_str()
        .map(|action| format!(".{action}"))
        .unwrap_or_default();
    let (source, kind) = (word(&event["source"]), word(&event["kind"]));
    format!("{source} {kind}{action}")
}

fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
