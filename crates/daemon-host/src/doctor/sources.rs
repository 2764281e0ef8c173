//! Checks of the sources of events: secrets of webhooks, tokens of senders and of APIs, repositories that are not watched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use daemon_event::{Event, RepoName, Source};
use daemon_ingest::SenderTokens;
use daemon_records::environment;
use daemon_records::error::chain;
use daemon_store::{MAX_PAGE, Query, Store, StoreError};
use jiff::Timestamp;

use super::Check;
use crate::config::{Config, SecretPlaces};
use crate::driver::Host;
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

/// The maximum number of events that [`unwatched_check`] reads.
const READ: usize = 2 * MAX_PAGE as usize;
/// The maximum number of repositories that it names.
const NAMED: usize = 5;
/// The maximum length of a name in its text, in characters.
const NAME_LENGTH: usize = 100;

/// Warns of webhooks of repositories that are not watched, which are stored and wake nothing. `None` if the newest events
/// contain no such webhook, or if the store cannot be read, which another check reports.
pub(super) async fn unwatched_check(host: &Host) -> Option<Check> {
    let runtime = host.runtime();
    let repos = runtime.parts.repos.iter();
    let watched: BTreeSet<String> = repos.map(|repo| repo.name.folded()).collect();
    let events = newest(&*host.store).await.ok()?;
    let mut found: BTreeMap<String, (usize, Timestamp)> = BTreeMap::new();
    for event in &events {
        let name = event.repo.as_ref().map(RepoName::folded);
        let Some(name) =
            name.filter(|name| event.source == Source::Github && !watched.contains(name))
        else {
            continue;
        };
        let (n, last) = found.entry(name).or_insert((0, event.received_at));
        *n += 1;
        *last = (*last).max(event.received_at);
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, (n, last))| std::cmp::Reverse((*n, *last)));
    let n_more = found.len().saturating_sub(NAMED);
    let described = found.iter().take(NAMED).map(|(name, (n, last))| {
        // The sender chose the name.
        let name: String = name.escape_debug().take(NAME_LENGTH).collect();
        format!("`{name}` {n}, the last at {last}")
    });
    let mut described: Vec<String> = described.collect();
    if described.is_empty() {
        return None;
    }
    described.extend((n_more > 0).then(|| format!("{n_more} more repositories")));
    let detail = format!(
        "webhooks of repositories that are not watched, among the newest {} events: {}",
        events.len(),
        described.join("; ")
    );
    let remedy = "watch the repository with `[[repo]]` and this `name`, or remove its webhook";
    Some(Check::warn("unwatched", detail, remedy))
}

/// Returns the newest events, at most [`READ`] and a page more.
async fn newest(store: &dyn Store) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::new();
    let mut query = Query {
        limit: MAX_PAGE,
        ..Query::default()
    };
    loop {
        let page = store.events(&query).await?;
        events.extend(page.rows.into_iter().map(|row| row.event));
        query.after = page.next;
        if query.after.is_none() || events.len() >= READ {
            return Ok(events);
        }
    }
}
