//! What the tools do: what the commands of the same names do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use daemon_host::ops::{Operation, Params};
use daemon_lint::{
    AutoColour, CommonArguments, LintArguments, Linting, StandardStreams, Surroundings,
};
use serde_json::{Map, Value};

use super::table::{Does, Tool};
use crate::cli::{EventArgs, Explain, Fire, Next, Occasion};
use crate::commands::{explain, fire, next, repo_name};
use crate::failure::Failure;
use crate::place::Place;
use crate::session::{Intent, Session};

type Members = Map<String, Value>;

/// How long `fire` waits for an end: less than clients wait for an answer.
const PATIENCE: Duration = Duration::from_secs(45);
/// How many instants `next` tells where nothing else is asked.
const INSTANTS: u32 = 5;

/// Does what a tool does, and returns the members of its answer.
pub(super) async fn call(tool: &Tool, given: Members, place: &Place) -> Result<Members, Failure> {
    match tool.does {
        Does::Operation(wanted) => operation(wanted, given, place).await,
        Does::Lint => lint(Params::new(given), place),
        Does::Explain => {
            let args = explain_args(Params::new(given))?;
            let answer = Box::pin(explain::answer(&args, place)).await?;
            Ok(answer.members)
        }
        Does::Next => next::answer(&next_args(Params::new(given))?, place),
        Does::Fire => {
            let args = fire_args(Params::new(given))?;
            match Box::pin(fire::answer(&args, place, PATIENCE)).await? {
                Value::Object(members) => Ok(members),
                _ => Err(Failure::bug("an answer is not an object")),
            }
        }
        Does::Daemon => Err(Failure::bug("`daemon` has answers of its own")),
    }
}

async fn operation(
    wanted: Operation,
    mut given: Members,
    place: &Place,
) -> Result<Members, Failure> {
    if let Some(Value::String(repo)) = given.get("repo") {
        let name = repo_name(place, repo);
        given.insert("repo".to_owned(), Value::String(name));
    }
    let mut session = Session::open(place, Intent::Look).await?;
    session.call(wanted, given).await
}

fn lint(mut given: Params, place: &Place) -> Result<Members, Failure> {
    let mut lint = LintArguments::default();
    lint.paths = texts(&mut given, "paths")?
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
        Some(_) => return Err(Failure::usage("`profile` is `spec` or `strict`")),
    };
    given.finish()?;
    if lint.stdin && !lint.paths.is_empty() || !lint.stdin && lint.stdin_path.is_some() {
        return Err(Failure::usage(
            "`paths` excludes `text`, and `path` belongs to `text`",
        ));
    }
    if lint.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::usage("give a file as `text`"));
    }
    let surroundings = Surroundings {
        directory: place.directory.clone(),
        now: daemon_host::random::now(),
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
    // A failure is on the same stream, as an object of its own.
    if let Ok(linting) = Linting::begin(&lint, &common, &surroundings, &mut streams) {
        linting.print(&mut streams);
    }
    let mut members: Members = serde_json::from_slice(&output)
        .map_err(|error| Failure::bug(format!("the linter told no object: {error}")))?;
    // The envelope bears the same version.
    members.remove("schema_version");
    Ok(members)
}

fn explain_args(mut given: Params) -> Result<Explain, Failure> {
    let args = Explain {
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
        return Err(Failure::usage("`condition` and `id` exclude each other"));
    }
    Ok(args)
}

fn next_args(mut given: Params) -> Result<Next, Failure> {
    let count = match given.number("n")? {
        None => INSTANTS,
        Some(n) => u32::try_from(n).unwrap_or(u32::MAX),
    };
    let args = Next {
        id: given.text("id")?,
        cron: given.text("cron")?,
        tz: given.text("tz")?,
        from: given.text("from")?,
        count,
        repo: path(&mut given, "repo")?,
    };
    given.finish()?;
    if args.cron.is_some() && args.id.is_some() {
        return Err(Failure::usage("`cron` and `id` exclude each other"));
    }
    Ok(args)
}

fn fire_args(mut given: Params) -> Result<Fire, Failure> {
    let args = Fire {
        id: given.required("id")?,
        repo: path(&mut given, "repo")?,
        occasion: Occasion {
            event: event_args(&mut given)?,
            tick: given.text("tick")?,
        },
        dry_run: given.flag("dry_run")?,
        provider: None,
    };
    given.finish()?;
    let has_event = args.occasion.event.event.is_some() || args.occasion.event.payload.is_some();
    if has_event && args.occasion.tick.is_some() {
        return Err(Failure::usage("`event` and `tick` exclude each other"));
    }
    Ok(args)
}

fn event_args(given: &mut Params) -> Result<EventArgs, Failure> {
    let (event, payload) = match given.value("event") {
        None => (None, None),
        // Standard input is the client's.
        Some(Value::String(path)) if path == "-" => {
            return Err(Failure::usage("give the payload as an object"));
        }
        Some(Value::String(path)) => (Some(PathBuf::from(path)), None),
        Some(payload @ Value::Object(_)) => (None, Some(payload.to_string().into_bytes())),
        Some(_) => return Err(Failure::usage("`event` is an object or a path")),
    };
    Ok(EventArgs {
        event,
        payload,
        source: given.text("source")?,
        kind: given.text("kind")?,
        changed_files: texts(given, "changed_files")?,
    })
}

fn path(given: &mut Params, name: &str) -> Result<Option<PathBuf>, Failure> {
    Ok(given.text(name)?.map(PathBuf::from))
}

fn texts(given: &mut Params, name: &str) -> Result<Vec<String>, Failure> {
    let refused = || Failure::usage(format!("`{name}` must be a list of texts"));
    match given.value(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            let texts = values.into_iter().map(|value| match value {
                Value::String(text) => Ok(text),
                _ => Err(refused()),
            });
            texts.collect()
        }
        Some(_) => Err(refused()),
    }
}
