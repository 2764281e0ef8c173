//! The files of a new daemon.

use daemon_spec::{Fix, apply_fixes, parse};

use super::catalogue::Template;
use super::parameters::Values;
use crate::cli::NewArgs;
use crate::out::put;

/// The directory of the tests of all daemons.
pub(super) const TESTS: &str = ".agents/daemon-tests";

/// The contents of the files of a daemon.
#[derive(Debug)]
pub(super) struct DaemonFiles {
    pub(super) daemon: String,
    /// The tests, each with its name in the directory of tests.
    pub(super) tests: Vec<(&'static str, String)>,
}

/// Fills a template. Conditions and a schedule that are given take the place of its own.
pub(super) fn files(id: &str, template: &Template, values: &Values, args: &NewArgs) -> DaemonFiles {
    let daemon = values.fill(template.daemon, id);
    if !args.watch.is_empty() || args.schedule.is_some() {
        return DaemonFiles {
            daemon: with_activation(daemon, args),
            // The tests are about the conditions of the template.
            tests: Vec::new(),
        };
    }
    let mut tests = vec![("events.yml", values.fill(template.events, id))];
    if let Some(ticks) = template.ticks.filter(|_| !values.is_changed("schedule")) {
        tests.push(("ticks.yml", values.fill(ticks, id)));
    }
    DaemonFiles { daemon, tests }
}

/// Replaces `watch` and `schedule` of a daemon file.
fn with_activation(daemon: String, args: &NewArgs) -> String {
    let file = parse(daemon.into_bytes()).file;
    let old = [file.watch().key(), file.schedule().key()];
    let lines = old.map(|key| key.and_then(|key| file.member_removal(key)));
    let mut new = String::new();
    if !args.watch.is_empty() {
        new.push_str("watch:\n");
        for condition in &args.watch {
            put!(new, "  - {}\n", scalar(condition));
        }
    }
    if let Some(schedule) = &args.schedule {
        put!(new, "schedule: {}\n", quoted(schedule));
    }
    // The new lines take the place of the first old ones. Every template has some.
    let mut new = Some(new);
    let fixes: Vec<Fix> = lines
        .into_iter()
        .flatten()
        .map(|span| Fix::replace("", span, new.take().unwrap_or_default()))
        .collect();
    let fixed = apply_fixes(file.source().as_bytes(), &fixes);
    String::from_utf8(fixed.bytes).expect("the template and the arguments are text")
}

fn scalar(entry: &str) -> String {
    // Only scalars that every YAML reader takes as a string are not quoted.
    let is_plain = entry.starts_with(|c: char| c.is_ascii_alphabetic())
        && entry
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " ,.'/_-".contains(c))
        && !entry.ends_with(' ');
    if is_plain {
        entry.to_owned()
    } else {
        quoted(entry)
    }
}

/// Returns a YAML double-quoted scalar. Every JSON string is one.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
