//! One attempt at an activation: its worktree, context, run and outputs.

pub mod checkout;
mod collect;
mod commented;
mod folder;
mod grants;
mod place;
mod pull_head;
mod rolling;
mod rules;
mod spool;
mod supervise;
mod tallied;

use std::sync::Arc;

use daemon_engine::{Activation, ActivationState, AttemptEnd, AttemptOutcome, Missing};
use daemon_event::RepoName;
use daemon_repo::{GitError, ObjectId};
use daemon_store::{Ended, StoreError};
use jiff::Timestamp;

use crate::budget::{BudgetUsedUp, RunBudget};
use crate::defect::guarded;
use crate::run_context::RunContext;
use daemon_records::random;
use grants::RunGrants;

pub use rules::proposal_rules;

/// Why an attempt ended before its provider started.
pub(crate) struct AttemptRefusal {
    outcome: AttemptOutcome,
    /// The commits to wait for: the next attempt needs one of them.
    awaits: Vec<ObjectId>,
}

impl AttemptRefusal {
    fn new(outcome: AttemptOutcome) -> Self {
        Self {
            outcome,
            awaits: Vec::new(),
        }
    }

    /// Refuses an attempt that may succeed if it is tried again.
    pub(crate) fn retryable(reason: impl Into<String>) -> Self {
        Self::new(AttemptOutcome::Retryable {
            reason: reason.into(),
        })
    }

    /// Gives the attempt back: it does not count, because it never started.
    pub(crate) fn given_back() -> Self {
        Self::new(AttemptOutcome::HostStopping)
    }

    /// Refuses an attempt that would fail again.
    pub(crate) fn final_(reason: impl Into<String>) -> Self {
        Self::new(AttemptOutcome::Final {
            reason: reason.into(),
        })
    }

    /// Refuses an attempt whose repository has not been read yet.
    pub(crate) fn repository(repo: &RepoName) -> Self {
        Self::new(AttemptOutcome::Missing {
            what: Missing::Repository,
            detail: format!("`{repo}` could not be read yet"),
        })
    }

    /// Refuses an attempt because the repository contains none of the commits that the event names; `why` they could not be
    /// fetched either.
    pub(crate) fn commit(repo: &RepoName, commits: Vec<ObjectId>, why: Option<&str>) -> Self {
        let named: Vec<String> = commits.iter().map(|commit| format!("`{commit}`")).collect();
        let why = why.map_or_else(String::new, |why| format!(", and {why}"));
        Self {
            outcome: AttemptOutcome::Missing {
                what: Missing::Commit,
                detail: format!("{} is not in `{repo}`{why}", named.join(" or ")),
            },
            awaits: commits,
        }
    }

    /// Refuses an attempt because its partial repository has not all files of the commit; `why` names one.
    pub(crate) fn files(repo: &RepoName, why: &str) -> Self {
        Self::new(AttemptOutcome::Missing {
            what: Missing::Commit,
            detail: format!("`{repo}`: {why}"),
        })
    }

    /// Refuses an attempt because the pull request of a comment cannot be read at the moment.
    pub(crate) fn pull_request(why: &str) -> Self {
        Self::new(AttemptOutcome::Missing {
            what: Missing::Commit,
            detail: format!("the pull request of the comment cannot be read: {why}"),
        })
    }

    /// Refuses an attempt whose rolling branch cannot be added to at the moment.
    pub(crate) fn branch(why: &str) -> Self {
        Self::new(AttemptOutcome::Missing {
            what: Missing::Branch,
            detail: why.to_owned(),
        })
    }

    /// Refuses an attempt whose event does not contain the full name of a commit.
    pub(crate) fn unclear_commit(repo: &RepoName, name: &str) -> Self {
        // The name comes from the payload. Only one that looks like a part of a commit name is repeated to readers.
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
/// Returns `None` if the lease was lost: another attempt owns the activation, and nothing of this one is kept.
///
/// # Errors
/// The store failed. The lease expires, and the activation is claimed again.
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
    let (end, place) = match worked {
        Ok(Ok((end, place))) => (end, Some(place)),
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
    // A crash from here to the commit repeats the attempt, because the store has no end of it.
    daemon_records::failpoint::hit("R8");
    let outcome = end.outcome.clone();
    let ended = commit(run_context, &activation, end).await;
    daemon_records::failpoint::hit("R9");
    // Until here the lease is renewed, so that no other attempt starts while this end is being committed.
    drop(leased);
    if let Some(place) = place {
        remove(run_context, place).await;
    }
    match ended {
        Ok(ended) => {
            report(run_context, &activation, &outcome, awaits, &ended);
            Ok(Some(ended))
        }
        Err(StoreError::LeaseLost) => {
            tracing::warn!(activation = %id, ?outcome, "the lease was lost; nothing of the attempt is kept");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Commits the end of an attempt.
async fn commit(
    run_context: &RunContext,
    activation: &Activation,
    end: AttemptEnd,
) -> Result<Ended, StoreError> {
    let (id, lease, store) = (&activation.id, activation.run_lease, &run_context.store);
    match store.end_attempt(id, lease, end.clone()).await {
        // The changes exceed the limits of the stored state. The outputs and the outcome still count.
        Err(StoreError::State(error)) => {
            tracing::warn!(activation = %id, %error, "the state changes of an attempt were dropped");
            let end = AttemptEnd {
                state: Vec::new(),
                ..end
            };
            store.end_attempt(id, lease, end).await
        }
        ended => ended,
    }
}

/// Reports a committed end: the log, the metric, the daemon's gate, and the commits that the activation waits for.
fn report(
    run_context: &RunContext,
    activation: &Activation,
    outcome: &AttemptOutcome,
    awaits: Vec<ObjectId>,
    ended: &Ended,
) {
    let state = ended.activation.state;
    tracing::info!(
        activation = %activation.id, daemon = %activation.daemon, state = state.as_str(),
        reason = ended.activation.reason.as_deref().unwrap_or(""), "activation"
    );
    metrics::counter!("daemon_attempts_total", "state" => state.as_str()).increment(1);
    run_context.host.set_gate(&activation.daemon, ended.gate);
    if let (AttemptOutcome::Missing { what, .. }, ActivationState::Pending) = (outcome, state)
        // An event that names no commit is not helped by a fetch.
        && (*what == Missing::Repository || !awaits.is_empty())
    {
        run_context.host.await_commits(activation, awaits);
    }
}

async fn work(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    provider: Option<&str>,
    stopped: &mut tokio::sync::watch::Receiver<Option<daemon_provider::StopReason>>,
) -> Result<(AttemptEnd, place::RunPlace), AttemptRefusal> {
    let mut prepared = place::prepare(run_context, activation, provider).await?;
    let day = run_context.host.settings().bounds.day;
    let begun = run_context
        .budget
        .begin(prepared.provider.pricing(), prepared.money, day);
    let reserve = begun.map_err(|used_up| match used_up {
        BudgetUsedUp::Run => AttemptRefusal::final_(used_up.to_string()),
        // Other runs took what was left when this one was claimed. Claims wait until enough is left.
        BudgetUsedUp::Day { .. } => AttemptRefusal::given_back(),
    })?;
    prepared.limits.budget = reserve.limit();
    prepared.reserved = reserve.reserved();
    let budget = RunBudget::new(prepared.money, Arc::clone(&run_context.budget), day.limit);
    let grants = RunGrants::new(prepared.state.clone(), prepared.rules.clone(), budget);
    let grants = grants.with_counters(prepared.context.state["counters"].clone());
    let grants = Arc::new(grants);
    let supervised = supervise::run(
        run_context,
        activation,
        &prepared,
        Arc::clone(&grants),
        stopped,
    )
    .await;
    let mut supervised = match supervised {
        Ok(supervised) => supervised,
        Err(refusal) => {
            reserve.release();
            return Err(refusal);
        }
    };
    reserve.settle(supervised.cost_usd, &supervised.outcome);
    let end = collect::end(run_context, activation, &prepared, &grants, &mut supervised).await;
    Ok((end, supervised.place))
}

/// Removes the work tree of an attempt, and gives back the tree that it was made from.
async fn remove(run_context: &Arc<RunContext>, place: place::RunPlace) {
    let place::RunPlace {
        worktree,
        tree,
        turn,
    } = place;
    // The end is stored, so that the next attempt sees its outputs.
    drop(turn);
    let dir = worktree.dir().to_owned();
    let run_context = Arc::clone(run_context);
    let removed = tokio::task::spawn_blocking(move || {
        match tree {
            Some(tree) => tree.end(worktree)?,
            None => worktree.remove()?,
        }
        run_context
            .trees
            .trim(run_context.host.settings().bounds.trees);
        Ok::<_, GitError>(())
    });
    match removed.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let error = daemon_records::error::chain(&error);
            tracing::warn!(dir = %dir.display(), error, "a worktree could not be removed");
        }
        Err(error) => tracing::error!(%error, "removing a worktree panicked"),
    }
}
