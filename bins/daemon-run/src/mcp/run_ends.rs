//! Notifies an MCP client of the ends of the runs that it dispatched.

use std::time::Duration;

use async_trait::async_trait;
use daemon_api::control::Client;
use daemon_mcp::Notifications;
use serde_json::Value;
use tokio::sync::{Mutex, Notify, watch};

use super::parent::Parent;
use crate::place::Place;
use crate::session;

/// How often a connection to a host is tried while none is running.
const RECONNECT: Duration = Duration::from_secs(5);
/// How long a dispatch waits for the subscription to events.
const SUBSCRIBE: Duration = Duration::from_secs(1);

/// The events of the home's host. Connects again when a host is started later.
pub(super) struct RunEnds {
    place: Place,
    parent: Parent,
    host: Mutex<Option<Client>>,
    /// Wakes `next` to try a connection at once.
    reconnect: Notify,
    /// Whether a host is connected; sent after every attempt.
    is_connected: watch::Sender<bool>,
}

impl RunEnds {
    pub(super) fn of(place: &Place, parent: Parent) -> Self {
        Self {
            place: place.clone(),
            parent,
            host: Mutex::new(None),
            reconnect: Notify::new(),
            is_connected: watch::Sender::new(false),
        }
    }

    /// Waits until the events of a running host are received, so that the end of the next dispatch is not missed.
    pub(super) async fn ready(&self) {
        let mut connected = self.is_connected.subscribe();
        if !*connected.borrow_and_update() {
            self.reconnect.notify_one();
            // Without a connection the dispatch itself fails and reports the reason.
            drop(tokio::time::timeout(SUBSCRIBE, connected.changed()).await);
        }
    }
}

#[async_trait]
impl Notifications for RunEnds {
    fn method(&self) -> &str {
        "run/event"
    }

    async fn next(&self) -> Option<Value> {
        let mut host = self.host.lock().await;
        loop {
            if host.is_none() {
                // Why a host cannot be reached is reported to the next call of a tool, not here.
                *host = session::live(&self.place).await.unwrap_or(None);
                self.is_connected.send_replace(host.is_some());
            }
            let Some(client) = host.as_mut() else {
                tokio::select! {
                    () = tokio::time::sleep(RECONNECT) => {}
                    () = self.reconnect.notified() => {}
                }
                continue;
            };
            match client.next_event().await {
                Ok(event) => return Some(event),
                // The host has stopped or restarted, so the next iteration connects again.
                Err(_) => *host = None,
            }
        }
    }

    fn is_for(&self, client: &str, notice: &Value) -> bool {
        notice["parent"] == self.parent.address(client)
    }
}
