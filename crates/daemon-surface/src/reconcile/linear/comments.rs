//! Comments that were written, edited or resolved.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::person::{actor, id};
use super::{Missed, Row, time};

/// Lists the comments that changed, newest change first.
pub(super) const LIST: &str = "query($filter: CommentFilter, $after: String) { comments(filter: $filter, first: 100, after: $after, orderBy: updatedAt) { nodes { id body url createdAt updatedAt editedAt resolvedAt parent { id } user { id name app } botActor { id name type } issue { id identifier title } } pageInfo { hasNextPage endCursor } } }";

/// Returns what happened to a comment after a time.
pub(super) fn missed(row: &Row, lower: Timestamp) -> Vec<Missed> {
    let object = &row.object;
    // Comments on documents and project updates are not compared.
    if !object["issue"].is_object() {
        return Vec::new();
    }
    let mut missed = Vec::new();
    for (member, action, updated_from) in [
        ("createdAt", "create", Value::Null),
        // The list has neither the former text nor the former value.
        ("editedAt", "update", json!({"body": null})),
        ("resolvedAt", "update", json!({"resolvedAt": null})),
    ] {
        let Some(at) = time(&object[member]).filter(|at| *at > lower) else {
            continue;
        };
        let mut body = json!({
            "action": action, "type": "Comment", "createdAt": object[member], "url": object["url"],
            "data": data(object),
        });
        let author = actor(&object["user"], &object["botActor"]);
        // Another person may resolve a comment, and the list does not name that person.
        if member != "resolvedAt" && author.is_object() {
            body["actor"] = author;
        }
        if updated_from.is_object() {
            body["updatedFrom"] = updated_from;
        }
        let id = &row.id;
        let change = match action {
            "create" => format!("comment:{id}"),
            _ => format!("comment:{id}:{member}:{at}"),
        };
        missed.push(Missed {
            at,
            kind: "Comment",
            change,
            body,
        });
    }
    missed
}

fn data(object: &Value) -> Value {
    json!({
        "id": object["id"], "body": object["body"], "url": object["url"],
        "createdAt": object["createdAt"], "updatedAt": object["updatedAt"],
        "editedAt": object["editedAt"], "resolvedAt": object["resolvedAt"],
        "issueId": id(&object["issue"]), "issue": object["issue"],
        "parentId": id(&object["parent"]), "userId": id(&object["user"]), "user": object["user"],
    })
}
