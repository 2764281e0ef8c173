//! Calls of tools: each runs the command of the same name.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use daemon_api::ops::{Operation, Params};
use daemon_lint::{
    AutoColour, CommonArguments, LintArguments, Linting, StandardStreams, Surroundings,
};
use serde_json::{Map, Value};

use super::table::{ToolAction, ToolRow};
use crate::cli::{EventArgs, ExplainArgs, FireArgs, NextArgs, OccasionArgs};
use crate::commands::{explain, fire, next, repo_name};
use crate::failure::CommandFailure;
use crate::place::Place;
use crate::session::{CommandSession, Intent};

type Members = Map<String, Value>;

/// How long `fire` waits for the end of the activation: less than the usual timeout of clients, which is 60 seconds.
const TIMEOUT: Duration = Duration::from_secs(45);
/// How many instants `next` returns by default.
const INSTANTS: u32 = 5;

/// Runs a tool, and returns the members of its result.
pub(super) async fn call(
    tool: &ToolRow,
    given: Members,
    place: &Place,
) -> Result<Members, CommandFailure> {
    match tool.action {
        ToolAction::Operation(wanted) => operation(wanted, given, place).await,
        ToolAction::Lint => lint(Params::new(given), place),
        ToolAction::Explain => {
            let args = explain_args(Params::new(given))?;
            let answer = Box::pin(explain::answer(&args, place)).await?;
            Ok(answer.members)
        }
        ToolAction::Next => next::answer(&next_args(Params::new(given))?, place),
        ToolAction::Fire => {
            let args = fire_args(Params::new(given))?;
            match Box::pin(fire::answer(&args, place, TIMEOUT)).await? {
                Value::Object(members) => Ok(members),
                _ => Err(CommandFailure::bug("an answer is not an object")),
            }
        }
        ToolAction::Daemon => Err(CommandFailure::bug("`daemon` is called elsewhere")),
    }
}

async fn operation(
    wanted: Operation,
    mut given: Members,
    place: &Place,
) -> Result<Members, CommandFailure> {
    if let Some(Value::String(repo)) = given.get("repo") {
        let name = repo_name(place, repo);
        given.insert("repo".to_owned(), Value::String(name));
    }
    // All operations that are tools only read.
    let mut session = CommandSession::open(place, Intent::Look).await?;
    session.call(wanted, given).await
}

fn lint(mut given: Params, place: &Place) -> Result<Members, CommandFailure> {
    let mut lint = LintArguments::default();
    lint.paths = strings(&mut given, "paths")?
        .into_iter()
        .map(PathBuf::from)
        .collect();
    let text = given.text("text")?;
    lint.stdin = text.is_some();
    lint.stdin_path = path(&mut given, "path")?;
    lint.deny_warnings = given.flag("deny_warnings")?;
    lint.tz = given.text("tz")?.unwrap_or_else(|| "UTC".to_owned());
    lint.profile = match given.text("profile")?.as_deref() {
        None | Some("spec") => daemon_lint::ProfileName::Spec,
        Some("strict") => daemon_lint::ProfileName::Strict,
        Some(_) => return Err(CommandFailure::usage("`profile` is `spec` or `strict`")),
    };
    given.finish()?;
    if lint.stdin && !lint.paths.is_empty() || !lint.stdin && lint.stdin_path.is_some() {
        return Err(CommandFailure::usage(
            "`paths` excludes `text`, and `path` belongs to `text`",
        ));
    }
    if lint.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(CommandFailure::usage("give a file as `text`"));
    }
    let surroundings = Surroundings {
        directory: place.directory.clone(),
        now: daemon_records::clock::now(),
        auto_colour: AutoColour::Plain,
    };
    let mut common = CommonArguments::default();
    common.json = true;
    common.quiet = true;
    let (mut output, mut notes) = (Vec::new(), io::sink());
    let mut input = text.as_deref().unwrap_or_default().as_bytes();
    let mut streams = StandardStreams {
        input: &mut input,
        output: &mut output,
        notes: &mut notes,
    };
    // On failure, the linter has written an object with the error to the same stream.
    if let Ok(linting) = Linting::begin(&lint, &common, &surroundings, &mut streams) {
        linting.print(&mut streams);
    }
    let mut members: Members = serde_json::from_slice(&output)
        .map_err(|error| CommandFailure::bug(format!("the linter printed no object: {error}")))?;
    // The envelope of the result has the same member.
    members.remove("schema_version");
    Ok(members)
}

fn explain_args(mut given: Params) -> Result<ExplainArgs, CommandFailure> {
    let args = ExplainArgs {
        id: given.text("id")?,
        condition: given.text("condition")?,
        event: event_args(&mut given)?,
        all_daemons: given.flag("all_daemons")?,
        exit_code: false,
        corpus: None,
        payloads: None,
        answers: None,
        repo: path(&mut given, "repo")?,
    };
    given.finish()?;
    if args.condition.is_some() && args.id.is_some() {
        return Err(CommandFailure::usage(
            "`condition` and `id` exclude each other",
        ));
    }
    Ok(args)
}

fn next_args(mut given: Params) -> Result<NextArgs, CommandFailure> {
    let count = match given.number("n")? {
        None => INSTANTS,
        Some(n) => u32::try_from(n).unwrap_or(u32::MAX),
    };
    let args = NextArgs {
        id: given.text("id")?,
        cron: given.text("cron")?,
        tz: given.text("tz")?,
        from: given.text("from")?,
        count,
        repo: path(&mut given, "repo")?,
    };
    given.finish()?;
    if args.cron.is_some() && args.id.is_some() {
        return Err(CommandFailure::usage("`cron` and `id` exclude each other"));
    }
    Ok(args)
}

fn fire_args(mut given: Params) -> Result<FireArgs, CommandFailure> {
    let args = FireArgs {
        id: given.required("id")?,
        repo: path(&mut given, "repo")?,
        occasion: OccasionArgs {
            event: event_args(&mut given)?,
            tick: given.text("tick")?,
        },
        dry_run: given.flag("dry_run")?,
        // Only for the owner at the command line: the file is in no commit.
        working_tree: false,
        provider: None,
    };
    given.finish()?;
    let has_event = args.occasion.event.event.is_some() || args.occasion.event.payload.is_some();
    if has_event && args.occasion.tick.is_some() {
        return Err(CommandFailure::usage(
            "`event` and `tick` exclude each other",
        ));
    }
    Ok(args)
}

fn event_args(given: &mut Params) -> Result<EventArgs, CommandFailure> {
    let (event, payload) = match given.value("event") {
        None => (None, None),
        // Standard input carries the protocol.
        Some(Value::String(path)) if path == "-" => {
            return Err(CommandFailure::usage("give the payload as an object"));
        }
        Some(Value::String(path)) => (Some(PathBuf::from(path)), None),
        Some(payload @ Value::Object(_)) => (None, Some(payload.to_string().into_bytes())),
        Some(_) => return Err(CommandFailure::usage("`event` is an object or a path")),
    };
    Ok(EventArgs {
        event,
        payload,
        needs_whole_id: true,
        source: given.text("source")?,
        kind: given.text("kind")?,
        changed_files: strings(given, "changed_files")?,
    })
}

fn path(given: &mut Params, name: &str) -> Result<Option<PathBuf>, CommandFailure> {
    Ok(given.text(name)?.map(PathBuf::from))
}

fn strings(given: &mut Params, name: &str) -> Result<Vec<String>, CommandFailure> {
    let refused = || CommandFailure::usage(format!("`{name}` must be a list of strings"));
    match given.value(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            let strings = values.into_iter().map(|value| match value {
                Value::String(text) => Ok(text),
                _ => Err(refused()),
            });
            strings.collect()
        }
        Some(_) => Err(refused()),
    }
}
