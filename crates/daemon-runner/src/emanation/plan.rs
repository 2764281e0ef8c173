//! The plans of a validated batch: the input of each run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_provider::inputs::{self, McpRegistration, Skill};
use daemon_provider::redact::{Redactor, is_secret_name};
use daemon_provider::{
    FollowUps, Grants, Limits, McpUse, MicroUsd, Options, Provider, RunRequest, SessionId,
};
use serde_json::{Map, Value, json};

use super::call::{Caller, Emanate, PlaceChoice, Task};
use super::fault::CallFault;
use super::options;
use super::own_place::{OwnWorktree, PlaceRecord};
use super::prompt::{self, PromptParts};
use super::tools::{self, Toolbox, Tools, ToolsFrom};
use crate::budget::{BudgetOnly, DailyBudget, RunBudget};
use crate::policy::ReachedSandbox;
use crate::run_context::RunContext;
use crate::runs::{Record, environment_secrets, filled};
use crate::secrets::HostSecrets;
use daemon_provider::Permissions;

/// The settings that the runs of a batch share.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) parent: String,
    /// The provider's canonical name.
    pub(super) backend: String,
    pub(super) provider: Arc<dyn Provider>,
    /// The groups of tools that only some providers serve, each with the name of one; a preset may select another provider than
    /// the call.
    pub(super) further_groups: Vec<(String, &'static str)>,
    /// Whether there are agents that mail can be sent to.
    pub(super) has_agents: bool,
    pub(super) limits: Limits,
    pub(super) permissions: Permissions,
    pub(super) sandbox: ReachedSandbox,
    pub(super) environment: BTreeMap<OsString, OsString>,
    /// The presets of the home.
    pub(super) presets: BTreeMap<String, Arc<dyn Provider>>,
    pub(super) presets_in: PathBuf,
    /// The API of the task's preset.
    pub(super) preset_api: Option<String>,
    pub(super) budget: Arc<DailyBudget>,
    /// The secrets of the host itself.
    pub(super) secrets: HostSecrets,
    /// The limit on the cost of the host's model calls within a day; `None` is unlimited.
    pub(super) day: Option<MicroUsd>,
    /// The tools of the roster, for the run of a standing daemon.
    pub(super) standing: Option<Arc<dyn Grants>>,
}

/// A validated run.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) common: Common,
    pub(super) task: Task,
    pub(super) tools: Tools,
    pub(super) options: Vec<String>,
    pub(super) skills: Vec<Skill>,
    pub(super) mcp: Vec<McpRegistration>,
    /// The work tree that the run gets; `None` if it works in the directory of its caller.
    pub(super) place: Option<PlaceRecord>,
}

/// Returns the canonical name of a provider for a spelling that the `daemon` tool accepts.
pub(super) fn canonical(backend: &str) -> &str {
    match backend {
        "lingtai" => "llm",
        "claude-p" | "claude-code" => "claude",
        other => other,
    }
}

/// Resolves the shared settings of a batch. `None` if the provider is unknown, which is a fault.
pub(super) fn common(
    run_context: &RunContext,
    caller: &Caller,
    emanate: &Emanate,
    faults: &mut Vec<CallFault>,
) -> Option<Common> {
    let settings = run_context.host.settings();
    let asked = emanate.backend.as_deref().map(canonical);
    let policy = settings.policies.policy(None, asked);
    let Some(configured) = settings.providers.get(&policy.provider) else {
        let asked = emanate.backend.as_deref().unwrap_or(&policy.provider);
        let asked: String = asked.chars().take(80).collect();
        let known: Vec<&str> = settings.providers.keys().map(String::as_str).collect();
        let help = format!(
            "one of {}, or a [provider.NAME] of config.toml",
            known.join(", ")
        );
        let fault = CallFault::argument(format!("Unknown backend: {asked}"));
        faults.push(fault.with_help(help));
        return None;
    };
    let sandbox = settings.sandbox_of(&policy).clone();
    faults.extend(policy.sandbox_refusal(&sandbox).map(CallFault::policy));
    Some(Common {
        parent: caller.parent.clone(),
        limits: Limits {
            wall: emanate.timeout,
            idle: None,
            max_turns: Some(emanate.max_turns),
            budget: policy.limits.budget,
        },
        environment: settings.environment(&policy.provider),
        presets: settings.presets.clone(),
        presets_in: run_context.paths.presets.clone(),
        preset_api: None,
        budget: Arc::clone(&run_context.budget),
        secrets: run_context.secrets.clone(),
        day: settings.bounds.day.limit,
        standing: run_context.emanations.granted(&caller.parent),
        permissions: policy.permissions,
        backend: policy.provider,
        provider: Arc::clone(&configured.provider),
        further_groups: settings.further_groups(),
        has_agents: (run_context.host.postbox()).is_some_and(|postbox| postbox.has_agents()),
        sandbox,
    })
}

/// Validates a task and makes its plan; problems are added to `faults`.
pub(super) fn plan(
    common: &Common,
    index: usize,
    mut task: Task,
    faults: &mut Vec<CallFault>,
) -> Plan {
    let at = format!("tasks[{index}]");
    let common = &with_preset(&at, common, &mut task, faults);
    let taken = common.provider.options();
    let toolbox = toolbox(common);
    let tools = tools::choose(&at, task.tools.as_deref(), &toolbox, faults);
    let options = options::arguments(&at, &task.backend_options, taken, faults);
    let (skills, mcp) = task_inputs(&at, &task, faults);
    Plan {
        common: common.clone(),
        task,
        tools,
        options,
        skills,
        mcp,
        place: None,
    }
}

/// Validates the parts of a task that do not depend on the provider.
pub(super) fn check_task(index: usize, task: &Task, faults: &mut Vec<CallFault>) {
    let at = format!("tasks[{index}]");
    tools::choose(&at, task.tools.as_deref(), &Toolbox::Own, faults);
    options::arguments(&at, &task.backend_options, Options::Ignored, faults);
    task_inputs(&at, task, faults);
}

/// Reads the inputs of a task: its directory, skills and MCP servers.
fn task_inputs(
    at: &str,
    task: &Task,
    faults: &mut Vec<CallFault>,
) -> (Vec<Skill>, Vec<McpRegistration>) {
    let cwd = task.cwd.as_deref();
    if cwd.is_some_and(|cwd| !cwd.is_dir()) {
        faults.push(CallFault::argument(format!("{at}.cwd: not a directory")));
    }
    let skills = found(at, inputs::skills(&task.skills, cwd), faults);
    let mcp = found(at, inputs::mcp(&task.mcp), faults);
    (skills, mcp)
}

/// Uses the provider of the task's preset, and the preset's tools if the task names none. A program has no presets.
fn with_preset(at: &str, common: &Common, task: &mut Task, faults: &mut Vec<CallFault>) -> Common {
    // A preset changes the provider of its own task only.
    let mut common = common.clone();
    if common.provider.follow_ups() != FollowUps::Joins {
        task.preset = None;
    }
    let Some(name) = &task.preset else {
        return common;
    };
    match (
        common.presets.get(name),
        inputs::preset(&common.presets_in, name),
    ) {
        (Some(provider), Ok(Some(preset))) => {
            common.provider = Arc::clone(provider);
            common.preset_api = Some(preset.kind);
            task.tools = task.tools.take().or(preset.tools);
        }
        (_, Err(fault)) => faults.push(CallFault::argument(format!("{at}.{fault}"))),
        _ => faults.push(CallFault::argument(format!("{at}.preset: unknown"))),
    }
    common
}

/// Returns inputs; problems are added to `faults`, and the inputs are empty then.
fn found<T>(
    at: &str,
    read: Result<Vec<T>, Vec<inputs::Fault>>,
    faults: &mut Vec<CallFault>,
) -> Vec<T> {
    read.unwrap_or_else(|wrong| {
        let wrong = wrong.into_iter();
        faults.extend(wrong.map(|fault| CallFault::argument(format!("{at}.{fault}"))));
        Vec::new()
    })
}

/// Returns the source of a run's tools.
fn toolbox(common: &Common) -> Toolbox {
    match (common.provider.options(), common.provider.follow_ups()) {
        (Options::Taken { .. }, _) => match common.provider.mcp() {
            McpUse::ByProgram => Toolbox::Own,
            McpUse::ByProvider | McpUse::ByFile | McpUse::Nobody => Toolbox::Program,
        },
        (Options::Ignored, FollowUps::Joins) => {
            let mut served = vec!["file", "mcp"];
            served.extend(common.has_agents.then_some("email"));
            let further = common.further_groups.iter();
            let own = further.filter(|(name, _)| name == common.provider.name());
            served.extend(own.map(|(_, group)| *group));
            Toolbox::Served(served)
        }
        (Options::Ignored, _) => Toolbox::Served(vec!["file"]),
    }
}

impl Plan {
    /// Returns whether the run can change files of its working directory.
    pub(super) fn can_write(&self) -> bool {
        let has_writing_tool = match self.tools.from {
            ToolsFrom::Program => true,
            ToolsFrom::Host => ["file", "bash"]
                .iter()
                .any(|name| self.tools.given.iter().any(|given| given == name)),
        };
        let provider = &self.common.provider;
        has_writing_tool && provider.permissions(self.common.permissions) != Permissions::Read
    }

    /// Returns the prompt of a run that works in this directory.
    pub(super) fn prompt(&self, cwd: Option<&Path>) -> Vec<u8> {
        if self.common.standing.is_some() {
            // The contract of other prompts is about one task, after which the run ends.
            return self.task.task.clone().into_bytes();
        }
        prompt::prompt(&PromptParts {
            task: &self.task.task,
            system_prompt: self.task.system_prompt.as_deref(),
            tools: &self.tools,
            cwd,
            isolation: match &self.place {
                Some(_) => PlaceChoice::Own,
                None => PlaceChoice::Shared,
            },
            skills: &inputs::render_skills(&self.skills),
            mcp: &inputs::render_mcp(&self.mcp),
        })
    }

    /// Returns the redactor of the run's secrets and of the tokens by which its program reaches its tools.
    pub(super) fn redactor(&self, tokens: impl IntoIterator<Item = String>) -> Redactor {
        let registered = self.mcp.iter().flat_map(McpRegistration::secrets);
        let options = self.task.backend_options.iter();
        let options = options
            .filter(|(name, _)| is_secret_name(name))
            .filter_map(|(_, value)| value.as_str().map(str::to_owned));
        let environment = environment_secrets(&self.common.environment);
        let of_run = registered.chain(options).chain(environment).chain(tokens);
        self.common.secrets.and(of_run)
    }

    /// Returns the parameters of the call, as the document records them.
    pub(super) fn call_parameters(&self) -> Map<String, Value> {
        let task = &self.task;
        let given = |value: Value| match &value {
            Value::Array(values) if values.is_empty() => Value::Null,
            Value::Object(members) if members.is_empty() => Value::Null,
            _ => value,
        };
        let options = Value::Object(task.backend_options.clone());
        let always = [
            ("task", json!(task.task)),
            ("tools", json!(task.tools)),
            ("skills", given(json!(task.skills))),
            ("mcp", given(json!(task.mcp))),
            ("system_prompt", json!(task.system_prompt)),
            ("backend_options", given(options)),
        ];
        let cwd = task.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        let isolation = self.place.as_ref().map(|_| "own");
        let more = filled([
            ("preset", json!(task.preset)),
            ("cwd", json!(cwd)),
            ("isolation", json!(isolation)),
        ]);
        let always = always.map(|(name, value)| (name.to_owned(), value));
        always.into_iter().chain(more).collect()
    }

    /// Returns the options of the provider's program; empty if the provider has none.
    pub(super) fn backend_options(&self) -> Map<String, Value> {
        match self.common.provider.options() {
            Options::Taken { .. } => self.task.backend_options.clone(),
            Options::Ignored => Map::new(),
        }
    }

    /// Makes the request of the first turn; `worktree` is the run's own.
    pub(super) fn request(&self, record: &Record, worktree: Option<&OwnWorktree>) -> RunRequest {
        let cwd = self.directory(worktree);
        let request = RunRequest {
            prompt: self.prompt(cwd.as_deref()),
            options: self.options.clone(),
            private: Some(record.folder().private()).filter(|_| !self.mcp.is_empty()),
            mcp: self.mcp.clone(),
            ..self
                .common
                .request(record, &self.task.task, cwd.as_deref(), &self.tools)
        };
        self.placed(request, worktree)
    }

    /// Makes the request that answers a message.
    pub(super) fn answer(
        &self,
        record: &Record,
        message: &str,
        session: SessionId,
        worktree: Option<&OwnWorktree>,
    ) -> RunRequest {
        let cwd = self.directory(worktree);
        let request = RunRequest {
            prompt: message.as_bytes().to_vec(),
            resume: Some(session),
            ..self
                .common
                .request(record, message, cwd.as_deref(), &self.tools)
        };
        self.placed(request, worktree)
    }

    /// Returns the working directory.
    fn directory(&self, worktree: Option<&OwnWorktree>) -> Option<PathBuf> {
        let own = worktree.map(OwnWorktree::directory);
        own.or_else(|| self.task.cwd.clone())
    }

    /// Adds the paths that the run needs in its place.
    fn placed(&self, mut request: RunRequest, worktree: Option<&OwnWorktree>) -> RunRequest {
        match (worktree, &self.task.cwd) {
            (Some(worktree), cwd) => {
                request.own_tree = Some(worktree.root().to_owned());
                request.readable.extend_from_slice(worktree.objects());
                // In the caller's directory the run could read its skills there.
                let skills = self.skills.iter().map(|skill| &skill.location);
                let of_caller =
                    skills.filter(|skill| cwd.as_ref().is_some_and(|cwd| skill.starts_with(cwd)));
                let directories = of_caller.filter_map(|skill| skill.parent());
                request.readable.extend(directories.map(Path::to_owned));
            }
            (None, Some(cwd)) => {
                // What they contain decides what other programs run.
                let guarded = [".git", ".agents"].map(|name| cwd.join(name));
                request.readable.extend(guarded);
            }
            (None, None) => {}
        }
        request
    }
}

impl Common {
    fn request(
        &self,
        record: &Record,
        task: &str,
        cwd: Option<&Path>,
        tools: &Tools,
    ) -> RunRequest {
        // Without a directory of the caller, the run works in its own empty and private one.
        let cwd: PathBuf = cwd.map_or_else(|| record.home(), Path::to_owned);
        let mut environment = self.environment.clone();
        environment
            .entry("TMPDIR".into())
            .or_insert_with(|| record.temporary().into_os_string());
        let budget = RunBudget::new(self.limits.budget, Arc::clone(&self.budget), self.day);
        RunRequest {
            task: task.to_owned(),
            home: record.home(),
            grants: Arc::new(BudgetOnly(budget)),
            environment,
            limits: self.limits,
            permissions: self.permissions,
            tools: Some(tools.given.clone()),
            ..RunRequest::new(record.folder().id(), cwd)
        }
    }
}
