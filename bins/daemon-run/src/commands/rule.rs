//! `rule`: prints the page of a diagnostic code.

use daemon_validate::{Profile, RuleEntry, rules};
use serde_json::{Map, Value, json};

use crate::cli::RuleArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, put};

/// Prints one page, or the table of all codes.
pub(crate) fn run(args: &RuleArgs, out: Out) -> Result<(), CommandFailure> {
    match &args.code {
        Some(code) => one(code, out),
        None => all(out),
    }
}

fn one(code: &str, out: Out) -> Result<(), CommandFailure> {
    let wanted = code.trim().to_ascii_uppercase();
    let Some(entry) = rules()
        .iter()
        .find(|entry| entry.code().to_string() == wanted)
    else {
        let failure = CommandFailure::new(
            ExitKind::NoInput,
            "unknown-code",
            format!("no code `{code}`"),
        );
        return Err(failure.help("`daemon-run rule` lists all codes"));
    };
    if out.is_json() {
        let mut map = object(entry);
        map.insert("page".to_owned(), json!(entry.page()));
        return out.envelope(map);
    }
    out.text(entry.page())
}

fn object(entry: &RuleEntry) -> Map<String, Value> {
    let severity = |profile| entry.severity(profile).as_str();
    let mut map = Map::new();
    map.insert("code".to_owned(), json!(entry.code().to_string()));
    map.insert("name".to_owned(), json!(entry.name()));
    map.insert("spec".to_owned(), json!(severity(Profile::Spec)));
    map.insert("strict".to_owned(), json!(severity(Profile::Strict)));
    map.insert("summary".to_owned(), json!(entry.summary()));
    map.insert("evidence".to_owned(), json!(entry.evidence()));
    map
}

fn all(out: Out) -> Result<(), CommandFailure> {
    let objects: Vec<Value> = rules()
        .iter()
        .map(|entry| Value::Object(object(entry)))
        .collect();
    if out.is_json() {
        let mut map = Map::new();
        map.insert("rules".to_owned(), Value::Array(objects));
        return out.envelope(map);
    }
    let mut text = String::new();
    for entry in rules() {
        let severities = format!(
            "{}/{}",
            entry.severity(Profile::Spec).as_str(),
            entry.severity(Profile::Strict).as_str()
        );
        put!(
            text,
            "{}  {severities:<16}  {:<20}  {}\n",
            entry.code(),
            entry.name(),
            entry.summary()
        );
    }
    out.text(&text)?;
    out.note("for one code, run: daemon-run rule D201");
    Ok(())
}
