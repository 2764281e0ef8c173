//! `fire` through a running host.

use std::path::Path;
use std::time::Duration;

use daemon_api::control::Client;
use daemon_api::fire::FiredEvent;
use daemon_api::ops::Operation;
use daemon_engine::{ActivationState, Missing};
use daemon_event::{Enrichment, PullRequestFact};
use serde_json::{Map, Value, json};

use super::progress::{POLL, Progress};
use super::{uncommitted, who};
use crate::cli::FireArgs;
use crate::commands::preview::WakeCause;
use crate::commands::repo_name;
use crate::failure::CommandFailure;
use crate::offline;
use crate::place::Place;
use crate::session::{CommandSession, parameter};

/// Fires through the host, and waits until the activation has finished or `timeout` has passed.
pub(super) async fn through_host(
    args: &FireArgs,
    root: &Path,
    cause: &WakeCause,
    place: &Place,
    (client, timeout, progress): (Client, Option<Duration>, &mut Progress),
) -> Result<Value, CommandFailure> {
    if args.provider.is_some() {
        let failure = CommandFailure::usage(
            "--provider cannot be used with a running host: its configuration names the provider",
        );
        return Err(failure.help("set policy.daemon.<id>.provider"));
    }
    let mut params = parameter("id", &args.id);
    if args.repo.is_some() {
        params.insert(
            "repo".to_owned(),
            json!(repo_name(place, &root.display().to_string())),
        );
    }
    match cause {
        WakeCause::Person => {}
        WakeCause::Tick(at) => drop(params.insert("tick".to_owned(), json!(at.to_string()))),
        WakeCause::Event(event) => drop(params.insert("event".to_owned(), event_params(event))),
    }
    params.insert("by".to_owned(), json!(who(place)));
    let mut session = CommandSession::Live(Box::new(client));
    let mut answer = match session.call(Operation::DaemonFire, params).await {
        Ok(fired) => Value::Object(fired),
        Err(failure) => return Err(explained(failure, root, args, place).await),
    };
    let Some(id) = answer["activation"]["id"].as_str().map(str::to_owned) else {
        return Ok(answer);
    };
    progress.begin(&id);
    let whole = whole(&mut session, (&args.id, &id), (timeout, progress)).await;
    let [activation, runs, outputs] = whole.map_err(|failure| CommandFailure {
        message: format!(
            "{}; activation `{id}` is stored, and the next host runs it unless it has ended",
            failure.message
        ),
        ..failure
    })?;
    answer["activation"] = activation;
    answer["runs"] = runs;
    answer["outputs"] = outputs;
    Ok(answer)
}

/// Waits until the activation has ended or `timeout` has passed, and returns its object, its runs and its outputs.
async fn whole(
    session: &mut CommandSession,
    (daemon, id): (&str, &str),
    (timeout, progress): (Option<Duration>, &mut Progress),
) -> Result<[Value; 3], CommandFailure> {
    let activation = wait_for_end(session, id, (timeout, progress)).await?;
    let runs = of_activation(session, Operation::RunList, "runs", (daemon, id)).await?;
    let outputs = of_activation(session, Operation::OutputList, "outputs", (daemon, id)).await?;
    Ok([Value::Object(activation), runs, outputs])
}

/// Adds a help to the failure of a daemon that the host does not know, if this repository has it.
async fn explained(
    failure: CommandFailure,
    root: &Path,
    args: &FireArgs,
    place: &Place,
) -> CommandFailure {
    if failure.code == "unknown-daemon" && offline::is_committed(place, root, &args.id).await {
        return failure.help(
            "the host does not watch this repository, or has not read its last commit: compare `daemon-run list`; add a `[[repo]]` with this path to config.toml of the home, then run `daemon-run reload`",
        );
    }
    uncommitted(failure, root, &args.id)
}

/// Returns the rows of a listing that belong to one activation. Listings have no such filter, so it is applied here.
async fn of_activation(
    session: &mut CommandSession,
    operation: Operation,
    plural: &str,
    (daemon, activation): (&str, &str),
) -> Result<Value, CommandFailure> {
    let mut params = parameter("daemon", daemon);
    // The largest page: the runs and outputs of the activation are among the newest.
    params.insert("limit".to_owned(), json!(500));
    let listed = session.call(operation, params).await?;
    let rows = listed.get(plural).and_then(Value::as_array);
    let own = rows
        .into_iter()
        .flatten()
        .filter(|row| row["activation_id"] == activation);
    Ok(own.cloned().collect())
}

/// Waits until an activation has ended or `timeout` has passed, and returns its state then.
async fn wait_for_end(
    session: &mut CommandSession,
    id: &str,
    (timeout, progress): (Option<Duration>, &mut Progress),
) -> Result<Map<String, Value>, CommandFailure> {
    let until = timeout.map(|timeout| tokio::time::Instant::now() + timeout);
    loop {
        let activation = session.call(Operation::ActivationGet, parameter("id", id));
        let activation = activation.await?;
        progress.poll(session).await;
        let is_over = until.is_some_and(|until| tokio::time::Instant::now() >= until);
        if is_over || has_ended(&activation) {
            return Ok(activation);
        }
        tokio::time::sleep(POLL).await;
    }
}

fn has_ended(activation: &Map<String, Value>) -> bool {
    let state: Option<ActivationState> = activation["state"]
        .as_str()
        .and_then(|state| state.parse().ok());
    let missing = activation["reason"].as_str().and_then(Missing::of_reason);
    // A missing secret, program or commit may be missing for a day. The host keeps checking; the command must not wait.
    let is_missing = state == Some(ActivationState::Pending) && missing.is_some();
    is_missing || state.is_none_or(ActivationState::is_final)
}

fn event_params(event: &FiredEvent) -> Value {
    json!({
        "source": event.source.as_str(),
        "kind": event.kind,
        "payload": String::from_utf8_lossy(&event.body),
        "delivery_id": event.delivery,
        "enrichment": enrichment(&event.enrichment),
    })
}

fn enrichment(known: &Enrichment) -> Value {
    let pull_request = |fact: &PullRequestFact| {
        json!({
            "number": fact.number,
            "draft": fact.draft,
            "state": fact.state,
            "is_current_head": fact.is_current_head,
            "base": fact.base,
            "head": fact.head,
            "is_fork": fact.is_fork,
            "is_merged": fact.is_merged,
        })
    };
    let pull_requests = known.pull_requests.as_ref();
    json!({
        "changed_files": known.changed_files,
        "pull_requests": pull_requests.map(|all| all.iter().map(pull_request).collect::<Vec<_>>()),
        "channel_name": known.channel_name,
        "label_names": known.label_names,
    })
}
