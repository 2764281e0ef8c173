//! What an attempt needs before its provider begins: the daemon, its files, the commit, the context.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use daemon_engine::Activation;
use daemon_event::{Event, Field, RepoName, Source, TriggerKey};
use daemon_provider::{FollowUps, Limits, MicroUsd, Provider, RunRequest};
use daemon_repo::{GitError, ObjectId, Worktree};
use daemon_store::{EventRow, StoreError};

use super::Refusal;
use super::grants::RunGrants;
use crate::config::{Capability, Config};
use crate::context::Built;
use crate::driver::repos::Watched;
use crate::driver::{Inner, Parts};
use crate::intake;
use crate::policy::{RunPolicy, micros, permissions};
use crate::random;
use crate::runs::Record;
use daemon_registry::Registered;

/// How many turns a model may take that nobody gave a number.
const USUAL_TURNS: u32 = 100;

/// What an attempt needs before its provider begins.
pub(crate) struct Prepared {
    pub(crate) daemon: Arc<Registered>,
    pub(crate) repo: Arc<Watched>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) capability: Capability,
    pub(crate) limits: Limits,
    /// What is left of the activation's budget after earlier attempts.
    pub(crate) money: Option<MicroUsd>,
    pub(crate) environment: BTreeMap<std::ffi::OsString, std::ffi::OsString>,
    pub(crate) state: BTreeMap<String, String>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) worktree: Worktree,
    pub(crate) context: Built,
    pub(crate) sandbox: (u8, String),
    /// The MCP servers that it is granted.
    pub(crate) servers: Vec<String>,
    pub(crate) daemon_file: Arc<[u8]>,
    pub(crate) support: daemon_repo::SupportTree,
}

impl Prepared {
    /// Makes the request that the provider receives.
    pub(super) fn request(&self, record: &Record, grants: Arc<RunGrants>) -> RunRequest {
        let mut environment = self.environment.clone();
        environment
            .entry("TMPDIR".into())
            .or_insert_with(|| record.temporary().into_os_string());
        RunRequest {
            task: self.context.task.clone(),
            prompt: self.context.bytes.clone(),
            home: record.home(),
            context: Some(record.context()),
            outputs: Some(record.spool()),
            environment,
            files: self.files(),
            renames: Vec::new(),
            limits: self.limits,
            permissions: permissions(self.capability),
            resume: None,
            grants,
            ..RunRequest::new(record.folder().id(), self.worktree.dir().to_owned())
        }
    }

    /// Returns the files that the newest event names, as far as they are relative paths below the worktree.
    fn files(&self) -> Vec<PathBuf> {
        let Some(newest) = self.events.last() else {
            return Vec::new();
        };
        let files = newest
            .event
            .facts
            .texts(Field::ChangedFiles)
            .map(PathBuf::from);
        files
            .filter(|path| {
                path.components()
                    .all(|part| matches!(part, std::path::Component::Normal(_)))
            })
            .collect()
    }
}

/// Gathers everything and makes the worktree.
///
/// # Errors
/// Says whether trying again may help.
pub(super) async fn prepare(
    inner: &Arc<Inner>,
    activation: &Activation,
    provider: Option<&str>,
) -> Result<Prepared, Refusal> {
    let runtime = inner.runtime();
    let config = &runtime.config;
    let daemon = registered(inner, activation).await?;
    let repo = inner
        .repo(&activation.daemon.repo)
        .ok_or_else(|| unwatched(&runtime.parts, &activation.daemon.repo))?;
    let policy = RunPolicy::of(config, &activation.daemon, provider);
    let provider = provider_of(&runtime.parts, &policy)?;
    let sandbox = runtime.parts.sandbox_of(&policy).clone();
    if let Some(reason) = policy.sandbox_refusal(&sandbox) {
        return Err(Refusal::final_(reason));
    }
    let unreachable = |error: StoreError| Refusal::retryable(crate::ops::chain(&error));
    let events = trigger_events(inner, activation)
        .await
        .map_err(unreachable)?;
    let state = inner
        .store
        .state(&activation.daemon, random::now())
        .await
        .map_err(unreachable)?;
    let (daemon_file, support) = source(&daemon)?;
    let parts = crate::context::Ingredients {
        daemon: &daemon,
        file: &daemon_file,
        activation,
        events: &events,
        state: &state,
        capability: policy.capability,
        limits: &policy.limits,
        servers: &policy.mcp,
        cap: policy.context_bytes,
        now: random::now(),
    };
    let context =
        crate::context::build(&parts).map_err(|error| Refusal::final_(error.to_string()))?;
    let worktree = worktree(inner, &repo, activation, &events, &daemon).await?;
    crate::failpoint::hit("R2");
    let mut limits = policy.limits;
    if provider.follow_ups() == FollowUps::Joins {
        // What takes messages into its loop counts turns.
        limits.max_turns.get_or_insert(USUAL_TURNS);
    }
    Ok(Prepared {
        environment: environment(config, &policy.provider),
        state: state.values,
        daemon_file,
        support,
        daemon,
        repo,
        provider,
        capability: policy.capability,
        money: money_left(limits, activation),
        limits,
        events,
        worktree,
        context,
        sandbox,
        servers: policy.mcp,
    })
}

/// Returns the provider that a policy names.
fn provider_of(parts: &Parts, policy: &RunPolicy) -> Result<Arc<dyn Provider>, Refusal> {
    let name = policy.provider.as_str();
    let provider = parts.providers.get(name).cloned();
    provider.ok_or_else(|| Refusal::final_(format!("no provider `{name}` is configured")))
}

/// Returns what earlier attempts left of an activation's budget.
fn money_left(limits: Limits, activation: &Activation) -> Option<MicroUsd> {
    let spent = micros(activation.cost_usd.unwrap_or(0.0));
    let budget = limits.budget?;
    Some(MicroUsd(budget.0.saturating_sub(spent.0)))
}

/// Returns the daemon at the revision that was claimed.
async fn registered(inner: &Inner, activation: &Activation) -> Result<Arc<Registered>, Refusal> {
    // A registration that is being written has changed the store and not yet the memory; it is waited for.
    let reading = inner.registering.read().await;
    let registry = inner.registry.get();
    drop(reading);
    let daemon = registry
        .find_key(&activation.daemon)
        .filter(|daemon| daemon.is_valid())
        .cloned()
        .ok_or_else(|| {
            Refusal::final_(format!(
                "`{}` is no longer a valid daemon",
                activation.daemon
            ))
        })?;
    // It changed between the claim and now: the next claim is of what is registered then.
    if daemon.row.rev != activation.rev {
        return Err(Refusal::given_back());
    }
    Ok(daemon)
}

/// Says that a repository is not there: one that git has not opened yet may be it.
fn unwatched(parts: &Parts, repo: &RepoName) -> Refusal {
    match parts.unopened.is_empty() {
        true => Refusal::final_(format!("no repository `{repo}` is watched here")),
        false => Refusal::repository(repo),
    }
}

/// Returns the file and support tree that were registered.
fn source(daemon: &Registered) -> Result<(Arc<[u8]>, daemon_repo::SupportTree), Refusal> {
    let source = daemon
        .source
        .as_ref()
        .ok_or_else(|| Refusal::repository(&daemon.row.key.repo))?;
    match &source.content {
        daemon_repo::DaemonContent::Text(bytes) => Ok((Arc::clone(bytes), source.support.clone())),
        _ => Err(Refusal::final_("its file could not be read")),
    }
}

/// Returns the events of an activation's triggers, oldest first, each as the report that the activation is about.
///
/// # Errors
/// If the store fails.
pub(crate) async fn trigger_events(
    inner: &Inner,
    activation: &Activation,
) -> Result<Vec<EventRow>, StoreError> {
    let mut events = Vec::new();
    for trigger in &activation.triggers {
        if let TriggerKey::Event(id) = &trigger.key {
            let row = inner.store.event(id).await?;
            events.extend(row.map(|row| row.led_by(activation.subject.as_ref())));
        }
    }
    Ok(events)
}

/// Returns the variables that a provider sees: where programs are, the language, and what the configuration names.
pub(crate) fn environment(
    config: &Config,
    provider: &str,
) -> BTreeMap<std::ffi::OsString, std::ffi::OsString> {
    let named = config.provider.named.get(provider).into_iter();
    let named = named
        .flat_map(|provider| &provider.env)
        .filter_map(|name| Some((name.into(), random::environment(name)?)));
    usual_environment().into_iter().chain(named).collect()
}

/// Returns what every program is told: where programs are, and the language.
pub(super) fn usual_environment() -> [(std::ffi::OsString, std::ffi::OsString); 2] {
    let usual = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
    ];
    usual.map(|(name, usual)| {
        let value = random::environment(name).unwrap_or_else(|| usual.into());
        (std::ffi::OsString::from(name), value)
    })
}

async fn worktree(
    inner: &Inner,
    repo: &Arc<Watched>,
    activation: &Activation,
    events: &[EventRow],
    daemon: &Registered,
) -> Result<Worktree, Refusal> {
    let dir = inner.worktree(&activation.id, activation.run_lease);
    let named = events.iter().rev().map(|row| commits_of(&row.event));
    let named = named.into_iter().find(|named| !named.is_none());
    let named = match named {
        Some(NamedCommits::Unclear(name)) => {
            return Err(Refusal::unclear_commit(&repo.name, &name));
        }
        Some(NamedCommits::Commits(commits)) => Some(commits),
        None => None,
    };
    let fallback: ObjectId = daemon
        .row
        .commit
        .parse()
        .map_err(|error| Refusal::final_(format!("the registered commit: {error}")))?;
    let repo = Arc::clone(repo);
    let made = tokio::task::spawn_blocking(move || {
        let commit = match named {
            None => fallback,
            Some(named) => match present(&repo, &named)? {
                Some(commit) => commit,
                None => return Ok(Err(Refusal::commit(&repo.name, named))),
            },
        };
        repo.repository.create_worktree(&commit, &dir).map(Ok)
    });
    match made.await {
        Ok(Ok(made)) => made,
        Ok(Err(error)) => Err(Refusal::retryable(format!(
            "the worktree: {}",
            crate::ops::chain(&error)
        ))),
        Err(error) => Err(Refusal::retryable(format!(
            "making the worktree panicked: {error}"
        ))),
    }
}

/// Returns the first of some commits that is in a repository.
fn present(repo: &Watched, commits: &[ObjectId]) -> Result<Option<ObjectId>, GitError> {
    for commit in commits {
        if repo.repository.has_commit(commit)? {
            return Ok(Some(commit.clone()));
        }
    }
    Ok(None)
}

/// The commits that an event is about.
#[derive(Debug, PartialEq, Eq)]
enum NamedCommits {
    /// The first of them that is there is worked at.
    Commits(Vec<ObjectId>),
    /// It names one by what is not the full name of a commit.
    Unclear(String),
}

impl NamedCommits {
    fn is_none(&self) -> bool {
        matches!(self, Self::Commits(commits) if commits.is_empty())
    }
}

/// Names the commits that an event is about, the first of which is worked at if it is there: the pull request's head, the
/// pushed or checked commit; of a merged pull request also what it was merged to.
fn commits_of(event: &Event) -> NamedCommits {
    // Hexadecimal digits are the same in either case.
    let name = |text: &str| text.to_ascii_lowercase();
    let head = event.facts.text(Field::After).map(name);
    let head = head.filter(|head| !(removes_ref(event) && intake::is_zeros(head)));
    let merged = intake::merge_commit(event);
    let merged = merged.as_deref().map(name);
    let named = head.iter().chain(&merged);
    let commits: Vec<ObjectId> = named.filter_map(|text| text.parse().ok()).collect();
    match head {
        Some(head) if commits.is_empty() => NamedCommits::Unclear(head),
        _ => NamedCommits::Commits(commits),
    }
}

/// Reports whether an event may be about a ref that is gone, whose commit is then written as zeros.
fn removes_ref(event: &Event) -> bool {
    event.source == Source::Git || matches!(event.kind.as_str(), "push" | "delete")
}
