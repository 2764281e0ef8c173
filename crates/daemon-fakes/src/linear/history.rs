//! The history of issues: one entry for each update, with what it changed.

use std::time::Duration;

use serde_json::json;

use super::schema;
use super::state::{LinearIssue, LinearState, LinearValue};
use crate::clock::to_milliseconds_text;

/// An entry of the history of an issue.
#[derive(Debug)]
pub(crate) struct LinearHistory {
    pub(crate) id: String,
    pub(crate) issue: String,
    actor: String,
    at: Duration,
    /// The fields with a value; all others are null.
    changes: Vec<(&'static str, LinearValue)>,
}

/// Returns the fields of an entry that have a value after an update.
fn changes(before: &LinearIssue, after: &LinearIssue) -> Vec<(&'static str, LinearValue)> {
    let mut acc = Vec::new();
    let entity = |id: &Option<String>| LinearValue::Entity(id.clone());
    if before.title != after.title {
        acc.push(("fromTitle", LinearValue::Scalar(json!(before.title))));
        acc.push(("toTitle", LinearValue::Scalar(json!(after.title))));
    }
    if before.description != after.description {
        acc.push(("updatedDescription", LinearValue::Scalar(json!(true))));
    }
    if before.priority != after.priority {
        acc.push(("fromPriority", LinearValue::Scalar(json!(before.priority))));
        acc.push(("toPriority", LinearValue::Scalar(json!(after.priority))));
    }
    if before.state != after.state {
        acc.push(("fromState", entity(&Some(before.state.clone()))));
        acc.push(("toState", entity(&Some(after.state.clone()))));
    }
    if before.assignee != after.assignee {
        acc.push(("fromAssignee", entity(&before.assignee)));
        acc.push(("toAssignee", entity(&after.assignee)));
    }
    let only = |of: &[String], not_of: &[String]| -> Vec<String> {
        let ids = of.iter().filter(|id| !not_of.contains(id));
        ids.cloned().collect()
    };
    for (name, ids) in [
        ("addedLabels", only(&after.labels, &before.labels)),
        ("removedLabels", only(&before.labels, &after.labels)),
    ] {
        if !ids.is_empty() {
            acc.push((name, LinearValue::Nodes(ids)));
        }
    }
    acc
}

impl LinearState {
    /// Records an update of an issue; `None` if it changed nothing.
    pub(super) fn record(
        &mut self,
        (before, after): (&LinearIssue, &LinearIssue),
        actor: &str,
        at: Duration,
    ) {
        let changes = changes(before, after);
        if changes.is_empty() {
            return;
        }
        let entry = LinearHistory {
            id: self.next_id(),
            issue: after.id.clone(),
            actor: actor.to_owned(),
            at,
            changes,
        };
        self.history.push(entry);
    }

    pub(super) fn history_value(&self, id: &str, name: &str) -> Option<LinearValue> {
        let entry = self.history.iter().find(|it| it.id == id)?;
        let (type_name, _) = schema::field("IssueHistory", name)?;
        let mut changes = entry.changes.iter();
        if let Some((_, value)) = changes.find(|(changed, _)| *changed == name) {
            return Some(value.clone());
        }
        Some(match name {
            "id" => LinearValue::Scalar(json!(entry.id)),
            "createdAt" | "updatedAt" => LinearValue::Scalar(json!(to_milliseconds_text(entry.at))),
            "actor" => LinearValue::Entity(Some(entry.actor.clone())),
            _ if type_name.is_empty() => LinearValue::Scalar(json!(null)),
            _ => LinearValue::Entity(None),
        })
    }
}
