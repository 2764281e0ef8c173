//! `lint --suggest`: asks the configured provider to reword conditions that are not understood.
//!
//! The reply is untrusted text. It becomes a suggestion only as a `Wording`: one plain, short line that this interpreter reads
//! as `mapped`. No file is changed, and no reply decides how a condition is read.

mod prompt;
mod reply;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon_host::config::Config;
use daemon_host::policy::run_policy;
use daemon_host::serve::Compose as _;
use daemon_lint::{Suggestion, SuggestionFailure, Suggestions, UnclearCondition};
use daemon_provider::{
    Limits, Outcome, Permissions, Provider, Run, RunEvent, RunId, RunRequest, StopReason,
};
use daemon_records::clock;
use daemon_records::environment;
use daemon_records::error::chain;
use daemon_records::random;

use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::out::Out;
use crate::place::Place;
use crate::sandboxes::sandbox;

/// How long a provider may take for one condition.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long a provider may take to stop after it was cancelled.
const GRACE: Duration = Duration::from_secs(10);
/// The most conditions of one command: each costs a run.
const MOST_ASKED: usize = 20;

/// Asks for wordings of each condition. If the provider fails, the result has its failure and the suggestions until then.
pub(crate) async fn suggestions(
    unclear: Vec<UnclearCondition>,
    repositories: Vec<PathBuf>,
    place: &Place,
    out: Out,
) -> Suggestions {
    if unclear.is_empty() {
        return Suggestions::default();
    }
    let workspace = match ProviderWorkspace::new(place, repositories) {
        Ok(workspace) => workspace,
        Err(failure) => return refused(failure),
    };
    if unclear.len() > MOST_ASKED {
        out.note(&format!(
            "{} conditions are not understood; asking for the first {MOST_ASKED}",
            unclear.len()
        ));
    }
    out.note(&format!(
        "asking `{}` for other wordings",
        workspace.provider.name()
    ));
    ask_all(&workspace, unclear, TIMEOUT).await
}

fn refused(failure: CommandFailure) -> Suggestions {
    Suggestions {
        given: Vec::new(),
        failure: Some(suggestion_failure(failure)),
    }
}

fn suggestion_failure(failure: CommandFailure) -> SuggestionFailure {
    SuggestionFailure {
        exit: failure.exit as u8,
        code: failure.code,
        message: reply::plain(&failure.message),
        help: failure.help,
    }
}

/// A provider with an empty directory to work in, outside of every repository.
struct ProviderWorkspace {
    provider: Arc<dyn Provider>,
    directory: tempfile::TempDir,
    environment: BTreeMap<OsString, OsString>,
}

impl ProviderWorkspace {
    /// Composes the default provider, and creates its directory.
    fn new(place: &Place, repositories: Vec<PathBuf>) -> Result<Self, CommandFailure> {
        let overrides = Overrides {
            // Programs must not come from a repository that is linted.
            repos: repositories,
            ..Overrides::default()
        };
        let composer = Composer::new(place, overrides);
        let config = composer.load()?;
        let Some(provider) = composer.default_provider(&config)? else {
            return Err(no_provider(place));
        };
        let sandbox = sandbox(&config, &config.provider.default);
        // The provider gets untrusted text of a repository, so the policy of runs applies to it.
        if let Some(reason) = run_policy(&config, None, None).sandbox_refusal(&sandbox) {
            return Err(CommandFailure::new(ExitKind::Refused, "sandbox", reason));
        }
        let directory = tempfile::tempdir()
            .map_err(|error| CommandFailure::unwritable(&std::env::temp_dir(), &error))?;
        Ok(Self {
            environment: environment(&config, place, directory.path()),
            provider,
            directory,
        })
    }

    fn request(
        &self,
        unclear: &UnclearCondition,
        timeout: Duration,
    ) -> Result<RunRequest, CommandFailure> {
        let stamp = clock::now().strftime("%Y%m%d-%H%M%S");
        let id = format!("em-1-{stamp}-{}", random::hex(3));
        let id: RunId = id.parse().expect("it has the form of a run's id");
        let work = self.directory.path().join(id.to_string());
        for name in ["work", "home"] {
            let directory = work.join(name);
            std::fs::create_dir_all(&directory)
                .map_err(|error| CommandFailure::unwritable(&directory, &error))?;
        }
        Ok(RunRequest {
            task: "Reword one watch condition.".to_owned(),
            prompt: prompt::prompt(unclear, random::boundary()).into_bytes(),
            home: work.join("home"),
            environment: self.environment.clone(),
            limits: Limits {
                wall: timeout,
                idle: None,
                // One reply, so that the run cannot continue with tools.
                max_turns: Some(1),
                budget: None,
            },
            permissions: Permissions::Read,
            ..RunRequest::new(id, work.join("work"))
        })
    }
}

fn no_provider(place: &Place) -> CommandFailure {
    let message =
        "`--suggest` needs a provider, but `provider.default` is `builtin`, which runs no model";
    let config = match &place.home {
        Some(home) => home.join("config.toml").display().to_string(),
        None => "config.toml of the home (--home DIR)".to_owned(),
    };
    CommandFailure::new(ExitKind::Config, "no-provider", message).help(format!(
        "in {config}, name a program that reads a prompt and prints a reply: \
         `[provider] default = \"mine\"` and `[provider.mine] command = \"/path/to/program\"`"
    ))
}

/// Returns the environment of the program: the variables of an activation, without those about a daemon.
fn environment(config: &Config, place: &Place, temporary: &Path) -> BTreeMap<OsString, OsString> {
    let mut acc: BTreeMap<OsString, OsString> = BTreeMap::new();
    let named = config.provider.named.get(&config.provider.default);
    for name in named.into_iter().flat_map(|provider| &provider.env) {
        if let Some(value) = environment::variable(name) {
            acc.insert(name.into(), value);
        }
    }
    acc.insert("PATH".into(), place.path.clone());
    acc.insert("LANG".into(), "C.UTF-8".into());
    acc.insert("TMPDIR".into(), temporary.as_os_str().to_owned());
    acc
}

/// Asks for each condition in turn, until the provider fails.
async fn ask_all(
    workspace: &ProviderWorkspace,
    unclear: Vec<UnclearCondition>,
    timeout: Duration,
) -> Suggestions {
    let mut acc = Suggestions::default();
    for unclear in unclear.into_iter().take(MOST_ASKED) {
        match ask(workspace, &unclear, timeout).await {
            Ok(text) => {
                let offered = reply::offered(&text);
                let offered = offered.iter().map(String::as_str);
                acc.given.push(Suggestion::new(unclear, offered));
            }
            Err(failure) => {
                // The next condition would most likely fail, too, and each one costs a run.
                acc.failure = Some(suggestion_failure(failure));
                break;
            }
        }
    }
    acc
}

/// Starts a run for one condition, and returns its final text.
async fn ask(
    workspace: &ProviderWorkspace,
    unclear: &UnclearCondition,
    timeout: Duration,
) -> Result<String, CommandFailure> {
    let request = workspace.request(unclear, timeout)?;
    let started = workspace.provider.start(request).await;
    let mut run = started.map_err(|error| failed(&workspace.provider, &chain(&error)))?;
    match tokio::time::timeout(timeout, final_text(&mut *run)).await {
        Ok(Ok((Outcome::Done, text))) => Ok(text),
        Ok(Ok((Outcome::Failed(failure), _))) => {
            Err(failed(&workspace.provider, &failure.to_string()))
        }
        Ok(Ok((Outcome::Stopped(why), _))) => Err(failed(
            &workspace.provider,
            &format!("it was stopped: {why}"),
        )),
        Ok(Err(message)) => Err(failed(&workspace.provider, &message)),
        Err(_elapsed) => {
            if run.cancel(StopReason::Timeout).await.is_ok() {
                // Dropping the run kills its processes, so the result of this wait does not matter.
                let _ended = tokio::time::timeout(GRACE, final_text(&mut *run)).await;
            }
            let seconds = timeout.as_secs();
            Err(failed(
                &workspace.provider,
                &format!("no reply within {seconds} s"),
            ))
        }
    }
}

async fn final_text(run: &mut dyn Run) -> Result<(Outcome, String), String> {
    loop {
        match run.next().await {
            Ok(Some(RunEvent::Terminal { outcome, text })) => return Ok((outcome, text)),
            Ok(Some(_)) => {}
            Ok(None) => return Err("it ended without a result".to_owned()),
            Err(error) => return Err(chain(&error)),
        }
    }
}

fn failed(provider: &Arc<dyn Provider>, why: &str) -> CommandFailure {
    let message = format!("the provider `{}` gave no wordings: {why}", provider.name());
    CommandFailure::new(ExitKind::Unavailable, "provider-failed", message)
        .help("`daemon-run doctor` checks the configured providers")
}

#[cfg(test)]
mod tests;
