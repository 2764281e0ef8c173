//! By what a repetition is known.

use std::fmt::Write as _;

use daemon_event::{Event, Source};
use sha2::{Digest as _, Sha256};

/// Returns the keys by which a repetition of an event is known: `id:<source>:<delivery>`, and
/// `body:<source>:<sha-256>` unless bodies of its kind repeat by their nature.
///
/// A second delivery with any key that is stored is a duplicate, whatever the rest of it says: a
/// retry header proves nothing, and a known body under a fresh id is a replay.
pub fn identities(event: &Event) -> Vec<String> {
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

/// Tells whether two happenings of a kind may have equal bodies.
fn repeats(event: &Event) -> bool {
    match event.source {
        // Its ids are part of the signed body, so that a body does not return under another.
        Source::Slack => true,
        // References are counted; see the delivery ids of git events.
        Source::Git => true,
        Source::Github => {
            matches!(
                event.kind.as_str(),
                "repository_dispatch" | "workflow_dispatch" | "ping"
            ) || event.action.as_deref() == Some("rerequested")
        }
        Source::Linear | Source::Sentry => false,
    }
}
