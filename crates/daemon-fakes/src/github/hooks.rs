//! Webhooks of a repository, what was delivered, and deliveries that are requested again.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::view;
use super::webhooks::{GithubWebhook, SendWebhook};
use crate::http::HttpResponse;

type Answer = Result<HttpResponse, GithubError>;

/// A webhook of a repository.
#[derive(Clone)]
pub(crate) struct GithubHook {
    pub(crate) id: u64,
    pub(crate) url: String,
    pub(crate) send: SendWebhook,
    /// The oldest first.
    pub(crate) deliveries: Vec<GithubDelivery>,
}

impl fmt::Debug for GithubHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubHook")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A webhook that was sent, and how the receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubDelivery {
    /// The id of this attempt.
    pub id: u64,
    /// What was sent.
    pub webhook: GithubWebhook,
    /// Whether it was requested again.
    pub is_redelivery: bool,
    /// The status of the receiver; 0 if there was no response.
    pub status: u16,
    /// When it was sent.
    pub delivered_at: Duration,
}

pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    let hook = |hook: &GithubHook| {
        json!({
            "id": hook.id, "type": "Repository", "name": "web", "active": true, "events": ["*"],
            "config": {"url": hook.url, "content_type": "json", "insecure_ssl": "0"},
        })
    };
    let hooks = call.repo()?.hooks.iter().map(hook);
    Ok(call.page(&hooks.collect::<Vec<_>>()))
}

/// Returns the settings of the App's webhook.
pub(crate) fn app_config(call: &mut GithubCall<'_>) -> Answer {
    let url = &call.hook()?.url;
    let body =
        json!({"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": url});
    Ok(HttpResponse::json(200, &body))
}

/// Lists deliveries, the newest first. The cursor is the id of the first delivery of the next page.
pub(crate) fn deliveries(call: &mut GithubCall<'_>) -> Answer {
    let hook = call.hook()?;
    let parameter = |name: &str| call.request.parameter(name);
    let per_page = parameter("per_page")
        .and_then(|it| it.parse().ok())
        .unwrap_or(30);
    let per_page = usize::clamp(per_page, 1, 100);
    let cursor = parameter("cursor").and_then(|it| it.strip_prefix("v1_")?.parse::<u64>().ok());
    let newest = hook.deliveries.iter().rev();
    let mut rest = newest.skip_while(|it| cursor.is_some_and(|cursor| it.id > cursor));
    let page: Vec<Value> = rest.by_ref().take(per_page).map(summary).collect();
    let next = rest.next().map(|it| format!("v1_{}", it.id));
    let response = HttpResponse::json(200, &Value::Array(page));
    Ok(match next {
        Some(cursor) => response.with_header("Link", call.link("next", &[("cursor", cursor)])),
        None => response,
    })
}

fn summary(delivery: &GithubDelivery) -> Value {
    let body: Value = serde_json::from_str(&delivery.webhook.body).unwrap_or_default();
    let status = match delivery.status {
        0 => "failed to connect to host",
        200..300 => "OK",
        _ => "Invalid HTTP Response",
    };
    json!({
        "id": delivery.id, "guid": delivery.webhook.guid, "event": delivery.webhook.event,
        "action": body["action"], "delivered_at": view::time(delivery.delivered_at),
        "redelivery": delivery.is_redelivery, "duration": 0.1, "status": status,
        "status_code": delivery.status, "repository_id": body["repository"]["id"],
        "installation_id": body["installation"]["id"], "throttled_at": null,
    })
}

pub(crate) fn delivery(call: &mut GithubCall<'_>) -> Answer {
    let delivery = call.delivery()?;
    let mut body = summary(delivery);
    let payload: Value = serde_json::from_str(&delivery.webhook.body).unwrap_or_default();
    let headers = json!({
        "X-GitHub-Event": delivery.webhook.event, "X-GitHub-Delivery": delivery.webhook.guid,
        "Content-Type": "application/json",
    });
    body["url"] = json!(call.hook()?.url);
    body["request"] = json!({"headers": headers, "payload": payload});
    body["response"] = json!({"headers": {}, "payload": ""});
    Ok(HttpResponse::json(200, &body))
}

/// Sends a delivery again, with the same guid.
pub(crate) fn attempt(call: &mut GithubCall<'_>) -> Answer {
    let (hook, webhook) = (call.hook()?.id, call.delivery()?.webhook.clone());
    call.state.redeliveries.push((hook, webhook));
    Ok(HttpResponse::json(202, &json!({})))
}

impl GithubCall<'_> {
    /// Returns the webhook in the path, else that of the App.
    fn hook(&self) -> Result<&GithubHook, GithubError> {
        if self.repo_at.is_none() {
            let hook = self.state.app_hook.as_ref();
            return hook.ok_or_else(GithubError::not_found);
        }
        let id = self.number("hook")?;
        let found = self.repo()?.hooks.iter().find(|hook| hook.id == id);
        found.ok_or_else(GithubError::not_found)
    }

    fn delivery(&self) -> Result<&GithubDelivery, GithubError> {
        let id = self.number("id")?;
        let found = self.hook()?.deliveries.iter().find(|it| it.id == id);
        found.ok_or_else(GithubError::not_found)
    }
}
