//! Composes the providers of a host from its configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_host::config::{Config, ConfigFault, ProviderConfig};
use daemon_host::doctor::Check;
use daemon_host::serve::Compose as _;
use daemon_host::servers::{self, McpServerError};
use daemon_process::{ProgramError, Supervisor};
use daemon_provider::builtin::Builtin;
use daemon_provider::{Provider, ProviderError};
use daemon_provider_cli::{
    Agent, AgentProvider, CommandConfig, CommandProvider, InputFormat, ProgramConfig, ResultRule,
    check_readable,
};
use daemon_provider_llm::{Api, LlmProvider};
use daemon_records::environment;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_runner::servers::Servers;

use crate::compose::Composer;
use crate::sandboxes::{egress, enclosure};
use crate::{agents, llm};

impl Composer {
    /// Composes every configured provider, the agents and `builtin`.
    ///
    /// # Errors
    /// A provider is configured wrongly.
    pub(crate) fn providers(
        &self,
        config: &Config,
    ) -> Result<BTreeMap<String, Arc<dyn Provider>>, OpError> {
        let mut providers: BTreeMap<String, Arc<dyn Provider>> = BTreeMap::new();
        let plain = ProviderConfig::default();
        for (name, provider) in &config.provider.named {
            providers.insert(name.clone(), self.provider(name, provider, config)?);
        }
        // Agents work without a section, with the program of their name on the search path.
        for name in Agent::ALL.map(Agent::as_str) {
            if !providers.contains_key(name) {
                providers.insert(name.to_owned(), self.provider(name, &plain, config)?);
            }
        }
        if !providers.contains_key("builtin") {
            providers.insert("builtin".to_owned(), builtin(&plain));
        }
        Ok(providers)
    }

    /// Composes the presets of the home.
    ///
    /// # Errors
    /// Children cannot be supervised.
    pub(crate) fn presets(
        &self,
        config: &Config,
    ) -> Result<BTreeMap<String, Arc<dyn Provider>>, OpError> {
        if !self.home().join("presets").is_dir() {
            return Ok(BTreeMap::new());
        }
        let supervisor = self.supervisor()?;
        Ok(llm::presets(
            self.home(),
            (enclosure(config, "llm"), &egress(config, "llm")),
            &supervisor,
        ))
    }

    /// Composes the default provider; returns `None` if that is `builtin`, which runs no model.
    ///
    /// # Errors
    /// The provider is configured wrongly.
    pub(crate) fn default_provider(
        &self,
        config: &Config,
    ) -> Result<Option<Arc<dyn Provider>>, OpError> {
        let name = &config.provider.default;
        match config.provider.named.get(name) {
            None if name == "builtin" => Ok(None),
            None => self
                .provider(name, &ProviderConfig::default(), config)
                .map(Some),
            Some(provider) if provider.kind.as_deref().unwrap_or(name) == "builtin" => Ok(None),
            Some(provider) => self.provider(name, provider, config).map(Some),
        }
    }

    /// Checks the agents, commands and model APIs of a configuration.
    pub(crate) fn examine_providers(&self, config: &Config) -> Vec<Check> {
        let plain = ProviderConfig::default();
        let unwritten = unwritten_agents(config).map(|name| (name, &plain));
        let all = config.provider.named.iter().chain(unwritten);
        let mut checks = agents::examine(config, all, &self.path, &self.untrusted(config));
        checks.extend(self.examine_commands(config));
        checks.extend(llm::examine(config, self.home()));
        for (name, provider) in &config.provider.named {
            let absent = absent(provider);
            checks.extend(absent.map(|path| {
                let remedy = format!("create it, or correct `provider.{name}.readable`");
                Check::warn(format!("provider {name}"), not_there(path), remedy)
            }));
        }
        checks
    }

    /// Checks that the programs of command providers exist.
    fn examine_commands(&self, config: &Config) -> Vec<Check> {
        let commands = config.provider.named.iter().filter(|(name, provider)| {
            agents::agent_of(name, provider).is_none() && llm::api_of(name, provider).is_none()
        });
        let programs = commands.filter_map(|(name, provider)| {
            let mut found = CommandConfig::new(name, provider.command.as_ref()?);
            found.program.search.clone_from(&self.path);
            found.program.untrusted = self.untrusted(config);
            Some((name, found.program.resolve()))
        });
        programs
            .map(|(name, found)| match found {
                Ok(program) => Check::ok(format!("provider {name}"), program.display().to_string()),
                Err(error) => {
                    let remedy = format!("install it, or correct `provider.{name}.command`");
                    Check::fail(format!("provider {name}"), chain(&error), remedy)
                }
            })
            .collect()
    }

    fn provider(
        &self,
        name: &str,
        provider: &ProviderConfig,
        config: &Config,
    ) -> Result<Arc<dyn Provider>, OpError> {
        if let Some(api) = llm::api_of(name, provider) {
            return self.model_api(name, api, provider, config);
        }
        let apis = || Api::names().collect::<Vec<_>>().join("`, `");
        // The other APIs are selected by their name; `llm` is not the name of an API.
        if name == "llm" && provider.kind.is_none() {
            let message = format!("`kind` is missing: one of `{}`", apis());
            return Err(self.wrong_provider(name, &message));
        }
        if let Some(agent) = agents::agent_of(name, provider) {
            return self.agent(name, agent, provider, config);
        }
        match (provider.kind.as_deref(), name) {
            (Some("builtin"), _) | (None, "builtin") => Ok(builtin(provider)),
            // Unknown kinds were rejected when the configuration was read.
            (Some(_) | None, _) => self.command(name, provider, config),
        }
    }

    fn model_api(
        &self,
        name: &str,
        api: Api,
        provider: &ProviderConfig,
        config: &Config,
    ) -> Result<Arc<dyn Provider>, OpError> {
        let wrong = |message: String| self.wrong_provider(name, &message);
        let mut found = llm::configure(self.home(), name, api, provider).map_err(wrong)?;
        found.bash_time = config.tools.bash_timeout.unsigned();
        found.enclosure = enclosure(config, name);
        found.readable = self.readable(name, provider, config)?;
        found.egress = egress(config, name);
        let made = LlmProvider::new(self.supervisor()?, found);
        Ok(Arc::new(made.map_err(|error| wrong(chain(&error)))?))
    }

    fn agent(
        &self,
        name: &str,
        agent: Agent,
        provider: &ProviderConfig,
        config: &Config,
    ) -> Result<Arc<dyn Provider>, OpError> {
        llm::refuse_api_keys(provider).map_err(|message| self.wrong_provider(name, &message))?;
        let mut found = agents::configure(name, agent, provider, &self.path)
            .map_err(|message| self.wrong_provider(name, &message))?;
        found.program.untrusted = self.untrusted(config);
        found.program.guarded = self.guarded(config);
        found.program.enclosure = enclosure(config, name);
        found.program.readable = self.readable(name, provider, config)?;
        found.program.egress = egress(config, name);
        let is_wanted = config.provider.named.contains_key(name) || config.provider.default == name;
        let absence = if is_wanted {
            Absence::Reported(format!(
                "install `{}`, or set its path: `[provider.{name}]`, `command = \"…\"`",
                agent.as_str()
            ))
        } else {
            Absence::Expected
        };
        self.placed(name, found.program.resolve(), &absence)?;
        // Only a program that the configuration names may keep the host from starting.
        if is_wanted {
            self.granted(name, &found.program)?;
        }
        Ok(Arc::new(AgentProvider::new(self.supervisor()?, found)))
    }

    /// Reads the MCP servers that policy may grant, with their secrets.
    ///
    /// # Errors
    /// A secret or a program is missing, or child processes cannot be supervised.
    pub(crate) fn servers(&self, config: &Config) -> Result<Servers, OpError> {
        let wrong = |error: McpServerError| {
            OpError::new(OpErrorKind::Config, "config-invalid", chain(&error))
        };
        let servers = servers::read(self.home(), config).map_err(wrong)?;
        if !servers.has_program() {
            return Ok(servers);
        }
        let (supervisor, untrusted) = (self.supervisor()?, self.untrusted(config));
        servers
            .started_by(supervisor, &self.path, untrusted)
            .map_err(|error| wrong(error.into()))
    }

    /// Returns the directories that programs must not come from: anyone who can push to a repository can write there.
    fn untrusted(&self, config: &Config) -> Vec<PathBuf> {
        let repos = config.repo.iter();
        repos.map(|repo| self.directory.join(&repo.path)).collect()
    }

    fn command(
        &self,
        name: &str,
        provider: &ProviderConfig,
        config: &Config,
    ) -> Result<Arc<dyn Provider>, OpError> {
        let wrong = |message: String| self.wrong_provider(name, &message);
        llm::refuse_api_keys(provider).map_err(wrong)?;
        agents::refuse_agent_keys(provider).map_err(wrong)?;
        let program = provider
            .command
            .as_ref()
            .ok_or_else(|| wrong("`command` is missing".to_owned()))?;
        let mut command = CommandConfig::new(name, program);
        command.program.args.clone_from(&provider.args);
        command.resume.clone_from(&provider.resume);
        command.program.search.clone_from(&self.path);
        command.input = match provider.input.as_deref() {
            None | Some("text") => InputFormat::Prompt,
            Some("json") => InputFormat::Json,
            Some(other) => {
                return Err(wrong(format!(
                    "`input` is `{other}`; the values are `text` and `json`"
                )));
            }
        };
        command.result = if provider.require_result {
            ResultRule::Required
        } else {
            ResultRule::Optional
        };
        command.program.untrusted = self.untrusted(config);
        command.program.guarded = self.guarded(config);
        command.program.enclosure = enclosure(config, name);
        command.program.readable = self.readable(name, provider, config)?;
        command.program.egress = egress(config, name);
        let absence = Absence::Reported(format!("correct `command` in `[provider.{name}]`"));
        self.placed(name, command.program.resolve(), &absence)?;
        self.granted(name, &command.program)?;
        Ok(Arc::new(CommandProvider::new(self.supervisor()?, command)))
    }

    /// Fails if the program is in a directory that programs must not come from. A missing program is only logged: it may be
    /// installed later, and until then its runs fail with that reason.
    fn placed(
        &self,
        name: &str,
        resolved: Result<PathBuf, ProviderError>,
        absence: &Absence,
    ) -> Result<(), OpError> {
        let Err(error) = resolved else { return Ok(()) };
        let cause = error.source.as_deref();
        let cause = cause.and_then(|cause| cause.downcast_ref::<ProgramError>());
        let is_misplaced = matches!(
            cause,
            // An unknown cause must not pass as a missing program.
            None | Some(ProgramError::Forbidden { .. } | ProgramError::Relative { .. })
        );
        if is_misplaced {
            return Err(self.wrong_provider(name, &chain(&error)));
        }
        if let Absence::Reported(help) = absence {
            let error = chain(&error);
            tracing::warn!(provider = name, error, help, "its runs will fail");
        }
        Ok(())
    }

    /// Returns the paths that the section of a provider grants to its runs.
    fn readable(
        &self,
        name: &str,
        provider: &ProviderConfig,
        config: &Config,
    ) -> Result<Vec<PathBuf>, OpError> {
        let wrong = |problem: String| {
            let message = format!("provider.{name}.readable: {problem}");
            self.refuse(&[ConfigFault::of_key(
                &["provider", name, "readable"],
                message,
            )])
        };
        for path in absent(provider) {
            let problem = not_there(path);
            tracing::warn!(provider = name, problem, "its runs will not read it");
        }
        let mut readable = Vec::new();
        for path in &provider.readable {
            let expanded = expanded(path);
            let shown = path.display();
            if !expanded.is_absolute() {
                return Err(wrong(format!(
                    "`{shown}` is neither absolute nor below `~/`"
                )));
            }
            // A symbolic link must not lead to what is refused by its own name.
            let resolved = expanded.canonicalize().unwrap_or(expanded);
            if resolved.starts_with(self.home()) {
                return Err(wrong(format!("`{shown}` is in the host's home")));
            }
            readable.push(resolved);
        }
        check_readable(&readable, &self.guarded(config))
            .map_err(|error| wrong(error.to_string()))?;
        Ok(readable)
    }

    /// Fails if running the program would give runs access to a path that no run may read.
    fn granted(&self, name: &str, program: &ProgramConfig) -> Result<(), OpError> {
        let checked = program.check_grants();
        checked.map_err(|error| self.wrong_provider(name, &chain(&error)))
    }

    /// Returns the error of a provider that is configured wrongly.
    fn wrong_provider(&self, name: &str, message: &str) -> OpError {
        let message = format!("provider.{name}: {message}");
        self.refuse(&[ConfigFault::of_key(&["provider", name], message)])
    }

    /// Returns the supervisor of child processes. It is started for the first provider that needs one: `builtin` alone needs no
    /// forking thread.
    fn supervisor(&self) -> Result<Supervisor, OpError> {
        let mut supervisor = self.supervisor.lock().expect("no holder panics");
        if let Some(running) = &*supervisor {
            return Ok(running.clone());
        }
        let started = Supervisor::start().map_err(|error| {
            OpError::new(
                OpErrorKind::Unavailable,
                "supervisor",
                format!("child processes cannot be supervised: {error}"),
            )
        })?;
        *supervisor = Some(started.clone());
        Ok(started)
    }
}

/// Returns a path of `readable` with the user's home in place of `~`.
fn expanded(path: &Path) -> PathBuf {
    let home = environment::variable("HOME").map(PathBuf::from);
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Returns the paths of `readable` that do not exist. A run does not see them, even if they are created later.
fn absent(provider: &ProviderConfig) -> impl Iterator<Item = &Path> {
    let paths = provider.readable.iter().map(PathBuf::as_path);
    paths.filter(|path| !expanded(path).exists())
}

fn not_there(path: &Path) -> String {
    format!("`{}` in `readable` does not exist", path.display())
}

/// Whether a missing program is logged.
enum Absence {
    /// It is, with this remedy.
    Reported(String),
    /// It is not: the configuration does not name the program.
    Expected,
}

fn is_agent(name: &str) -> bool {
    agents::agent_of(name, &ProviderConfig::default()).is_some()
}

/// Returns the agents that the configuration uses without a `[provider.NAME]` section.
fn unwritten_agents(config: &Config) -> impl Iterator<Item = &String> {
    let policies = config.policy.daemon.values();
    let named = policies.filter_map(|policy| policy.provider.as_ref());
    std::iter::once(&config.provider.default)
        .chain(named)
        .filter(|name| is_agent(name) && !config.provider.named.contains_key(*name))
}

fn builtin(provider: &ProviderConfig) -> Arc<dyn Provider> {
    Arc::new(if provider.repair {
        Builtin::repairing()
    } else {
        Builtin::reporting()
    })
}
