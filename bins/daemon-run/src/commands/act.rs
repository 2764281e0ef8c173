//! Commands that change something: gates, activations, the host itself.

use daemon_host::ops::Operation;
use daemon_host::wire::state_word;
use daemon_run_folder::RunId;
use serde_json::{Map, Value, json};

use crate::cli::{Cancel, Gate, Retry};
use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;
use crate::session::{Intent, Session, no_host, parameter};

/// Changes the gate of one daemon, or of the host: two operations of the same effect.
pub(crate) async fn gate(
    (of_host, of_daemon): (Operation, Operation),
    args: &Gate,
    place: &Place,
    out: Out,
) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Change).await?;
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
    if out.is_json() {
        return out.envelope(answer);
    }
    out.text(&format!("{}: {gate}", args.id.as_deref().unwrap_or("host")))
}

/// Makes a live host read everything again.
pub(crate) async fn reload(place: &Place, out: Out) -> Result<(), Failure> {
    let Some(mut client) = crate::session::live(place).await? else {
        return Err(no_host().into());
    };
    let answer = client
        .call(Operation::HostReload, Map::new())
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

/// Cancels an activation or a run, after showing what it is doing.
pub(crate) async fn cancel(
    args: &Cancel,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<(), Failure> {
    let mut session = Session::open(place, Intent::Change).await?;
    let (operation, run) = match args.id.parse::<RunId>() {
        Ok(_) => {
            let shown = session
                .call(Operation::RunGet, parameter("id", &args.id))
                .await?;
            (Operation::RunCancel, Some(shown["run"].clone()))
        }
        Err(_) => (
            Operation::ActivationCancel,
            running(&mut session, &args.id, out).await?,
        ),
    };
    if let Some(run) = &run {
        out.tell(&progress(run));
    }
    if !args.yes {
        if prompts == Prompts::Never {
            return Err(Failure::usage(
                "cancelling needs --yes where nobody can be asked",
            ));
        }
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
    let answer = session.call(operation, parameter("id", &args.id)).await?;
    done(answer, out)
}

/// Tells what state an activation is in, and returns its run that goes on.
async fn running(session: &mut Session, id: &str, out: Out) -> Result<Option<Value>, Failure> {
    let activation = session
        .call(Operation::ActivationGet, parameter("id", id))
        .await?;
    let text = |name: &str| activation[name].as_str().unwrap_or("-");
    let (daemon, state) = (text("daemon_id"), text("state"));
    out.tell(&format!("activation {id} of {daemon} is {state}"));
    let mut wanted = parameter("state", "running");
    wanted.insert("daemon".to_owned(), activation["daemon_id"].clone());
    let mut listed = session.call(Operation::RunList, wanted).await?;
    let runs = listed["runs"].as_array_mut().map(std::mem::take);
    let mut runs = runs.unwrap_or_default().into_iter();
    Ok(runs.find(|run| run["activation_id"] == id))
}

/// Says how far a run is.
fn progress(run: &Value) -> String {
    let text = |name: &str| run[name].as_str().unwrap_or("-");
    let (id, state, provider) = (text("id"), text("state"), text("provider"));
    let seconds = run["elapsed_s"].as_f64().unwrap_or_default();
    let (tools, turn) = (&run["tool_call_count"], &run["turn"]);
    let (tool, last) = (text("current_tool"), text("last_output_at"));
    format!(
        "run {id} of {provider} is {state} ({seconds:.0} s): turn {turn}, {tools} tool calls, at work on {tool}, last output {last}"
    )
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
        .call(
            Operation::ActivationRetry,
            parameter("id", &args.activation),
        )
        .await?;
    done(answer, out)
}

fn done(answer: Map<String, Value>, out: Out) -> Result<(), Failure> {
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
