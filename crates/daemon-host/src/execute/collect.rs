//! The end of a run: what it proposed and changed becomes outputs and state.

use std::sync::Arc;

use daemon_engine::{
    Activation, AttemptEnd, AttemptOutcome, MAX_PROPOSAL_BYTES, NewOutput, OutputKey, OutputState,
    Proposal,
};
use daemon_provider::{CancelReason, Class, Outcome};

use super::grants::{Granted, RunGrants};
use super::place::Prepared;
use super::supervise::Supervised;
use crate::config::Capability;
use crate::driver::{Inner, Push, PushPermission, Wish};
use crate::random;

/// How many lines of a spool are read.
const MAX_LINES: usize = 200;
/// How much of a result is kept as the activation's summary.
const SUMMARY_CHARS: usize = 500;
/// How much of a result becomes the message of a commit that the run gave none for.
const MESSAGE_CHARS: usize = 2_000;
/// The surface that refused proposals are recorded under where they name none that is served.
const UNSERVED: &str = "none";

/// Turns the end of a run into what the end of the attempt commits.
pub(super) async fn end(
    inner: &Arc<Inner>,
    activation: &Activation,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
    supervised: Supervised,
) -> AttemptEnd {
    let at = random::now();
    let mut end = AttemptEnd {
        outcome: outcome(&supervised.outcome),
        outputs: Vec::new(),
        state: Vec::new(),
        tokens: supervised.tokens,
        cost_usd: supervised.cost_usd,
        summary: Some(
            supervised
                .text
                .chars()
                .take(SUMMARY_CHARS)
                .collect::<String>(),
        )
        .filter(|text| !text.is_empty()),
        at,
        jitter: random::jitter(),
    };
    if end.outcome != AttemptOutcome::Done {
        return end;
    }
    for problem in read_spool(&supervised, grants) {
        tracing::warn!(activation = %activation.id, problem, "the spool");
    }
    let granted = grants.taken();
    match outputs(inner, activation, prepared, &granted, &supervised.text, at).await {
        Ok(outputs) => {
            end.outputs = outputs;
            end.state = granted.changes;
        }
        Err(reason) => end.outcome = AttemptOutcome::Retryable { reason },
    }
    end
}

fn outcome(outcome: &Outcome) -> AttemptOutcome {
    match outcome {
        Outcome::Done => AttemptOutcome::Done,
        Outcome::Failed(failure) => {
            let reason = format!("{}: {}", failure.kind.as_str(), failure.message);
            match failure.class {
                Class::Retryable => AttemptOutcome::Retryable { reason },
                Class::Final => AttemptOutcome::Final { reason },
            }
        }
        Outcome::Stopped(why) => match why {
            CancelReason::Timeout | CancelReason::Idle => AttemptOutcome::Retryable {
                reason: format!("{} limit reached", why.as_str()),
            },
            CancelReason::AgentStop => AttemptOutcome::HostStopping,
            CancelReason::Budget | CancelReason::Resource => AttemptOutcome::Final {
                reason: format!("{} limit reached", why.as_str()),
            },
            _ => AttemptOutcome::Cancelled {
                reason: why.as_str().to_owned(),
            },
        },
    }
}

/// Takes the proposals that the run left in its spool, and returns what could not be read of it.
fn read_spool(supervised: &Supervised, grants: &RunGrants) -> Vec<String> {
    let path = supervised.record.spool();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => return vec![format!("cannot be read: {error}")],
    };
    let mut problems = Vec::new();
    let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => {
            if end + 1 < bytes.len() {
                problems.push("its last line is torn and was dropped".to_owned());
            }
            &bytes[..end]
        }
        None if bytes.is_empty() => return problems,
        None => return vec!["its only line is torn and was dropped".to_owned()],
    };
    for (index, line) in whole.split(|byte| *byte == b'\n').enumerate() {
        if index >= MAX_LINES {
            problems.push(format!(
                "it has more than {MAX_LINES} lines; the rest was not read"
            ));
            break;
        }
        match std::str::from_utf8(line) {
            Ok("") => {}
            Ok(line) if line.len() <= MAX_PROPOSAL_BYTES => drop(grants.take(line)),
            Ok(_) => problems.push(format!("line {} is too long", index + 1)),
            Err(_) => problems.push(format!("line {} is not UTF-8", index + 1)),
        }
    }
    problems
}

/// Makes the outputs: the branch of what changed, then what was refused.
async fn outputs(
    inner: &Arc<Inner>,
    activation: &Activation,
    prepared: &Prepared,
    granted: &Granted,
    text: &str,
    at: jiff::Timestamp,
) -> Result<Vec<NewOutput>, String> {
    let mut outputs = Vec::new();
    let proposed = granted
        .proposals
        .iter()
        .find_map(|proposal| match proposal {
            Proposal::PushBranch { message } => Some(message.clone()),
            Proposal::State(_) | Proposal::NoOp { .. } => None,
        });
    let push = Push {
        repo: Arc::clone(&prepared.repo),
        worktree: prepared.worktree.clone(),
        daemon: activation.daemon.clone(),
        activation: activation.id.clone(),
        ordinal: 0,
        message: proposed
            .clone()
            .flatten()
            .unwrap_or_else(|| message(prepared, text)),
        at,
        permission: if prepared.capability >= Capability::Propose {
            PushPermission::Allowed
        } else {
            PushPermission::ReadOnly
        },
        wish: if proposed.is_some() {
            Wish::Proposed
        } else {
            Wish::IfChanged
        },
    };
    let planner = Arc::clone(&inner.runtime().parts.planner);
    let planned = tokio::task::spawn_blocking(move || planner.plan(&push)).await;
    match planned {
        Ok(planned) => outputs.extend(planned?),
        Err(error) => return Err(format!("planning the branch panicked: {error}")),
    }
    for (shown, reason) in &granted.refused {
        let ordinal = u32::try_from(outputs.len()).expect("a spool has few lines");
        outputs.push(NewOutput {
            key: OutputKey::derive(&activation.id, ordinal, UNSERVED, shown),
            ordinal,
            surface: UNSERVED.to_owned(),
            target: String::new(),
            content: serde_json::Value::String(shown.clone()).to_string(),
            state: OutputState::Refused,
            error: Some(reason.clone()),
        });
    }
    Ok(outputs)
}

/// Writes the message of a commit that the run gave none for: what woke it, then what it said.
fn message(prepared: &Prepared, text: &str) -> String {
    let told: String = text.chars().take(MESSAGE_CHARS).collect();
    format!(
        "{}: {}\n\n{told}",
        prepared.daemon.row.key.id, prepared.context.why
    )
}
