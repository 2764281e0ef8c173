//! The run that a person names: by its id, by the beginning of one, or as the latest.
//!
//! Only for commands that read: agents and commands that end a run need the whole id.

use daemon_api::ops::Operation;
use daemon_run_folder::RunId;
use serde_json::{Value, json};

use crate::cli::WhichRunArgs;
use crate::failure::{CommandFailure, ExitKind};
use crate::session::{CommandSession, parameter};

/// The rows of one request.
const PAGE: u32 = 500;
/// The most ids that an error lists.
const SHOWN: usize = 5;

/// Returns the id of the run.
///
/// # Errors
/// Several runs begin with what was given, or there is no run yet.
pub(crate) async fn id(
    args: &WhichRunArgs,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    let Some(given) = &args.id else {
        let (ids, _) = page(session, 1, &Value::Null).await?;
        return ids.into_iter().next().ok_or_else(|| {
            CommandFailure::new(ExitKind::NoInput, "no-runs", "no run is recorded")
                .help("wake a daemon with `daemon-run fire ID`")
        });
    };
    if given.parse::<RunId>().is_ok() {
        return Ok(given.clone());
    }
    let mut found: Vec<String> = Vec::new();
    let mut after = Value::Null;
    while found.len() <= SHOWN {
        let (ids, next) = page(session, PAGE, &after).await?;
        found.extend(ids.into_iter().filter(|id| id.starts_with(given.as_str())));
        match next {
            Value::Null => break,
            next => after = next,
        }
    }
    match found.as_slice() {
        // The host knows best how an id is wrong.
        [] => Ok(given.clone()),
        [one] => Ok(one.clone()),
        many => {
            let more = if many.len() > SHOWN { ", …" } else { "" };
            let shown = many.iter().take(SHOWN).map(String::as_str);
            let shown = shown.collect::<Vec<_>>().join(", ");
            let message = format!("several runs begin with `{given}`: {shown}{more}");
            Err(CommandFailure::usage(message).help("give more of the id, or --last"))
        }
    }
}

/// Returns the ids of a page of runs, the newest first, and the cursor of the next page.
async fn page(
    session: &mut CommandSession,
    limit: u32,
    after: &Value,
) -> Result<(Vec<String>, Value), CommandFailure> {
    let mut params = serde_json::Map::new();
    params.insert("limit".to_owned(), json!(limit));
    if let Some(after) = after.as_str() {
        params.extend(parameter("after", after));
    }
    let answer = session.call(Operation::RunList, params).await?;
    let runs = answer.get("runs").and_then(Value::as_array);
    let ids = runs.into_iter().flatten();
    let ids = ids.filter_map(|run| Some(run["id"].as_str()?.to_owned()));
    let next = answer.get("next").cloned().unwrap_or_default();
    Ok((ids.collect(), next))
}
