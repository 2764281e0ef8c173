//! Clients of the services that are asked for facts, composed from the configuration.

use std::path::Path;

use daemon_event::Source;
use daemon_host::config::Config;
use daemon_host::token::service_token;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_surface::{ApiBase, ApiToken, ServiceApi, ServiceFacts};

/// Returns the clients of the services whose tokens are configured.
pub(crate) fn services(home: &Path, config: &Config) -> Result<ServiceFacts, OpError> {
    let wrong = |message: String| OpError::new(OpErrorKind::Config, "config-invalid", message);
    let mut services = ServiceFacts::default();
    for (source, access) in config.sources.apis() {
        let base: ApiBase = access
            .base
            .parse()
            .map_err(|error| wrong(format!("sources.{source}.api_base: {error}")))?;
        let token = service_token(home, source.as_str(), access)
            .map_err(|error| OpError::new(OpErrorKind::Config, "source-token", chain(&error)))?;
        let Some(token) = token else { continue };
        let token: ApiToken = token
            .parse()
            .map_err(|error| wrong(format!("the token of sources.{source}: {error}")))?;
        let api = ServiceApi::new(base, token).map_err(|error| {
            OpError::new(OpErrorKind::Unavailable, "no-certificates", chain(&error))
        })?;
        match source {
            Source::Github => services.github = Some(api),
            Source::Slack => services.slack = Some(api),
            // No facts are fetched from these sources.
            Source::Linear | Source::Sentry | Source::Git => {}
        }
    }
    Ok(services)
}
