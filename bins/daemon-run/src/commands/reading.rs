//! How conditions are read and what they say of an event, for people.

use daemon_event::Event;
use serde_json::Value;

use crate::out::put;

/// Writes daemons with their conditions, and whether an event wakes them.
pub(crate) fn daemons_text(daemons: &[Value], event: Option<&Event>) -> String {
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
            text.push_str(&condition_text(condition));
        }
    }
    text
}

/// Writes how a condition is read, for people.
pub(crate) fn condition_text(condition: &Value) -> String {
    let index = condition["index"]
        .as_u64()
        .map(|index| format!("watch[{index}]  "))
        .unwrap_or_default();
    let mut text = format!(
        "  {index}{}  \"{}\"\n",
        word(&condition["status"]),
        word(&condition["condition"])
    );
    for clause in members(&condition["clauses"]) {
        let events: Vec<String> = members(&clause["events"]).map(event_text).collect();
        let verdict = verdict(&clause["verdict"]);
        put!(text, "    on {}{verdict}\n", events.join(" or "));
    }
    for filter in members(&condition["filters"]) {
        text.push_str(&filter_text(filter));
    }
    for words in members(&condition["remainder"]) {
        put!(text, "    not understood: \"{}\"\n", word(&words["text"]));
    }
    for note in members(&condition["notes"]) {
        put!(text, "    note: {}\n", word(note));
    }
    text
}

fn event_text(event: &Value) -> String {
    let action = event["action"]
        .as_str()
        .map(|action| format!(".{action}"))
        .unwrap_or_default();
    format!(
        "{} {}{action}",
        word(&event["source"]),
        word(&event["kind"])
    )
}

fn filter_text(filter: &Value) -> String {
    let value = match &filter["value"] {
        Value::Null => String::new(),
        Value::String(one) => one.clone(),
        Value::Array(many) => many.iter().map(word).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    let got = filter["got"]
        .as_str()
        .map(|got| format!("   got {got}"))
        .unwrap_or_default();
    format!(
        "    if {} {} {value}  \"{}\"{}{got}\n",
        word(&filter["field"]),
        word(&filter["op"]),
        word(&filter["text"]),
        verdict(&filter["verdict"])
    )
}

fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn verdict(value: &Value) -> String {
    value
        .as_str()
        .map(|verdict| format!("  {verdict}"))
        .unwrap_or_default()
}
