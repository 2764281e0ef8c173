//! The planner of outputs: the rules of the surfaces behind the seam of the runner.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_engine::proposal::{BranchPattern, OutputVerb, OwnOutput, may_mention};
use daemon_engine::{NewOutput, Output, OutputKey, OutputState};
use daemon_records::error::chain;
use daemon_repo::{GitProblem, daemon_branch};
use daemon_runner::planner::{
    ActRequest, BranchProposal, BranchRequest, OutputPlanner, PullState, PushPermission,
};
use daemon_surface::{
    ActPlan, BranchPlan, BranchRules, GIT, GithubSurface, output_verb, own_output, plan_act,
    plan_branch, replacing, slot,
};

/// Plans branches and outputs of services by the rules of their surfaces.
pub(crate) struct SurfacePlanner {
    /// GitHub, if it is configured.
    pub(crate) github: Option<Arc<GithubSurface>>,
    /// The branches that no run pushes to.
    pub(crate) protected: Vec<BranchPattern>,
}

#[async_trait]
impl OutputPlanner for SurfacePlanner {
    fn plan_act(&self, request: &ActRequest) -> NewOutput {
        let plan = ActPlan {
            daemon: &request.daemon,
            activation: &request.activation,
            ordinal: request.ordinal,
            head: request.head.as_deref(),
            edits: request.edits.as_deref(),
            may_mention: &|name| may_mention(&request.configured, name),
            is_secret: &|text| request.secrets.finds_in(text),
        };
        plan_act(&request.act, &plan)
    }

    fn verb(&self, output: &Output) -> Option<OutputVerb> {
        output_verb(output)
    }

    fn own_output(&self, output: &Output) -> Option<OwnOutput> {
        own_output(output)
    }

    fn slot(&self, output: &Output) -> Option<String> {
        slot(output)
    }

    fn replacing(&self, output: &Output, remote_id: &str) -> Output {
        replacing(output, remote_id)
    }

    async fn pull_state(&self, opened: &Output) -> Result<PullState, String> {
        let Some(github) = &self.github else {
            return Ok(PullState::Unknown);
        };
        let is_open = github.is_open(opened).await;
        Ok(match is_open.map_err(|error| error.message)? {
            Some(true) => PullState::Open,
            Some(false) => PullState::Closed,
            None => PullState::Unknown,
        })
    }

    fn plan_branch(&self, push: &BranchRequest) -> Result<Option<NewOutput>, String> {
        let changes = match push.worktree.changes() {
            Ok(changes) => changes,
            Err(error) if matches!(error.problem(), GitProblem::TooManyChanges { .. }) => {
                // Too many changes are a result of the run and not an error of the host.
                return Ok(Some(refused(push, chain(&error))));
            }
            Err(error) => return Err(chain(&error)),
        };
        if changes.is_empty() && push.proposal == BranchProposal::None {
            return Ok(None);
        }
        let refs = push.repo.repository.refs().map_err(|error| chain(&error))?;
        let default_branch = push
            .repo
            .repository
            .default_branch_name(&refs)
            .map_err(|error| chain(&error))?;
        let rules = BranchRules {
            default_branch,
            protected: self.protected.clone(),
        };
        let plan = BranchPlan {
            daemon: &push.daemon,
            activation: &push.activation,
            ordinal: push.ordinal,
            onto: push.onto.as_ref(),
            message: Some(&push.message),
            at: push.at,
            may_mention: &|name| may_mention(&push.configured, name),
            is_secret: &|text| push.secrets.finds_in(text),
        };
        let mut output =
            plan_branch(&push.worktree, &changes, &plan, &rules).map_err(|error| chain(&error))?;
        // Planned before it is refused, so that the record shows what the run wanted to push.
        if push.permission == PushPermission::ReadOnly {
            output.state = OutputState::Refused;
            output.error = Some("the capability is `read`".to_owned());
        }
        Ok(Some(output))
    }
}

/// Returns a refused output for changes that cannot become a branch, so that the refusal is recorded.
fn refused(push: &BranchRequest, reason: String) -> NewOutput {
    let target = match &push.onto {
        Some(onto) => onto.branch.clone(),
        None => daemon_branch(&push.daemon.id, &push.activation),
    };
    NewOutput {
        key: OutputKey::derive(&push.activation, push.ordinal, GIT, target.as_str()),
        ordinal: push.ordinal,
        surface: GIT.to_owned(),
        target: target.as_str().to_owned(),
        content: "{}".to_owned(),
        revision: None,
        state: OutputState::Refused,
        error: Some(reason),
    }
}
