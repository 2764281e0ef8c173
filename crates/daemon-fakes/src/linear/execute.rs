//! Carries out operations: fields, selections, lists and mutations.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::error::LinearError;
use super::graphql::{GraphqlField, GraphqlOperation};
use super::state::{LinearComment, LinearState, LinearValue};
use super::{filter, schema};

const DEFAULT_PAGE: u64 = 50;
const MAX_PAGE: u64 = 250;

/// One request of a user.
pub(crate) struct LinearCall<'c> {
    pub(crate) state: &'c mut LinearState,
    pub(crate) user: String,
    pub(crate) now: Duration,
}

type Answer = Result<Value, LinearError>;

impl LinearCall<'_> {
    pub(crate) fn execute(&mut self, operation: &GraphqlOperation) -> Answer {
        validate(operation.root, &operation.fields)?;
        let mut acc = Map::new();
        for field in &operation.fields {
            let value = self.root_field(operation.root, field);
            acc.insert(
                field.alias.clone(),
                value.map_err(|error| error.at(&field.alias))?,
            );
        }
        Ok(Value::Object(acc))
    }

    fn root_field(&mut self, root: &str, field: &GraphqlField) -> Answer {
        let id = || {
            let id = field.arguments.get("id").and_then(Value::as_str);
            id.ok_or_else(|| required(field, "id"))
        };
        let (type_name, _) = schema::field(root, &field.name).unwrap_or_default();
        match field.name.as_str() {
            "__typename" => Ok(json!(root)),
            "viewer" => self.entity("User", &self.user, &field.fields),
            "issue" => {
                let issue = self.state.issue(id()?).map(|issue| issue.id.clone());
                let issue = issue.ok_or_else(|| LinearError::not_found("Issue"))?;
                self.entity("Issue", &issue, &field.fields)
            }
            "user" | "comment" => {
                let id = id()?.to_owned();
                if !self.state.all(type_name).contains(&id) {
                    return Err(LinearError::not_found(type_name));
                }
                self.entity(type_name, &id, &field.fields)
            }
            "commentCreate" => self.comment_create(field),
            "commentUpdate" => self.comment_update(id()?, field),
            "issueUpdate" => self.issue_update(id()?, field),
            _ => {
                let item = type_name.trim_end_matches("Connection");
                self.list(item, self.state.all(item), field)
            }
        }
    }

    /// Returns the selected fields of an entity.
    fn entity(&self, of: &str, id: &str, fields: &[GraphqlField]) -> Answer {
        let mut acc = Map::new();
        for field in fields {
            let (type_name, _) = schema::field(of, &field.name).unwrap_or_default();
            let value = match self.state.value(of, id, &field.name) {
                None if field.name == "__typename" => json!(of),
                None | Some(LinearValue::Entity(None)) => Value::Null,
                Some(LinearValue::Scalar(value)) => value,
                Some(LinearValue::Entity(Some(other))) => {
                    self.entity(type_name, &other, &field.fields)?
                }
                Some(LinearValue::List(ids)) => {
                    self.list(type_name.trim_end_matches("Connection"), ids, field)?
                }
                Some(LinearValue::Nodes(ids)) => {
                    let nodes = ids.iter();
                    let nodes = nodes.map(|id| self.entity(type_name, id, &field.fields));
                    Value::Array(nodes.collect::<Result<_, _>>()?)
                }
            };
            acc.insert(field.alias.clone(), value);
        }
        Ok(Value::Object(acc))
    }

    /// Returns one page of a list, the newest first as the service sorts by creation, with a cursor that is the id of an entity.
    fn list(&self, of: &str, ids: Vec<String>, list: &GraphqlField) -> Answer {
        let argument = |name: &str| list.arguments.get(name).unwrap_or(&Value::Null);
        let mut met = Vec::new();
        for id in ids {
            if filter::meets(self.state, of, &id, argument("filter"))? {
                met.push(id);
            }
        }
        if argument("orderBy") == "updatedAt" {
            let time = |id: &String| match self.state.value(of, id, "updatedAt") {
                Some(LinearValue::Scalar(Value::String(time))) => time,
                _ => String::new(),
            };
            met.sort_by_key(time);
        }
        met.reverse();
        let begin = match argument("after").as_str() {
            None => 0,
            Some(cursor) => {
                let unknown = || LinearError::input("Invalid cursor");
                met.iter().position(|id| id == cursor).ok_or_else(unknown)? + 1
            }
        };
        let first = argument("first").as_u64().unwrap_or(DEFAULT_PAGE);
        if first > MAX_PAGE {
            return Err(LinearError::input("Argument Validation Error"));
        }
        let first = usize::try_from(first).expect("a page has at most 250 entities");
        let end = begin.saturating_add(first).min(met.len());
        let page = &met[begin..end];
        let mut acc = Map::new();
        for field in &list.fields {
            let value = match field.name.as_str() {
                "nodes" => {
                    let nodes = page.iter().map(|id| self.entity(of, id, &field.fields));
                    Value::Array(nodes.collect::<Result<_, _>>()?)
                }
                "pageInfo" => {
                    let all = json!({
                        "hasNextPage": end < met.len(), "hasPreviousPage": begin > 0,
                        "startCursor": page.first(), "endCursor": page.last(),
                    });
                    let fields = field.fields.iter();
                    let fields = fields.map(|it| (it.alias.clone(), all[&it.name].clone()));
                    Value::Object(fields.collect())
                }
                _ => json!(format!("{of}Connection")),
            };
            acc.insert(field.alias.clone(), value);
        }
        Ok(Value::Object(acc))
    }

    /// Returns what a mutation answers with.
    fn payload(&self, of: &str, id: &str, field: &GraphqlField) -> Answer {
        let mut acc = Map::new();
        for selected in &field.fields {
            let value = match selected.name.as_str() {
                "success" => json!(true),
                "lastSyncId" => json!(self.state.last_id),
                "__typename" => json!(format!("{of}Payload")),
                _ => self.entity(of, id, &selected.fields)?,
            };
            acc.insert(selected.alias.clone(), value);
        }
        Ok(Value::Object(acc))
    }

    fn comment_create(&mut self, field: &GraphqlField) -> Answer {
        let input = input(field, "CommentCreateInput")?;
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let body = text("body").filter(|body| !body.is_empty());
        let body = body.ok_or_else(|| LinearError::input("Argument Validation Error"))?;
        let issue = text("issueId").and_then(|id| self.state.issue(id));
        let issue = issue
            .ok_or_else(|| LinearError::not_found("Issue"))?
            .id
            .clone();
        let id = match text("id") {
            None => self.state.next_id(),
            Some(id) if !is_uuid(id) => {
                return Err(LinearError::input("Argument Validation Error"));
            }
            Some(id) if self.state.comments.iter().any(|it| it.id == id) => {
                return Err(LinearError::input("conflict on insert of Comment"));
            }
            Some(id) => id.to_owned(),
        };
        let comment = LinearComment {
            id: id.clone(),
            issue: issue.clone(),
            user: self.user.clone(),
            body: body.to_owned(),
            created_at: self.now,
            updated_at: self.now,
        };
        self.state.tell_comment(&comment, None);
        self.state.comments.push(comment);
        self.touch(&issue);
        self.payload("Comment", &id, field)
    }

    fn comment_update(&mut self, id: &str, field: &GraphqlField) -> Answer {
        let input = input(field, "CommentUpdateInput")?;
        let now = self.now;
        let found = self.state.comments.iter_mut().find(|it| it.id == id);
        let comment = found.ok_or_else(|| LinearError::not_found("Comment"))?;
        if let Some(body) = input.get("body").and_then(Value::as_str) {
            let former = std::mem::replace(&mut comment.body, body.to_owned());
            comment.updated_at = now;
            let comment = comment.clone();
            self.state.tell_comment(&comment, Some(&former));
        }
        self.payload("Comment", id, field)
    }

    fn issue_update(&mut self, id: &str, field: &GraphqlField) -> Answer {
        let input = input(field, "IssueUpdateInput")?;
        let missing = || LinearError::not_found("Issue");
        let mut issue = self.state.issue(id).ok_or_else(missing)?.clone();
        for (name, value) in &input {
            let text = || value.as_str().map(str::to_owned);
            let invalid = || LinearError::input("Argument Validation Error");
            let known = |of: &str| {
                let found = text().filter(|id| self.state.all(of).contains(id));
                found.ok_or_else(|| LinearError::not_found(of))
            };
            let labels = || {
                let ids = value.as_array().ok_or_else(invalid)?.iter();
                let ids = ids.map(|id| id.as_str().unwrap_or_default().to_owned());
                let ids: Vec<String> = ids.collect();
                let all = self.state.all("IssueLabel");
                let is_known = ids.iter().all(|id| all.contains(id));
                is_known
                    .then_some(ids)
                    .ok_or_else(|| LinearError::not_found("IssueLabel"))
            };
            match name.as_str() {
                "title" => issue.title = text().ok_or_else(invalid)?,
                "description" => issue.description = text().unwrap_or_default(),
                "priority" => {
                    let priority = value.as_u64().filter(|priority| *priority <= 4);
                    issue.priority = priority.ok_or_else(invalid)?;
                }
                "stateId" => issue.state = known("WorkflowState")?,
                "assigneeId" if value.is_null() => issue.assignee = None,
                "assigneeId" => issue.assignee = Some(known("User")?),
                "labelIds" => issue.labels = labels()?,
                "addedLabelIds" => {
                    let added = labels()?
                        .into_iter()
                        .filter(|id| !issue.labels.contains(id));
                    let added: Vec<String> = added.collect();
                    issue.labels.extend(added);
                }
                _ => {
                    let removed = labels()?;
                    issue.labels.retain(|id| !removed.contains(id));
                }
            }
        }
        let id = issue.id.clone();
        let mut before = issue.clone();
        for stored in self.state.issues.iter_mut().filter(|it| it.id == id) {
            before = std::mem::replace(stored, issue.clone());
        }
        issue.updated_at = self.now;
        self.touch(&id);
        let (actor, now) = (self.user.clone(), self.now);
        self.state.record((&before, &issue), &actor, now);
        self.state.tell_updated((&before, &issue), &actor, now);
        self.payload("Issue", &id, field)
    }

    fn touch(&mut self, issue: &str) {
        for found in self.state.issues.iter_mut().filter(|it| it.id == issue) {
            found.updated_at = self.now;
        }
    }
}

/// Checks that the schema has every selected field and argument, before anything is carried out.
fn validate(of: &str, fields: &[GraphqlField]) -> Result<(), LinearError> {
    for field in fields.iter().filter(|field| field.name != "__typename") {
        let name = &field.name;
        let unknown =
            || LinearError::validation(format!("Cannot query field \"{name}\" on type \"{of}\"."));
        let (type_name, arguments) = schema::field(of, name).ok_or_else(unknown)?;
        if let Some(argument) = field
            .arguments
            .keys()
            .find(|it| !arguments.contains(&it.as_str()))
        {
            let message = format!("Unknown argument \"{argument}\" on field \"{of}.{name}\".");
            return Err(LinearError::validation(message));
        }
        let message = match (type_name, field.fields.is_empty()) {
            ("", false) => format!(
                "Field \"{name}\" must not have a selection since its type has no subfields."
            ),
            ("", true) | (_, false) => {
                validate(type_name, &field.fields)?;
                continue;
            }
            (_, true) => format!(
                "Field \"{name}\" of type \"{type_name}\" must have a selection of subfields."
            ),
        };
        return Err(LinearError::validation(message));
    }
    Ok(())
}

fn required(field: &GraphqlField, name: &str) -> LinearError {
    let message = format!(
        "Field \"{}\" argument \"{name}\" is required, but it was not provided.",
        field.name
    );
    LinearError::validation(message)
}

/// Returns the input of a mutation, whose fields must be those of its type.
fn input(field: &GraphqlField, of: &str) -> Result<Map<String, Value>, LinearError> {
    let Some(Value::Object(input)) = field.arguments.get("input") else {
        return Err(required(field, "input"));
    };
    match input.keys().find(|name| !schema::is_input(of, name)) {
        Some(name) => Err(LinearError::unknown_input(of, name)),
        None => Ok(input.clone()),
    }
}

/// Returns whether a string is a UUID of version 4, which the service requires of ids that clients choose.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_hex = text
        .bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12]
        && is_hex
        && groups[2].starts_with('4')
        && groups[3].starts_with(['8', '9', 'a', 'b', 'A', 'B'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_clients_are_uuids_of_version_4() {
        assert!(is_uuid("0b2cf1ab-3d4e-4f60-9a71-82b3c4d5e6f7"));
        for text in [
            "",
            "0b2cf1ab-3d4e-5f60-9a71-82b3c4d5e6f7",
            "0b2cf1ab-3d4e-4f60-7a71-82b3c4d5e6f7",
            "0b2cf1ab3d4e4f609a7182b3c4d5e6f7",
            "0b2cf1ag-3d4e-4f60-9a71-82b3c4d5e6f7",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
