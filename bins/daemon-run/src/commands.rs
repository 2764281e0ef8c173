//! The commands: one module for each, or for a family of them.

pub(crate) mod act;
pub(crate) mod agent;
pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod columns;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod corpus;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod emanate;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod fire;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod listings;
pub(crate) mod lsp;
pub(crate) mod new;
pub(crate) mod next;
pub(crate) mod preview;
pub(crate) mod prune;
pub(crate) mod reading;
pub(crate) mod roster;
pub(crate) mod rule;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod suggest;
pub(crate) mod test;
pub(crate) mod which;

use daemon_api::fire::FiredEvent;
use daemon_api::ops::Operation;
use daemon_event::Event;
use daemon_host::config::{Config, Repo};
use daemon_host::serve::Compose as _;
use daemon_repo::{Git, Repository};
use daemon_watch::corpus::EnvelopeFacts;
use serde_json::Value;

use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::known::KnownEvent;
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};

/// Fetches a stored event from the host, or from the store if no host is running.
pub(crate) async fn stored_event(id: &str, place: &Place) -> Result<KnownEvent, CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Look).await?;
    let id = which::event(id, &mut session).await?;
    let stored = session
        .call(Operation::EventGet, parameter("id", &id))
        .await?;
    let text = |name: &str| {
        stored
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let source = text("source")
        .parse()
        .map_err(|error: daemon_event::InvalidId| CommandFailure::bug(error.to_string()))?;
    let body = stored
        .get("payload")
        .map(Value::to_string)
        .unwrap_or_default()
        .into_bytes();
    let known = stored.get("enrichment").cloned().unwrap_or_default();
    let known: EnvelopeFacts = serde_json::from_value(known)
        .map_err(|error| CommandFailure::bug(format!("the enrichment of an event: {error}")))?;
    let fired = FiredEvent {
        source,
        kind: text("kind"),
        body,
        delivery: Some(text("delivery_id")),
        enrichment: known.into(),
    };
    let event = fired.event(daemon_records::clock::now())?;
    // Building the event has set the current time; the stored event has its own times.
    let at = |name: &str, other| text(name).parse().unwrap_or(other);
    let event = Event {
        time: at("time", event.time),
        received_at: at("received_at", event.received_at),
        ..event
    };
    let facts = stored.get("facts").and_then(Value::as_array);
    Ok(KnownEvent::stored(
        event,
        facts.cloned().unwrap_or_default(),
        stored.get("chain").cloned().unwrap_or_default(),
    ))
}

/// Returns the name of a repository given by name or by directory. A live host knows repositories by name only, and the
/// configuration may choose the name.
pub(crate) fn repo_name(place: &Place, given: &str) -> String {
    let path = place.directory.join(given);
    let git = Git::find(&place.path).ok().filter(|_| path.is_dir());
    let Some((git, wanted)) = git.and_then(|git| {
        let wanted = Repository::enclosing(&git, &path).ok()?;
        Some((git, wanted))
    }) else {
        return given.to_owned();
    };
    // An invalid configuration gives no name. The host may still run with an older, valid one; the repository's own name is
    // the most likely there.
    let config = Composer::new(place, Overrides::default()).load().ok();
    let known = config
        .as_ref()
        .and_then(|config| configured(&git, config, place, &wanted));
    match known {
        Some((repo, opened)) => match &repo.name {
            Some(name) => name.clone(),
            None => opened.name().to_string(),
        },
        None => wanted.name().to_string(),
    }
}

/// Returns the configuration of a repository. The configured path may be any of its work trees, so the shared git directory
/// is compared.
pub(crate) fn configured<'c>(
    git: &Git,
    config: &'c Config,
    place: &Place,
    wanted: &Repository,
) -> Option<(&'c Repo, Repository)> {
    config.repo.iter().find_map(|repo| {
        let opened = Repository::open(git, &place.directory.join(&repo.path)).ok()?;
        (opened.common_dir() == wanted.common_dir()).then_some((repo, opened))
    })
}
