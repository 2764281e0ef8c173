//! The configuration of the HTTP listener: its token, its webhook sources and the host names that it accepts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use daemon_api::http::Hosts;
use daemon_api::{TokenHolder, TokenHolders};
use daemon_event::Source;
use daemon_ingest::{
    CloudEvents, Github, Linear, Secrets, SenderTokens, Sentry, Slack, WebhookSource,
};
use daemon_records::environment;
use daemon_records::error::{OpError, OpErrorKind, chain};

use super::HostInputs;
use crate::config::{Config, SecretPlaces};
use crate::home::{Home, MIN_TOKEN_BYTES};
use crate::token;

/// The secrets that the HTTP listener checks requests against.
pub(super) struct ListenerSecrets {
    pub(super) token: String,
    /// The same token, as one of those by which CloudEvents are accepted.
    pub(super) own: SenderTokens,
    pub(super) sources: BTreeMap<Source, Arc<dyn WebhookSource>>,
    /// The other tokens, which a reload replaces.
    pub(super) holders: TokenHolders,
}

impl ListenerSecrets {
    /// Reads the token, which is created if it is missing, and the secrets of webhooks.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub(super) fn new(start: &HostInputs) -> Result<Self, OpError> {
        let (home, config) = (&start.home, &start.config);
        let token = home.token(&own_file(config)).map_err(config_error)?;
        let own = SenderTokens::of_host(&token);
        let others = TokenHolders::default();
        others.replace(holders(home, config)?);
        Ok(Self {
            holders: others,
            sources: sources(home, config, &own)?,
            token,
            own,
        })
    }
}

/// Returns the file of the owner's token, relative to the home.
fn own_file(config: &Config) -> PathBuf {
    let file = config.host.token_file.clone();
    file.unwrap_or_else(|| PathBuf::from("token"))
}

/// Reads the tokens that are not the owner's.
///
/// # Errors
/// If one cannot be read, is short, is the token of two holders, or is the owner's, which may do everything.
pub(super) fn holders(home: &Home, config: &Config) -> Result<Vec<(String, TokenHolder)>, OpError> {
    let wrong = |message: String| OpError::new(OpErrorKind::Config, "token", message);
    // Without the file there is no owner's token that could be the same: the host makes a new one.
    let own = token::of_file(home.root(), "the token".to_owned(), &own_file(config)).ok();
    let mut acc: Vec<(String, TokenHolder)> = Vec::new();
    for row in &config.token {
        let key = format!("token `{}`: file", row.name);
        let token = token::of_file(home.root(), key.clone(), &row.file)
            .map_err(|error| wrong(chain(&error)))?;
        if token.len() < MIN_TOKEN_BYTES {
            let message = format!("{key}: a token has at least {MIN_TOKEN_BYTES} bytes");
            return Err(wrong(message));
        }
        if own.as_ref() == Some(&token) {
            let message = format!("{key}: it is the token of the host, which may do everything");
            return Err(wrong(message));
        }
        if acc.iter().any(|(known, _)| *known == token) {
            return Err(wrong(format!("{key}: another name has the same token")));
        }
        let holder = TokenHolder {
            actor: row.name.clone(),
            scope: row.scope.into(),
        };
        acc.push((token, holder));
    }
    Ok(acc)
}

fn config_error(error: crate::home::HomeError) -> OpError {
    OpError::new(OpErrorKind::Config, "token", chain(&error))
}

/// Returns the names by which requests may address a listener.
pub(super) fn hosts(bound: SocketAddr) -> Hosts {
    if !bound.ip().is_loopback() {
        // Its network decides the name of a public listener, and every route requires the token.
        return Hosts::Any;
    }
    let port = bound.port();
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let with_port = names
        .iter()
        .map(|name| format!("{name}:{port}"))
        .chain([bound.to_string()]);
    // Clients omit the default port of HTTP.
    let without = names
        .iter()
        .filter(|_| port == 80)
        .map(|name| (*name).to_owned());
    Hosts::These(with_port.chain(without).collect())
}

/// Creates the webhook sources that have secrets, and that of CloudEvents, which the host's own token is enough for.
pub(super) fn sources(
    home: &Home,
    config: &Config,
    own: &SenderTokens,
) -> Result<BTreeMap<Source, Arc<dyn WebhookSource>>, OpError> {
    let mut sources: BTreeMap<Source, Arc<dyn WebhookSource>> = BTreeMap::new();
    let senders = token::senders(home.root(), &config.sources, own.clone());
    let senders = senders
        .map_err(|error| OpError::new(OpErrorKind::Config, "source-token", chain(&error)))?;
    sources.insert(Source::Cloudevents, Arc::new(CloudEvents::new(senders)));
    for (name, places) in config.sources.secrets() {
        let secrets = secrets(home, name, places)?;
        let source: Arc<dyn WebhookSource> = match name {
            Source::Github => Arc::new(Github::new(secrets)),
            Source::Slack => Arc::new(Slack::new(secrets)),
            Source::Sentry => Arc::new(Sentry::new(secrets)),
            Source::Linear => {
                let late = config.sources.linear.as_ref();
                let linear = Linear::new(secrets);
                match late.and_then(|linear| linear.accept_late) {
                    Some(late) => Arc::new(linear.accepting_late(late.unsigned())),
                    None => Arc::new(linear),
                }
            }
            // Git sends no webhooks, and CloudEvents are signed by none.
            Source::Git | Source::Cloudevents => continue,
        };
        sources.insert(name, source);
    }
    Ok(sources)
}

/// Reads the secrets of a source; at least one is required.
fn secrets(home: &Home, name: Source, places: SecretPlaces<'_>) -> Result<Secrets, OpError> {
    let wrong = |message: String| OpError::new(OpErrorKind::Config, "source-secret", message);
    let mut secrets: Vec<String> = Vec::new();
    if let Some(file) = places.file {
        let key = format!("sources.{name}.secret_file");
        let text =
            token::file_text(home.root(), &key, file).map_err(|error| wrong(chain(&error)))?;
        // A line each: while a secret is rotated, deliveries with the old one and the new one are accepted.
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        secrets.extend(lines.map(str::to_owned));
    }
    if let Some(variable) = places.env {
        let value = environment::variable(variable).and_then(|value| value.into_string().ok());
        secrets.push(value.ok_or_else(|| {
            wrong(format!(
                "sources.{name}.secret_env: `{variable}` is not set"
            ))
        })?);
    }
    let secrets =
        Secrets::new(secrets).map_err(|error| wrong(format!("sources.{name}: {error}")))?;
    #[cfg(feature = "internal-testing")]
    if daemon_records::failpoint::is_planted("compare-without-length") {
        return Ok(secrets.comparing_any_length());
    }
    #[cfg(feature = "internal-testing")]
    if daemon_records::failpoint::is_planted("skip-freshness") {
        return Ok(secrets.accepting_any_age());
    }
    Ok(secrets)
}
