//! Webhooks: what the service sends when an issue or a comment changed.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::state::{LinearComment, LinearIssue, LinearState};
use crate::clock::to_milliseconds_text;

/// A webhook that the service sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearWebhook {
    /// The header `Linear-Event`.
    pub event: String,
    /// The header `Linear-Delivery`; the same when a delivery is sent again.
    pub delivery: String,
    /// The body. The receiver of this value signs it.
    pub body: String,
}

impl LinearState {
    fn emit(&mut self, (event, action): (&str, &str), actor: &str, now: Duration, more: Value) {
        let mut body = json!({
            "action": action, "type": event, "createdAt": to_milliseconds_text(now),
            "actor": self.person(actor), "organizationId": "11110000-0000-4000-8000-0000000000ff",
            "webhookTimestamp": u64::try_from(now.as_millis()).expect("a time of this millennium"),
            "webhookId": "11110000-0000-4000-8000-0000000000fe",
        });
        body["actor"]["type"] = json!("user");
        if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
            body.extend(more);
        }
        let delivery = self.next_id();
        self.webhooks.push(LinearWebhook {
            event: event.to_owned(),
            delivery,
            body: body.to_string(),
        });
    }

    fn person(&self, id: &str) -> Value {
        let user = self.users.iter().find(|it| it.id == id);
        user.map_or(
            Value::Null,
            |user| json!({"id": user.id, "name": user.name, "email": user.email}),
        )
    }

    /// Returns an issue as webhooks show it.
    fn payload_of(&self, issue: &LinearIssue) -> Value {
        let of = |names: &[super::LinearName], id: &str| {
            let found = names.iter().find(|it| it.id == *id);
            found.map(|it| json!({"id": it.id, "color": "#bec2c8", "name": it.name}))
        };
        let mut state = of(&self.states, &issue.state).unwrap_or_default();
        let kind = self.states.iter().find(|it| it.id == issue.state);
        state["type"] = json!(kind.map(|it| &it.kind));
        let labels = issue.labels.iter().filter_map(|id| of(&self.labels, id));
        let labels: Vec<Value> = labels.collect();
        let mut data = json!({
            "id": issue.id, "identifier": self.identifier(issue), "number": issue.number,
            "title": issue.title, "description": issue.description, "priority": issue.priority,
            "createdAt": to_milliseconds_text(issue.created_at),
            "updatedAt": to_milliseconds_text(issue.updated_at),
            "stateId": issue.state, "state": state, "teamId": self.team,
            "team": {"id": self.team, "key": self.team, "name": self.team},
            "labelIds": issue.labels, "labels": labels, "creatorId": issue.creator,
            "assigneeId": issue.assignee, "url": self.url(issue), "subscriberIds": [],
        });
        if let Some(assignee) = &issue.assignee {
            data["assignee"] = self.person(assignee);
        }
        data
    }

    pub(super) fn tell_created(&mut self, issue: &LinearIssue, now: Duration) {
        let more = json!({"data": self.payload_of(issue), "url": self.url(issue)});
        self.emit(("Issue", "create"), &issue.creator, now, more);
    }

    /// Sends the webhook of an update; none if it changed nothing.
    pub(super) fn tell_updated(
        &mut self,
        (before, after): (&LinearIssue, &LinearIssue),
        actor: &str,
        now: Duration,
    ) {
        let mut from = Map::new();
        let mut changed = |name: &str, is_so: bool, value: Value| {
            if is_so {
                from.insert(name.to_owned(), value);
            }
        };
        let (title, text) = (json!(before.title), json!(before.description));
        changed("title", before.title != after.title, title);
        changed("description", before.description != after.description, text);
        let priority = json!(before.priority);
        changed("priority", before.priority != after.priority, priority);
        changed("stateId", before.state != after.state, json!(before.state));
        let assignee = json!(before.assignee);
        changed("assigneeId", before.assignee != after.assignee, assignee);
        changed(
            "labelIds",
            before.labels != after.labels,
            json!(before.labels),
        );
        let is_done = |id: &str| {
            let mut states = self.states.iter();
            states.any(|state| state.id == *id && state.kind == "completed")
        };
        // The service notes when work ended.
        let has_ended = is_done(&after.state);
        changed(
            "completedAt",
            is_done(&before.state) != has_ended,
            Value::Null,
        );
        if from.is_empty() {
            return;
        }
        let at = to_milliseconds_text(before.updated_at);
        from.insert("updatedAt".to_owned(), json!(at));
        let more =
            json!({"data": self.payload_of(after), "url": self.url(after), "updatedFrom": from});
        self.emit(("Issue", "update"), actor, now, more);
    }

    /// Sends the webhook of a comment that was written, or whose body was edited from a former one.
    pub(super) fn tell_comment(&mut self, comment: &LinearComment, former: Option<&str>) {
        let Some(issue) = self.issue(&comment.issue) else {
            return;
        };
        let data = json!({
            "id": comment.id, "body": comment.body, "issueId": issue.id, "userId": comment.user,
            "createdAt": to_milliseconds_text(comment.created_at),
            "updatedAt": to_milliseconds_text(comment.updated_at),
            "issue": {"id": issue.id, "identifier": self.identifier(issue), "title": issue.title},
            "user": self.person(&comment.user),
        });
        let mut more = json!({"data": data, "url": self.url(issue)});
        let action = match former {
            None => "create",
            Some(former) => {
                more["updatedFrom"] = json!({"body": former});
                "update"
            }
        };
        let (user, now) = (comment.user.clone(), comment.updated_at);
        self.emit(("Comment", action), &user, now, more);
    }
}
