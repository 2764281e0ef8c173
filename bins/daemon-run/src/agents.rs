//! Coding agents as providers: reads their configuration, and checks them for `doctor`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_egress::EgressList;
use daemon_host::config::{Config, ProviderConfig};
use daemon_host::doctor::Check;
use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_provider_cli::{Agent, AgentConfig, AgentPermissions};
use daemon_records::error::chain;

use crate::sandboxes::{egress, enclosure};

/// How long an agent may take to print its help or its version.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of an agent's help that are read.
const MOST_HELP: ByteCount = ByteCount(256 << 10);

/// Returns the agent that a provider runs. `kind` decides; without one, the name of the provider does.
pub(crate) fn agent_of(name: &str, provider: &ProviderConfig) -> Option<Agent> {
    let kind = provider.kind.as_deref().unwrap_or(name);
    Agent::ALL.into_iter().find(|agent| agent.as_str() == kind)
}

/// Reads the configuration of an agent.
///
/// # Errors
/// Names the key that is wrong.
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
    // These flags would grant more than the capability of the run, which is a policy of the host and not of a provider.
    if let Some(arg) = agent.widened_by(&provider.args) {
        return Err(format!(
            "`args` contains `{arg}`, which widens what a run may do; that is set by its capability, and only `permissions = \"bypass\"` switches the checks off"
        ));
    }
    config.program.args.clone_from(&provider.args);
    config.model.clone_from(&provider.model);
    config.program.search.clone_from(path);
    config.permissions = match provider.permissions.as_deref() {
        None => AgentPermissions::OfRun,
        Some("bypass") => AgentPermissions::Bypass,
        Some(other) => {
            return Err(format!(
                "`permissions` is `{other}`; the only value is `bypass`, without it the capability of the run applies"
            ));
        }
    };
    config.login = match provider.auth.as_deref() {
        None => None,
        Some("login") => {
            // The agent stores its login in the home of the user who logged in.
            let home = daemon_records::environment::variable("HOME").ok_or_else(|| {
                "`auth` is `login`, but `HOME` is not set for this process".to_owned()
            })?;
            Some(PathBuf::from(home))
        }
        Some(other) => return Err(format!("`auth` is `{other}`; the only value is `login`")),
    };
    if provider.input.is_some() || provider.require_result || provider.resume.is_some() {
        return Err("`input`, `require_result` and `resume` are for commands".to_owned());
    }
    Ok(config)
}

/// Rejects keys that only agents have.
///
/// # Errors
/// Names the first such key.
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

/// Checks the agents among the providers: whether each is installed, its version, whether it supports every flag that runs
/// pass to it, its permissions, and how it logs in to its model.
pub(crate) fn examine<'c>(
    host: &Config,
    providers: impl Iterator<Item = (&'c String, &'c ProviderConfig)>,
    path: &OsString,
    untrusted: &[PathBuf],
) -> Vec<Check> {
    let agents =
        providers.filter_map(|(name, provider)| Some((name, provider, agent_of(name, provider)?)));
    agents
        .map(|(name, provider, agent)| {
            let check = format!("provider {name}");
            match configure(name, agent, provider, path) {
                Ok(mut config) => {
                    untrusted.clone_into(&mut config.program.untrusted);
                    config.program.enclosure = enclosure(host, name);
                    config.program.egress = egress(host, name);
                    examine_one(check, &config, &provider.env)
                }
                Err(problem) => Check::fail(check, problem, "see config.toml"),
            }
        })
        .collect()
}

fn examine_one(check: String, config: &AgentConfig, variables: &[String]) -> Check {
    let agent = config.agent;
    let program = match config.program.resolve() {
        Ok(program) => program,
        Err(error) => {
            let remedy = format!(
                "install `{}`, or name its executable file in provider.{}.command",
                agent.as_str(),
                config.program.provider
            );
            return Check::fail(check, chain(&error), remedy);
        }
    };
    let version = match ask(&program, &["--version"], &config.program.search) {
        // An unknown version is not a failure: the flags decide whether the agent can be used.
        Ok(printed) => version(&printed).map_or("of unknown version".to_owned(), str::to_owned),
        Err(problem) => return Check::fail(check, problem, "run it by hand"),
    };
    let shown = format!("{} {version}", program.display());
    let unknown = match unknown_flags(&program, config) {
        Ok(unknown) => unknown,
        Err(problem) => return Check::fail(check, problem, "run it by hand"),
    };
    if !unknown.is_empty() {
        let detail = format!("{shown} does not support {}", unknown.join(", "));
        let remedy = format!("install version {} of `{}`", agent.tried(), agent.as_str());
        return Check::fail(check, detail, remedy);
    }
    let tried = if is_of(&version, agent.tried()) {
        String::new()
    } else {
        format!(" (tried with {})", agent.tried())
    };
    rate(
        check,
        &format!("{shown}{tried}{}", unreachable(config)),
        config,
        &Credential::of(config, variables),
    )
}

/// Describes the hosts of the agent's model that its egress list leaves out, as one for another model server does.
fn unreachable(config: &AgentConfig) -> String {
    let all = config.agent.destinations(config.model.as_deref());
    let is_left_out = |entry: &&String| {
        let wanted = EgressList::parse(&[entry]);
        wanted.is_ok_and(|wanted| !wanted.is_within(&config.program.egress))
    };
    let left_out: Vec<&str> = all.iter().filter(is_left_out).map(String::as_str).collect();
    match &*left_out {
        [] => String::new(),
        hosts => format!(" (egress leaves out {})", hosts.join(", ")),
    }
}

/// Rates an agent that supports its flags by its permissions and its credential.
fn rate(check: String, shown: &str, config: &AgentConfig, credential: &Credential) -> Check {
    let access = credential.describe();
    let level = config.program.enclosure.level();
    match config.permissions {
        AgentPermissions::Bypass if !config.is_confined() => Check::warn(
            check,
            format!(
                "{shown} runs with its own checks switched off{}; {access}",
                refusal(config.agent)
            ),
            "remove `permissions = \"bypass\"`, unless the host itself is a sandbox",
        ),
        AgentPermissions::OfRun | AgentPermissions::Bypass => {
            let checks = if config.is_confined() {
                format!("its own checks are off, since the sandbox of level {level} limits the run")
            } else {
                "its permissions are those of the run".to_owned()
            };
            let detail = format!("{shown} supports every flag, and {checks}; {access}");
            match credential.remedy() {
                Some(remedy) => Check::warn(check, detail, remedy),
                None => Check::ok(check, detail),
            }
        }
    }
}

/// Returns a note if the agent refuses to start without its checks for this user.
fn refusal(agent: Agent) -> &'static str {
    // Claude exits with an error if it gets this flag as root.
    if agent == Agent::Claude && rustix::process::geteuid().is_root() {
        ", which it refuses as root"
    } else {
        ""
    }
}

/// How an agent authenticates to its model.
enum Credential {
    /// The agent's own login, stored in this directory.
    Login(PathBuf),
    /// Environment variables that the provider passes on: those that are set, and those that are not.
    Variables(Vec<String>, Vec<String>),
}

impl Credential {
    fn of(config: &AgentConfig, variables: &[String]) -> Self {
        match config.login_state() {
            Some((_, directory)) => Self::Login(directory),
            None => {
                let is_set = |name: &&String| daemon_records::environment::variable(name).is_some();
                let (set, unset) = variables.iter().partition::<Vec<_>, _>(is_set);
                let owned = |names: Vec<&String>| names.into_iter().cloned().collect();
                Self::Variables(owned(set), owned(unset))
            }
        }
    }

    /// Describes it by names and paths; values are secret.
    fn describe(&self) -> String {
        let list = |names: &[String]| names.join(", ");
        match self {
            Self::Login(directory) if directory.is_dir() => {
                let directory = directory.display();
                format!("logged in by {directory}, which its runs can read and change")
            }
            Self::Login(directory) => format!("not logged in: no {}", directory.display()),
            Self::Variables(set, unset) => match (set.as_slice(), unset.as_slice()) {
                ([], []) => "it has no login and no variable".to_owned(),
                (set, []) => format!("it gets {}", list(set)),
                ([], unset) => format!("not set: {}", list(unset)),
                (set, unset) => format!("it gets {}; not set: {}", list(set), list(unset)),
            },
        }
    }

    fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Login(directory) if !directory.is_dir() => {
                Some("start it by hand once and log in")
            }
            Self::Variables(_, unset) if !unset.is_empty() => {
                Some("set the variables of the provider's `env` in the environment of the host")
            }
            Self::Login(_) | Self::Variables(..) => None,
        }
    }
}

/// Returns the flags that runs pass to an agent and that its help does not list.
fn unknown_flags(program: &Path, config: &AgentConfig) -> Result<Vec<&'static str>, String> {
    let mut unknown = Vec::new();
    for help in config.agent.helps() {
        let help_text = ask(program, help.arguments, &config.program.search)?;
        unknown.extend(help.flags.iter().filter(|flag| !knows(&help_text, flag)));
    }
    // A flag can be in more than one help text.
    unknown.dedup();
    Ok(unknown)
}

/// Runs an agent to print its help or its version, with a temporary directory as its home.
fn ask(program: &Path, arguments: &[&str], path: &OsStr) -> Result<String, String> {
    // A temporary home, so that the check writes nothing into the user's.
    let home = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let output = Tool::new(program)
        .args(arguments)
        .env("PATH", path)
        .env("HOME", home.path())
        .cwd(home.path())
        .run(TIMEOUT, MOST_HELP)
        .map_err(|error| chain(&error))?;
    match output.status {
        // Some agents print their help to standard error.
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

/// Finds the version in the first line of what `--version` prints.
fn version(printed: &str) -> Option<&str> {
    let is_version = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains('.')
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c))
    };
    // Later lines may be warnings that mention other versions.
    printed.lines().next()?.split_whitespace().find(is_version)
}

/// Reports whether a version is in a release line: `2.1.197` is in `2.1`.
fn is_of(version: &str, line: &str) -> bool {
    version
        .strip_prefix(line)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Reports whether a help text lists a flag as a whole word.
fn knows(help: &str, flag: &str) -> bool {
    // `--tool` must not be found in `--tools`.
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
    fn a_version_is_found_in_what_each_agent_prints() {
        for (printed, found) in [
            ("2.1.197 (Claude Code)\n", Some("2.1.197")),
            ("codex-cli 0.169.0\n", Some("0.169.0")),
            ("1.18.33\n\nWARNING: 2.0", Some("1.18.33")),
            ("a program\n1.2.3", None),
            ("", None),
        ] {
            assert_eq!(version(printed), found, "{printed}");
        }
        assert!(is_of("2.1.197", "2.1") && is_of("0.169", "0.169"));
        assert!(!is_of("2.10.1", "2.1") && !is_of("0.168.0", "0.169"));
    }

    #[test]
    fn the_kind_selects_the_agent_and_without_one_the_name_does() {
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
