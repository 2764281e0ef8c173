//! Coding agents as providers: from the configuration, and for `doctor`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_host::config::Provider as ProviderConfig;
use daemon_host::doctor::Check;
use daemon_host::ops::chain;
use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_provider_cli::{Agent, AgentConfig, AgentPermissions, Confinement};

/// How long an agent may take to print its help.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much of its help is read.
const MOST_HELP: ByteCount = ByteCount(256 << 10);

/// Returns the agent that a provider runs, if it runs one: its kind, else its name, says so.
pub(crate) fn agent_of(name: &str, provider: &ProviderConfig) -> Option<Agent> {
    let kind = provider.kind.as_deref().unwrap_or(name);
    Agent::ALL.into_iter().find(|agent| agent.as_str() == kind)
}

/// Reads what the configuration says of an agent.
///
/// # Errors
/// Says which key is wrong.
pub(crate) fn configure(
    name: &str,
    agent: Agent,
    provider: &ProviderConfig,
    path: &OsString,
) -> Result<AgentConfig, String> {
    let mut config = AgentConfig::new(name, agent);
    if let Some(program) = &provider.command {
        config.program.path = PathBuf::from(program);
    }
    config.program.args.clone_from(&provider.args);
    config.model.clone_from(&provider.model);
    config.program.search.clone_from(path);
    // A program that was replaced while it runs has no place any more; some addresses are then refused.
    config.bridge = std::env::current_exe().ok();
    config.permissions = match provider.permissions.as_deref() {
        None => AgentPermissions::OfRun,
        Some("bypass") => AgentPermissions::Bypass,
        Some(other) => {
            return Err(format!(
                "`permissions` is `{other}`; only `bypass` can be set, otherwise the capability of the run counts"
            ));
        }
    };
    config.login = match provider.auth.as_deref() {
        None => None,
        Some("login") => {
            let home = daemon_host::random::environment("HOME").ok_or_else(|| {
                "`auth` is `login`, but `HOME` is not set for this process".to_owned()
            })?;
            Some(PathBuf::from(home))
        }
        Some(other) => return Err(format!("`auth` is `{other}`; `login` is served")),
    };
    if provider.input.is_some() || provider.require_result || provider.resume.is_some() {
        return Err("`input`, `require_result` and `resume` are for commands".to_owned());
    }
    Ok(config)
}

/// Refuses what only agents take.
///
/// # Errors
/// Names the key.
pub(crate) fn refuse_agent_keys(provider: &ProviderConfig) -> Result<(), String> {
    for (key, is_set) in [
        ("model", provider.model.is_some()),
        ("permissions", provider.permissions.is_some()),
        ("auth", provider.auth.is_some()),
    ] {
        if is_set {
            return Err(format!("`{key}` is for `claude`, `codex` and `opencode`"));
        }
    }
    Ok(())
}

/// Returns what an agent may touch under a policy that confines.
pub(crate) fn confinement(is_confining: bool) -> Confinement {
    if is_confining {
        Confinement::Confined {
            readable: Vec::new(),
        }
    } else {
        Confinement::Contained
    }
}

/// Examines the agents among providers: whether each is there and knows every flag that it is given.
pub(crate) fn examine<'c>(
    providers: impl Iterator<Item = (&'c String, &'c ProviderConfig)>,
    path: &OsString,
) -> Vec<Check> {
    let agents =
        providers.filter_map(|(name, provider)| Some((name, provider, agent_of(name, provider)?)));
    agents
        .map(|(name, provider, agent)| {
            let check = format!("provider {name}");
            match configure(name, agent, provider, path) {
                Ok(config) => examine_one(check, &config, path),
                Err(problem) => Check::fail(check, problem, "see config.toml"),
            }
        })
        .collect()
}

fn examine_one(check: String, config: &AgentConfig, path: &OsString) -> Check {
    let program = match config.program.resolve() {
        Ok(program) => program,
        Err(error) => {
            let remedy = format!("install `{}`", config.agent.as_str());
            return Check::fail(check, chain(&error), remedy);
        }
    };
    let (arguments, flags) = config.agent.flags();
    let help = match ask(&program, arguments, path) {
        Ok(help) => help,
        Err(problem) => return Check::fail(check, problem, "run it by hand"),
    };
    let unknown: Vec<&str> = flags
        .iter()
        .copied()
        .filter(|flag| !knows(&help, flag))
        .collect();
    let shown = program.display();
    if !unknown.is_empty() {
        let detail = format!("{shown} does not know {}", unknown.join(", "));
        return Check::fail(check, detail, "install a newer version");
    }
    match config.permissions {
        AgentPermissions::OfRun => {
            Check::ok(check, format!("{shown} knows every flag it is given"))
        }
        AgentPermissions::Bypass => Check::warn(
            check,
            format!("{shown} runs with its own checks switched off"),
            "remove `permissions = \"bypass\"`, unless the host itself is a sandbox",
        ),
    }
}

/// Lets an agent print its help, in a home of its own.
fn ask(program: &Path, arguments: &[&str], path: &OsString) -> Result<String, String> {
    let home = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let output = Tool::new(program)
        .args(arguments)
        .env("PATH", path)
        .env("HOME", home.path())
        .cwd(home.path())
        .run(PATIENCE, MOST_HELP)
        .map_err(|error| chain(&error))?;
    match output.status {
        // Some print their help where they complain.
        ExitStatus::Code(0) => Ok([output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .join("\n")),
        status => Err(format!(
            "{} {}: {status}",
            program.display(),
            arguments.join(" ")
        )),
    }
}

/// Returns whether a help text has a flag as a word of its own.
fn knows(help: &str, flag: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    help.match_indices(flag).any(|(at, found)| {
        let after = help[at + found.len()..].chars().next();
        let before = help[..at].chars().next_back();
        !after.is_some_and(is_part) && !before.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_known_only_as_a_word_of_its_own() {
        let help = "  -p, --print   Print\n  --tools <tools...>  Tools\n  --allowed-tools";
        assert!(knows(help, "--print"));
        assert!(knows(help, "--tools"));
        assert!(!knows(help, "--tool"));
        assert!(!knows(help, "--allowed"));
    }

    #[test]
    fn the_kind_else_the_name_says_which_agent_it_is() {
        let of = |name: &str, kind: Option<&str>| {
            let provider = ProviderConfig {
                kind: kind.map(str::to_owned),
                ..ProviderConfig::default()
            };
            agent_of(name, &provider)
        };
        assert_eq!(of("claude", None), Some(Agent::Claude));
        assert_eq!(of("mine", Some("codex")), Some(Agent::Codex));
        assert_eq!(of("claude", Some("command")), None);
        assert_eq!(of("mine", None), None);
    }
}
