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
