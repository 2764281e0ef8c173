//! Clients of the services that are asked for facts, composed from the configuration.

use std::path::Path;

use daemon_event::Source;
use daemon_host::config::{ApiAccess, Config};
use daemon_host::token::service_token;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_repo::RemoteToken;
use daemon_surface::{ApiBase, ApiToken, Credentials, ServiceApi, ServiceFacts, WallClock};

/// Returns the clients of the services whose tokens are configured.
pub(crate) fn services(home: &Path, config: &Config) -> Result<ServiceFacts, OpError> {
    let wrong = |message: String| OpError::new(OpErrorKind::Config, "config-invalid", message);
    let mut services = ServiceFacts::default();
    for (source, access) in config.sources.apis() {
        let base: ApiBase = access
            .base
            .parse()
            .map_err(|error| wrong(format!("sources.{source}.api_base: {error}")))?;
        let Some(token) = token_of(home, source, access)? else {
            continue;
        };
        let token: ApiToken = token
            .parse()
            .map_err(|error| wrong(format!("the token of sources.{source}: {error}")))?;
        let clock = WallClock::new(daemon_records::clock::now);
        let api = ServiceApi::new(base, Credentials::Token(token), clock).map_err(|error| {
            OpError::new(OpErrorKind::Unavailable, "no-certificates", chain(&error))
        })?;
        match source {
            Source::Github => services.github = Some(api),
            Source::Slack => services.slack = Some(api),
            // No facts are fetched from these sources.
            Source::Linear | Source::Sentry | Source::Git | Source::Cloudevents => {}
        }
    }
    Ok(services)
}

/// Returns the token of GitHub's API, which also reads the repositories of its server.
pub(crate) fn remote_token(home: &Path, config: &Config) -> Result<Option<RemoteToken>, OpError> {
    for (source, access) in config.sources.apis() {
        if source == Source::Github {
            let token = token_of(home, source, access)?;
            return Ok(token.map(|token| RemoteToken::new(&repositories(access.base), &token)));
        }
    }
    Ok(None)
}

fn token_of(home: &Path, source: Source, access: ApiAccess<'_>) -> Result<Option<String>, OpError> {
    service_token(home, source.as_str(), access)
        .map_err(|error| OpError::new(OpErrorKind::Config, "source-token", chain(&error)))
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
