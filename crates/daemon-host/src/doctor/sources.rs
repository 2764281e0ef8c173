//! Checks of the sources of events: secrets of webhooks, tokens of senders and of APIs.

use std::path::Path;

use daemon_event::Source;
use daemon_ingest::SenderTokens;
use daemon_records::environment;
use daemon_records::error::chain;

use super::Check;
use crate::config::{Config, SecretPlaces};
use crate::token::{self, service_token};

/// Checks whether the webhooks of GitHub, and of every other configured source, can be verified. Secrets are read and never
/// shown.
pub fn webhook_checks(home: &Path, config: &Config) -> Vec<Check> {
    let configured = config.sources.secrets();
    let mut checks = Vec::new();
    if !configured
        .iter()
        .any(|(source, _)| *source == Source::Github)
    {
        let remedy = "set sources.github.secret_file";
        checks.push(Check::warn("github", "no webhook secret", remedy));
    }
    let configured = configured.into_iter();
    checks.extend(configured.map(|(source, places)| secret_check(home, source, places)));
    checks.extend(senders_check(home, config));
    checks
}

/// Checks the tokens of the senders of CloudEvents, if any are configured in addition to the host's own.
fn senders_check(home: &Path, config: &Config) -> Option<Check> {
    let name = Source::Cloudevents.as_str();
    config.sources.cloudevents.as_ref()?;
    // Which token is the host's own does not matter here.
    let own = SenderTokens::of_host("");
    Some(match token::senders(home, &config.sources, own) {
        Ok(senders) => Check::ok(name, format!("{} tokens of senders", senders.n_senders())),
        Err(error) => {
            let remedy = "one `name:token` per line, the token of at least 32 bytes";
            Check::fail(name, chain(&error), remedy)
        }
    })
}

fn secret_check(home: &Path, source: Source, places: SecretPlaces<'_>) -> Check {
    let name = source.as_str();
    if let Some(file) = places.file {
        let key = format!("sources.{name}.secret_file");
        match token::file_text(home, &key, file) {
            Ok(text) if text.trim().is_empty() => {
                let detail = format!("`{}` contains no secret", home.join(file).display());
                return Check::fail(name, detail, "write one secret per line into it");
            }
            Ok(_) => {}
            Err(error) => {
                return Check::fail(name, chain(&error), format!("see {key}"));
            }
        }
    }
    if let Some(variable) = places.env
        && environment::variable(variable).is_none_or(|value| value.is_empty())
    {
        let detail = format!("`{variable}` is not set");
        return Check::fail(name, detail, format!("see sources.{name}.secret_env"));
    }
    if places.file.is_none() && places.env.is_none() {
        let remedy = format!("set sources.{name}.secret_file");
        return Check::fail(name, "no webhook secret", remedy);
    }
    Check::ok(name, "a webhook secret is set")
}

/// Checks for each configured API whether its token can be read; the token is never shown.
pub fn token_checks(home: &Path, config: &Config) -> Vec<Check> {
    let apis = config.sources.apis().into_iter();
    let checks = apis.filter_map(|(source, access)| {
        let name = format!("{source} api");
        match service_token(home, source.as_str(), access) {
            Ok(Some(_)) => Some(Check::ok(
                name,
                format!("a token is set for {}", access.base),
            )),
            Ok(None) => None,
            Err(error) => Some(Check::fail(
                name,
                chain(&error),
                format!("see sources.{source}.token_file"),
            )),
        }
    });
    checks.collect()
}
