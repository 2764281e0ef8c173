//! Clients of the services that facts come from and outputs go to, composed from the configuration.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use daemon_engine::Reconciler;
use daemon_engine::proposal::GithubName;
use daemon_event::{RepoName, Source};
use daemon_host::config::{ApiAccess, Config, GithubSurfaceConfig, SecretPlaces};
use daemon_host::driver::repos::Watched;
use daemon_host::token::{TokenError, configured};
use daemon_records::clock;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_repo::RemoteToken;
use daemon_runner::secrets::HostSecrets;
use daemon_surface::{
    ApiBase, ApiToken, AppCredentials, AppKey, Credentials, GithubReconciler, LinearReconciler,
    RefReading, ServiceApi, ServiceFacts, WallClock,
};
use tokio::runtime::Handle;

/// The longest wait for the token of an installation, which takes two requests.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(31);

/// The clients of the services that outputs go to; `None` for a surface that is not configured.
#[derive(Debug, Default)]
pub(crate) struct SurfaceApis {
    /// GitHub, with a token or as an App.
    pub(crate) github: Option<ServiceApi>,
    /// Linear.
    pub(crate) linear: Option<ServiceApi>,
    /// Slack.
    pub(crate) slack: Option<ServiceApi>,
}

/// Returns the clients of the configured surfaces. Tokens that are issued later are added to the secrets.
pub(crate) fn surface_apis(
    home: &Path,
    config: &Config,
    secrets: &HostSecrets,
) -> Result<SurfaceApis, OpError> {
    let surfaces = &config.surfaces;
    let github = surfaces
        .github
        .as_ref()
        .map(|github| github_api(home, github, secrets));
    Ok(SurfaceApis {
        github: github.transpose()?,
        linear: token_api(home, "surfaces.linear", surfaces.linear_access())?,
        slack: token_api(home, "surfaces.slack", surfaces.slack_access())?,
    })
}

fn github_api(
    home: &Path,
    github: &GithubSurfaceConfig,
    secrets: &HostSecrets,
) -> Result<ServiceApi, OpError> {
    let access = github.access();
    let Some(app) = github.app_id else {
        let api = token_api(home, "surfaces.github", Some(access))?;
        let missing = || wrong("surfaces.github: no token is set".to_owned());
        return api.ok_or_else(missing);
    };
    let places = SecretPlaces {
        file: github.key_file.as_deref(),
        env: None,
    };
    let key = configured(home, "surfaces.github.key", places).map_err(|error| no_token(&error))?;
    let key: AppKey = key
        .unwrap_or_default()
        .parse()
        .map_err(|error| wrong(format!("surfaces.github.key_file: {error}")))?;
    let secrets = secrets.clone();
    let on_token = move |token: &str| secrets.add(vec![token.to_owned()]);
    let app = AppCredentials::new(app, key, github.installation_id, on_token);
    client("surfaces.github", access.base, Credentials::App(app))
}

/// Returns the client of a service whose token is configured.
fn token_api(
    home: &Path,
    key: &str,
    access: Option<ApiAccess<'_>>,
) -> Result<Option<ServiceApi>, OpError> {
    let Some(access) = access else {
        return Ok(None);
    };
    let token = configured(home, &format!("{key}.token"), access.places());
    let token = token.map_err(|error| no_token(&error))?;
    token
        .map(|token| client(key, access.base, credentials(key, &token)?))
        .transpose()
}

fn credentials(key: &str, token: &str) -> Result<Credentials, OpError> {
    let token: Result<ApiToken, _> = token.parse();
    let token = token.map_err(|error| wrong(format!("the token of {key}: {error}")))?;
    Ok(Credentials::Token(token))
}

fn client(key: &str, base: &str, credentials: Credentials) -> Result<ServiceApi, OpError> {
    let base: ApiBase = base
        .parse()
        .map_err(|error| wrong(format!("{key}.api_base: {error}")))?;
    ServiceApi::new(base, credentials, WallClock::new(clock::now))
        .map_err(|error| OpError::new(OpErrorKind::Unavailable, "no-certificates", chain(&error)))
}

fn wrong(message: String) -> OpError {
    OpError::new(OpErrorKind::Config, "config-invalid", message)
}

fn no_token(error: &TokenError) -> OpError {
    OpError::new(OpErrorKind::Config, "source-token", chain(error))
}

/// Returns the clients that facts are fetched with: those of the sources with a token, else those of the surfaces.
pub(crate) fn services(
    home: &Path,
    config: &Config,
    surfaces: &SurfaceApis,
) -> Result<ServiceFacts, OpError> {
    let mut services = ServiceFacts {
        github: surfaces.github.clone(),
        slack: surfaces.slack.clone(),
    };
    for (source, access) in config.sources.apis() {
        let key = format!("sources.{source}");
        // Also without a token, so that a wrong address is reported when it is written.
        let base: Result<ApiBase, _> = access.base.parse();
        base.map_err(|error| wrong(format!("{key}.api_base: {error}")))?;
        let Some(api) = token_api(home, &key, Some(access))? else {
            continue;
        };
        match source {
            Source::Github => services.github = Some(api),
            Source::Slack => services.slack = Some(api),
            // No facts are fetched from these sources.
            Source::Linear | Source::Sentry | Source::Git | Source::Cloudevents => {}
        }
    }
    Ok(services)
}

/// Returns what compares the services whose webhooks are received with their objects.
pub(crate) fn reconcilers(
    config: &Config,
    (services, surfaces): (&ServiceFacts, &SurfaceApis),
    repos: &[Arc<Watched>],
) -> Vec<Arc<dyn Reconciler>> {
    let mut acc: Vec<Arc<dyn Reconciler>> = Vec::new();
    if !config.sources.compares() {
        return acc;
    }
    if let Some(api) = &services.github
        && config.sources.receive(Source::Github)
    {
        let on_github = repos.iter().filter_map(|repo| {
            let name = repo.name.as_str().parse().ok()?;
            let reading = match repo.remote {
                Some(_) => RefReading::Git,
                None => RefReading::Api,
            };
            Some((name, reading))
        });
        acc.push(Arc::new(GithubReconciler::new(
            api.clone(),
            on_github.collect(),
        )));
    }
    if let Some(api) = &surfaces.linear
        && config.sources.receive(Source::Linear)
    {
        acc.push(Arc::new(LinearReconciler::new(api.clone())));
    }
    acc
}

/// The server of repositories on GitHub, and the API that has the tokens for them.
#[derive(Clone, Debug)]
pub(crate) struct GitServer {
    base: String,
    api: ServiceApi,
}

impl GitServer {
    /// Returns the server for which a token is configured. That of the surface comes first, because it may write.
    pub(crate) fn of(
        config: &Config,
        surfaces: &SurfaceApis,
        facts: &ServiceFacts,
    ) -> Option<Self> {
        let surface = config
            .surfaces
            .github
            .as_ref()
            .map(GithubSurfaceConfig::access);
        let mut sources = config.sources.apis().into_iter();
        let source = sources.find(|(source, _)| *source == Source::Github);
        let (access, api) = match (surface, &surfaces.github, &facts.github) {
            (Some(access), Some(api), _) => (access, api),
            (_, _, Some(api)) => (source?.1, api),
            _ => return None,
        };
        Some(Self {
            base: repositories(access.base),
            api: api.clone(),
        })
    }

    /// Returns what git authenticates with for a repository; `None` if it is not on GitHub.
    pub(crate) fn token(&self, repo: &RepoName) -> Option<RemoteToken> {
        let name: GithubName = repo.as_str().parse().ok()?;
        let (api, runtime) = (self.api.clone(), Handle::try_current().ok()?);
        let read = move || read_token(&api, &name, &runtime);
        Some(RemoteToken::new(&self.base, read))
    }
}

/// Returns the token for a repository. It blocks, as git does for which it is; the requests run on the runtime.
fn read_token(api: &ServiceApi, repo: &GithubName, runtime: &Handle) -> Option<String> {
    let (send, received) = sync_channel(1);
    let (asking, name) = (api.clone(), repo.clone());
    runtime.spawn(async move {
        let token = asking.repository_token(&name).await;
        // Nothing receives it after the timeout.
        send.send(token).unwrap_or_default();
    });
    let problem = match received.recv_timeout(TOKEN_TIMEOUT) {
        Ok(Ok(token)) => return Some(token),
        Ok(Err(error)) => chain(&error),
        Err(error) => error.to_string(),
    };
    tracing::warn!(%repo, problem, "git has no token");
    None
}

/// Returns the URL of the server whose API has this one: `https://api.github.com` is that of `https://github.com`.
fn repositories(api: &str) -> String {
    let api = api.trim_end_matches('/');
    match api.strip_prefix("https://api.") {
        Some(host) => format!("https://{host}"),
        None => api.strip_suffix("/api/v3").unwrap_or(api).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_url_of_an_api_gives_that_of_the_repositories() {
        for (api, expected) in [
            ("https://api.github.com", "https://github.com"),
            ("https://api.acme.ghe.com/", "https://acme.ghe.com"),
            ("https://git.example/api/v3", "https://git.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            assert_eq!(super::repositories(api), expected);
        }
    }
}
