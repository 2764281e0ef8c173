//! `explain --corpus`: scores the interpreter on a labelled corpus.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use daemon_event::Event;
use daemon_watch::corpus::{Answer, CorpusError, conditions, envelope, learn_label_names, score};
use daemon_watch::interpret;
use serde_json::Value;

use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, put};

/// Scores a labelled corpus.
pub(crate) fn run(
    corpus: &Path,
    payloads: &Path,
    answers: Option<&Path>,
    out: Out,
) -> Result<(), CommandFailure> {
    let text = std::fs::read_to_string(corpus)
        .map_err(|error| CommandFailure::unreadable(corpus, &error))?;
    let invalid = |error: String| CommandFailure::new(ExitKind::Invalid, "invalid-corpus", error);
    let labelled = conditions(&text).map_err(|error| {
        invalid(format!(
            "`{}`: {}",
            corpus.display(),
            daemon_records::error::chain(&error)
        ))
    })?;
    let events = read_payloads(payloads)?;
    let (score, given) = score(&labelled, &events, interpret);
    if let Some(path) = answers {
        write_answers(path, &given).map_err(|error| CommandFailure::unwritable(path, &error))?;
    }
    let Ok(Value::Object(map)) = serde_json::to_value(&score) else {
        return Err(CommandFailure::bug("a score cannot be written"));
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

fn write_answers(path: &Path, given: &[Answer]) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for answer in given {
        serde_json::to_writer(&mut file, answer)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}

/// Reads the envelopes of a directory, or of its subdirectory `derived`.
fn read_payloads(directory: &Path) -> Result<BTreeMap<String, Event>, CommandFailure> {
    let mut envelopes = Vec::new();
    let derived = directory.join("derived");
    let directory = if derived.is_dir() {
        derived
    } else {
        directory.to_owned()
    };
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| CommandFailure::unreadable(&directory, &error))?;
    for entry in entries {
        let path = entry
            .map_err(|error| CommandFailure::unreadable(&directory, &error))?
            .path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path)
            .map_err(|error| CommandFailure::unreadable(&path, &error))?;
        envelopes.push(envelope(&text).map_err(|error| invalid(&path.display(), &error))?);
    }
    if envelopes.is_empty() {
        let message = format!("`{}` contains no payloads", directory.display());
        return Err(CommandFailure::new(
            ExitKind::NoInput,
            "no-payloads",
            message,
        ));
    }
    // Payloads of Linear contain ids of labels, conditions their names.
    learn_label_names(&mut envelopes);
    let events = envelopes.into_iter().map(|envelope| {
        let event = envelope.event();
        let event = event.map_err(|error| invalid(&envelope.id, &error))?;
        Ok((envelope.id, event))
    });
    events.collect()
}

/// Returns the failure of a payload that cannot be read, named by its file or id.
fn invalid(what: &dyn std::fmt::Display, error: &CorpusError) -> CommandFailure {
    let message = format!("`{what}`: {}", daemon_records::error::chain(error));
    CommandFailure::new(ExitKind::Invalid, "invalid-payload", message)
}
