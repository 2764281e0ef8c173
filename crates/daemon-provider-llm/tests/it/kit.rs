//! A worktree, a scripted model, and a record of its run.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use daemon_fakes::{ModelApi, Reply};
use daemon_process::Supervisor;
use daemon_provider::tool_loop::RetryPolicy;
use daemon_provider::{
    GrantError, Grants, MicroUsd, Outcome, Provider as _, Reservation, Run, RunEvent, RunId,
    RunRequest, Verdict,
};
use daemon_provider_llm::{LlmConfig, LlmProvider};
use serde_json::Value;

pub(crate) struct Bench {
    directory: tempfile::TempDir,
    pub(crate) supervisor: Supervisor,
    pub(crate) api: ModelApi,
}

impl Bench {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(ModelApi::replaying(replies).unwrap())
    }

    pub(crate) fn with(api: ModelApi) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["worktree", "home", "context"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self {
            directory,
            supervisor: Supervisor::start().unwrap(),
            api,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file of the worktree.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path("worktree").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.path("worktree").join(name)).unwrap()
    }

    /// Configures the stand-in, with short delays.
    pub(crate) fn config(&self, api: &str) -> LlmConfig {
        let mut config = LlmConfig::new("llm", api.parse().unwrap(), "some-model");
        config.base_url = Some(self.api.base_url());
        config.retry = RetryPolicy {
            first_delay: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        config
    }

    pub(crate) fn request(&self) -> RunRequest {
        // The id marks the processes of a run, so no two tests may share one.
        let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        let number = u32::from_str_radix(&uuid[..8], 16).unwrap().max(1);
        let id: RunId = format!("em-{number}-20260102-030405-{}", &uuid[30..36])
            .parse()
            .unwrap();
        let mut request = RunRequest::new(id, self.path("worktree"));
        request.prompt = b"Repair the links.".to_vec();
        request.home = self.path("home");
        request.environment = [("PATH".into(), "/usr/bin:/bin".into())].into();
        request
    }

    pub(crate) async fn start(&self, config: LlmConfig, request: RunRequest) -> Box<dyn Run> {
        let provider = LlmProvider::new(self.supervisor.clone(), config).unwrap();
        provider.start(request).await.unwrap()
    }

    pub(crate) async fn story(&self, config: LlmConfig, request: RunRequest) -> Vec<RunEvent> {
        story(&mut *self.start(config, request).await).await
    }

    /// Runs the default request to its end.
    pub(crate) async fn play(&self) -> Vec<RunEvent> {
        self.story(self.config("openai"), self.request()).await
    }

    /// Returns the tool results in the last request to the model.
    pub(crate) fn results(&self) -> Vec<String> {
        self.api.received().last().unwrap().tool_results()
    }
}

/// Reads a run to its end.
pub(crate) async fn story(run: &mut dyn Run) -> Vec<RunEvent> {
    let mut acc = Vec::new();
    while let Some(event) = run.next().await.unwrap() {
        acc.push(event);
    }
    acc
}

/// Returns the outcome and the final text of a run.
pub(crate) fn end(events: &[RunEvent]) -> (Outcome, &str) {
    match events.last() {
        Some(RunEvent::Terminal { outcome, text }) => (outcome.clone(), text),
        other => panic!("a run ends with its terminal event, not {other:?}"),
    }
}

/// Returns the message of a failure, its kind and whether it is final.
pub(crate) fn failure(
    events: &[RunEvent],
) -> (
    String,
    daemon_provider::FailureKind,
    daemon_provider::ErrorClass,
) {
    match end(events).0 {
        Outcome::Failed(failure) => (failure.message, failure.kind, failure.class),
        other => panic!("the run failed, and did not end as {other:?}"),
    }
}

/// Grants with a budget, which record each request.
#[derive(Debug, Default)]
pub(crate) struct BudgetGrants {
    pub(crate) left: std::sync::Mutex<Option<u64>>,
    pub(crate) asked: std::sync::Mutex<Vec<String>>,
}

impl BudgetGrants {
    pub(crate) fn of(micros: u64) -> Arc<Self> {
        Arc::new(Self {
            left: Some(micros).into(),
            ..Self::default()
        })
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Grants for BudgetGrants {
    async fn state_get(&self, key: &str) -> Result<Option<Value>, GrantError> {
        self.note(format!("get {key}"));
        Ok((key == "seen").then(|| Value::from(7)))
    }

    async fn state_set(&self, key: &str, value: Value) -> Result<(), GrantError> {
        self.note(format!("set {key} {value}"));
        Ok(())
    }

    async fn propose(&self, output: Value) -> Result<Verdict, GrantError> {
        self.note(format!("propose {output}"));
        Ok(if output["verb"] == "merge" {
            Verdict::Refused("no surface merges".to_owned())
        } else {
            Verdict::Accepted
        })
    }

    async fn reserve(&self, cost: MicroUsd) -> Result<Reservation, GrantError> {
        let mut left = self.left.lock().unwrap();
        let has = left.unwrap_or(0);
        if cost.0 > has {
            return Err(GrantError::OverBudget {
                wanted: cost,
                left: MicroUsd(has),
            });
        }
        *left = Some(has - cost.0);
        Ok(Reservation(cost.0))
    }

    async fn settle(&self, reservation: Reservation, cost: MicroUsd) -> Result<(), GrantError> {
        let mut left = self.left.lock().unwrap();
        *left = left.map(|left| left + reservation.0 - cost.0);
        Ok(())
    }
}
