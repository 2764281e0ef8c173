//! The run, activation or event that a person names: by its id or the beginning of one; the latest run also by `--last`.
//!
//! Only for the command line: agents, and commands that end a run, need whole ids.

use daemon_api::ops::Operation;
use daemon_run_folder::RunId;
use serde_json::{Value, json};

use crate::cli::{EventArgs, WhichRunArgs};
use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;
use crate::session::{CommandSession, NO_HOME, parameter};

/// The rows of one request.
const PAGE: u32 = 500;
/// The most ids that an error lists.
const SHOWN: usize = 5;
/// The fewest characters of a beginning: an empty word in a script must not name the only row.
const FEWEST: usize = 4;
/// The length of ids of activations and events.
const WHOLE: usize = 26;

/// A listing in which an id is searched.
#[derive(Clone, Copy)]
struct Listing {
    operation: Operation,
    plural: &'static str,
    /// What a person can do about an ambiguous beginning.
    help: &'static str,
}

const RUNS: Listing = Listing {
    operation: Operation::RunList,
    plural: "runs",
    help: "give more of the id, or --last",
};

/// Returns the id of the run.
///
/// # Errors
/// Several runs begin with what was given, or there is no run yet.
pub(crate) async fn run(
    args: &WhichRunArgs,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    let Some(given) = &args.id else {
        let (ids, _) = page(RUNS, session, 1, &Value::Null).await?;
        return ids.into_iter().next().ok_or_else(|| {
            CommandFailure::new(ExitKind::NoInput, "no-runs", "no run is recorded")
                .help("wake a daemon with `daemon-run fire ID`")
        });
    };
    match given.parse::<RunId>() {
        Ok(_) => Ok(given.clone()),
        Err(_) => beginning(RUNS, given, session).await,
    }
}

/// Returns the id of the activation that has or begins with `given`.
///
/// # Errors
/// Several activations begin with it.
pub(crate) async fn activation(
    given: &str,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    let listing = Listing {
        operation: Operation::ActivationList,
        plural: "activations",
        help: "give more of the id",
    };
    whole(listing, given, session).await
}

/// Returns the id of the event that has or begins with `given`.
///
/// # Errors
/// Several events begin with it.
pub(crate) async fn event(
    given: &str,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    let listing = Listing {
        operation: Operation::EventList,
        plural: "events",
        help: "give more of the id",
    };
    whole(listing, given, session).await
}

/// Returns what `--event` gives as the id of a stored event, or as its beginning. A file of this name takes precedence.
pub(crate) fn named_event<'a>(args: &'a EventArgs, place: &Place) -> Option<&'a str> {
    let given = args.event.as_deref()?.to_str()?;
    let is_named = match args.needs_whole_id {
        true => given.len() == WHOLE && may_be_event(given, place),
        false => may_be_event(given, place),
    };
    is_named.then_some(given)
}

/// Reports whether a word may be the id of an event, or its beginning: it is shaped like one, and no file has this name.
pub(crate) fn may_be_event(given: &str, place: &Place) -> bool {
    (FEWEST..=WHOLE).contains(&given.len())
        // The first characters are the time.
        && given.starts_with(|c: char| c.is_ascii_digit())
        && given
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && !place.directory.join(given).exists()
}

/// Returns the id of the event that has or begins with `given`, where a file could be given, too.
///
/// # Errors
/// No event or several begin with it.
pub(crate) async fn event_or_file(
    given: &str,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    let id = event(given, session).await?;
    match id.len() {
        WHOLE => Ok(id),
        _ => Err(neither(given).help("`daemon-run events` lists the events")),
    }
}

/// Returns the failure of a word that names no file, when there is no store to search it in.
pub(crate) fn no_store(given: &str, failure: CommandFailure) -> CommandFailure {
    match failure.code.as_str() {
        NO_HOME => neither(given).help(failure.message),
        _ => failure,
    }
}

fn neither(given: &str) -> CommandFailure {
    let message =
        format!("`{given}` is neither a file nor the id of a stored event or its beginning");
    CommandFailure::new(ExitKind::NoInput, "unknown-event", message)
}

async fn whole(
    listing: Listing,
    given: &str,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    match given.len() {
        WHOLE => Ok(given.to_owned()),
        _ => beginning(listing, given, session).await,
    }
}

async fn beginning(
    listing: Listing,
    given: &str,
    session: &mut CommandSession,
) -> Result<String, CommandFailure> {
    if given.len() < FEWEST {
        return Ok(given.to_owned());
    }
    let mut found: Vec<String> = Vec::new();
    let mut after = Value::Null;
    while found.len() <= SHOWN {
        let (ids, next) = page(listing, session, PAGE, &after).await?;
        found.extend(ids.into_iter().filter(|id| id.starts_with(given)));
        match next {
            Value::Null => break,
            next => after = next,
        }
    }
    match found.as_slice() {
        // The host knows best how an id is wrong.
        [] => Ok(given.to_owned()),
        [one] => Ok(one.clone()),
        many => {
            let more = if many.len() > SHOWN { ", …" } else { "" };
            let shown = many.iter().take(SHOWN).map(String::as_str);
            let shown = shown.collect::<Vec<_>>().join(", ");
            let plural = listing.plural;
            let message = format!("several {plural} begin with `{given}`: {shown}{more}");
            Err(CommandFailure::usage(message).help(listing.help))
        }
    }
}

/// Returns the ids of a page of a listing, the newest first, and the cursor of the next page.
async fn page(
    listing: Listing,
    session: &mut CommandSession,
    limit: u32,
    after: &Value,
) -> Result<(Vec<String>, Value), CommandFailure> {
    let mut params = serde_json::Map::new();
    params.insert("limit".to_owned(), json!(limit));
    if let Some(after) = after.as_str() {
        params.extend(parameter("after", after));
    }
    let answer = session.call(listing.operation, params).await?;
    let rows = answer.get(listing.plural).and_then(Value::as_array);
    let ids = rows.into_iter().flatten();
    let ids = ids.filter_map(|row| Some(row["id"].as_str()?.to_owned()));
    let next = answer.get("next").cloned().unwrap_or_default();
    Ok((ids.collect(), next))
}
