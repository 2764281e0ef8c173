//! Parts that do nothing, for a host that only fetches facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_engine::proposal::{OutputVerb, OwnOutput};
use daemon_engine::{NewOutput, Output};
use daemon_repo::Discovery;
use daemon_runner::planner::{ActRequest, BranchRequest, OutputPlanner, PullState};
use daemon_runner::settings::{Overlays, Sandboxes};

use crate::driver::{Checked, Checker, Parts};

/// Makes the parts of a host that only fetches facts.
pub(super) fn parts(facts: Arc<dyn daemon_engine::Facts>) -> Parts {
    let sandbox = daemon_runner::policy::ReachedSandbox {
        level: 1,
        detail: String::new(),
    };
    Parts {
        checker: Arc::new(Nothing),
        planner: Arc::new(Nothing),
        providers: BTreeMap::new(),
        presets: BTreeMap::new(),
        surfaces: BTreeMap::new(),
        facts,
        reconcilers: Vec::new(),
        repos: Vec::new(),
        unopened: Vec::new(),
        servers: daemon_runner::servers::Servers::default(),
        hooks: daemon_agent::AgentHooks::new([]).expect("one hook does not collide"),
        program: None,
        sandboxes: Sandboxes::new(sandbox, BTreeMap::new(), Overlays::Mounted),
    }
}

/// A linter that finds no daemon, and a planner that plans no output.
struct Nothing;

impl Checker for Nothing {
    fn check(&self, _: &Discovery, _: &dyn Fn(&str) -> String) -> Vec<Checked> {
        Vec::new()
    }
}

#[async_trait::async_trait]
impl OutputPlanner for Nothing {
    fn plan_act(&self, request: &ActRequest) -> NewOutput {
        unreachable!("no run proposes {:?}", request.act)
    }

    fn verb(&self, _: &Output) -> Option<OutputVerb> {
        None
    }

    fn own_output(&self, _: &Output) -> Option<OwnOutput> {
        None
    }

    fn slot(&self, _: &Output) -> Option<String> {
        None
    }

    fn replacing(&self, output: &Output, _: &str) -> Output {
        output.clone()
    }

    async fn pull_state(&self, _: &Output) -> Result<PullState, String> {
        Ok(PullState::Unknown)
    }

    fn plan_branch(&self, _: &BranchRequest) -> Result<Option<NewOutput>, String> {
        Ok(None)
    }
}
