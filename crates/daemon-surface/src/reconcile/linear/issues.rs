//! Issues that were created or updated.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::person::{actor, id};
use super::{Missed, Row, attributes, history, time};
use crate::api::{ApiError, ServiceApi};

/// Lists the issues that changed, newest change first.
pub(super) const LIST: &str = "query($filter: IssueFilter, $after: String) { issues(filter: $filter, first: 50, after: $after, orderBy: updatedAt, includeArchived: true) { nodes { id identifier number title description priority estimate dueDate url createdAt updatedAt team { id key name } state { id name type } assignee { id name } creator { id name app } botActor { id name type } project { id name } cycle { id name number } labels(first: 50) { nodes { id name } pageInfo { hasNextPage endCursor } } } pageInfo { hasNextPage endCursor } } }";

/// Returns what happened to an issue after a time: its updates, each with the issue as it was then, and its creation.
pub(super) async fn missed(
    api: &ServiceApi,
    row: &Row,
    lower: Timestamp,
) -> Result<Vec<Missed>, ApiError> {
    let created_at = time(&row.object["createdAt"]);
    let mut issue = data(&row.object);
    let mut missed = Vec::new();
    // An issue without an update has no history that is of interest.
    if created_at != Some(row.updated_at) {
        for entry in history::since(api, &row.id, lower).await? {
            missed.extend(updates(&entry, &mut issue));
        }
    }
    if let Some(at) = created_at.filter(|at| *at > lower) {
        issue["updatedAt"] = row.object["createdAt"].clone();
        let creator = actor(&row.object["creator"], &row.object["botActor"]);
        missed.push(Missed {
            at,
            kind: "Issue",
            change: format!("issue:{}", row.id),
            body: body("create", at, (&issue, creator)),
        });
    }
    Ok(missed)
}

/// Returns the events of one entry, one for each attribute, and sets the issue to the state before it.
// One for each attribute, because Linear joins several updates in one entry, of which webhooks may have brought some.
fn updates(entry: &history::Entry, issue: &mut Value) -> Vec<Missed> {
    let changes = attributes::apply(&entry.row, issue);
    issue["updatedAt"] = json!(entry.at.to_string());
    let by = actor(&entry.row["actor"], &entry.row["botActor"]);
    let events = changes.into_iter().map(|change| {
        let mut body = body("update", entry.at, (issue, by.clone()));
        body["updatedFrom"] = Value::Object(change.updated_from);
        Missed {
            at: entry.at,
            kind: "Issue",
            change: format!("history:{}:{}:{}", entry.id, change.name, entry.at),
            body,
        }
    });
    let events = events.collect();
    attributes::revert(&entry.row, issue);
    events
}

/// The members that a webhook does not contain while an issue has none. A list has them as `null`.
const OMITTED: [&str; 2] = ["estimate", "dueDate"];

fn body(action: &str, at: Timestamp, (issue, actor): (&Value, Value)) -> Value {
    let mut data = issue.clone();
    if let Some(members) = data.as_object_mut() {
        members.retain(|name, value| !value.is_null() || !OMITTED.contains(&name.as_str()));
    }
    let mut body = json!({
        "action": action, "type": "Issue", "createdAt": at.to_string(), "data": data,
        "url": issue["url"],
    });
    // Without an actor conditions on it are undecided; `null` would be a value.
    if actor.is_object() {
        body["actor"] = actor;
    }
    body
}

/// Returns an issue in the form of a webhook.
fn data(object: &Value) -> Value {
    let mut data = object.clone();
    for (member, name) in [
        ("team", "teamId"),
        ("state", "stateId"),
        ("assignee", "assigneeId"),
        ("creator", "creatorId"),
        ("project", "projectId"),
        ("cycle", "cycleId"),
    ] {
        data[name] = id(&object[member]);
    }
    let labels = &object["labels"];
    let Value::Object(members) = &mut data else {
        return data;
    };
    members.remove("labels");
    members.remove("botActor");
    // Of an issue with more labels than are listed, conditions on labels are undecided.
    if labels["pageInfo"]["hasNextPage"] == false {
        let nodes = labels["nodes"].as_array().cloned().unwrap_or_default();
        let ids: Vec<Value> = nodes.iter().map(id).collect();
        members.insert("labelIds".to_owned(), ids.into());
        members.insert("labels".to_owned(), nodes.into());
    }
    data
}
