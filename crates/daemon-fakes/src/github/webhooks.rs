//! Webhooks: what the service sends when something changed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call::GithubCall;

/// A webhook that the service sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubWebhook {
    /// The header `X-GitHub-Event`.
    pub event: String,
    /// The header `X-GitHub-Delivery`; the same when a delivery is sent again.
    pub guid: String,
    /// The body. The receiver of this value signs it.
    pub body: String,
}

/// Sends a webhook and returns the status of the response, or 0 if there was none.
pub(crate) type SendWebhook = Arc<dyn Fn(&GithubWebhook) -> u16 + Send + Sync>;

/// An event that is sent after the state is unlocked.
#[derive(Debug, Clone)]
pub(crate) struct GithubEvent {
    pub(crate) repo_at: usize,
    pub(crate) event: String,
    pub(crate) payload: Value,
}

impl GithubCall<'_> {
    /// Records an event of the repository of this call. Requests without a repository cause none.
    pub(crate) fn emit(&mut self, event: &str, mut payload: Value) {
        let (Some(repo_at), Ok(repo)) = (self.repo_at, self.repo()) else {
            return;
        };
        payload["repository"] = self.view().repo(repo);
        payload["sender"] = self.view().user(&self.caller.login);
        if let Some(id) = self.caller.installation {
            payload["installation"] = json!({"id": id});
        }
        self.state.events.push(GithubEvent {
            repo_at,
            event: event.to_owned(),
            payload,
        });
    }
}
