//! The attributes of issues that a history reports: how an entry names them, and how a webhook does.

use serde_json::{Map, Value, json};

use super::person::id;

/// An attribute with a former and a later value.
struct Attribute {
    /// The member of a webhook.
    name: &'static str,
    /// The member with the whole object, if the attribute is a reference.
    object: Option<&'static str>,
    /// The members of an entry of the history.
    ends: [&'static str; 2],
}

const fn scalar(name: &'static str, from: &'static str, to: &'static str) -> Attribute {
    Attribute {
        name,
        object: None,
        ends: [from, to],
    }
}

const fn reference(
    (name, object): (&'static str, &'static str),
    from: &'static str,
    to: &'static str,
) -> Attribute {
    Attribute {
        name,
        object: Some(object),
        ends: [from, to],
    }
}

const ATTRIBUTES: &[Attribute] = &[
    reference(("stateId", "state"), "fromState", "toState"),
    reference(("assigneeId", "assignee"), "fromAssignee", "toAssignee"),
    reference(("teamId", "team"), "fromTeam", "toTeam"),
    reference(("projectId", "project"), "fromProject", "toProject"),
    reference(("cycleId", "cycle"), "fromCycle", "toCycle"),
    scalar("title", "fromTitle", "toTitle"),
    scalar("priority", "fromPriority", "toPriority"),
    scalar("estimate", "fromEstimate", "toEstimate"),
    scalar("dueDate", "fromDueDate", "toDueDate"),
];

/// The types of states in which work has ended, with the time that a webhook then reports as changed.
const ENDS: [(&str, &str); 2] = [("completed", "completedAt"), ("canceled", "canceledAt")];

/// One changed attribute of an entry.
pub(super) struct AttributeChange {
    /// The member of a webhook.
    pub(super) name: &'static str,
    /// The former values, as `updatedFrom` has them.
    pub(super) updated_from: Map<String, Value>,
}

/// Sets an issue to the state after an entry of its history, and returns what the entry changed.
pub(super) fn apply(entry: &Value, issue: &mut Value) -> Vec<AttributeChange> {
    let mut changes = Vec::new();
    for attribute in ATTRIBUTES {
        let [from, to] = attribute.ends.map(|end| &entry[end]);
        if from == to {
            continue;
        }
        attribute.set(issue, to);
        let mut updated_from = Map::new();
        updated_from.insert(attribute.name.to_owned(), attribute.value(from));
        for (kind, time) in ENDS {
            if attribute.name == "stateId" && (from["type"] == kind) != (to["type"] == kind) {
                updated_from.insert(time.to_owned(), Value::Null);
            }
        }
        changes.push(AttributeChange {
            name: attribute.name,
            updated_from,
        });
    }
    if entry["updatedDescription"] == true {
        // The entry does not have the former text.
        changes.push(change("description", Value::Null));
    }
    let before = labels_before(entry, issue);
    if let Some(before) = before {
        changes.push(change("labelIds", ids(&before)));
    }
    changes
}

/// Sets an issue to the state before an entry of its history.
pub(super) fn revert(entry: &Value, issue: &mut Value) {
    for attribute in ATTRIBUTES {
        let [from, to] = attribute.ends.map(|end| &entry[end]);
        if from != to {
            attribute.set(issue, from);
        }
    }
    if let Some(before) = labels_before(entry, issue) {
        issue["labelIds"] = ids(&before);
        issue["labels"] = before.into();
    }
}

impl Attribute {
    fn value(&self, end: &Value) -> Value {
        match self.object {
            Some(_) => id(end),
            None => end.clone(),
        }
    }

    fn set(&self, issue: &mut Value, end: &Value) {
        issue[self.name] = self.value(end);
        if let Some(object) = self.object {
            issue[object] = end.clone();
        }
    }
}

fn change(name: &'static str, from: Value) -> AttributeChange {
    AttributeChange {
        name,
        updated_from: Map::from_iter([(name.to_owned(), from)]),
    }
}

/// Returns the labels before an entry; `None` if it changed none, or the issue has more than are listed.
fn labels_before(entry: &Value, issue: &Value) -> Option<Vec<Value>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (added, removed) = (list(&entry["addedLabels"]), list(&entry["removedLabels"]));
    if added.is_empty() && removed.is_empty() {
        return None;
    }
    let is_in = |labels: &[Value], label: &Value| labels.iter().any(|one| one["id"] == label["id"]);
    let mut before = issue["labels"].as_array()?.clone();
    before.retain(|label| !is_in(&added, label) && !is_in(&removed, label));
    before.extend(removed);
    Some(before)
}

fn ids(labels: &[Value]) -> Value {
    let ids: Vec<Value> = labels.iter().map(id).collect();
    json!(ids)
}
