//! `outputs prune`: removes the branches of daemons that have served their purpose.

use daemon_api::ops::{Operation, Params};
use serde_json::{Map, Value, json};

use crate::cli::PruneArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{CommandSession, Intent};
use daemon_view::columns::{Column, column, names, table};

const COLUMNS: &[Column] = &[
    names("BRANCH", "/branch"),
    column("REPOSITORY", "/repo"),
    column("REASON", "/reason"),
    column("REMOVED", "/removed"),
    column("ERROR", "/error"),
];

/// Removes branches, through a running host or without one. Returns the exit code.
pub(crate) async fn run(args: &PruneArgs, place: &Place, out: Out) -> Result<u8, CommandFailure> {
    let mut params = Map::new();
    params.insert("dry_run".to_owned(), json!(args.dry_run));
    let named = [("daemon", &args.daemon), ("older", &args.older)];
    for (name, value) in named {
        params.extend(value.as_ref().map(|value| (name.to_owned(), json!(value))));
    }
    // Before the store is opened, so that a wrong argument is reported first.
    let mut checked = Params::new(params.clone());
    checked.instant("older", daemon_records::clock::now())?;
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let answer = session.call(Operation::OutputPrune, params).await?;
    let failure = failure(&answer);
    if out.is_json() {
        // The object lists what failed; a second one would not be read.
        out.envelope(answer)?;
        return Ok(failure.map_or(0, |failure| failure.exit as u8));
    }
    out.text(&text(&answer, out))?;
    failure.map_or(Ok(0), Err)
}

fn rows<'a>(answer: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    answer
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text(answer: &Map<String, Value>, out: Out) -> String {
    let branches = rows(answer, "branches");
    let mut text = match branches {
        [] => "no branch of a daemon is merged or has a closed pull request\n".to_owned(),
        branches => table(COLUMNS, branches, &out.layout()),
    };
    for problem in rows(answer, "problems").iter().filter_map(Value::as_str) {
        text.extend(["not examined: ", &plain(problem), "\n"]);
    }
    text
}

/// Returns the failure if a branch was not removed or a repository not examined.
fn failure(answer: &Map<String, Value>) -> Option<CommandFailure> {
    let kept = rows(answer, "branches").iter();
    let kept = kept.filter(|branch| !branch["error"].is_null()).count();
    let unread = rows(answer, "problems").len();
    let message = format!("{kept} branches could not be removed, {unread} could not be examined");
    (kept + unread > 0)
        .then(|| CommandFailure::new(ExitKind::Unavailable, "prune-incomplete", message))
}
