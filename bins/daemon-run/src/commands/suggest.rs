//! `lint --suggest`: asks the configured provider for other wordings of conditions that are not clear.
//!
//! What comes back is anybody's text. It becomes a suggestion only as a `Wording`: one plain, short line that this
//! interpreter reads as `mapped`. No file is changed, and nothing that is asked here decides how a condition is read.

mod answer;
mod prompt;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon_host::config::Config;
use daemon_host::ops::chain;
use daemon_host::policy::RunPolicy;
use daemon_host::random;
use daemon_host::serve::Compose as _;
use daemon_lint::{Suggestion, SuggestionFailure, Suggestions, UnclearCondition};
use daemon_provider::{
    Limits, Outcome, Permissions, Provider, Run, RunEvent, RunId, RunRequest, StopReason,
};

use crate::compose::{self, Composer, Overrides, Reach};
use crate::failure::{Exit, Failure};
use crate::out::Out;
use crate::place::Place;

/// How long a provider may take for one condition.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a provider that took too long may take to stop.
const GRACE: Duration = Duration::from_secs(10);
/// About how many conditions a provider is asked at most: each costs a run.
const MOST_ASKED: usize = 20;

/// Asks about each condition; what kept the provider from an answer is told beside what it gave.
pub(crate) async fn suggestions(
    unclear: Vec<UnclearCondition>,
    repositories: Vec<PathBuf>,
    place: &Place,
    out: Out,
) -> Suggestions {
    if unclear.is_empty() {
        return Suggestions::default();
    }
    let room = match Room::new(place, repositories) {
        Ok(room) => room,
        Err(failure) => return refused(failure),
    };
    if unclear.len() > MOST_ASKED {
        out.note(&format!(
            "{} conditions are not clear; asking about the first {MOST_ASKED}",
            unclear.len()
        ));
    }
    out.note(&format!(
        "asking `{}` for other wordings",
        room.provider.name()
    ));
    ask_all(&room, unclear, PATIENCE).await
}

fn refused(failure: Failure) -> Suggestions {
    Suggestions {
        given: Vec::new(),
        failure: Some(told(failure)),
    }
}

fn told(failure: Failure) -> SuggestionFailure {
    SuggestionFailure {
        exit: failure.exit as u8,
        code: failure.code,
        message: answer::plain(&failure.message),
        help: failure.help,
    }
}

/// Where a provider works when it is asked: an empty directory of its own, away from every repository.
struct Room {
    provider: Arc<dyn Provider>,
    directory: tempfile::TempDir,
    environment: BTreeMap<OsString, OsString>,
}

impl Room {
    /// Composes the configured provider, and makes it an empty place to work in.
    fn new(place: &Place, repositories: Vec<PathBuf>) -> Result<Self, Failure> {
        let overrides = Overrides {
            // No program is taken from what is linted.
            repos: repositories,
            ..Overrides::default()
        };
        let composer = Composer::new(place, overrides);
        let config = composer.load()?;
        let Some(provider) = composer.default_provider(&config)? else {
            return Err(no_provider(place));
        };
        let (level, detail) =
            compose::sandbox(&config, Reach::of(&config, &config.provider.default));
        if level < config.policy.sandbox_min {
            let wanted = config.policy.sandbox_min;
            let message = format!("policy.sandbox_min is {wanted}, and this host reaches {level}");
            return Err(Failure::new(Exit::Refused, "sandbox", message).help(detail));
        }
        if let Some(reason) = RunPolicy::general(&config, None).sandbox_refusal(&(level, detail)) {
            return Err(Failure::new(Exit::Refused, "sandbox", reason));
        }
        let directory = tempfile::tempdir()
            .map_err(|error| Failure::unwritable(&std::env::temp_dir(), &error))?;
        Ok(Self {
            environment: environment(&config, place, directory.path()),
            provider,
            directory,
        })
    }

    fn request(
        &self,
        unclear: &UnclearCondition,
        patience: Duration,
    ) -> Result<RunRequest, Failure> {
        let stamp = random::now().strftime("%Y%m%d-%H%M%S");
        let id = format!("em-1-{stamp}-{}", random::hex(3));
        let id: RunId = id.parse().expect("it has the form of a run's id");
        let work = self.directory.path().join(id.to_string());
        for name in ["work", "home"] {
            let directory = work.join(name);
            std::fs::create_dir_all(&directory)
                .map_err(|error| Failure::unwritable(&directory, &error))?;
        }
        Ok(RunRequest {
            task: "Reword one watch condition.".to_owned(),
            prompt: prompt::prompt(unclear, random::boundary()).into_bytes(),
            home: work.join("home"),
            environment: self.environment.clone(),
            limits: Limits {
                wall: patience,
                idle: None,
                max_turns: Some(1),
                budget: None,
            },
            permissions: Permissions::Read,
            ..RunRequest::new(id, work.join("work"))
        })
    }
}

fn no_provider(place: &Place) -> Failure {
    let message =
        "`--suggest` asks a provider, and `provider.default` is `builtin`, which runs no model";
    let config = match &place.home {
        Some(home) => home.join("config.toml").display().to_string(),
        None => "config.toml of the home (--home DIR)".to_owned(),
    };
    Failure::new(Exit::Config, "no-provider", message).help(format!(
        "in {config}, name a program that reads a prompt and prints an answer: \
         `[provider] default = \"mine\"` and `[provider.mine] command = \"/path/to/program\"`"
    ))
}

/// What the program finds in its environment: no more than an activation's, without a daemon's context.
fn environment(config: &Config, place: &Place, temporary: &Path) -> BTreeMap<OsString, OsString> {
    let mut acc: BTreeMap<OsString, OsString> = BTreeMap::new();
    let named = config.provider.named.get(&config.provider.default);
    for name in named.into_iter().flat_map(|provider| &provider.env) {
        if let Some(value) = random::environment(name) {
            acc.insert(name.into(), value);
        }
    }
    acc.insert("PATH".into(), place.path.clone());
    acc.insert("LANG".into(), "C.UTF-8".into());
    acc.insert("TMPDIR".into(), temporary.as_os_str().to_owned());
    acc
}

/// Asks about each condition in turn, until the provider fails.
async fn ask_all(room: &Room, unclear: Vec<UnclearCondition>, patience: Duration) -> Suggestions {
    let mut acc = Suggestions::default();
    for unclear in unclear.into_iter().take(MOST_ASKED) {
        match ask(room, &unclear, patience).await {
            Ok(answer) => {
                let offered = answer::offered(&answer);
                let offered = offered.iter().map(String::as_str);
                acc.given.push(Suggestion::new(unclear, offered));
            }
            Err(failure) => {
                acc.failure = Some(told(failure));
                break;
            }
        }
    }
    acc
}

/// Asks about one condition and waits for the last word.
async fn ask(
    room: &Room,
    unclear: &UnclearCondition,
    patience: Duration,
) -> Result<String, Failure> {
    let request = room.request(unclear, patience)?;
    let started = room.provider.start(request).await;
    let mut run = started.map_err(|error| failed(&room.provider, &chain(&error)))?;
    match tokio::time::timeout(patience, last_word(&mut *run)).await {
        Ok(Ok((Outcome::Done, text))) => Ok(text),
        Ok(Ok((Outcome::Failed(failure), _))) => Err(failed(&room.provider, &failure.to_string())),
        Ok(Ok((Outcome::Stopped(why), _))) => {
            Err(failed(&room.provider, &format!("it was stopped: {why}")))
        }
        Ok(Err(message)) => Err(failed(&room.provider, &message)),
        Err(_elapsed) => {
            if run.cancel(StopReason::Timeout).await.is_ok() {
                // Dropping the run ends what it left behind, whether it told its end or not.
                let _told = tokio::time::timeout(GRACE, last_word(&mut *run)).await;
            }
            let seconds = patience.as_secs();
            Err(failed(
                &room.provider,
                &format!("no answer within {seconds} s"),
            ))
        }
    }
}

async fn last_word(run: &mut dyn Run) -> Result<(Outcome, String), String> {
    loop {
        match run.next().await {
            Ok(Some(RunEvent::Terminal { outcome, text })) => return Ok((outcome, text)),
            Ok(Some(_)) => {}
            Ok(None) => return Err("it ended without a word".to_owned()),
            Err(error) => return Err(chain(&error)),
        }
    }
}

fn failed(provider: &Arc<dyn Provider>, why: &str) -> Failure {
    let message = format!("the provider `{}` gave no wordings: {why}", provider.name());
    Failure::new(Exit::Unavailable, "provider-failed", message)
        .help("daemon-run doctor examines the configured providers")
}

#[cfg(test)]
mod tests;
