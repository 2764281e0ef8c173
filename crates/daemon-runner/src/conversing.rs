//! The turns of conversations: in which place, with what model, tools, limits and budget they run.
//!
//! A turn gets what an activation gets: the provider's sandbox, the policy's capability, its own budget within that of the day.

mod program;
mod tools;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_agent::definition::AgentDefinition;
use daemon_agent::{OpenedTurn, Pair, TurnRequest};
use daemon_provider::{
    ErrorClass, Failure, FailureKind, FollowUps, Limits, OpenedLoop, Provider, ProviderError,
    ProviderErrorKind, RunId, RunRequest,
};
use daemon_records::error::chain;
use daemon_records::random;
use daemon_run_folder::Handle;

use crate::budget::{BudgetOnly, RunBudget};
use crate::policy::RunPolicy;
use crate::run_context::{EXPOSED, RunContext};
use crate::settings::RunSettings;
use program::ProgramModel;
use tools::TurnTools;

/// The directories of a conversation's own place.
struct OwnPlace {
    root: PathBuf,
}

impl OwnPlace {
    fn of(context: &RunContext, pair: &Pair) -> Self {
        Self {
            root: context.paths.conversations.join(pair.file_stem()),
        }
    }

    fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The directory for files of one turn that have a secret, and for its pipes.
    fn private(&self) -> PathBuf {
        self.root.join("private")
    }

    fn make(&self) -> io::Result<()> {
        for directory in [self.work(), self.home(), self.temporary()] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        Ok(())
    }
}

/// Opens what a turn runs with.
///
/// # Errors
/// No run may start, policy or the sandbox refuses the turn, or the provider cannot hold a conversation.
pub async fn open(context: &RunContext, turn: &TurnRequest) -> Result<OpenedTurn, Failure> {
    let opened = opened(context, turn).await;
    opened.map_err(|failure| Failure {
        message: context.secrets.removed_from(&failure.message),
        ..failure
    })
}

async fn opened(context: &RunContext, turn: &TurnRequest) -> Result<OpenedTurn, Failure> {
    let settings = context.host.settings();
    check_start(context, &settings)?;
    let (policy, provider) = provider(&settings, turn.agent.as_ref())?;
    if let Some(refusal) = policy.sandbox_refusal(settings.sandbox_of(&policy)) {
        return Err(failed(FailureKind::Spawn, ErrorClass::Final, refusal));
    }
    let limits = Limits {
        max_turns: Some(turn.agent.max_iterations),
        ..policy.limits
    };
    let request = request(context, &settings, (&policy, limits), turn)?;
    let mut redactor = context.secrets.redactor();
    let (grants, directory) = (Arc::clone(&request.grants), request.worktree.clone());
    let offered = provider.open_loop(&request).await;
    let tools = match offered.map_err(|error| refused(&error))? {
        Some(opened) => opened,
        None if provider.follow_ups() == FollowUps::Resumes => {
            let wait = turn.ask.saturating_add(limits.wall);
            let private = OwnPlace::of(context, &turn.pair).private();
            let level = settings.sandbox_of(&policy).level;
            let mounted = TurnTools::open(&settings, &*provider, level, (private, wait));
            let (mounted, calls) = mounted.unzip();
            redactor = context.secrets.and(mounted.as_ref().map(TurnTools::secret));
            OpenedLoop {
                model: Arc::new(ProgramModel::new(provider, request, turn, mounted)),
                sources: Vec::new(),
                retry: daemon_provider::tool_loop::RetryPolicy::default(),
                network: None,
                calls,
            }
        }
        None => {
            let message = format!(
                "the provider `{}` holds no conversation: set `provider.default`, or `model` of the agent",
                provider.name()
            );
            return Err(failed(FailureKind::Spawn, ErrorClass::Final, message));
        }
    };
    Ok(OpenedTurn {
        tools,
        limits,
        grants,
        redactor,
        directory,
        guard: Box::new(settings),
    })
}

/// Fails if no turn may start: the host pauses, or the budget of the day is spent.
fn check_start(context: &RunContext, settings: &RunSettings) -> Result<(), Failure> {
    if let Some(why) = context.host.pause() {
        let message = format!("no turn starts: {why}");
        return Err(failed(
            FailureKind::Resource,
            ErrorClass::Retryable,
            message,
        ));
    }
    if let Some(limit) = settings.bounds.day.limit
        && !context.budget.lets_start(settings.bounds.day)
    {
        let spent = context.budget.spent();
        let message = format!(
            "over budget: {spent} of {limit} were spent within 24 hours, and a turn needs more than is left; raise budget.day_usd"
        );
        return Err(failed(FailureKind::Budget, ErrorClass::Final, message));
    }
    Ok(())
}

/// Removes the place of a conversation that was deleted.
pub async fn forget(context: &RunContext, pair: &Pair) {
    let root = OwnPlace::of(context, pair).root;
    let removed = tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(&root) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(place = %root.display(), %error, "the place of a conversation was not removed");
        }
        Ok(()) | Err(_) => {}
    });
    // A panic was reported by its own hook, and leaves files behind, as the warning says of an error.
    removed.await.unwrap_or_default();
}

/// Returns the policy and the provider that answer for an agent: the section that its `model` names, or that has this model, else
/// the usual one.
fn provider(
    settings: &RunSettings,
    agent: &AgentDefinition,
) -> Result<(RunPolicy, Arc<dyn Provider>), Failure> {
    let section = match agent.model.as_ref().or(settings.active_model.as_ref()) {
        None => None,
        Some(model) if settings.providers.contains_key(model) => Some(model.as_str()),
        Some(model) => {
            let mut named = settings.providers.iter();
            let found = named.find(|(_, one)| one.provider.model() == Some(model));
            let name = found.map(|(name, _)| name.as_str());
            Some(name.ok_or_else(|| {
                let message = format!("`model`: no provider is named `{model}` or has this model");
                failed(FailureKind::Spawn, ErrorClass::Final, message)
            })?)
        }
    };
    let policy = settings.policies.policy(None, section);
    let configured = settings.providers.get(&policy.provider).ok_or_else(|| {
        let message = format!("the provider `{}` is not configured", policy.provider);
        failed(FailureKind::Spawn, ErrorClass::Final, message)
    })?;
    Ok((policy, Arc::clone(&configured.provider)))
}

fn request(
    context: &RunContext,
    settings: &RunSettings,
    (policy, limits): (&RunPolicy, Limits),
    turn: &TurnRequest,
) -> Result<RunRequest, Failure> {
    let place = OwnPlace::of(context, &turn.pair);
    place.make().map_err(|error| {
        let message = format!("the place of the conversation cannot be made: {error}");
        failed(FailureKind::Resource, ErrorClass::Retryable, message)
    })?;
    let work = turn.cwd.clone().unwrap_or_else(|| place.work());
    if !work.is_dir() {
        let message = format!("`{}` is not a directory", work.display());
        return Err(failed(FailureKind::Spawn, ErrorClass::Final, message));
    }
    if turn.cwd.is_some() && context.paths.exposes_home(&work) {
        let message = format!("`{}` {EXPOSED}", work.display());
        return Err(failed(FailureKind::Spawn, ErrorClass::Final, message));
    }
    let mut environment = settings.environment(&policy.provider);
    environment
        .entry("TMPDIR".into())
        .or_insert_with(|| place.temporary().into_os_string());
    let handle = Handle(context.handles.next(&format!("agent:{}", turn.pair.agent)));
    let run_id = RunId::new(handle, context.now(), random::three());
    let budget = RunBudget::new(
        limits.budget,
        Arc::clone(&context.budget),
        settings.bounds.day.limit,
    );
    let mut request = RunRequest {
        task: format!("a turn of a conversation with `{}`", turn.pair.agent),
        home: place.home(),
        environment,
        limits,
        permissions: policy.permissions,
        grants: Arc::new(BudgetOnly(budget)),
        writable: vec![place.temporary()],
        ..RunRequest::new(run_id, work.clone())
    };
    match &turn.cwd {
        None => request.own_tree = Some(work),
        // What they contain decides what other programs run.
        Some(cwd) => request
            .readable
            .extend([".git", ".agents"].map(|name| Path::new(cwd).join(name))),
    }
    Ok(request)
}

fn failed(kind: FailureKind, class: ErrorClass, message: impl Into<String>) -> Failure {
    Failure {
        kind,
        class,
        message: message.into(),
    }
}

/// Returns the failure of a turn whose provider could not be opened.
fn refused(error: &ProviderError) -> Failure {
    let kind = match error.kind {
        ProviderErrorKind::Files => FailureKind::Resource,
        _ => FailureKind::Spawn,
    };
    failed(kind, error.class, chain(error))
}
