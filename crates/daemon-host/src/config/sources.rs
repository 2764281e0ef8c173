//! The configuration of webhooks, and of the APIs that are used to fetch facts.

use std::path::{Path, PathBuf};

use daemon_event::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use daemon_api::Period;

/// The services that send webhooks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sources {
    /// GitHub: its webhooks, and its API for facts that they do not contain.
    pub github: Option<SourceConfig>,
    /// Linear's webhooks.
    pub linear: Option<LinearConfig>,
    /// Slack: its Events API, and its API for the names of channels.
    pub slack: Option<SourceConfig>,
    /// The webhooks of a Sentry integration.
    pub sentry: Option<HookConfig>,
    /// CloudEvents of other senders.
    pub cloudevents: Option<CloudEventsConfig>,
    /// How often the objects of services are compared with the webhooks that came, by default every five minutes; `0s` for never.
    pub reconcile: Option<Period>,
}

/// How often services are compared, by default and at most.
const RECONCILE: [Period; 2] = [Period::from_secs(300), Period::from_secs(1)];

impl Sources {
    /// Returns the interval of comparisons.
    pub fn reconcile_interval(&self) -> Period {
        let [usual, shortest] = RECONCILE;
        let given = self.reconcile.filter(|_| self.compares());
        given.unwrap_or(usual).max(shortest)
    }

    /// Reports whether services are compared; `0s` turns comparisons off.
    pub fn compares(&self) -> bool {
        self.reconcile != Some(Period::from_secs(0))
    }

    /// Reports whether webhooks of a service are received.
    pub fn receive(&self, source: Source) -> bool {
        let secrets = self.secrets();
        secrets.iter().any(|(name, _)| *name == source)
    }

    /// Returns the sources whose webhooks are configured, each with the file and the variable of its secret.
    ///
    /// A source of which only the API is configured is left out.
    pub fn secrets(&self) -> Vec<(Source, SecretPlaces<'_>)> {
        let served = |config: &SourceConfig| {
            let has_secret = config.secret_file.is_some() || config.secret_env.is_some();
            let has_api = config.token_file.is_some() || config.token_env.is_some();
            has_secret || !has_api && config.api_base.is_none()
        };
        let with_api = [(Source::Github, &self.github), (Source::Slack, &self.slack)];
        let with_api = with_api.into_iter().filter_map(|(source, config)| {
            let config = config.as_ref().filter(|config| served(config))?;
            Some((source, &config.secret_file, &config.secret_env))
        });
        let linear = self
            .linear
            .iter()
            .map(|config| (Source::Linear, &config.secret_file, &config.secret_env));
        let sentry = self
            .sentry
            .iter()
            .map(|config| (Source::Sentry, &config.secret_file, &config.secret_env));
        let all = with_api.chain(linear).chain(sentry);
        all.map(|(source, file, env)| {
            let places = SecretPlaces {
                file: file.as_deref(),
                env: env.as_deref(),
            };
            (source, places)
        })
        .collect()
    }

    /// Returns the sources whose API is used for facts, each with its access.
    pub fn apis(&self) -> [(Source, ApiAccess<'_>); 2] {
        let github = self.github.as_ref().map(|github| ApiAccess {
            token_file: github.token_file.as_deref(),
            token_env: github.token_env.as_deref(),
            base: github.api_base.as_deref().unwrap_or(GITHUB_API),
        });
        let slack = self.slack.as_ref().map(|slack| ApiAccess {
            token_file: slack.token_file.as_deref(),
            token_env: slack.token_env.as_deref(),
            base: slack.api_base.as_deref().unwrap_or(SLACK_API),
        });
        [
            (
                Source::Github,
                github.unwrap_or(ApiAccess::none(GITHUB_API)),
            ),
            (Source::Slack, slack.unwrap_or(ApiAccess::none(SLACK_API))),
        ]
    }
}

/// The file and the variable of a secret.
#[derive(Clone, Copy, Debug)]
pub struct SecretPlaces<'a> {
    /// The file, relative to the home.
    pub file: Option<&'a Path>,
    /// The environment variable.
    pub env: Option<&'a str>,
}

/// The default URL of GitHub's API.
pub(super) const GITHUB_API: &str = "https://api.github.com";
/// The default URL of Linear's API.
pub(super) const LINEAR_API: &str = "https://api.linear.app";
/// The default URL of Slack's API.
pub(super) const SLACK_API: &str = "https://slack.com/api";

/// The access to the API of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiAccess<'a> {
    /// The file of its token, relative to the home.
    pub token_file: Option<&'a Path>,
    /// The environment variable that contains its token.
    pub token_env: Option<&'a str>,
    /// The base URL.
    pub base: &'a str,
}

impl<'a> ApiAccess<'a> {
    fn none(base: &'a str) -> Self {
        Self {
            token_file: None,
            token_env: None,
            base,
        }
    }
}

/// A source with webhooks and an API.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    /// The file of its secrets, one a line, relative to the home; all are tried.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The environment variable that holds its secret.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The file of the token for its API, relative to the home; without a token the API is not called.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// The environment variable that contains the token; `token_file` takes precedence.
    #[serde(default)]
    pub token_env: Option<String>,
    /// The base URL of its API, by default that of the service; the token is sent to no other address.
    #[serde(default)]
    pub api_base: Option<String>,
}

/// A source with webhooks only.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    /// The file of its secrets, one a line, relative to the home; all are tried.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The environment variable that holds its secret.
    #[serde(default)]
    pub secret_env: Option<String>,
}

/// The senders of CloudEvents; the host's own token is accepted without any.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudEventsConfig {
    /// The file of the senders' tokens, lines `name:token`, relative to the home; a token has at least 32 bytes.
    pub token_file: PathBuf,
}

/// Linear's webhooks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearConfig {
    /// The file of its secrets, one a line, relative to the home; all are tried.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The environment variable that holds its secret.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The maximum age of a retry, at most 30 days; by default a minute.
    #[serde(default)]
    pub accept_late: Option<Period>,
}
