//! Keys for the detection of duplicates.

use std::fmt::Write as _;

use daemon_event::{Event, Source};
use sha2::{Digest as _, Sha256};

use crate::cloudevents;

/// Returns the keys by which a duplicate of an event is detected: `id:<source>:<delivery>`, and
/// `body:<source>:<sha-256>` unless two events of the kind can have equal bodies.
///
/// A delivery is a duplicate if any of its keys is stored already. The body counts because delivery ids are in headers
/// that are not signed: a known body under a new id is a replay. A CloudEvent has the one key `id:cloudevents:<source> <id>`,
/// under any type and from any sender, because its sender vouches for both.
pub fn identities(event: &Event) -> Vec<String> {
    if let Some(identity) = cloudevents::identity(&event.delivery) {
        return vec![format!("id:{}:{identity}", Source::Cloudevents)];
    }
    let source = event.source;
    let mut keys = vec![format!("id:{source}:{}", event.delivery)];
    if !repeats(event) {
        let mut key = format!("body:{source}:");
        for byte in Sha256::digest(&event.payload) {
            write!(key, "{byte:02x}").expect("writing to a string does not fail");
        }
        keys.push(key);
    }
    keys
}

/// Whether two different events of this kind can have equal bodies.
fn repeats(event: &Event) -> bool {
    match event.source {
        // Slack's event ids are in the signed body, so a body cannot be replayed under another id.
        Source::Slack => true,
        // The same ref can move back and forth; the delivery ids of git events count its moves.
        Source::Git => true,
        Source::Github => {
            matches!(
                event.kind.as_str(),
                "repository_dispatch" | "workflow_dispatch" | "ping"
            ) || event.action.as_deref() == Some("rerequested")
        }
        // One that was fired or replayed without the id of its delivery.
        Source::Cloudevents => false,
        Source::Linear | Source::Sentry => false,
    }
}
