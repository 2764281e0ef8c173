//! Removing the secrets that the host knows from the events of a run.

use std::collections::BTreeMap;
use std::ffi::OsString;

use daemon_provider::redact::{Redactor, is_secret_name};
use daemon_provider::{Failure, NetworkUse, Outcome, RunEvent};

/// The shortest value that counts as random, in bytes.
const RANDOM_LENGTH: usize = 16;

/// Returns the values of an environment that have the name of a secret or look like one.
pub(crate) fn environment_secrets(
    environment: &BTreeMap<OsString, OsString>,
) -> impl Iterator<Item = String> + '_ {
    let texts = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_string_lossy(), value.to_str()?)));
    texts
        .filter(|(name, value)| is_secret_name(name) || looks_random(value))
        .map(|(_, value)| value.to_owned())
}

/// Returns whether a value could be a token: one long word of letters and digits without a slash.
fn looks_random(value: &str) -> bool {
    let has = |kind: fn(&char) -> bool| value.chars().any(|c| kind(&c));
    value.len() >= RANDOM_LENGTH
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && value.chars().all(|c| c.is_ascii_graphic() && c != '/')
}

/// Returns an event without secrets.
pub(super) fn event(redactor: &Redactor, event: &RunEvent) -> RunEvent {
    let clean = |text: &String| redactor.text(text).into_owned();
    match event {
        RunEvent::Spawned { child, argv } => RunEvent::Spawned {
            child: *child,
            argv: argv.iter().map(clean).collect(),
        },
        RunEvent::Message { speaker, text } => RunEvent::Message {
            speaker: *speaker,
            text: clean(text),
        },
        RunEvent::ToolStart { id, name, args } => RunEvent::ToolStart {
            id: id.clone(),
            name: clean(name),
            args: clean(args),
        },
        RunEvent::ToolEnd { id, name, status } => RunEvent::ToolEnd {
            id: id.clone(),
            name: clean(name),
            status: *status,
        },
        RunEvent::Denied { name, detail } => RunEvent::Denied {
            name: clean(name),
            detail: clean(detail),
        },
        RunEvent::Limit { name, detail } => RunEvent::Limit {
            name: clean(name),
            detail: clean(detail),
        },
        // A host name is chosen by the program, which could put a secret into it.
        RunEvent::Network(used) => RunEvent::Network(NetworkUse {
            host: clean(&used.host),
            error: used.error.as_ref().map(clean),
            ..used.clone()
        }),
        RunEvent::Usage { usage, raw } => RunEvent::Usage {
            usage: *usage,
            raw: redactor.json(raw),
        },
        RunEvent::Terminal { outcome, text } => RunEvent::Terminal {
            outcome: self::outcome(redactor, outcome),
            text: clean(text),
        },
        RunEvent::ModelCall {
            usage,
            model,
            endpoint,
        } => RunEvent::ModelCall {
            usage: *usage,
            model: clean(model),
            endpoint: clean(endpoint),
        },
        // Identities and numbers contain no secrets. `Record` redacts output, whose lines belong together, and proposals.
        other => other.clone(),
    }
}

/// Returns an outcome without secrets.
pub(super) fn outcome(redactor: &Redactor, outcome: &Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(failure) => Outcome::Failed(Failure {
            message: redactor.text(&failure.message).into_owned(),
            ..failure.clone()
        }),
        other => other.clone(),
    }
}
