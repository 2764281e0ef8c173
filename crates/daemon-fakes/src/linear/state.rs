//! What the fake Linear stores, and the value of each field.

use std::time::Duration;

use serde_json::{Value, json};

use super::history::LinearHistory;
use super::webhooks::LinearWebhook;
use crate::clock::to_milliseconds_text;

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearUser {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// Whether it is an application.
    pub is_app: bool,
}

/// A label or a state of an issue: what has an id and a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearName {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The type of a state, such as `started`; empty for a label.
    pub kind: String,
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearIssue {
    /// The id.
    pub id: String,
    /// The number in its team.
    pub number: u64,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// From 0, none, and 1, urgent, to 4, low.
    pub priority: u64,
    /// The id of its state.
    pub state: String,
    /// The id of its assignee.
    pub assignee: Option<String>,
    /// The id of its creator.
    pub creator: String,
    /// The ids of its labels.
    pub labels: Vec<String>,
    /// When it was created, since the Unix epoch.
    pub created_at: Duration,
    /// When it changed.
    pub updated_at: Duration,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearComment {
    /// The id, which the client may choose.
    pub id: String,
    /// The id of the issue.
    pub issue: String,
    /// The id of its author.
    pub user: String,
    /// The body.
    pub body: String,
    /// When it was created, since the Unix epoch.
    pub created_at: Duration,
    /// When it changed.
    pub updated_at: Duration,
}

#[derive(Debug)]
pub(crate) struct LinearState {
    pub(crate) team: String,
    pub(crate) base: String,
    pub(crate) users: Vec<LinearUser>,
    /// Tokens, and the ids of the users.
    pub(crate) tokens: Vec<(String, String)>,
    pub(crate) states: Vec<LinearName>,
    pub(crate) labels: Vec<LinearName>,
    pub(crate) issues: Vec<LinearIssue>,
    pub(crate) comments: Vec<LinearComment>,
    pub(crate) history: Vec<LinearHistory>,
    pub(crate) webhooks: Vec<LinearWebhook>,
    pub(crate) last_id: u64,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LinearValue {
    /// A scalar.
    Scalar(Value),
    /// Another entity, by id; its type is in the schema.
    Entity(Option<String>),
    /// A connection of entities, by id.
    List(Vec<String>),
    /// A list of entities without pages, by id.
    Nodes(Vec<String>),
}

impl LinearState {
    pub(crate) fn new(team: &str) -> Self {
        Self {
            team: team.to_owned(),
            base: String::new(),
            users: Vec::new(),
            tokens: Vec::new(),
            states: Vec::new(),
            labels: Vec::new(),
            issues: Vec::new(),
            comments: Vec::new(),
            history: Vec::new(),
            webhooks: Vec::new(),
            last_id: 0,
        }
    }

    /// Returns a new id in the form of a UUID of version 4.
    pub(crate) fn next_id(&mut self) -> String {
        self.last_id += 1;
        format!("11110000-0000-4000-8000-{:012x}", self.last_id)
    }

    pub(crate) fn identifier(&self, issue: &LinearIssue) -> String {
        format!("{}-{}", self.team, issue.number)
    }

    pub(crate) fn url(&self, issue: &LinearIssue) -> String {
        format!("{}/linear/{}", self.base, self.identifier(issue))
    }

    /// Returns the issue with this id or identifier.
    pub(crate) fn issue(&self, id: &str) -> Option<&LinearIssue> {
        let is_named = |issue: &&LinearIssue| {
            issue.id == id || self.identifier(issue).eq_ignore_ascii_case(id)
        };
        self.issues.iter().find(is_named)
    }

    /// Returns the ids of all entities of a type.
    pub(crate) fn all(&self, of: &str) -> Vec<String> {
        let names = |names: &[LinearName]| names.iter().map(|it| it.id.clone()).collect();
        match of {
            "User" => self.users.iter().map(|it| it.id.clone()).collect(),
            "Issue" => self.issues.iter().map(|it| it.id.clone()).collect(),
            "Comment" => self.comments.iter().map(|it| it.id.clone()).collect(),
            "IssueHistory" => self.history.iter().map(|it| it.id.clone()).collect(),
            "WorkflowState" => names(&self.states),
            "IssueLabel" => names(&self.labels),
            "Team" => vec![self.team.clone()],
            _ => Vec::new(),
        }
    }

    /// Returns the value of a field of an entity; `None` if there is no such entity or field.
    pub(crate) fn value(&self, of: &str, id: &str, name: &str) -> Option<LinearValue> {
        match of {
            "User" => self.user_value(id, name),
            "Issue" => self.issue_value(id, name),
            "Comment" => self.comment_value(id, name),
            "IssueHistory" => self.history_value(id, name),
            "WorkflowState" => self.name_value(&self.states, id, name),
            "IssueLabel" => self.name_value(&self.labels, id, name),
            "Team" => (id == self.team).then(|| LinearValue::Scalar(json!(self.team))),
            _ => None,
        }
    }

    fn user_value(&self, id: &str, name: &str) -> Option<LinearValue> {
        let user = self.users.iter().find(|it| it.id == id)?;
        Some(LinearValue::Scalar(match name {
            "id" => json!(user.id),
            "name" | "displayName" => json!(user.name),
            "email" => json!(user.email),
            "active" => json!(true),
            "app" => json!(user.is_app),
            "url" => json!(format!("{}/linear", self.base)),
            _ => return None,
        }))
    }

    fn name_value(&self, names: &[LinearName], id: &str, name: &str) -> Option<LinearValue> {
        let found = names.iter().find(|it| it.id == id)?;
        Some(LinearValue::Scalar(match name {
            "id" => json!(found.id),
            "name" => json!(found.name),
            "type" => json!(found.kind),
            "team" => return Some(LinearValue::Entity(Some(self.team.clone()))),
            _ => return None,
        }))
    }

    fn issue_value(&self, id: &str, name: &str) -> Option<LinearValue> {
        let issue = self.issues.iter().find(|it| it.id == id)?;
        let entity = |id: &String| Some(LinearValue::Entity(Some(id.clone())));
        Some(LinearValue::Scalar(match name {
            "id" => json!(issue.id),
            "identifier" => json!(self.identifier(issue)),
            "number" => json!(issue.number),
            "title" => json!(issue.title),
            "description" => json!((!issue.description.is_empty()).then_some(&issue.description)),
            "priority" => json!(issue.priority),
            "url" => json!(self.url(issue)),
            "createdAt" => json!(to_milliseconds_text(issue.created_at)),
            "updatedAt" => json!(to_milliseconds_text(issue.updated_at)),
            "team" => return entity(&self.team),
            "state" => return entity(&issue.state),
            "creator" => return entity(&issue.creator),
            "assignee" => return Some(LinearValue::Entity(issue.assignee.clone())),
            "estimate" | "dueDate" | "archivedAt" => Value::Null,
            "project" | "cycle" | "botActor" => return Some(LinearValue::Entity(None)),
            "history" => {
                let entries = self.history.iter().filter(|it| it.issue == issue.id);
                return Some(LinearValue::List(entries.map(|it| it.id.clone()).collect()));
            }
            "labels" => return Some(LinearValue::List(issue.labels.clone())),
            "comments" => {
                let comments = self.comments.iter().filter(|it| it.issue == issue.id);
                return Some(LinearValue::List(
                    comments.map(|it| it.id.clone()).collect(),
                ));
            }
            _ => return None,
        }))
    }

    fn comment_value(&self, id: &str, name: &str) -> Option<LinearValue> {
        let comment = self.comments.iter().find(|it| it.id == id)?;
        let url = || self.issue(&comment.issue).map(|issue| self.url(issue));
        Some(LinearValue::Scalar(match name {
            "id" => json!(comment.id),
            "body" => json!(comment.body),
            "url" => json!(format!(
                "{}#comment-{}",
                url().unwrap_or_default(),
                comment.id
            )),
            "createdAt" => json!(to_milliseconds_text(comment.created_at)),
            "updatedAt" => json!(to_milliseconds_text(comment.updated_at)),
            "editedAt" => {
                let is_edited = comment.updated_at != comment.created_at;
                json!(is_edited.then(|| to_milliseconds_text(comment.updated_at)))
            }
            "resolvedAt" => Value::Null,
            "parent" | "botActor" => return Some(LinearValue::Entity(None)),
            "issue" => return Some(LinearValue::Entity(Some(comment.issue.clone()))),
            "user" => return Some(LinearValue::Entity(Some(comment.user.clone()))),
            _ => return None,
        }))
    }
}
