//! The configuration of the destinations of outputs.

use std::path::PathBuf;

use daemon_engine::proposal::{BranchPattern, ServedSurfaces};
use daemon_event::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;
use super::sources::{ApiAccess, GITHUB_API, LINEAR_API, SLACK_API, SecretPlaces};

/// The destinations of outputs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Surfaces {
    /// The destination of branches.
    pub git: GitSurface,
    /// GitHub: comments, reviews, pull requests, issues, labels, checks.
    pub github: Option<GithubSurfaceConfig>,
    /// Linear: comments, and changes to issues.
    pub linear: Option<ServiceSurfaceConfig>,
    /// Slack: messages and replies.
    pub slack: Option<ServiceSurfaceConfig>,
}

/// The destination of branches.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitSurface {
    /// `.` for the watched repository itself, the name of one of its remotes, or a URL.
    pub remote: String,
    /// The branches that no daemon pushes to, in addition to the default branch: names, or with `*` at the end their beginnings.
    pub protected: Vec<String>,
}

impl GitSurface {
    /// Returns the protected branches.
    pub fn branches(&self) -> Vec<BranchPattern> {
        let parsed = self.protected.iter().map(|text| text.parse());
        parsed.filter_map(Result::ok).collect()
    }
}

impl Default for GitSurface {
    fn default() -> Self {
        Self {
            remote: ".".to_owned(),
            protected: Vec::new(),
        }
    }
}

/// Defines the configuration of a service as a destination: how its API is reached, and more fields. Not `#[serde(flatten)]`, with which serde loses
/// the positions of values that error messages name.
macro_rules! service {
    ($(#[doc = $doc:literal])+ $name:ident { $($more:tt)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The base URL of its API, by default that of the service; credentials are sent to no other address.
            #[serde(default)]
            pub api_base: Option<String>,
            /// The file of the token, relative to the home.
            #[serde(default)]
            pub token_file: Option<PathBuf>,
            /// The environment variable that contains the token; `token_file` takes precedence.
            #[serde(default)]
            pub token_env: Option<String>,
            $($more)*
        }

        impl $name {
            /// Returns the access to its API by a token; `usual` is its address by default.
            fn access_at<'a>(&'a self, usual: &'a str) -> ApiAccess<'a> {
                ApiAccess {
                    token_file: self.token_file.as_deref(),
                    token_env: self.token_env.as_deref(),
                    base: self.api_base.as_deref().unwrap_or(usual),
                }
            }
        }
    };
}

service! {
    /// GitHub as a destination of outputs, with a token or as a GitHub App.
    GithubSurfaceConfig {
        /// The id of the GitHub App that delivers outputs, instead of a token.
        #[serde(default)]
        pub app_id: Option<u64>,
        /// The installation of the App; by default that of each repository.
        #[serde(default)]
        pub installation_id: Option<u64>,
        /// The file of the App's private key in PEM form, relative to the home.
        #[serde(default)]
        pub key_file: Option<PathBuf>,
    }
}

service! {
    /// A service as a destination of outputs.
    ServiceSurfaceConfig {}
}

impl GithubSurfaceConfig {
    /// Returns the access to its API by a token.
    pub fn access(&self) -> ApiAccess<'_> {
        self.access_at(GITHUB_API)
    }
}

impl Surfaces {
    /// Returns the access to Linear's API, if it is configured.
    pub fn linear_access(&self) -> Option<ApiAccess<'_>> {
        self.linear
            .as_ref()
            .map(|linear| linear.access_at(LINEAR_API))
    }

    /// Returns the access to Slack's API, if it is configured.
    pub fn slack_access(&self) -> Option<ApiAccess<'_>> {
        self.slack.as_ref().map(|slack| slack.access_at(SLACK_API))
    }

    /// Returns the surfaces that outputs can go to.
    pub fn served(&self) -> ServedSurfaces {
        let services = [
            ("git", true),
            ("github", self.github.is_some()),
            ("linear", self.linear.is_some()),
            ("slack", self.slack.is_some()),
        ];
        let served = services.into_iter().filter(|(_, is_served)| *is_served);
        ServedSurfaces {
            names: served.map(|(name, _)| name.to_owned()).collect(),
            has_app: self
                .github
                .as_ref()
                .is_some_and(|github| github.app_id.is_some()),
            protected: self.git.branches(),
        }
    }

    /// Reports whether outputs go to the service of a source, so that its API can be used for facts, too.
    pub fn serve(&self, source: Source) -> bool {
        match source {
            Source::Github => self.github.is_some(),
            Source::Slack => self.slack.is_some(),
            Source::Linear => self.linear.is_some(),
            Source::Sentry | Source::Git | Source::Cloudevents => false,
        }
    }
}

/// Finds surfaces without credentials, and those with two kinds of them.
pub(super) fn faults(surfaces: &Surfaces) -> Vec<ConfigFault> {
    let mut faults = Vec::new();
    for pattern in &surfaces.git.protected {
        if let Err(error) = pattern.parse::<BranchPattern>() {
            let message = format!("surfaces.git.protected: {error}");
            faults.push(ConfigFault::of_value(
                &["surfaces", "git", "protected"],
                message,
            ));
        }
    }
    let accesses = [
        ("linear", surfaces.linear_access()),
        ("slack", surfaces.slack_access()),
    ];
    for (name, access) in accesses {
        if access.is_some_and(|access| !access.has_token()) {
            let message = format!("`surfaces.{name}` needs `token_file` or `token_env`");
            faults.push(ConfigFault::of_key(&["surfaces", name], message));
        }
    }
    if let Some(github) = &surfaces.github
        && let Some((key, message)) = github_fault(github)
    {
        let path = ["surfaces", "github"];
        let path: Vec<&str> = path.into_iter().chain(key).collect();
        faults.push(ConfigFault::of_key(&path, message));
    }
    faults
}

fn github_fault(github: &GithubSurfaceConfig) -> Option<(Option<&'static str>, &'static str)> {
    let has_token = github.access().has_token();
    match (github.app_id, &github.key_file) {
        (Some(_), _) | (_, Some(_)) if has_token => Some((
            Some("app_id"),
            "`surfaces.github` has a token and an App: keep one",
        )),
        (Some(_), None) => Some((
            Some("app_id"),
            "`surfaces.github.app_id` needs `surfaces.github.key_file`",
        )),
        (None, Some(_)) => Some((
            Some("key_file"),
            "`surfaces.github.key_file` needs `surfaces.github.app_id`",
        )),
        (None, None) if github.installation_id.is_some() => Some((
            Some("installation_id"),
            "`surfaces.github.installation_id` needs `surfaces.github.app_id`",
        )),
        (None, None) if !has_token => Some((
            None,
            "`surfaces.github` needs `token_file`, `token_env`, or `app_id` with `key_file`",
        )),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

impl ApiAccess<'_> {
    /// Reports whether a token is configured.
    pub fn has_token(&self) -> bool {
        self.token_file.is_some() || self.token_env.is_some()
    }

    /// Returns the file and the variable of the token.
    pub fn places(&self) -> SecretPlaces<'_> {
        SecretPlaces {
            file: self.token_file,
            env: self.token_env,
        }
    }
}
