//! Commands that change state: gates, activations, the host.

use daemon_api::ops::Operation;
use daemon_api::wire::state_word;
use daemon_run_folder::RunId;
use serde_json::{Map, Value, json};

use super::which;
use crate::cli::{CancelArgs, GateArgs, RetryArgs};
use crate::failure::CommandFailure;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{CommandSession, Intent, call_failure, live, no_host, parameter};
use daemon_view::Times;

/// Changes the gate of one daemon, or of the host: two operations with the same effect.
pub(crate) async fn gate(
    (of_host, of_daemon): (Operation, Operation),
    args: &GateArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let answer = match &args.id {
        None => session.call(of_host, Map::new()).await?,
        Some(id) => {
            let mut params = parameter("id", id);
            if let Some(repo) = &args.repo {
                params.insert("repo".to_owned(), json!(super::repo_name(place, repo)));
            }
            session.call(of_daemon, params).await?
        }
    };
    let gate = answer["gate"].as_str().unwrap_or_default().to_owned();
    out.either(
        &answer,
        &format!("{}: {gate}", args.id.as_deref().unwrap_or("host")),
    )
}

/// Makes a running host read its configuration and repositories again.
pub(crate) async fn reload(place: &Place, out: Out) -> Result<(), CommandFailure> {
    let Some(mut client) = live(place).await? else {
        return Err(no_host().into());
    };
    let answer = client
        .call(Operation::HostReload, Map::new())
        .await
        .map_err(call_failure)?;
    out.either(&answer, &reloaded(&answer))
}

/// Prints a link that logs a browser in to the running host.
pub(crate) async fn login(place: &Place, out: Out) -> Result<(), CommandFailure> {
    let Some(mut client) = live(place).await? else {
        return Err(no_host().into());
    };
    let answer = client.call(Operation::HostLogin, Map::new()).await;
    let answer = answer.map_err(call_failure)?;
    if out.is_json() {
        return out.envelope(answer);
    }
    let url = answer.get("login_url").and_then(Value::as_str);
    out.text(&plain(url.unwrap_or_default()))?;
    out.note("open it in a browser; it works once");
    Ok(())
}

/// Formats the answer to a reload: the generation, and the settings that only a restart changes.
fn reloaded(answer: &Map<String, Value>) -> String {
    let generation = format!("reloaded: generation {}", answer["generation"]);
    let keys = answer["needs_restart"].as_array().into_iter().flatten();
    let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
    if keys.is_empty() {
        return generation;
    }
    format!("{generation}\nneeds a restart: {}", keys.join(", "))
}

/// Cancels an activation or a run, after printing its progress and asking for confirmation.
pub(crate) async fn cancel(
    args: &CancelArgs,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Change).await?;
    // Ids of runs and of activations have different forms.
    let (operation, id, run) = match args.id.parse::<RunId>() {
        Ok(_) => {
            let shown = session
                .call(Operation::RunGet, parameter("id", &args.id))
                .await?;
            let run = Some(shown["run"].clone());
            (Operation::RunCancel, args.id.clone(), run)
        }
        Err(_) => {
            let id = which::activation(&args.id, &mut session).await?;
            let run = running(&mut session, &id, out).await?;
            (Operation::ActivationCancel, id, run)
        }
    };
    if let Some(run) = &run {
        out.warn(&progress(run, &out.times()));
    }
    if !args.yes && !is_confirmed(("cancel", "cancelling"), prompts, out)? {
        out.warn("nothing was cancelled");
        return Ok(());
    }
    let answer = session.call(operation, parameter("id", &id)).await?;
    done(answer, out)
}

/// Asks whether to do something, which is given as `cancel` and `cancelling`.
pub(super) fn is_confirmed(
    (what, doing): (&str, &str),
    prompts: Prompts,
    out: Out,
) -> Result<bool, CommandFailure> {
    if prompts == Prompts::Never {
        let message = format!("{doing} needs --yes without a terminal or with --no-input");
        return Err(CommandFailure::usage(message));
    }
    out.prompt(&format!("{what} it? [y/N] "));
    Ok(matches!(&*answer("--yes")?, "y" | "Y" | "yes"))
}

/// Reads the answer to a question.
///
/// # Errors
/// Standard input cannot be read, or has ended; the help is the flag that answers.
pub(crate) fn answer(flag: &str) -> Result<String, CommandFailure> {
    let mut answer = String::new();
    match std::io::stdin().read_line(&mut answer) {
        Ok(0) => Err(CommandFailure::usage("standard input ended at a question").help(flag)),
        Ok(_) => Ok(answer.trim().to_owned()),
        Err(error) => {
            let stdin = std::path::Path::new("standard input");
            Err(CommandFailure::unreadable(stdin, &error))
        }
    }
}

/// Prints the state of an activation, and returns its run that has not ended.
async fn running(
    session: &mut CommandSession,
    id: &str,
    out: Out,
) -> Result<Option<Value>, CommandFailure> {
    let activation = session
        .call(Operation::ActivationGet, parameter("id", id))
        .await?;
    let text = |name: &str| activation[name].as_str().unwrap_or("-");
    let (daemon, state) = (text("daemon_id"), text("state"));
    out.warn(&format!("activation {id} of {daemon} is {state}"));
    // An activation does not contain its run, so it is searched among the running ones of the daemon.
    let mut wanted = parameter("state", "running");
    wanted.insert("daemon".to_owned(), activation["daemon_id"].clone());
    let mut listed = session.call(Operation::RunList, wanted).await?;
    let runs = listed["runs"].as_array_mut().map(std::mem::take);
    let mut runs = runs.unwrap_or_default().into_iter();
    Ok(runs.find(|run| run["activation_id"] == id))
}

/// Describes the progress of a run.
fn progress(run: &Value, times: &Times) -> String {
    let text = |name: &str| run[name].as_str().unwrap_or("-");
    let (id, state, provider) = (text("id"), text("state"), text("provider"));
    let seconds = run["elapsed_s"].as_f64().unwrap_or_default();
    let (tools, turn) = (&run["tool_call_count"], &run["turn"]);
    let tool = text("current_tool");
    let last = times.of_text(text("last_output_at"), Times::short);
    format!(
        "run {id} of {provider} is {state} ({seconds:.0} s): turn {turn}, {tools} tool calls, current tool {tool}, last output {last}"
    )
}

/// Whether a command may prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    /// There is a terminal.
    Allowed,
    /// There is no terminal, or `--no-input` was given.
    Never,
}

/// Makes an activation pending again.
pub(crate) async fn retry(args: &RetryArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let id = which::activation(&args.activation, &mut session).await?;
    let answer = session.call(Operation::ActivationRetry, parameter("id", &id));
    let answer = answer.await?;
    done(answer, out)
}

fn done(answer: Map<String, Value>, out: Out) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.envelope(answer);
    }
    let text = |name: &str| answer[name].as_str().unwrap_or("-").to_owned();
    let (id, daemon) = (text("id"), text("daemon_id"));
    out.text(&format!(
        "{id}  {daemon}  {}",
        state_word(&Value::Object(answer))
    ))
}
