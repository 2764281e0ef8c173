//! `fire` through a live host.

use daemon_host::ops::Operation;
use std::path::Path;
use std::time::Duration;

use daemon_engine::{ActivationState, Missing};
use daemon_event::{Enrichment, PullRequestFact};
use daemon_host::control::Client;
use daemon_host::fire::FiredEvent;
use serde_json::{Map, Value, json};

use super::{uncommitted, who};
use crate::cli::Fire;
use crate::commands::imagined::Why;
use crate::commands::repo_name;
use crate::failure::Failure;
use crate::place::Place;
use crate::session::{call_failure, parameter};

/// How often a live host is asked whether the activation has ended.
const POLL: Duration = Duration::from_millis(200);

/// Asks the live host, and waits for the end: as long as it takes, or for a while.
pub(super) async fn through_host(
    args: &Fire,
    root: &Path,
    why: &Why,
    place: &Place,
    (mut client, patience): (Client, Option<Duration>),
) -> Result<Value, Failure> {
    if args.provider.is_some() {
        let failure =
            Failure::usage("a live host runs this home: its configuration names the provider");
        return Err(failure.help("set policy.daemon.<id>.provider"));
    }
    let mut params = parameter("id", &args.id);
    if args.repo.is_some() {
        params.insert(
            "repo".to_owned(),
            json!(repo_name(place, &root.display().to_string())),
        );
    }
    match why {
        Why::Person => {}
        Why::Tick(at) => drop(params.insert("tick".to_owned(), json!(at.to_string()))),
        Why::Event(event) => drop(params.insert("event".to_owned(), event_params(event))),
    }
    params.insert("by".to_owned(), json!(who(place)));
    let fired = client
        .call(Operation::DaemonFire, params)
        .await
        .map_err(|error| uncommitted(call_failure(error), root, &args.id))?;
    let mut answer = Value::Object(fired);
    let Some(id) = answer["activation"]["id"].as_str().map(str::to_owned) else {
        return Ok(answer);
    };
    let activation = ended(&mut client, &id, patience).await?;
    answer["activation"] = Value::Object(activation);
    for (operation, plural) in [
        (Operation::RunList, "runs"),
        (Operation::OutputList, "outputs"),
    ] {
        answer[plural] = of_activation(&mut client, operation, plural, (&args.id, &id)).await?;
    }
    Ok(answer)
}

/// Lists the rows of a daemon that belong to one of its activations.
async fn of_activation(
    client: &mut Client,
    operation: Operation,
    plural: &str,
    (daemon, activation): (&str, &str),
) -> Result<Value, Failure> {
    let mut params = parameter("daemon", daemon);
    params.insert("limit".to_owned(), json!(500));
    let listed = client.call(operation, params).await.map_err(call_failure)?;
    let rows = listed.get(plural).and_then(Value::as_array);
    let own = rows
        .into_iter()
        .flatten()
        .filter(|row| row["activation_id"] == activation);
    Ok(own.cloned().collect())
}

/// Waits until an activation has ended, or for a while, and returns it as it then is.
async fn ended(
    client: &mut Client,
    id: &str,
    patience: Option<Duration>,
) -> Result<Map<String, Value>, Failure> {
    let until = patience.map(|patience| tokio::time::Instant::now() + patience);
    loop {
        let activation = activation(client, id).await?;
        let is_over = until.is_some_and(|until| tokio::time::Instant::now() >= until);
        if is_over || has_ended(&activation) {
            return Ok(activation);
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn activation(client: &mut Client, id: &str) -> Result<Map<String, Value>, Failure> {
    let asked = client
        .call(Operation::ActivationGet, parameter("id", id))
        .await;
    asked.map_err(call_failure)
}

fn has_ended(activation: &Map<String, Value>) -> bool {
    let state: Option<ActivationState> = activation["state"]
        .as_str()
        .and_then(|state| state.parse().ok());
    let missing = activation["reason"].as_str().and_then(Missing::of_reason);
    // What is missing may take a day to come; the host looks for it meanwhile.
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
