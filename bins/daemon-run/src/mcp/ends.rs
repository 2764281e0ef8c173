//! The ends of dispatched runs, passed on to the client that dispatched them.

use std::time::Duration;

use async_trait::async_trait;
use daemon_host::control::Client;
use daemon_mcp::Notifications;
use serde_json::Value;
use tokio::sync::{Mutex, Notify, watch};

use super::parent::Parent;
use crate::place::Place;
use crate::session;

/// How often a host is looked for where none is live.
const LOOK: Duration = Duration::from_secs(5);
/// How long a dispatch waits until its end can be heard.
const HEARD: Duration = Duration::from_secs(1);

/// What the host of a home publishes, as long as there is one; a host that starts later is found.
pub(super) struct Ends {
    place: Place,
    parent: Parent,
    host: Mutex<Option<Client>>,
    /// Looks for a host at once.
    look: Notify,
    /// Whether one is listened to; changed by every look.
    is_heard: watch::Sender<bool>,
}

impl Ends {
    pub(super) fn of(place: &Place, parent: Parent) -> Self {
        Self {
            place: place.clone(),
            parent,
            host: Mutex::new(None),
            look: Notify::new(),
            is_heard: watch::Sender::new(false),
        }
    }

    /// Sees to it that what is dispatched next is heard of, if a host is live.
    pub(super) async fn ready(&self) {
        let mut looked = self.is_heard.subscribe();
        if !*looked.borrow_and_update() {
            self.look.notify_one();
            // Whatever was found: a dispatch without a host says so itself.
            drop(tokio::time::timeout(HEARD, looked.changed()).await);
        }
    }
}

#[async_trait]
impl Notifications for Ends {
    fn method(&self) -> &str {
        "run/event"
    }

    async fn next(&self) -> Option<Value> {
        let mut host = self.host.lock().await;
        loop {
            if host.is_none() {
                // What is wrong with a host is told to whoever calls a tool.
                *host = session::live(&self.place).await.unwrap_or(None);
                self.is_heard.send_replace(host.is_some());
            }
            let Some(client) = host.as_mut() else {
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = self.look.notified() => {}
                }
                continue;
            };
            match client.next_event().await {
                Ok(event) => return Some(event),
                Err(_) => *host = None,
            }
        }
    }

    fn is_for(&self, client: &str, notice: &Value) -> bool {
        notice["parent"] == self.parent.address(client)
    }
}
