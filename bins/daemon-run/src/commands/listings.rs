//! Listings, and the commands that show or change one thing.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::cli::{Cancel, Events, EventsVerb, Gate, Listing, Logs, Retry, RunShow, Show};
use crate::commands::columns::{Column, table};
use crate::failure::{Exit, Failure};
use crate::out::{Out, put};
use crate::place::Place;
use crate::session::{Intent, Session};

/// How often `--follow` looks again.
const FOLLOW: Duration = Duration::from_millis(500);

/// A kind of listing: its method, the name of its rows, and its columns for people.
#[derive(Debug)]
pub(crate) struct Kind {
    method: &'static str,
    plural: &'static str,
    columns: &'static [Column],
}

const fn column(title: &'static str, pointer: &'static str) -> Column {
    Column { title, pointer }
}

/// Registered daemons.
pub(crate) const DAEMONS: Kind = Kind {
    method: "daemon/list",
    plural: "daemons",
    columns: &[
        column("DAEMON", "/id"),
        column("REPOSITORY", "/repo"),
        column("VALID", "/valid"),
        column("GATE", "/gate"),
        column("WAKES ON", "/modes"),
        column("NEXT TICK", "/next_tick"),
        column("LAST", "/last_activation/state"),
    ],
};

/// Activations.
pub(crate) const ACTIVATIONS: Kind = Kind {
    method: "activation/list",
    plural: "activations",
    columns: &[
        column("ACTIVATION", "/id"),
        column("DAEMON", "/daemon_id"),
        column("STATE", "/state"),
        column("TRIGGER", "/trigger/key"),
        column("CREATED", "/created_at"),
        column("REASON", "/reason"),
    ],
};

/// Runs.
pub(crate) const RUNS: Kind = Kind {
    method: "run/list",
    plural: "runs",
    columns: &[
        column("RUN", "/id"),
        column("DAEMON", "/daemon_id"),
        column("PROVIDER", "/provider"),
        column("STATE", "/state"),
        column("STARTED", "/started_at"),
        column("SECONDS", "/elapsed_s"),
        column("RESULT", "/result_preview"),
    ],
};

/// Events.
pub(crate) const EVENTS: Kind = Kind {
    method: "event/list",
    plural: "events",
    columns: &[
        column("EVENT", "/id"),
        column("SOURCE", "/source"),
        column("KIND", "/kind"),
        column("ACTION", "/action"),
        column("SUBJECT", "/subject"),
        column("ACTOR", "/actor"),
        column("RECEIVED", "/received_at"),
        column("AGAIN", "/duplicates"),
    ],
};

/// Ticks.
pub(crate) const TICKS: Kind = Kind {
    method: "tick/list",
    plural: "ticks",
    columns: &[
        column("DAEMON", "/daemon_id"),
        column("SCHEDULED", "/scheduled_at"),
        column("COUNT", "/count"),
        column("OUTCOME", "/outcome"),
        column("ACTIVATION", "/activation_id"),
    ],
};

/// Outputs.
pub(crate) const OUTPUTS: Kind = Kind {
    method: "output/list",
    plural: "outputs",
    columns: &[
        column("OUTPUT", "/key"),
        column("DAEMON", "/daemon_id"),
        column("SURFACE", "/surface"),
        column("TARGET", "/target"),
        column("STATE", "/state"),
        column("CREATED", "/created_at"),
        column("TROUBLE", "/error"),
    ],
};

/// Prints one page of a listing, or follows it.
pub(crate) async fn list(
    kind: &Kind,
    args: &Listing,
    place: &Place,
    out: Out,
) -> Result<(), Failure> {
    if !(1..=500).contains(&args.limit) {
        return Err(Failure::usage(format!(
            "--limit is {}, 1 to 500 are served",
            args.limit
        )));
    }
    let mut session = Session::open(place, Intent::Look).await?;
    if args.follow {
        return follow(kind, args, &mut session, out).await;
    }
    let answer = session.call(kind.method, params(args)).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let rows = answer
        .get(kind.plural)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if rows.is_empty() {
        out.note(&format!("no {}", kind.plural));
        return Ok(());
    }
    out.text(&table(kind.columns, rows))?;
    problems(kind, rows, out);
    if let Some(next) = answer.get("next").and_then(Value::as_str) {
        out.note(&format!("more: --after {next}"));
    }
    Ok(())
}

/// Says beneath a list of daemons why some of them do not wake.
fn problems(kind: &Kind, rows: &[Value], out: Out) {
    if kind.plural != DAEMONS.plural {
        return;
    }
    for row in rows.iter().filter(|row| row["valid"] == false) {
        let diagnostics = row["diagnostics"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        for error in diagnostics
            .iter()
            .filter(|diagnostic| diagnostic["severity"] == "error")
        {
            let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
            let line = &error["start"]["line"];
            let place = format!("{}:{line}", row["path"].as_str().unwrap_or_default());
            out.note(&format!(
                "{place}: error[{}]: {}",
                text("code"),
                text("message")
            ));
        }
    }
}

fn params(args: &Listing) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("limit".to_owned(), json!(args.limit));
    let texts = [
        ("after", &args.after),
        ("daemon", &args.daemon),
        ("repo", &args.repo),
        ("state", &args.state),
        ("since", &args.since),
        ("until", &args.until),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            map.insert(name.to_owned(), json!(value));
        }
    }
    map
}

/// Prints what is there, oldest first, then what comes, until interrupted.
async fn follow(
    kind: &Kind,
    args: &Listing,
    session: &mut Session,
    out: Out,
) -> Result<(), Failure> {
    let mut seen: std::collections::HashMap<String, Value> = std::collections::HashMap::new();
    loop {
        let answer = session.call(kind.method, params(args)).await?;
        let rows = answer
            .get(kind.plural)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut fresh = Vec::new();
        for row in rows.into_iter().rev() {
            let key = identity(kind, &row);
            if seen.get(&key) != Some(&row) {
                seen.insert(key, row.clone());
                fresh.push(row);
            }
        }
        for row in fresh {
            match (out.is_json(), row) {
                (true, Value::Object(members)) => out.envelope(members)?,
                (_, row) => out.text(
                    &table(kind.columns, std::slice::from_ref(&row))
                        .lines()
                        .skip(1)
                        .collect::<Vec<_>>()
                        .join("\n"),
                )?,
            }
        }
        tokio::select! {
            () = tokio::time::sleep(FOLLOW) => {}
            interrupted = tokio::signal::ctrl_c() => {
                return match interrupted {
                    Ok(()) => Ok(()),
                    Err(error) => Err(Failure::bug(error.to_string())),
                };
            }
        }
    }
}

fn identity(kind: &Kind, row: &Value) -> String {
    let name = if kind.plural == OUTPUTS.plural {
        "key"
    } else {
        "id"
    };
    match row[name].as_str() {
        Some(id) => format!("{}{id}", row["repo"]),
        None => format!(
            "{}{}{}",
            row["daemon_id"], row["scheduled_at"], row["outcome"]
        ),
    }
}

/// Lists events, or shows one.
pub(crate) async fn events(args: &Events, place: &Place, out: Out) -> Result<(), Failure> {
    match &args.verb {
        None => list(&EVENTS, &args.listing, place, out).await,
        Some(EventsVerb::Show { id }) => {
            let mut session = Session::open(place, Intent::Look).await?;
            let answer = session.call("event/get", one("id", id)).await?;
            if out.is_json() {
                return out.envelope(answer);
            }
            out.text(&pretty(&Value::Object(answer)))
        }
    }
}

/// Shows one daemon.
pub(crate) async fn show(args: &Show, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let mut params = one("id", &args.id);
    if let Some(repo) = &args.repo {
        params.insert("repo".to_owned(), json!(super::repo_name(place, repo)));
    }
    let answer = session.call("daemon/get", params).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let daemon = &answer["daemon"];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut shown = format!("{}  {}\n", text(&daemon["id"]), text(&daemon["purpose"]));
    for name in ["repo", "path", "rev", "gate", "next_tick"] {
        put!(shown, "  {name:<10} {}\n", text(&daemon[name]));
    }
    put!(shown, "  {:<10} {}\n", "valid", daemon["valid"]);
    for condition in answer["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        shown.push_str(&super::explain::reading_text(condition));
    }
    for file in answer["support"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        put!(
            shown,
            "  support    {} ({} bytes)\n",
            text(&file["path"]),
            file["bytes"]
        );
    }
    out.text(&shown)
}

/// Shows one run.
pub(crate) async fn run_show(args: &RunShow, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let answer = session.call("run/get", one("id", &args.id)).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let mut text = pretty(&answer["run"]);
    for line in answer["timeline"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    {
        text.push_str(&timeline_line(line));
    }
    out.text(&text)
}

/// Prints the timeline of a run, and follows it.
pub(crate) async fn logs(args: &Logs, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let mut after = json!(0);
    loop {
        let mut params = one("id", &args.run);
        params.insert("after".to_owned(), after);
        let answer = session.call("run/log", params).await?;
        for line in answer["lines"].as_array().cloned().unwrap_or_default() {
            match (out.is_json(), line) {
                (true, Value::Object(members)) => out.envelope(members)?,
                (_, line) => out.text(&timeline_line(&line))?,
            }
        }
        if !args.follow || answer["state"] != "running" {
            return Ok(());
        }
        after = answer["next"].clone();
        tokio::time::sleep(FOLLOW).await;
    }
}

fn timeline_line(line: &Value) -> String {
    let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
    format!("{}  {:<18} {}\n", text("at"), text("kind"), text("detail"))
}

/// Holds or opens one daemon, or the host.
pub(crate) async fn gate(verb: &str, args: &Gate, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Change).await?;
    let answer = match &args.id {
        None => session.call(&format!("host/{verb}"), Map::new()).await?,
        Some(id) => {
            let mut params = one("id", id);
            if let Some(repo) = &args.repo {
                params.insert("repo".to_owned(), json!(repo));
            }
            session.call(&format!("daemon/{verb}"), params).await?
        }
    };
    let gate = answer["gate"].as_str().unwrap_or_default().to_owned();
    if out.is_json() {
        return out.envelope(answer);
    }
    out.text(&format!("{}: {gate}", args.id.as_deref().unwrap_or("host")))
}

/// Makes a live host read everything again.
pub(crate) async fn reload(place: &Place, out: Out) -> Result<(), Failure> {
    let Some(mut client) = crate::session::live(place).await? else {
        let failure = Failure::new(
            Exit::Unavailable,
            "no-host",
            "No host is running for this home",
        );
        return Err(failure.help("daemon-run serve"));
    };
    let answer = client
        .call("host/reload", Map::new())
        .await
        .map_err(crate::session::call_failure)?;
    if out.is_json() {
        return out.envelope(answer);
    }
    out.text(&format!(
        "reloaded: generation {}, needs restart: {}",
        answer["generation"], answer["needs_restart"]
    ))
}

/// Cancels an activation, after showing what it is doing.
pub(crate) async fn cancel(
    args: &Cancel,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Change).await?;
    let activation = session.call("activation/get", one("id", &args.id)).await?;
    if !args.yes {
        if prompts == Prompts::Never {
            return Err(Failure::usage(
                "cancelling needs --yes where nobody can be asked",
            ));
        }
        let state = activation["state"].as_str().unwrap_or_default();
        out.tell(&format!(
            "activation {} of {} is {state}",
            args.id, activation["daemon_id"]
        ));
        out.tell("cancel it? [y/N]");
        let mut answer = String::new();
        std::io::stdin()
            .read_line(&mut answer)
            .map_err(|error| Failure::unreadable(std::path::Path::new("standard input"), &error))?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            out.tell("nothing was cancelled");
            return Ok(());
        }
    }
    let answer = session
        .call("activation/cancel", one("id", &args.id))
        .await?;
    done(answer, out)
}

/// Whether a person can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    /// There is a terminal.
    Allowed,
    /// There is none, or nobody shall be asked.
    Never,
}

/// Makes an activation pending again.
pub(crate) async fn retry(args: &Retry, place: &Place, out: Out) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Change).await?;
    let answer = session
        .call("activation/retry", one("id", &args.activation))
        .await?;
    done(answer, out)
}

fn done(answer: Map<String, Value>, out: Out) -> Result<(), Failure> {
    if out.is_json() {
        return out.envelope(answer);
    }
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    out.text(&format!(
        "{}  {}  {}",
        text("id"),
        text("daemon_id"),
        text("state")
    ))
}

/// Makes parameters of one text.
pub(crate) fn one(name: &str, value: &str) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert(name.to_owned(), json!(value));
    map
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
