//! One attempt at an activation: worktree, context, run, outputs.

mod collect;
mod folder;
mod grants;
mod place;
mod servers;
mod spool;
mod supervise;

use std::sync::Arc;

use daemon_engine::{Activation, ActivationState, AttemptEnd, AttemptOutcome, Missing};
use daemon_event::RepoName;
use daemon_repo::{ObjectId, Worktree};
use daemon_store::{Ended, StoreError};
use jiff::Timestamp;

use crate::budget::RunBudget;
use crate::defect::guarded;
use crate::random;
use crate::run_context::RunContext;
use grants::RunGrants;

/// Why an attempt ended before its provider began.
pub(crate) struct AttemptRefusal {
    outcome: AttemptOutcome,
    /// The commits of which one must come first.
    awaits: Vec<ObjectId>,
}

impl AttemptRefusal {
    fn new(outcome: AttemptOutcome) -> Self {
        Self {
            outcome,
            awaits: Vec::new(),
        }
    }

    /// Trying again may help.
    pub(crate) fn retryable(reason: impl Into<String>) -> Self {
        Self::new(AttemptOutcome::Retryable {
            reason: reason.into(),
        })
    }

    /// The attempt never began: it is given back.
    pub(crate) fn given_back() -> Self {
        Self::new(AttemptOutcome::HostStopping)
    }

    /// Trying again cannot help.
    pub(crate) fn final_(reason: impl Into<String>) -> Self {
        Self::new(AttemptOutcome::Final {
            reason: reason.into(),
        })
    }

    /// The daemon's files are not known yet.
    pub(crate) fn repository(repo: &RepoName) -> Self {
        Self::new(AttemptOutcome::Missing {
            what: Missing::Repository,
            detail: format!("`{repo}` could not be read yet"),
        })
    }

    /// None of the commits that the event names is there.
    pub(crate) fn commit(repo: &RepoName, commits: Vec<ObjectId>) -> Self {
        let named: Vec<String> = commits.iter().map(|commit| format!("`{commit}`")).collect();
        Self {
            outcome: AttemptOutcome::Missing {
                what: Missing::Commit,
                detail: format!("{} is not in `{repo}`", named.join(" or ")),
            },
            awaits: commits,
        }
    }

    /// What the event names is not the full name of a commit; a text that is not even part of one is not repeated.
    pub(crate) fn unclear_commit(repo: &RepoName, name: &str) -> Self {
        let is_part = matches!(name.len(), 1..=64) && name.bytes().all(|b| b.is_ascii_hexdigit());
        let named = match is_part {
            true => format!("`{name}`"),
            false => "what the event names".to_owned(),
        };
        Self::new(AttemptOutcome::Missing {
            what: Missing::Commit,
            detail: format!("{named} is not the full name of a commit of `{repo}`"),
        })
    }

    fn end(self, now: Timestamp) -> AttemptEnd {
        AttemptEnd::new(self.outcome, now, random::jitter())
    }
}

/// Executes a claimed activation and commits how the attempt ended.
///
/// `None` means that the lease was lost: somebody else owns the activation, and nothing of this attempt is kept.
///
/// # Errors
/// If the store fails; the lease will expire, and the attempt be taken back.
pub async fn attempt(
    run_context: &Arc<RunContext>,
    activation: Activation,
    provider: Option<&str>,
) -> Result<Option<Ended>, StoreError> {
    let (id, lease) = (activation.id.clone(), activation.run_lease);
    run_context.host.attempt_begins(&id);
    let (leased, mut stopped) = run_context.attempts.begin(&id, lease);
    let worked = guarded(Box::pin(work(
        run_context,
        &activation,
        provider,
        &mut stopped,
    )))
    .await;
    let mut awaits = Vec::new();
    let (end, worktree) = match worked {
        Ok(Ok((end, worktree))) => (end, Some(worktree)),
        Ok(Err(mut refusal)) => {
            awaits = std::mem::take(&mut refusal.awaits);
            (refusal.end(run_context.now()), None)
        }
        Err(defect) => {
            tracing::error!(activation = %id, %defect, "an attempt panicked");
            let refusal = AttemptRefusal::final_(defect.to_string());
            (refusal.end(run_context.now()), None)
        }
    };
    crate::failpoint::hit("R8");
    let outcome = end.outcome.clone();
    let mut ended = run_context.store.end_attempt(&id, lease, end.clone()).await;
    if let Err(StoreError::State(error)) = &ended {
        // What it remembers did not fit beside what was there: the rest of the attempt counts all the same.
        tracing::warn!(activation = %id, %error, "the state changes of an attempt were dropped");
        ended = run_context
            .store
            .end_attempt(
                &id,
                lease,
                AttemptEnd {
                    state: Vec::new(),
                    ..end
                },
            )
            .await;
    }
    crate::failpoint::hit("R9");
    drop(leased);
    if let Some(worktree) = worktree {
        remove(worktree).await;
    }
    match ended {
        Ok(ended) => {
            tracing::info!(
                activation = %id, daemon = %activation.daemon, state = ended.activation.state.as_str(),
                reason = ended.activation.reason.as_deref().unwrap_or(""), "activation"
            );
            metrics::counter!("daemon_attempts_total", "state" => ended.activation.state.as_str())
                .increment(1);
            run_context.host.set_gate(&activation.daemon, ended.gate);
            if let (AttemptOutcome::Missing { what, .. }, ActivationState::Pending) =
                (&outcome, ended.activation.state)
                // What names no commit cannot come.
                && (*what == Missing::Repository || !awaits.is_empty())
            {
                run_context.host.await_commits(&activation, awaits);
            }
            Ok(Some(ended))
        }
        Err(StoreError::LeaseLost) => {
            tracing::warn!(activation = %id, ?outcome, "the lease was lost; nothing of the attempt is kept");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

async fn work(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    provider: Option<&str>,
    stopped: &mut tokio::sync::watch::Receiver<Option<daemon_provider::StopReason>>,
) -> Result<(AttemptEnd, Worktree), AttemptRefusal> {
    let prepared = place::prepare(run_context, activation, provider).await?;
    let budget = RunBudget::new(
        prepared.money,
        Arc::clone(&run_context.budget),
        run_context.host.settings().bounds.day,
    );
    let grants = RunGrants::new(prepared.state.clone(), prepared.permissions, budget);
    let grants = Arc::new(grants);
    let supervised = supervise::run(
        run_context,
        activation,
        &prepared,
        Arc::clone(&grants),
        stopped,
    )
    .await?;
    let end = collect::end(run_context, activation, &prepared, &grants, supervised).await;
    Ok((end, prepared.worktree))
}

async fn remove(worktree: Worktree) {
    let dir = worktree.dir().to_owned();
    match tokio::task::spawn_blocking(move || worktree.remove()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let error = crate::error::chain(&error);
            tracing::warn!(dir = %dir.display(), error, "a worktree could not be removed");
        }
        Err(error) => tracing::error!(%error, "removing a worktree panicked"),
    }
}
