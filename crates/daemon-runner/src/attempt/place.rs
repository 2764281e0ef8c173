//! Preparing an attempt: the daemon, its files, the commit, the context and the worktree.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use daemon_engine::proposal::ProposalRules;
use daemon_engine::{Activation, DaemonState};
use daemon_event::{Event, Field, RepoName, TriggerKey};
use daemon_provider::redact::Redactor;
use daemon_provider::{FollowUps, Limits, MicroUsd, Overlay, Provider, RunEvent, RunRequest};
use daemon_records::error::chain;
use daemon_records::failpoint;
use daemon_registry::Registered;
use daemon_repo::{ObjectId, Worktree};
use daemon_store::{EventRow, StoreError};

use super::AttemptRefusal;
use super::checkout::{self, RunSource};
use super::commented;
use super::grants::RunGrants;
use super::rolling::{self, Rolling};
use super::rules;
use super::tallied;
use crate::context::{Built, remaining_budget};
use crate::policy::{ReachedSandbox, RunPolicy, micros};
use crate::rolling_turns::RollingTurn;
use crate::run_context::RunContext;
use crate::runs::Record;
use crate::secrets::HostSecrets;
use crate::settings::{RunRepository, RunSettings};
use crate::trees::TreeUse;

/// The limit on model turns if the policy sets none.
const USUAL_TURNS: u32 = 100;

/// The work tree of an attempt.
pub(crate) struct RunPlace {
    pub(crate) worktree: Worktree,
    /// The kept tree that it was made from.
    pub(crate) tree: Option<TreeUse>,
    /// Held until the end of the attempt is stored.
    pub(super) turn: Option<Arc<RollingTurn>>,
}

/// What an attempt needs before its work tree is made.
pub(crate) struct Prepared {
    /// One snapshot: a reload between two steps of the attempt must not mix two configurations.
    pub(super) settings: Arc<RunSettings>,
    pub(crate) daemon: Arc<Registered>,
    pub(crate) repo: RunRepository,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) limits: Limits,
    /// The activation's budget less the cost of earlier attempts; `None` is unlimited.
    pub(crate) money: Option<MicroUsd>,
    /// What is reserved for the run from the budget of the day.
    pub(crate) reserved: Option<MicroUsd>,
    pub(crate) environment: BTreeMap<std::ffi::OsString, std::ffi::OsString>,
    pub(crate) state: BTreeMap<String, String>,
    pub(crate) events: Vec<EventRow>,
    /// What is checked out.
    pub(super) source: RunSource,
    /// The rolling branch that the changes are added to.
    pub(super) rolling: Option<Rolling>,
    pub(crate) context: Built,
    pub(crate) sandbox: ReachedSandbox,
    pub(crate) policy: RunPolicy,
    /// The rules for its proposals.
    pub(crate) rules: ProposalRules,

    pub(crate) daemon_file: Arc<[u8]>,
    pub(crate) support: daemon_repo::SupportTree,
}

impl Prepared {
    /// Makes the request that the provider receives.
    pub(super) fn request(
        &self,
        place: &RunPlace,
        record: &Record,
        grants: Arc<RunGrants>,
    ) -> RunRequest {
        let worktree = &place.worktree;
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
            permissions: self.policy.permissions,
            resume: None,
            readable: worktree.objects().to_vec(),
            overlay: worktree.layers().map(|layers| Overlay {
                lower: layers.lower.clone(),
                upper: layers.upper.clone(),
                work: layers.work.clone(),
            }),
            grants,
            ..RunRequest::new(record.folder().id(), worktree.dir().to_owned())
        }
    }

    /// Returns an event for each instruction file of the default branch that could not be used.
    pub(super) fn unused_instructions(&self) -> impl Iterator<Item = RunEvent> {
        self.source
            .instructions
            .left_out
            .iter()
            .map(|unused| RunEvent::Denied {
                name: "repository instructions".to_owned(),
                detail: format!(
                    "`{}` of the default branch is not used: it is {}",
                    unused.name, unused.why
                ),
            })
    }

    /// Returns the files that the newest event names. Absolute paths and paths with `..` are left out.
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

/// Reads everything that the attempt needs.
///
/// # Errors
/// The refusal says whether the attempt may be tried again.
pub(super) async fn prepare(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    provider: Option<&str>,
) -> Result<Prepared, AttemptRefusal> {
    let settings = run_context.host.settings();
    let daemon = registered(run_context, activation).await?;
    let repo = watched(&settings, &activation.daemon.repo)?;
    let (policy, provider, sandbox) = permitted(&settings, activation, provider)?;
    let (events, state) = known(run_context, activation, (&settings, &policy)).await?;
    let (daemon_file, support) = registered_file(&daemon)?;
    let limits = limits_of(&policy, &*provider);
    let money = money_left(limits, activation);
    let day = run_context.budget.left_of(settings.bounds.day);
    let from = (&*settings, &repo, &policy);
    let (source, rolling, rules) =
        situate(run_context, activation, from, (&daemon, &events)).await?;
    let daemon_file = file_at(&source, &daemon).unwrap_or(daemon_file);
    // Only now, because the commit and the rules are found by names, a part of which may look like a short secret.
    let events = shown(events, &run_context.secrets);
    let tallies = tallied::tallies(run_context, activation, &daemon, from).await;
    let tallies = tallies.map_err(|error| AttemptRefusal::retryable(chain(&error)))?;
    let context = crate::context::build(&crate::context::Ingredients {
        daemon: &daemon,
        file: &daemon_file,
        activation,
        events: &events,
        source: Some(&source),
        state: &state,
        tallies: &tallies,
        permissions: policy.permissions,
        rules: &rules,
        wall: limits.wall,
        budget: remaining_budget(money, day),
        servers: &policy.mcp,
        cap: policy.context_bytes,
        now: run_context.now(),
    })
    .map_err(|error| AttemptRefusal::final_(error.to_string()))?;
    Ok(Prepared {
        environment: settings.environment(&policy.provider),
        state: state.values,
        daemon_file,
        support,
        daemon,
        repo,
        provider,
        money,
        reserved: None,
        limits,
        events,
        source,
        rolling,
        settings,
        context,
        sandbox,
        policy,
        rules,
    })
}

/// Reads the events of an activation, with the pull request that a comment is about, and the state of its daemon.
async fn known(
    run_context: &RunContext,
    activation: &Activation,
    (settings, policy): (&RunSettings, &RunPolicy),
) -> Result<(Vec<EventRow>, DaemonState), AttemptRefusal> {
    let stored = stored(run_context, activation).await;
    let (events, state) = stored.map_err(|error| AttemptRefusal::retryable(chain(&error)))?;
    let events = commented::with_head(settings, policy, events).await?;
    Ok((events, state))
}

/// Finds the commit of a run and its branches, its rolling branch if it has one, and the rules for its proposals.
async fn situate(
    run_context: &RunContext,
    activation: &Activation,
    (settings, repo, policy): (&RunSettings, &RunRepository, &RunPolicy),
    (daemon, events): (&Registered, &[EventRow]),
) -> Result<(RunSource, Option<Rolling>, ProposalRules), AttemptRefusal> {
    let rolling = match policy.is_rolling {
        true => {
            let tip = tip(daemon)?;
            Some(rolling::begin(run_context, activation, (settings, repo), &tip).await?)
        }
        false => None,
    };
    let wanted = (policy, rolling.as_ref());
    let source = checkout::source(run_context, repo, events, daemon, wanted).await?;
    let known = rules::known(run_context, activation, settings).await?;
    let commit = Some(&source.checkout.commit);
    let mut rules = rules::proposal_rules(activation, events, commit, policy, known);
    if let Some(rolling) = &rolling {
        rolling.add_to(&mut rules);
    }
    Ok((source, rolling, rules))
}

/// Returns the commit at which the daemon is registered: the tip of the default branch.
pub(super) fn tip(daemon: &Registered) -> Result<ObjectId, AttemptRefusal> {
    let commit = daemon.row.commit.parse();
    commit.map_err(|error| AttemptRefusal::final_(format!("the registered commit: {error}")))
}

/// Returns the policy of the daemon with its provider and sandbox, if the sandbox reaches the level that the policy requires.
fn permitted(
    settings: &RunSettings,
    activation: &Activation,
    provider: Option<&str>,
) -> Result<(RunPolicy, Arc<dyn Provider>, ReachedSandbox), AttemptRefusal> {
    let policy = settings.policies.policy(Some(&activation.daemon), provider);
    let provider = provider_of(settings, &policy)?;
    let sandbox = settings.sandbox_of(&policy).clone();
    match policy.sandbox_refusal(&sandbox) {
        Some(reason) => Err(AttemptRefusal::final_(reason)),
        None => Ok((policy, provider, sandbox)),
    }
}

/// Returns the limits of the run.
fn limits_of(policy: &RunPolicy, provider: &dyn Provider) -> Limits {
    let mut limits = policy.limits;
    if provider.follow_ups() == FollowUps::Joins {
        // Only a provider with its own tool loop counts turns, and an unbounded loop would run until the time limit.
        limits.max_turns.get_or_insert(USUAL_TURNS);
    }
    limits
}

/// Returns the provider that a policy names.
fn provider_of(
    settings: &RunSettings,
    policy: &RunPolicy,
) -> Result<Arc<dyn Provider>, AttemptRefusal> {
    let name = policy.provider.as_str();
    let configured = settings.providers.get(name);
    let provider = configured.map(|configured| Arc::clone(&configured.provider));
    provider.ok_or_else(|| AttemptRefusal::final_(format!("no provider `{name}` is configured")))
}

/// Returns the activation's budget less the cost of earlier attempts.
fn money_left(limits: Limits, activation: &Activation) -> Option<MicroUsd> {
    let spent = micros(activation.cost_usd.unwrap_or(0.0));
    let budget = limits.budget?;
    Some(MicroUsd(budget.0.saturating_sub(spent.0)))
}

/// Returns the daemon at the revision that was claimed.
async fn registered(
    run_context: &RunContext,
    activation: &Activation,
) -> Result<Arc<Registered>, AttemptRefusal> {
    let daemon = run_context
        .host
        .daemon(&activation.daemon)
        .await
        .filter(|daemon| daemon.is_valid())
        .ok_or_else(|| {
            AttemptRefusal::final_(format!(
                "`{}` is no longer a valid daemon",
                activation.daemon
            ))
        })?;
    // The file changed after the claim. The next claim is made for the new revision.
    if daemon.row.rev != activation.rev {
        return Err(AttemptRefusal::given_back());
    }
    Ok(daemon)
}

/// Returns a watched repository. While git has not opened all configured ones, an unknown one may still become known.
fn watched(settings: &RunSettings, name: &RepoName) -> Result<RunRepository, AttemptRefusal> {
    let known = settings.repository(name).cloned();
    known.ok_or_else(|| match settings.has_unopened {
        true => AttemptRefusal::repository(name),
        false => AttemptRefusal::final_(format!("no repository `{name}` is watched here")),
    })
}

/// Returns the file and support tree that were registered.
fn registered_file(
    daemon: &Registered,
) -> Result<(Arc<[u8]>, daemon_repo::SupportTree), AttemptRefusal> {
    let source = daemon
        .source
        .as_ref()
        .ok_or_else(|| AttemptRefusal::repository(&daemon.row.key.repo))?;
    match &source.content {
        daemon_repo::DaemonContent::Text(bytes) if failpoint::is_planted("trim-file") => {
            Ok((bytes.trim_ascii().into(), source.support.clone()))
        }
        daemon_repo::DaemonContent::Text(bytes) => Ok((Arc::clone(bytes), source.support.clone())),
        _ => Err(AttemptRefusal::final_("its file could not be read")),
    }
}

/// Returns the daemon file of the commit that is checked out: the fault that a test plants.
fn file_at(source: &RunSource, daemon: &Registered) -> Option<Arc<[u8]>> {
    if !failpoint::is_planted("file-from-pull-request-head") {
        return None;
    }
    let found = source.repository.discover(&source.checkout.commit).ok()?;
    let registered = daemon.source.as_ref()?;
    let mut daemons = found.daemons.into_iter();
    match daemons.find(|one| one.dir == registered.dir)?.content {
        daemon_repo::DaemonContent::Text(bytes) => Some(bytes),
        _ => None,
    }
}

/// Returns the events of the activation and the state of its daemon.
async fn stored(
    run_context: &RunContext,
    activation: &Activation,
) -> Result<(Vec<EventRow>, DaemonState), StoreError> {
    let events = trigger_events(run_context, activation).await?;
    let (store, now) = (&run_context.store, run_context.now());
    Ok((events, store.state(&activation.daemon, now).await?))
}

/// Returns the events of an activation's triggers, oldest first. Of several reports of one change, each event is the report
/// about the activation's subject.
///
/// # Errors
/// The store failed.
pub(crate) async fn trigger_events(
    run_context: &RunContext,
    activation: &Activation,
) -> Result<Vec<EventRow>, StoreError> {
    let mut events = Vec::new();
    for trigger in &activation.triggers {
        if let TriggerKey::Event(id) = &trigger.key {
            let row = run_context.store.event(id).await?;
            events.extend(row.map(|row| row.led_by(activation.subject.as_ref())));
        }
    }
    Ok(events)
}

/// Returns events as a run may see them: without the secrets of the host, which no run receives. Those of others stay, because a run
/// may be about them.
fn shown(mut events: Vec<EventRow>, secrets: &HostSecrets) -> Vec<EventRow> {
    let redactor = secrets.redactor();
    for row in &mut events {
        for event in std::iter::once(&mut row.event).chain(&mut row.later_reports) {
            remove_secrets(event, &redactor);
        }
    }
    events
}

fn remove_secrets(event: &mut Event, redactor: &Redactor) {
    let payload = String::from_utf8_lossy(&event.payload);
    if let Cow::Owned(clean) = redactor.known_text(&payload) {
        event.payload = clean.into_bytes().into();
    }
    let clean = |text: &str| redactor.known_text(text).into_owned();
    if let Some(actor) = &mut event.actor {
        actor.name = clean(&actor.name);
    }
    event.action = event.action.as_deref().map(clean);
    event.facts = event.facts.map_texts(clean);
}
