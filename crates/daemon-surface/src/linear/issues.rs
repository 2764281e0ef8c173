//! Changes to an issue: priority, assignee, state, and text added to its description.

use daemon_engine::{Found, RemoteId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Job, graphql, refused};
use crate::api::ApiError;
use crate::text::MAX_TEXT;

const READ: &str = "query($id: String!) { issue(id: $id) { id url priority description assignee { id } state { id } team { id } } }";
const STATES: &str = "query($filter: WorkflowStateFilter!) { workflowStates(filter: $filter, first: 100) { nodes { id name } } }";
const USERS: &str =
    "query($filter: UserFilter!) { users(filter: $filter, first: 3) { nodes { id } } }";
const UPDATE: &str = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }";

#[derive(Debug, Deserialize)]
struct IssueData {
    issue: IssueRow,
}

#[derive(Debug, Deserialize)]
struct IssueRow {
    id: String,
    url: Option<String>,
    #[serde(default)]
    priority: f64,
    description: Option<String>,
    assignee: Option<IdRow>,
    state: Option<IdRow>,
    team: IdRow,
}

#[derive(Debug, Deserialize)]
struct IdRow {
    id: String,
}

#[derive(Debug, Deserialize)]
struct StateRow {
    id: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Nodes<T> {
    nodes: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct UsersData {
    users: Nodes<IdRow>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatesData {
    workflow_states: Nodes<StateRow>,
}

impl IssueRow {
    fn remote(&self, key: &str) -> RemoteId {
        RemoteId {
            id: format!("issue:{key}"),
            url: self.url.clone(),
            revision: None,
        }
    }
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let issue = current(job).await?;
    Ok(match changes(job, &issue).await?.is_empty() {
        true => Found::At(issue.remote(job.issue)),
        false => Found::Absent,
    })
}

pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let issue = current(job).await?;
    let changes = changes(job, &issue).await?;
    if !changes.is_empty() {
        let variables = json!({"id": issue.id, "input": changes});
        graphql::write::<Value>(job.api, UPDATE, variables).await?;
    }
    Ok(issue.remote(job.issue))
}

async fn current(job: &Job<'_>) -> Result<IssueRow, ApiError> {
    let data: IssueData = graphql::read(job.api, READ, json!({"id": job.issue})).await?;
    Ok(data.issue)
}

/// Returns what the issue does not have yet.
async fn changes(job: &Job<'_>, issue: &IssueRow) -> Result<Map<String, Value>, ApiError> {
    let fields = &job.act.fields;
    let mut acc = Map::new();
    let mut change = |name: &str, value: Value| acc.insert(name.to_owned(), value);
    if let Some(priority) = fields.number("priority")
        && Value::from(issue.priority).as_f64() != Value::from(priority).as_f64()
    {
        change("priority", priority.into());
    }
    if let Some(name) = fields.text("state") {
        let wanted = state(job, issue, name).await?;
        if issue.state.as_ref().is_none_or(|state| state.id != wanted) {
            change("stateId", wanted.into());
        }
    }
    if let Some(name) = fields.text("assignee") {
        let wanted = member(job, name).await?;
        if issue
            .assignee
            .as_ref()
            .is_none_or(|assignee| assignee.id != wanted)
        {
            change("assigneeId", wanted.into());
        }
    }
    if let Some(text) = fields.text("append") {
        let known = issue.description.as_deref().unwrap_or_default();
        if !known.contains(job.output.key.as_str()) {
            let room = MAX_TEXT.saturating_sub(known.chars().count());
            let added = job.mark.signed(text, room);
            let whole = format!("{}\n\n{added}", known.trim_end());
            change("description", whole.trim_start().into());
        }
    }
    Ok(acc)
}

/// Returns the id of a state of the issue's team.
async fn state(job: &Job<'_>, issue: &IssueRow, name: &str) -> Result<String, ApiError> {
    let variables = json!({"filter": {"team": {"id": {"eq": issue.team.id}}}});
    let data: StatesData = graphql::read(job.api, STATES, variables).await?;
    let mut known = data.workflow_states.nodes.into_iter();
    let found = known.find(|state| state.name.eq_ignore_ascii_case(name));
    found
        .map(|state| state.id)
        .ok_or_else(|| refused(format!("the team has no state `{name}`")))
}

/// Returns the id of a member by name, e-mail address or id.
async fn member(job: &Job<'_>, name: &str) -> Result<String, ApiError> {
    let is = |field: &str| json!({field: {"eqIgnoreCase": name}});
    let mut choices = vec![is("name"), is("displayName"), is("email")];
    let is_id = name.len() == 36 && name.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if is_id {
        choices.push(json!({"id": {"eq": name}}));
    }
    let variables = json!({"filter": {"or": choices}});
    let data: UsersData = graphql::read(job.api, USERS, variables).await?;
    match &data.users.nodes[..] {
        [one] => Ok(one.id.clone()),
        [] => Err(refused(format!("there is no member `{name}`"))),
        _ => Err(refused(format!("there are several members `{name}`"))),
    }
}
