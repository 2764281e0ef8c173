//! Reminders: announced to clients, or sent to their conversations, when they are due.

use std::sync::Arc;
use std::time::Duration;

use daemon_agent::{Recipient, Reminder};
use daemon_records::error::chain;
use serde_json::{Value, json};

use super::Host;

/// How long the loop waits at most: a clock that was set makes reminders due without a sign.
const LONGEST: Duration = Duration::from_secs(30);

/// Announces reminders until the host stops.
pub(super) async fn run(host: Arc<Host>) {
    let conversations = &host.conversations;
    let events = host.runs().context.emanations.events();
    while !host.stop().is_cancelled() {
        // Awaited from before the reminders are read: a change in between would be missed otherwise.
        let changed = conversations.reminders_changed();
        let fired = conversations.fire_reminders().await;
        let wait = match fired {
            Ok(due) => {
                for reminder in due {
                    // Sending fails if no client is connected: the notice keeps the reminder.
                    let n_clients = events.send(Arc::new(event(&reminder))).unwrap_or(0);
                    tracing::debug!(reminder = reminder.id, clients = n_clients, "reminded");
                }
                until_next(&host).await
            }
            Err(error) => {
                tracing::debug!(error = chain(&error), "no reminder is announced");
                LONGEST
            }
        };
        tokio::select! {
            () = host.stop().cancelled() => {}
            () = changed => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn until_next(host: &Host) -> Duration {
    let Some(next) = host.conversations.next_reminder().await else {
        return LONGEST;
    };
    let wait = Duration::try_from(next.duration_since(host.now())).unwrap_or_default();
    wait.min(LONGEST)
}

/// Returns the event of a reminder of a client.
fn event(reminder: &Reminder) -> Value {
    let parent = match &reminder.recipient {
        Recipient::Parent(parent) => Some(parent),
        Recipient::Conversation { .. } => None,
    };
    let id = reminder.id;
    json!({
        "event_id": format!("reminder_{id}"),
        "source": "cron",
        "ref_id": id.to_string(),
        "parent": parent,
        "status": "due",
        "at": reminder.at.to_string(),
        "body": reminder.text,
        "idempotency_key": format!("reminder:{id}"),
    })
}
