//! One module per command, or per family of commands.

pub(crate) mod act;
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
pub(crate) mod imagined;
pub(crate) mod lint;
pub(crate) mod listings;
pub(crate) mod new;
pub(crate) mod next;
pub(crate) mod reading;
pub(crate) mod rule;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod suggest;
pub(crate) mod test;

use daemon_event::Event;
use daemon_host::config::{Config, Repo};
use daemon_host::fire::FiredEvent;
use daemon_host::ops::Operation;
use daemon_host::serve::Compose as _;
use daemon_repo::{Git, Repository};
use daemon_watch::corpus::EnvelopeFacts;
use serde_json::Value;

use crate::compose::{Composer, Overrides};
use crate::failure::Failure;
use crate::known::KnownEvent;
use crate::place::Place;
use crate::session::{Intent, Session, parameter};

/// Reads a stored event, through the host or from the store.
pub(crate) async fn stored_event(id: &str, place: &Place) -> Result<KnownEvent, Failure> {
    let mut session = Session::open(place, Intent::Look).await?;
    let stored = session
        .call(Operation::EventGet, parameter("id", id))
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
        .map_err(|error: daemon_event::InvalidId| Failure::bug(error.to_string()))?;
    let body = stored
        .get("payload")
        .map(Value::to_string)
        .unwrap_or_default()
        .into_bytes();
    let known = stored.get("enrichment").cloned().unwrap_or_default();
    let known: EnvelopeFacts = serde_json::from_value(known)
        .map_err(|error| Failure::bug(format!("what is known of an event: {error}")))?;
    let fired = FiredEvent {
        source,
        kind: text("kind"),
        body,
        delivery: Some(text("delivery_id")),
        enrichment: known.into(),
    };
    let event = fired.event(daemon_host::random::now())?;
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
    ))
}

/// Names a repository for a live host: a directory becomes its repository's name, which a configuration may have chosen.
pub(crate) fn repo_name(place: &Place, given: &str) -> String {
    let path = place.directory.join(given);
    let git = Git::find(&place.path).ok().filter(|_| path.is_dir());
    let Some((git, wanted)) = git.and_then(|git| {
        let wanted = Repository::enclosing(&git, &path).ok()?;
        Some((git, wanted))
    }) else {
        return given.to_owned();
    };
    // A configuration that was spoilt names nothing: the repository's own name is the best guess then.
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

/// Finds what a configuration says of a repository, whichever of its work trees it names.
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
