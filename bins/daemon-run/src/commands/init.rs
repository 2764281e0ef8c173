//! `init`: prepares a repository and the home for a first daemon, and runs it once.

mod found;
mod settings;

use std::fs;
use std::path::Path;

use daemon_engine::ActivationState;
use daemon_host::home::Home;
use daemon_host::serve::Compose as _;
use daemon_repo::{Git, Repository};
use daemon_run_folder::write_atomic;
use serde_json::{Map, Value, json};

use self::found::Found;
pub(crate) use self::found::agents;
use super::act::{Prompts, answer};
use super::{fire, new};
use crate::cli::{InitArgs, NewArgs};
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::local;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::home_failure;

/// The template of the first daemon. The provider without a model can do its work.
const FIRST: &str = "link-janitor";
/// The provider without a model.
const BUILTIN: &str = "builtin";

/// Collects the steps, and prints each as it ends.
struct Steps {
    objects: Vec<Value>,
    is_ok: bool,
    out: Out,
}

impl Steps {
    fn step(&mut self, name: &str, is_ok: bool, detail: &str) -> Result<(), CommandFailure> {
        self.is_ok &= is_ok;
        self.objects
            .push(json!({"name": name, "ok": is_ok, "detail": detail}));
        match self.out.is_json() {
            true => Ok(()),
            false => self.out.text(&format!("{name:<13} {}", plain(detail))),
        }
    }
}

/// Prepares what is missing, and returns whether the first run succeeded. Commits nothing, and changes nothing that exists.
pub(crate) async fn run(
    args: &InitArgs,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<bool, CommandFailure> {
    let questions = questions(args, prompts, out)?;
    let root = local::root(place, None)?;
    let composer = Composer::new(place, Overrides::default());
    let repository = repository(&composer.git()?, &root)?;
    let mut steps = Steps {
        objects: Vec::new(),
        is_ok: true,
        out,
    };
    let found = Found::look(&repository, place);
    for (name, detail) in found.lines() {
        steps.step(name, true, &detail)?;
    }
    // Planned before anything is written, so that a place that is not free leaves no file.
    let args = first_daemon();
    let kept = local::daemons(&root)?;
    let planned = match kept.is_empty() {
        true => Some(new::plan(&args, &root, out, Prompts::Never)?),
        false => None,
    };
    let provider = configure(&composer, place, (&root, &found), &questions, &mut steps)?;
    match planned {
        None => {
            let ids: Vec<&str> = kept.iter().map(local::LocalDaemon::id).collect();
            steps.step("daemons", true, &format!("kept {}", ids.join(", ")))?;
        }
        Some(planned) => {
            for path in planned.write()?.paths {
                steps.step("daemon", true, &format!("wrote {path}"))?;
            }
            match is_run_wanted(&questions, &provider)? {
                true => run_once(FIRST, place, out, &mut steps).await?,
                false => steps.step("run", true, "not started")?,
            }
        }
    }
    let next = next(&root)?;
    if out.is_json() {
        let mut map = Map::new();
        map.insert("ok".to_owned(), json!(steps.is_ok));
        map.insert("steps".to_owned(), Value::Array(steps.objects));
        map.insert("next".to_owned(), json!(next));
        out.envelope(map)?;
    }
    for line in next {
        out.note(&format!("next: {line}"));
    }
    Ok(steps.is_ok)
}

/// How questions are answered.
enum Questions {
    /// By a person.
    Asked(Out),
    /// With what costs nothing.
    Free,
}

fn questions(args: &InitArgs, prompts: Prompts, out: Out) -> Result<Questions, CommandFailure> {
    match (args.yes, prompts) {
        (true, _) => Ok(Questions::Free),
        (false, Prompts::Allowed) if !out.is_json() => Ok(Questions::Asked(out)),
        (false, Prompts::Allowed | Prompts::Never) => {
            let failure = CommandFailure::usage(
                "init asks questions, which needs a terminal; --yes answers them",
            );
            Err(failure.help("with --yes no model is used, so that nothing is spent"))
        }
    }
}

fn repository(git: &Git, root: &Path) -> Result<Repository, CommandFailure> {
    let failed = |error: &daemon_repo::GitError| {
        CommandFailure::new(
            ExitKind::NoInput,
            "repository",
            daemon_records::error::chain(error),
        )
    };
    let repository = Repository::enclosing(git, root)
        .map_err(|error| failed(&error).help("create a repository with `git init`"))?;
    // Before anything is written: a run works at a commit.
    let first = repository.head_commit();
    first
        .map_err(|error| failed(&error).help("make a first commit: a daemon works at a commit"))?;
    if repository.work_tree().is_none() {
        let message = format!("`{}` has no working tree", root.display());
        return Err(CommandFailure::new(
            ExitKind::NoInput,
            "repository",
            message,
        ));
    }
    Ok(repository)
}

/// Writes the configuration, or adds the repository to it; returns the provider of daemons.
fn configure(
    composer: &Composer,
    place: &Place,
    (root, found): (&Path, &Found),
    questions: &Questions,
    steps: &mut Steps,
) -> Result<String, CommandFailure> {
    let file = place.home()?.join("config.toml");
    let shown = file.display().to_string();
    let config = composer.load()?;
    let text = match fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(CommandFailure::unreadable(&file, &error)),
    };
    let (text, provider, detail) = match text {
        Some(_) if local::configured(root, &config, place).is_some() => {
            steps.step("config", true, &format!("kept {shown}"))?;
            return Ok(config.provider.default);
        }
        Some(text) => {
            let text = settings::with_repository(&text, root)?;
            let detail = format!("added the repository to {shown}");
            (text, config.provider.default, detail)
        }
        None => {
            let provider = choose(questions, found)?;
            let text = settings::new(root, found, &provider)?;
            (text, provider, format!("wrote {shown}"))
        }
    };
    // What is written must be what a host accepts.
    composer.check(&text)?;
    let home = Home::open(place.home()?).map_err(home_failure)?;
    let written = write_atomic(&home.root().join("config.toml"), text.as_bytes());
    written.map_err(|error| CommandFailure::unwritable(&file, &error))?;
    steps.step("config", true, &detail)?;
    Ok(provider)
}

/// Asks which provider runs daemons.
fn choose(questions: &Questions, found: &Found) -> Result<String, CommandFailure> {
    let Questions::Asked(out) = questions else {
        return Ok(BUILTIN.to_owned());
    };
    if found.agents.is_empty() {
        return Ok(BUILTIN.to_owned());
    }
    let names: Vec<&str> = found.agents.iter().map(|agent| agent.name).collect();
    let names = std::iter::once(BUILTIN).chain(names).collect::<Vec<_>>();
    loop {
        let question = format!(
            "Which one runs daemons: {}? Only `{BUILTIN}` costs nothing: it runs no model. [{BUILTIN}] ",
            names.join(", ")
        );
        match &*ask(*out, &question)? {
            "" => return Ok(BUILTIN.to_owned()),
            name if names.contains(&name) => return Ok(name.to_owned()),
            other => out.warn(&format!("`{}` is not one of them", plain(other))),
        }
    }
}

/// Asks whether a run that may cost money is started.
fn is_run_wanted(questions: &Questions, provider: &str) -> Result<bool, CommandFailure> {
    match questions {
        Questions::Free => Ok(provider == BUILTIN),
        Questions::Asked(_) if provider == BUILTIN => Ok(true),
        Questions::Asked(out) => {
            let question = format!("Run {FIRST} once now, with {provider}? [Y/n] ");
            let given = ask(*out, &question)?.to_ascii_lowercase();
            Ok(matches!(&*given, "" | "y" | "yes"))
        }
    }
}

fn ask(out: Out, question: &str) -> Result<String, CommandFailure> {
    out.prompt(question);
    answer("--yes")
}

/// Returns the arguments of `new` for the first daemon.
fn first_daemon() -> NewArgs {
    NewArgs {
        template: Some(FIRST.to_owned()),
        ..NewArgs::default()
    }
}

/// Runs the daemon as it is in the working tree, and reports what it did.
async fn run_once(
    id: &str,
    place: &Place,
    out: Out,
    steps: &mut Steps,
) -> Result<(), CommandFailure> {
    let answer = match Box::pin(fire::of_working_tree(id, place, out)).await {
        Err(failure) if failure.exit == ExitKind::TryLater => {
            let detail = format!("not started: {}", failure.message);
            return steps.step("run", true, &detail);
        }
        answered => answered?,
    };
    let activation = &answer["activation"];
    let is_ok = activation["state"] == ActivationState::Succeeded.as_str();
    let seconds = answer["runs"][0]["elapsed_s"].as_f64().unwrap_or_default();
    let word = daemon_api::wire::state_word(activation);
    let reason = activation["reason"].as_str();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    steps.step("run", is_ok, &format!("{word} in {seconds:.1} s{reason}"))?;
    let result = answer["runs"][0]["result_path"].as_str();
    let result = result.and_then(|path| fs::read_to_string(path).ok());
    for line in result
        .iter()
        .flat_map(|text| text.lines())
        .take(RESULT_LINES)
    {
        steps.step("result", true, line)?;
    }
    for output in answer["outputs"].as_array().into_iter().flatten() {
        let target = output["target"].as_str().unwrap_or_default();
        let shown = target.strip_prefix("refs/heads/").unwrap_or(target);
        let state = output["state"].as_str().unwrap_or_default();
        let is_ok = state == "confirmed";
        steps.step("output", is_ok, &format!("{shown}  {state}"))?;
        if let Some(branch) = fire::local_branch(output) {
            steps.step("see it", true, &format!("git diff HEAD...{branch}"))?;
        }
    }
    Ok(())
}

/// The most lines of a result that are printed.
const RESULT_LINES: usize = 8;

/// Returns the commands that follow.
fn next(root: &Path) -> Result<Vec<String>, CommandFailure> {
    let daemons = local::daemons(root)?;
    let first = daemons.first().map_or(FIRST, local::LocalDaemon::id);
    Ok(vec![
        format!(
            "edit .agents/daemons/{first}/DAEMON.md, and run it again: daemon-run fire {first} --working-tree"
        ),
        "commit .agents, then start the host, which watches this repository: daemon-run serve"
            .to_owned(),
        "see more daemons: daemon-run new --list".to_owned(),
    ])
}
