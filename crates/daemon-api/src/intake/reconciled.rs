//! The keys by which a webhook and an event that a comparison made are one.
//!
//! A webhook's event has the key `told:<change>`, a comparison's event `made:<change>`. If one is stored, the other is a duplicate. Two
//! webhooks have their own keys, so that the same change may happen twice.

use daemon_event::{Event, Field, RepoName, Source, full_ref};
use daemon_ingest::identities;
use daemon_store::{Identity, Matching, NewEvent};
use jiff::SignedDuration;
use serde::Deserialize;

use super::{PushTime, linear, new_event};

/// How long a webhook that comes late is a duplicate, if its change can happen again and its payload has no time.
const LATE: SignedDuration = SignedDuration::from_mins(15);
/// The same for a webhook whose payload says when it happened: GitHub sends a delivery again for three days.
const LATEST: SignedDuration = SignedDuration::from_hours(3 * 24);
/// How much earlier than the comparison before a webhook may have come: the lists of a service lag behind its webhooks.
const LAG: SignedDuration = SignedDuration::from_mins(10);

/// A change that both a webhook and a comparison can report.
pub(super) struct Change {
    pub(super) key: String,
    /// The keys under which the other one may have reported it.
    pub(super) others: Vec<String>,
    /// Whether the change can happen again with the same key.
    pub(super) recurs: bool,
}

impl Change {
    /// Makes a change that has one key.
    pub(super) fn new(key: String, recurs: bool) -> Self {
        Self {
            others: vec![key.clone()],
            key,
            recurs,
        }
    }
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "ref")]
    name: Option<String>,
    ref_type: Option<String>,
    pull_request: Option<Closed>,
}

/// The time of a push, which payloads of moved refs and heads have.
#[derive(Deserialize)]
struct Pushed {
    repository: PushedRepository,
}

#[derive(Deserialize)]
struct PushedRepository {
    pushed_at: PushTime,
}

#[derive(Deserialize)]
struct Closed {
    closed_at: Option<String>,
}

/// Returns the keys that a webhook stores, and those under which a comparison may have reported its changes before.
pub(super) fn keys_of_webhook(event: &Event) -> (Vec<Identity>, Vec<Identity>) {
    let (mut told, mut made) = (Vec::new(), Vec::new());
    for change in changes(event) {
        told.push(Identity {
            key: format!("told:{}", change.key),
            // No webhook is a duplicate by this key, so it always names the newest.
            within: Some(SignedDuration::ZERO),
        });
        made.extend(change.others.iter().map(|key| Identity {
            key: format!("made:{key}"),
            within: change.recurs.then(|| late(event)),
        }));
    }
    (told, made)
}

/// Returns how long before a webhook an event of a comparison may have been made that reports its change, too. A comparison after the
/// change saw it, however late the webhook comes; one before it saw an earlier change with the same key.
fn late(event: &Event) -> SignedDuration {
    let pushed = serde_json::from_slice::<Pushed>(&event.payload).ok();
    let at = pushed.and_then(|pushed| pushed.repository.pushed_at.instant());
    let age = at.map(|at| event.received_at.duration_since(at) + LAG);
    age.map_or(LATE, |age| age.clamp(LATE, LATEST))
}

/// Adds to an event of a comparison the keys by which it is a duplicate of a webhook. `since_last` is the time since the comparison before,
/// after which the change happened.
pub fn reconciled(event: Event, since_last: SignedDuration) -> NewEvent {
    let changes = changes(&event);
    let ids = identities(&event).into_iter();
    // Without the hash of the body: the same change may happen again after a year.
    let ids = ids.filter(|key| key.starts_with("id:"));
    let mut keys: Vec<Identity> = ids.map(|key| Identity { key, within: None }).collect();
    let mut new = new_event(event, Matching::Due);
    let moved = new.identities.into_iter();
    keys.extend(moved.filter(|one| one.key.starts_with("github-")));
    new.happenings.retain(|one| !one.key.starts_with("told:"));
    new.counterparts = Vec::new();
    for change in changes {
        keys.push(Identity {
            key: format!("made:{}", change.key),
            within: change.recurs.then_some(LATE),
        });
        new.counterparts
            .extend(change.others.iter().map(|key| Identity {
                key: format!("told:{key}"),
                within: change.recurs.then_some(since_last + LAG),
            }));
    }
    new.identities = keys;
    new
}

/// Returns the changes that an event reports, if comparisons find such changes.
fn changes(event: &Event) -> Vec<Change> {
    match event.source {
        Source::Github => on_github(event).into_iter().collect(),
        Source::Linear => linear::changes(event),
        Source::Slack | Source::Sentry | Source::Git | Source::Cloudevents => Vec::new(),
    }
}

fn on_github(event: &Event) -> Option<Change> {
    let repo = event.repo.as_ref().map(RepoName::folded)?;
    let after = || event.facts.text(Field::After);
    let number = || event.facts.number(Field::Number);
    let payload = || serde_json::from_slice::<Payload>(&event.payload).ok();
    let (key, recurs) = match (event.kind.as_str(), event.action.as_deref()) {
        ("push", _) => {
            let name = event.facts.text(Field::Ref)?;
            (format!("push:{repo}:{name}:{}", after()?), true)
        }
        (kind @ ("create" | "delete"), _) => {
            let payload = payload()?;
            let name = full_ref(&payload.name?, payload.ref_type.as_deref());
            (format!("{kind}:{repo}:{name}"), true)
        }
        ("pull_request", Some("opened")) => (format!("opened:{repo}#{}", number()?), false),
        ("pull_request", Some("synchronize")) => {
            (format!("head:{repo}#{}:{}", number()?, after()?), true)
        }
        ("pull_request", Some("closed")) => {
            let at = payload()?.pull_request?.closed_at?;
            (format!("closed:{repo}#{}:{at}", number()?), false)
        }
        _ => return None,
    };
    Some(Change::new(key, recurs))
}

#[cfg(test)]
mod tests;
