//! The end of an attempt: the proposals and changes of a run become outputs and state.

use std::sync::Arc;

use daemon_engine::proposal::{Act, OutputVerb, ProposalRules};
use daemon_engine::{Activation, AttemptEnd, AttemptOutcome, NewOutput, OutputKey, OutputState};
use daemon_provider::Permissions;
use daemon_provider::{ErrorClass, Outcome, StopReason};
use daemon_records::random;
use daemon_repo::BranchTip;
use daemon_run_folder::RunState;

use super::grants::{Granted, RunGrants};
use super::place::Prepared;
use super::supervise::Supervised;
use crate::planner::{ActRequest, BranchProposal, BranchRequest, PushPermission};
use crate::run_context::RunContext;

/// The characters of a result that become the activation's summary.
const SUMMARY_CHARS: usize = 500;
/// The characters of a result that become the commit message if the run proposed none.
const MESSAGE_CHARS: usize = 2_000;
/// The characters of the target of a refused proposal that are stored.
const TARGET_CHARS: usize = 200;
/// The surface of refused proposals without a target, which name no surface that the host serves.
const UNSERVED: &str = "none";

/// Returns what the end of the attempt commits.
pub(super) async fn end(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
    supervised: &mut Supervised,
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
    match outputs(run_context, activation, prepared, &granted, supervised, at).await {
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
        // It may still have been held: a host stops a run that it could not renew the lease of before that is over.
        _ if *outcome == Outcome::Stopped(StopReason::LostLease) => AttemptOutcome::HostStopping,
        // Of the cancelled runs, only one that a stopping host cancelled is attempted again.
        (RunState::Cancelled, ErrorClass::Retryable) => AttemptOutcome::HostStopping,
        (RunState::Cancelled, ErrorClass::Final) => AttemptOutcome::Cancelled {
            reason: end.error_type.to_owned(),
        },
        (_, ErrorClass::Retryable) => AttemptOutcome::Retryable { reason },
        (_, ErrorClass::Final) => AttemptOutcome::Final { reason },
    }
}

/// Makes the outputs: the branch with the changes, the proposals, then the refused proposals.
async fn outputs(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    granted: &Granted,
    supervised: &Supervised,
    at: jiff::Timestamp,
) -> Result<Vec<NewOutput>, String> {
    let planner = Arc::clone(&run_context.host.settings().planner);
    let request = branch(activation, prepared, granted, supervised, at);
    let branches = Arc::clone(&planner);
    // The planner runs git, which blocks.
    let planned = tokio::task::spawn_blocking(move || branches.plan_branch(&request)).await;
    let mut outputs: Vec<NewOutput> = match planned {
        Ok(planned) => planned?.into_iter().collect(),
        Err(error) => return Err(format!("planning the branch panicked: {error}")),
    };
    let pushed = outputs
        .first()
        .filter(|output| output.state == OutputState::Planned);
    let head = pushed.map(|output| output.target.clone());
    let unpushed = outputs.first().and_then(|output| output.error.clone());
    for act in granted
        .acts
        .iter()
        // The branch carries them out.
        .filter(|act| {
            !matches!(
                act.verb,
                OutputVerb::PushBranch | OutputVerb::PushPullRequest
            )
        })
    {
        let ordinal = ordinal(&outputs);
        let request = ActRequest {
            edits: edits(&prepared.rules, act),
            act: act.clone(),
            daemon: activation.daemon.clone(),
            activation: activation.id.clone(),
            ordinal,
            head: head.clone(),
            configured: prepared.rules.configured.clone(),
            secrets: supervised.record.redactor().clone(),
        };
        let mut output = planner.plan_act(&request);
        if let (OutputVerb::OpenPullRequest, Some(why)) = (act.verb, &unpushed) {
            output.state = OutputState::Refused;
            output.error = Some(format!("its branch was refused: {why}"));
        }
        outputs.push(output);
    }
    for (shown, reason) in &granted.refused {
        outputs.push(refused(activation, ordinal(&outputs), shown, reason));
    }
    Ok(outputs)
}

fn ordinal(outputs: &[NewOutput]) -> u32 {
    u32::try_from(outputs.len()).expect("a run makes few proposals")
}

/// Returns the request for the branch with the changes.
fn branch(
    activation: &Activation,
    prepared: &Prepared,
    granted: &Granted,
    supervised: &Supervised,
    at: jiff::Timestamp,
) -> BranchRequest {
    let with = |verb| granted.acts.iter().find(move |act| act.verb == verb);
    let onto_pull = with(OutputVerb::PushPullRequest);
    let push = with(OutputVerb::PushBranch).or(onto_pull);
    let open = with(OutputVerb::OpenPullRequest);
    let proposed = push.and_then(|act| act.fields.text("message"));
    let proposed = proposed.or_else(|| open.and_then(|act| act.fields.text("title")));
    BranchRequest {
        repo: prepared.repo.clone(),
        worktree: supervised.place.worktree.clone(),
        daemon: activation.daemon.clone(),
        activation: activation.id.clone(),
        ordinal: 0,
        onto: match &prepared.rolling {
            Some(rolling) => Some(rolling.onto.clone()),
            None => onto_pull.and_then(|_| pull_tip(prepared, supervised)),
        },
        message: proposed.map_or_else(|| message(prepared, &supervised.text), str::to_owned),
        at,
        configured: prepared.rules.configured.clone(),
        secrets: supervised.record.redactor().clone(),
        permission: if prepared.policy.permissions >= Permissions::Propose {
            PushPermission::Allowed
        } else {
            PushPermission::ReadOnly
        },
        proposal: if push.or(open).is_some() {
            BranchProposal::Made
        } else {
            BranchProposal::None
        },
    }
}

/// Returns the branch of the pull request at whose head the run worked.
fn pull_tip(prepared: &Prepared, supervised: &Supervised) -> Option<BranchTip> {
    let branch = prepared.rules.head_branch()?;
    Some(BranchTip {
        branch: branch.parse().ok()?,
        at: Some(supervised.place.worktree.base().clone()),
    })
}

/// Returns the surface's id of the own output that a proposal replaces: the one that it names, or the one in its slot.
fn edits(rules: &ProposalRules, act: &Act) -> Option<String> {
    let own = match act.fields.text("output") {
        Some(key) => rules.own.iter().find(|own| own.key.as_str() == key),
        None => rules.in_slot(act.fields.text("slot")?, act.target.as_ref()?),
    };
    own.map(|own| own.remote_id.clone())
}

/// Makes the output of a refused proposal; `shown` is the proposal without secrets.
fn refused(activation: &Activation, ordinal: u32, shown: &str, reason: &str) -> NewOutput {
    let proposal: serde_json::Value = serde_json::from_str(shown).unwrap_or_default();
    let target = proposal["target"].as_str().unwrap_or_default();
    // Where it was to go, for those who read why it did not: the text is the run's, and nothing is sent there.
    let surface = match target.split_once(':') {
        Some((surface @ ("github" | "linear" | "slack"), _)) => surface,
        _ => UNSERVED,
    };
    NewOutput {
        key: OutputKey::derive(&activation.id, ordinal, UNSERVED, shown),
        ordinal,
        surface: surface.to_owned(),
        target: target.chars().take(TARGET_CHARS).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_was_stopped_for_its_lease_is_given_back() {
        let stopped = |reason| outcome(&Outcome::Stopped(reason));
        let cancelled = AttemptOutcome::Cancelled {
            reason: "reclaim".to_owned(),
        };
        assert_eq!(
            [StopReason::LostLease, StopReason::Reclaim].map(stopped),
            [AttemptOutcome::HostStopping, cancelled]
        );
    }
}
