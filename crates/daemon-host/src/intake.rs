//! Events on their way in: the keys by which a repetition is known.

use daemon_event::{Event, Source};
use daemon_ingest::identities;
use daemon_store::{Identity, Matching, NewEvent};
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
