//! The end of an attempt: the proposals and changes of a run become outputs and state.

use std::sync::Arc;

use daemon_engine::proposal::OutputVerb;
use daemon_engine::{Activation, AttemptEnd, AttemptOutcome, NewOutput, OutputKey, OutputState};
use daemon_provider::Permissions;
use daemon_provider::{ErrorClass, Outcome};
use daemon_records::random;
use daemon_run_folder::RunState;

use super::grants::{Granted, RunGrants};
use super::place::Prepared;
use super::supervise::Supervised;
use crate::planner::{BranchProposal, BranchRequest, PushPermission};
use crate::run_context::RunContext;

/// The characters of a result that become the activation's summary.
const SUMMARY_CHARS: usize = 500;
/// The characters of a result that become the commit message if the run proposed none.
const MESSAGE_CHARS: usize = 2_000;
/// The surface of refused proposals, which name no surface that the host serves.
const UNSERVED: &str = "none";

/// Returns what the end of the attempt commits.
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
    // The proposals of a run that is not `done` have no effect. They stay in its folder for a person to read.
    let is_done = end.outcome == AttemptOutcome::Done;
    let problems = match supervised.spool.take() {
        Some(spool) => spool.read(&redactor, |line| drop(is_done.then(|| grants.take(line)))),
        None => vec!["cannot be read: it was gone before the run began".to_owned()],
    };
    for problem in problems {
        tracing::warn!(activation = %activation.id, problem, "the spool");
        grants.refuse_unread(&problem);
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

/// Returns the outcome of the attempt for the outcome of its run.
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

/// Makes the outputs: the branch with the changes, then the refused proposals.
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
        .acts
        .iter()
        .find(|act| act.verb == OutputVerb::PushBranch);
    let proposed = proposed.map(|act| act.fields.text("message").map(str::to_owned));
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
        permission: if prepared.policy.permissions >= Permissions::Propose {
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
    // The planner runs git, which blocks.
    let planned = tokio::task::spawn_blocking(move || planner.plan(&request)).await;
    match planned {
        Ok(planned) => outputs.extend(planned?),
        Err(error) => return Err(format!("planning the branch panicked: {error}")),
    }
    for (shown, reason) in &granted.refused {
        let ordinal = u32::try_from(outputs.len()).expect("a spool has few lines");
        outputs.push(refused(activation, ordinal, shown, reason));
    }
    Ok(outputs)
}

/// Makes the output of a refused proposal; `shown` is the proposal without secrets.
fn refused(activation: &Activation, ordinal: u32, shown: &str, reason: &str) -> NewOutput {
    NewOutput {
        key: OutputKey::derive(&activation.id, ordinal, UNSERVED, shown),
        ordinal,
        surface: UNSERVED.to_owned(),
        target: String::new(),
        content: serde_json::Value::String(shown.to_owned()).to_string(),
        revision: None,
        state: OutputState::Refused,
        error: Some(reason.to_owned()),
    }
}

/// Returns the commit message for a run that proposed none: why the daemon woke, then the final text.
fn message(prepared: &Prepared, text: &str) -> String {
    let text: String = text.chars().take(MESSAGE_CHARS).collect();
    format!(
        "{}: {}\n\n{text}",
        prepared.daemon.row.key.id, prepared.context.why
    )
}
