//! Listings of daemons, activations, runs, events, ticks and outputs.

use std::time::Duration;

use daemon_api::ops::NO_MODEL;
use daemon_api::ops::Operation;
use daemon_host::serve::Compose as _;
use serde_json::{Map, Value, json};

use crate::cli::ListingArgs;
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::local;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{CommandSession, Intent, has_store};
use daemon_view::columns::{Column, column, ids, names, row, states, table, times};

/// How often `--follow` polls.
pub(crate) const FOLLOW: Duration = Duration::from_millis(500);

/// A kind of listing: its operation, the member with its rows, and the columns of its table.
#[derive(Debug)]
pub(crate) struct Kind {
    operation: Operation,
    plural: &'static str,
    columns: &'static [Column],
}

/// Registered daemons.
pub(crate) const DAEMONS: Kind = Kind {
    operation: Operation::DaemonList,
    plural: "daemons",
    columns: &[
        names("DAEMON", "/id"),
        column("REPOSITORY", "/repo"),
        column("VALID", "/valid"),
        column("GATE", "/gate"),
        column("WAKES ON", "/modes"),
        times("NEXT TICK", "/next_tick"),
        states("LAST", "/last_activation"),
    ],
};

/// Activations.
pub(crate) const ACTIVATIONS: Kind = Kind {
    operation: Operation::ActivationList,
    plural: "activations",
    columns: &[
        ids("ACTIVATION", "/id"),
        names("DAEMON", "/daemon_id"),
        states("STATE", ""),
        column("TRIGGER", "/trigger/key"),
        times("CREATED", "/created_at"),
        column("DEPTH", "/chain/depth"),
        column("REASON", "/reason"),
    ],
};

/// Runs.
pub(crate) const RUNS: Kind = Kind {
    operation: Operation::RunList,
    plural: "runs",
    columns: &[
        names("RUN", "/id"),
        names("DAEMON", "/daemon_id"),
        column("PROVIDER", "/provider"),
        states("STATE", ""),
        times("STARTED", "/started_at"),
        column("SECONDS", "/elapsed_s"),
        column("RESULT", "/result_preview"),
    ],
};

/// Events.
pub(crate) const EVENTS: Kind = Kind {
    operation: Operation::EventList,
    plural: "events",
    columns: &[
        ids("EVENT", "/id"),
        column("SOURCE", "/source"),
        column("KIND", "/kind"),
        column("ACTION", "/action"),
        column("SUBJECT", "/subject"),
        column("ACTOR", "/actor"),
        times("RECEIVED", "/received_at"),
        column("DUPLICATES", "/duplicates"),
        column("DEPTH", "/chain/depth"),
    ],
};

/// Ticks.
pub(crate) const TICKS: Kind = Kind {
    operation: Operation::TickList,
    plural: "ticks",
    columns: &[
        names("DAEMON", "/daemon_id"),
        times("SINCE", "/first"),
        times("SCHEDULED", "/scheduled_at"),
        column("COUNT", "/count"),
        column("OUTCOME", "/outcome"),
        ids("ACTIVATION", "/activation_id"),
    ],
};

/// Outputs.
pub(crate) const OUTPUTS: Kind = Kind {
    operation: Operation::OutputList,
    plural: "outputs",
    columns: &[
        ids("OUTPUT", "/key"),
        names("DAEMON", "/daemon_id"),
        column("SURFACE", "/surface"),
        column("TARGET", "/target"),
        states("STATE", ""),
        times("CREATED", "/created_at"),
        column("ERROR", "/error"),
        names("URL", "/url"),
    ],
};

/// Prints one page of a listing, or follows it.
pub(crate) async fn list(
    kind: &Kind,
    args: &ListingArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    if !(1..=500).contains(&args.limit) {
        return Err(CommandFailure::usage(format!(
            "--limit is {}, but must be 1 to 500",
            args.limit
        )));
    }
    let mut session = match kind.operation {
        Operation::DaemonList => CommandSession::of_daemons(place, out).await?,
        _ => CommandSession::open(place, Intent::Look).await?,
    };
    if args.follow {
        return follow(kind, params(args, place), &mut session, out).await;
    }
    let answer = session.call(kind.operation, params(args, place)).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let rows = answer
        .get(kind.plural)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if let Some(why) = answer.get("pause").and_then(Value::as_str) {
        out.note(&format!("no activation starts: {why}"));
    }
    for line in unread(&answer) {
        out.note(&line);
    }
    if kind.plural == DAEMONS.plural && args.is_whole() && answer["next"].is_null() {
        unregistered(rows, place, out)?;
    }
    if rows.is_empty() {
        out.note(&format!("no {}", kind.plural));
        let warnings = answer.get("warnings").and_then(Value::as_array);
        let messages = warnings.into_iter().flatten();
        for message in messages.filter_map(|one| one["message"].as_str()) {
            out.warn(&plain(message));
        }
        return Ok(());
    }
    out.text(&table(kind.columns, rows, &out.layout()))?;
    problems(kind, rows, out);
    if kind.plural == DAEMONS.plural && !has_model(place) {
        out.note(NO_MODEL);
    }
    if let Some(next) = answer.get("next").and_then(Value::as_str) {
        out.note(&format!("more: --after {next}"));
    }
    Ok(())
}

/// Formats the repositories that a host has not read yet.
fn unread(answer: &Map<String, Value>) -> Vec<String> {
    let unread = answer.get("unread").and_then(Value::as_array);
    let lines = unread.into_iter().flatten().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        format!("`{}` is not read yet: {}", text("repo"), text("problem"))
    });
    lines.collect()
}

/// Prints a note for each daemon of the enclosing repository that is not among the registered ones.
fn unregistered(rows: &[Value], place: &Place, out: Out) -> Result<(), CommandFailure> {
    // Without a home, the session has read the repository and named them.
    if !has_store(place)? {
        return Ok(());
    }
    for daemon in local::daemons(&local::root(place, None)?)? {
        if !rows.iter().any(|row| row["id"] == daemon.id()) {
            out.note(&format!(
                "`{}` of this repository is not registered: commit it to the default branch, which `daemon-run serve` reads",
                plain(daemon.id())
            ));
        }
    }
    Ok(())
}

/// Reports whether the home's configuration names a model. True for an invalid configuration: its own error is printed elsewhere.
pub(super) fn has_model(place: &Place) -> bool {
    let config = Composer::new(place, Overrides::default()).load();
    config.map_or(true, |config| config.has_model())
}

/// Prints the errors of the daemons in a list that are invalid and therefore do not wake.
fn problems(kind: &Kind, rows: &[Value], out: Out) {
    if kind.plural != DAEMONS.plural {
        return;
    }
    for row in rows.iter().filter(|row| row["valid"] == false) {
        let path = row["path"].as_str().unwrap_or_default();
        for line in error_lines(path, &row["diagnostics"]) {
            out.note(&line);
        }
    }
}

/// Formats the errors among the diagnostics of a daemon file, one per line.
pub(super) fn error_lines(path: &str, diagnostics: &Value) -> Vec<String> {
    let all = diagnostics.as_array().into_iter().flatten();
    let errors = all.filter(|diagnostic| diagnostic["severity"] == "error");
    let lines = errors.map(|error| {
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        let (at, code) = (&error["start"]["line"], text("code"));
        plain(&format!("{path}:{at}: error[{code}]: {}", text("message")))
    });
    lines.collect()
}

fn params(args: &ListingArgs, place: &Place) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("limit".to_owned(), json!(args.limit));
    let filters = [
        ("after", &args.after),
        ("daemon", &args.daemon),
        ("state", &args.state),
        ("since", &args.since),
        ("until", &args.until),
    ];
    for (name, value) in filters {
        if let Some(value) = value {
            map.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(repo) = &args.repo {
        map.insert("repo".to_owned(), json!(super::repo_name(place, repo)));
    }
    map
}

/// Prints the present rows, the oldest first, then new and changed rows, until interrupted.
async fn follow(
    kind: &Kind,
    params: Map<String, Value>,
    session: &mut CommandSession,
    out: Out,
) -> Result<(), CommandFailure> {
    let mut seen: std::collections::HashMap<String, Value> = std::collections::HashMap::new();
    loop {
        let answer = session.call(kind.operation, params.clone()).await?;
        let rows = answer
            .get(kind.plural)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut fresh = Vec::new();
        // Listings are sorted newest first, a stream oldest first.
        for row in rows.into_iter().rev() {
            let key = identity(kind, &row);
            // The whole row is compared: a row whose state has changed is printed again.
            if seen.get(&key) != Some(&row) {
                seen.insert(key, row.clone());
                fresh.push(row);
            }
        }
        for one in fresh {
            match (out.is_json(), one) {
                (true, Value::Object(members)) => out.envelope(members)?,
                (_, one) => out.text(&row(kind.columns, &one, &out.layout()))?,
            }
        }
        tokio::time::sleep(FOLLOW).await;
    }
}

fn identity(kind: &Kind, row: &Value) -> String {
    let name = if kind.plural == OUTPUTS.plural {
        "key"
    } else {
        "id"
    };
    match row[name].as_str() {
        // Daemons of two repositories may have the same id.
        Some(id) => format!("{}{id}", row["repo"]),
        // A tick has no id of its own.
        None => format!(
            "{}{}{}{}",
            row["repo"], row["daemon_id"], row["scheduled_at"], row["outcome"]
        ),
    }
}
