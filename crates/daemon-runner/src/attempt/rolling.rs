//! Rolling branches: the one branch that the activations of a daemon add to, until it ends.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::proposal::{OutputVerb, ProposalRules, PullHead};
use daemon_engine::{Activation, Output, OutputKey, OutputState};
use daemon_event::DaemonId;
use daemon_records::error::chain;
use daemon_repo::{
    BranchTip, CommitMark, DaemonBranch, GitError, Merge, ObjectId, RefName, Remote, Repository,
    rolling_branch,
};
use daemon_store::{MAX_PAGE, OutputPlace, Query};

use super::AttemptRefusal;
use crate::planner::PullState;
use crate::rolling_turns::RollingTurn;
use crate::run_context::RunContext;
use crate::settings::{RunRepository, RunSettings};

/// The surface whose outputs are branches.
const GIT: &str = "git";
/// How long an attempt waits for the delivery of an earlier activation, before it is given back.
const PATIENCE: Duration = Duration::from_secs(30);

/// The rolling branch of one attempt.
#[derive(Debug)]
pub(crate) struct Rolling {
    /// The branch and the commit that it has at its destination.
    pub(crate) onto: BranchTip,
    /// The commit at which the run works: that of the branch with the default branch merged in.
    pub(super) start: ObjectId,
    /// The default branch.
    pub(super) base: Option<RefName>,
    /// Until the end of the attempt no other one of the daemon begins at its branch.
    pub(super) turn: Arc<RollingTurn>,
}

/// What an attempt knows of its daemon's branches.
struct Known {
    daemon: DaemonId,
    repository: Repository,
    remote: Remote,
    /// The tip of the default branch.
    tip: ObjectId,
}

/// The state of a rolling branch.
enum Examined {
    /// It can be added to.
    Open {
        /// Its commit.
        at: ObjectId,
        /// The tree of the merge with the default branch; `None` if it contains that.
        merged: Option<ObjectId>,
    },
    /// It was removed, merged, closed or changed by a person, or conflicts with the default branch.
    Ended(&'static str),
}

impl Rolling {
    /// Makes the pull request of the branch, if the daemon opened one, that at whose head the run works.
    pub(super) fn add_to(&self, rules: &mut ProposalRules) {
        let branch = self.onto.branch.as_str();
        let opened = rules
            .own
            .iter()
            .find(|own| own.head.as_deref() == Some(branch));
        rules.head = opened
            .and_then(|own| own.made.clone())
            .map(|pull| PullHead {
                pull,
                branch: Some(branch.to_owned()),
            });
    }
}

/// Finds the open rolling branch of an activation's daemon, or names the next one, and merges the default branch into it.
///
/// # Errors
/// The refusal says for what the activation waits.
pub(super) async fn begin(
    run_context: &RunContext,
    activation: &Activation,
    (settings, repo): (&RunSettings, &RunRepository),
    tip: &ObjectId,
) -> Result<Rolling, AttemptRefusal> {
    let stop = &run_context.lifetime.stop;
    let turn = tokio::select! {
        turn = run_context.rolling.turn(&activation.daemon) => turn,
        () = stop.cancelled() => return Err(AttemptRefusal::given_back()),
    };
    let outputs = tokio::select! {
        outputs = settled(run_context, activation) => outputs?,
        () = stop.cancelled() => return Err(AttemptRefusal::given_back()),
    };
    let known = Known {
        daemon: activation.daemon.id.clone(),
        repository: repo.repository.clone(),
        remote: repo.delivery.clone(),
        tip: tip.clone(),
    };
    let known = Arc::new(known);
    let lister = Arc::clone(&known);
    let at_remote = git(run_context, move || lister.list()).await?;
    let of_outputs = outputs.iter().filter(|output| output.may_be_there());
    let of_outputs = of_outputs.filter_map(|output| known.number(&output.target.parse().ok()?));
    let numbers = at_remote.iter().map(|(n, _)| *n).chain(of_outputs);
    let newest = numbers.max();
    let mut onto = BranchTip {
        branch: rolling_branch(&known.daemon, newest.unwrap_or(NonZeroU32::MIN)),
        at: None,
    };
    let mut merged = None;
    if let Some(newest) = newest {
        let at = at_remote.into_iter().find(|(n, _)| *n == newest);
        let at = at.map(|(_, at)| at);
        let looked = (settings, activation);
        match examine(run_context, &known, (&onto.branch, at), looked).await? {
            Examined::Open { at, merged: tree } => (onto.at, merged) = (Some(at), tree),
            Examined::Ended(why) => {
                tracing::info!(activation = %activation.id, branch = %onto.branch, why, "the rolling branch ended");
                onto.branch = rolling_branch(&known.daemon, newest.saturating_add(1));
            }
        }
    }
    let (activation, branch) = (activation.clone(), onto.clone());
    let now = run_context.now();
    let (start, base) = git(run_context, move || {
        known.start(&activation, (&branch, merged), now)
    })
    .await?;
    Ok(Rolling {
        onto,
        start,
        base,
        turn: Arc::new(turn),
    })
}

/// Waits until every push of the daemon to its rolling branches is settled, and returns its newest outputs: what is still to be
/// delivered would not be in the work tree, and a push from there would exclude it.
async fn settled(
    run_context: &RunContext,
    activation: &Activation,
) -> Result<Vec<Output>, AttemptRefusal> {
    let query = outputs_of(activation);
    let is_awaited = |output: &&Output| {
        let branch = output.target.parse().ok();
        let branch = branch.and_then(|name| DaemonBranch::parse(&name));
        !output.state.is_settled() && matches!(branch, Some(DaemonBranch::Rolling(..)))
    };
    let wait = async {
        loop {
            let mut ended = std::pin::pin!(run_context.lifetime.ended.notified());
            // Before the store is read, so that a delivery between the two is noticed.
            ended.as_mut().enable();
            let page = run_context.store.outputs(&query).await;
            let page = page.map_err(|error| AttemptRefusal::retryable(chain(&error)))?;
            if page.rows.iter().find(is_awaited).is_none() {
                return Ok(page.rows);
            }
            ended.await;
        }
    };
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(outputs) => outputs,
        Err(_) => Err(AttemptRefusal::branch(
            "an earlier output for the rolling branch is not delivered yet",
        )),
    }
}

/// Finds out whether a rolling branch is open.
async fn examine(
    run_context: &RunContext,
    known: &Arc<Known>,
    (branch, at): (&RefName, Option<ObjectId>),
    (settings, activation): (&RunSettings, &Activation),
) -> Result<Examined, AttemptRefusal> {
    let Some(at) = at else {
        return Ok(Examined::Ended("it does not exist any more"));
    };
    let place = OutputPlace::Revision(at.to_string());
    let pushed = run_context.store.outputs_at(GIT, &place).await;
    let pushed = pushed.map_err(|error| AttemptRefusal::retryable(chain(&error)))?;
    let is_ours =
        |output: &Output| output.target == branch.as_str() && output.daemon.id == known.daemon;
    if !pushed.iter().any(is_ours) {
        return Ok(Examined::Ended("its newest commit is not the daemon's"));
    }
    if let Some(opened) = opening(run_context, activation, (settings, branch)).await? {
        let state = settings.planner.pull_state(&opened).await;
        let state = state.map_err(|why| AttemptRefusal::branch(&redacted(run_context, &why)))?;
        if state == PullState::Closed {
            return Ok(Examined::Ended("its pull request is closed"));
        }
    }
    let known = Arc::clone(known);
    git(run_context, move || known.examine(at)).await
}

/// Returns the newest output that opened the pull request of a branch: of several openings each names the same.
///
/// All outputs of the daemon are searched, because it may have opened it long ago and pushed ever since.
async fn opening(
    run_context: &RunContext,
    activation: &Activation,
    (settings, branch): (&RunSettings, &RefName),
) -> Result<Option<Output>, AttemptRefusal> {
    let opens = |output: &Output| {
        let own = settings.planner.own_output(output);
        own.is_some_and(|own| {
            own.verb == OutputVerb::OpenPullRequest && own.head.as_deref() == Some(branch.as_str())
        })
    };
    let mut query = Query {
        state: Some(OutputState::Confirmed.as_str().to_owned()),
        ..outputs_of(activation)
    };
    loop {
        let page = run_context.store.outputs(&query).await;
        let page = page.map_err(|error| AttemptRefusal::retryable(chain(&error)))?;
        if let Some(found) = page.rows.into_iter().find(opens) {
            return Ok(Some(found));
        }
        if page.next.is_none() {
            return Ok(None);
        }
        query.after = page.next;
    }
}

/// Returns the query of the newest outputs of an activation's daemon.
fn outputs_of(activation: &Activation) -> Query {
    Query {
        limit: MAX_PAGE,
        daemon: Some(activation.daemon.id.to_string()),
        repo: Some(activation.daemon.repo.clone()),
        ..Query::default()
    }
}

impl Known {
    fn number(&self, branch: &RefName) -> Option<NonZeroU32> {
        match DaemonBranch::parse(branch)? {
            DaemonBranch::Rolling(daemon, n) if daemon == self.daemon => Some(n),
            DaemonBranch::Rolling(..) | DaemonBranch::Activation(..) => None,
        }
    }

    /// Lists the rolling branches at the destination.
    fn list(&self) -> Result<Vec<(NonZeroU32, ObjectId)>, GitError> {
        let listed = self.repository.branches_of_daemons(&self.remote)?;
        let numbered = listed
            .into_iter()
            .filter_map(|(name, at)| Some((self.number(&name)?, at)));
        Ok(numbered.collect())
    }

    /// Compares the branch with the default branch.
    fn examine(&self, at: ObjectId) -> Result<Examined, GitError> {
        let (repository, tip) = (&self.repository, &self.tip);
        repository.fetch_tip(&self.remote, &at)?;
        if repository.is_ancestor(&at, tip)? {
            return Ok(Examined::Ended("it is merged"));
        }
        if repository.is_ancestor(tip, &at)? {
            return Ok(Examined::Open { at, merged: None });
        }
        Ok(match repository.merge(&at, tip)? {
            Merge::Conflict => Examined::Ended("it conflicts with the default branch"),
            // After a squash the commits differ and their changes do not.
            Merge::Tree(tree) if tree == repository.tree_of(tip)? => {
                Examined::Ended("its changes are merged")
            }
            Merge::Tree(tree) => Examined::Open {
                at,
                merged: Some(tree),
            },
        })
    }

    /// Returns the commit at which the run begins, and the default branch.
    fn start(
        &self,
        activation: &Activation,
        (onto, merged): (&BranchTip, Option<ObjectId>),
        now: jiff::Timestamp,
    ) -> Result<(ObjectId, Option<RefName>), GitError> {
        let refs = self.repository.refs()?;
        let base = super::checkout::default_branch(&self.repository, &refs)?;
        let start = match (&onto.at, merged) {
            (None, _) => self.tip.clone(),
            (Some(at), None) => at.clone(),
            (Some(at), Some(tree)) => {
                let key = OutputKey::derive(&activation.id, 0, GIT, onto.branch.as_str());
                let mark = CommitMark {
                    daemon: self.daemon.clone(),
                    activation: activation.id.clone(),
                    output: key.as_str().into(),
                };
                let from = base.as_ref().map_or("the default branch", RefName::short);
                let message = format!("Merge {from} into {}", onto.branch.short());
                let parents = [at, &self.tip];
                self.repository
                    .commit_merge(&tree, parents, &message, &mark, now)?
            }
        };
        Ok((start, base))
    }
}

/// Runs git on a thread for blocking calls. What fails may succeed later, without a limit of attempts: the remote may be down.
async fn git<T: Send + 'static>(
    run_context: &RunContext,
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, AttemptRefusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => {
            // Git may print what a remote or a credential helper printed.
            let why = redacted(run_context, &error.brief());
            Err(AttemptRefusal::branch(&format!(
                "the rolling branch cannot be read: {why}"
            )))
        }
        Err(error) => Err(AttemptRefusal::retryable(format!(
            "reading the rolling branch panicked: {error}"
        ))),
    }
}

fn redacted(run_context: &RunContext, text: &str) -> String {
    run_context.secrets.redactor().text(text).into_owned()
}
