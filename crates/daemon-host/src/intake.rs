//! Events on their way in: the keys by which a repetition is known.

use daemon_event::{Event, Source};
use daemon_ingest::identities;
use daemon_store::{Accepted, Freshness, Identity, Matching, NewEvent};
use serde::Deserialize;

use crate::driver::repos::SAME_MOVE;

/// Puts the keys to an event by which its repetition is known: the sender's id, the body, and the move of a ref.
pub fn new_event(event: Event, matching: Matching) -> NewEvent {
    let mut keys: Vec<Identity> = identities(&event)
        .into_iter()
        .map(|key| Identity { key, within: None })
        .collect();
    if let Some(key) = move_key(&event) {
        keys.push(Identity {
            key,
            within: Some(SAME_MOVE),
        });
    }
    NewEvent {
        event,
        identities: keys,
        matching,
    }
}

/// Puts the key of its own delivery alone to an event that comes once more on purpose: its body is known.
pub(crate) fn replayed(event: Event) -> NewEvent {
    let keys = identities(&event).into_iter();
    let identities = keys
        .filter(|key| key.starts_with("id:"))
        .map(|key| Identity { key, within: None })
        .collect();
    NewEvent {
        event,
        identities,
        matching: Matching::Due,
    }
}

/// Counts what was stored of events, and what had been told before.
pub(crate) fn count(source: &'static str, accepted: &[Accepted]) {
    let n_new = accepted
        .iter()
        .filter(|one| one.freshness == Freshness::New)
        .count();
    for (name, n) in [
        ("daemon_events_accepted_total", n_new),
        ("daemon_events_duplicate_total", accepted.len() - n_new),
    ] {
        metrics::counter!(name, "source" => source).increment(u64::try_from(n).unwrap_or(0));
    }
}

#[derive(Deserialize)]
struct PushPayload {
    r#ref: String,
    before: String,
    after: String,
}

/// Names the move of a ref that a GitHub push tells, as the repository itself tells it.
fn move_key(event: &Event) -> Option<String> {
    if event.source != Source::Github || event.kind != "push" {
        return None;
    }
    let push: PushPayload = serde_json::from_slice(&event.payload).ok()?;
    let repo = event.repo.as_ref()?.folded();
    Some(format!(
        "move:{repo}:{}:{}:{}",
        push.r#ref, push.before, push.after
    ))
}
