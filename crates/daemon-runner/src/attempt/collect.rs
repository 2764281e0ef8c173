//! The end of a run: what it proposed and changed becomes outputs and state.

use std::sync::Arc;

use daemon_engine::{
    Activation, AttemptEnd, AttemptOutcome, NewOutput, OutputKey, OutputState, Proposal,
};
use daemon_provider::{ErrorClass, Outcome};
use daemon_run_folder::RunState;

use super::grants::{Granted, RunGrants};
use super::place::Prepared;
use super::supervise::Supervised;
use crate::planner::{BranchProposal, BranchRequest, PushPermission};
use crate::random;
use crate::run_context::RunContext;
use daemon_provider::Permissions;

/// How much of a result is kept as the activation's summary.
const SUMMARY_CHARS: usize = 500;
/// How much of a result becomes the message of a commit that the run gave none for.
const MESSAGE_CHARS: usize = 2_000;
/// The surface that refused proposals are recorded under where they name none that is served.
const UNSERVED: &str = "none";

/// Turns the end of a run into what the end of the attempt commits.
pub(super) async fn end(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
    mut supervised: Supervised,
) -> AttemptEnd {
    let at = run_context.now();
    let mut end = AttemptEnd {
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
        ..AttemptEnd::new(outcome(&supervised.outcome), at, random::jitter())
    };
    let redactor = supervised.record.redactor().clone();
    // What a run left that did not end well stays for a person to read, and becomes nothing.
    let is_done = end.outcome == AttemptOutcome::Done;
    let problems = match supervised.spool.take() {
        Some(spool) => spool.read(&redactor, |line| drop(is_done.then(|| grants.take(line)))),
        None => vec!["cannot be read: it was gone before the run began".to_owned()],
    };
    for problem in problems {
        tracing::warn!(activation = %activation.id, problem, "the spool");
    }
    if !is_done {
        return end;
    }
    let granted = grants.taken().without_secrets(&redactor);
    match outputs(run_context, activation, prepared, &granted, &supervised, at).await {
        Ok(outputs) => {
            end.outputs = outputs;
            end.state = granted.changes;
        }
        Err(reason) => end.outcome = AttemptOutcome::Retryable { reason },
    }
    end
}

/// Returns what the outcome of a run means for the attempt.
fn outcome(outcome: &Outcome) -> AttemptOutcome {
    let Some(end) = outcome.end_state() else {
        return AttemptOutcome::Done;
    };
    let reason = match outcome {
        Outcome::Failed(failure) => format!("{}: {}", end.error_type, failure.message),
        Outcome::Done | Outcome::Stopped(_) => format!("{} limit reached", end.error_type),
    };
    match (end.state, end.class) {
        // Of the cancelled runs, only one that a stopping host cancelled is attempted again.
        (RunState::Cancelled, ErrorClass::Retryable) => AttemptOutcome::HostStopping,
        (RunState::Cancelled, ErrorClass::Final) => AttemptOutcome::Cancelled {
            reason: end.error_type.to_owned(),
        },
        (_, ErrorClass::Retryable) => AttemptOutcome::Retryable { reason },
        (_, ErrorClass::Final) => AttemptOutcome::Final { reason },
    }
}

/// Makes the outputs: the branch of what changed, then what was refused.
async fn outputs(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    granted: &Granted,
    supervised: &Supervised,
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
    let request = BranchRequest {
        repo: prepared.repo.clone(),
        worktree: prepared.worktree.clone(),
        daemon: activation.daemon.clone(),
        activation: activation.id.clone(),
        ordinal: 0,
        message: proposed
            .clone()
            .flatten()
            .unwrap_or_else(|| message(prepared, &supervised.text)),
        at,
        secrets: supervised.record.redactor().clone(),
        permission: if prepared.permissions >= Permissions::Propose {
            PushPermission::Allowed
        } else {
            PushPermission::ReadOnly
        },
        proposal: if proposed.is_some() {
            BranchProposal::Made
        } else {
            BranchProposal::None
        },
    };
    let planner = Arc::clone(&run_context.host.settings().planner);
    let planned = tokio::task::spawn_blocking(move || planner.plan(&request)).await;
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
            revision: None,
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
