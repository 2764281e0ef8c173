//! Issues: list, create, get and edit.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::labels;
use super::state::{GithubIssue, GithubLabel};
use crate::http::HttpResponse;

const MAX_TITLE: usize = 256;

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    let since = call.since()?;
    let parameter = |name: &str| call.request.parameter(name);
    let state = parameter("state").unwrap_or("open");
    let repo = call.repo()?;
    let is_asked = |issue: &&GithubIssue| {
        let labels = parameter("labels").unwrap_or_default();
        let mut labels = labels.split(',').filter(|label| !label.is_empty());
        is_in_state(issue, state)
            && since.is_none_or(|since| issue.updated_at >= since)
            && parameter("creator").is_none_or(|login| login.eq_ignore_ascii_case(&issue.author))
            && labels.all(|label| issue.labels.iter().any(|it| it == label))
    };
    let mut issues: Vec<&GithubIssue> = repo.issues.iter().filter(is_asked).collect();
    sort(&mut issues, parameter("sort"), call.is_descending());
    let view = call.view();
    let items: Vec<Value> = issues.iter().map(|issue| view.issue(repo, issue)).collect();
    Ok(call.page(&items))
}

pub(crate) fn is_in_state(issue: &GithubIssue, state: &str) -> bool {
    match state {
        "all" => true,
        "closed" => !issue.is_open,
        _ => issue.is_open,
    }
}

pub(crate) fn sort(issues: &mut [&GithubIssue], by: Option<&str>, is_descending: bool) {
    match by {
        Some("updated") => issues.sort_by_key(|issue| (issue.updated_at, issue.number)),
        _ => issues.sort_by_key(|issue| issue.number),
    }
    if is_descending {
        issues.reverse();
    }
}

pub(crate) fn create(call: &mut GithubCall<'_>) -> Answer {
    let title = title(call, "Issue")?;
    let body = call.long_text("Issue")?;
    let labels = call.texts("labels")?.unwrap_or_default();
    let assignees = call.texts("assignees")?.unwrap_or_default();
    let number = add(call, title.unwrap_or_default(), body)?;
    let labels = add_labels(call, number, &labels)?;
    let assignees = assign(call, number, &assignees)?;
    let body = rendered(call, number)?;
    call.emit("issues", json!({"action": "opened", "issue": body}));
    // As if both had been given after it.
    for name in labels {
        labels::announce_label(call, number, "labeled", &name)?;
    }
    labels::announce_assignees(call, number, "assigned", &assignees)?;
    Ok(HttpResponse::json(201, &body))
}

pub(crate) fn get(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    Ok(HttpResponse::json(200, &rendered(call, number)?))
}

pub(crate) fn edit(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    if call.issue(number)?.pull.is_some() {
        return super::pulls::edit_as_issue(call, number);
    }
    let action = apply_edits(call, number, "Issue")?;
    let body = rendered(call, number)?;
    if let Some(action) = action {
        call.emit("issues", json!({"action": action, "issue": body}));
    }
    Ok(HttpResponse::json(200, &body))
}

/// Applies the fields that issues and pull requests share, and returns the action of the event, if anything changed.
pub(crate) fn apply_edits(
    call: &mut GithubCall<'_>,
    number: u64,
    resource: &str,
) -> Result<Option<&'static str>, GithubError> {
    let title = match &call.body["title"] {
        Value::Null => None,
        _ => title(call, resource)?,
    };
    let body = call.long_text(resource)?;
    let is_open = state(call, resource)?;
    let labels = call.texts("labels")?;
    let assignees = call.texts("assignees")?;
    let (now, login) = (call.now, call.caller.login.clone());
    let issue = call.issue_mut(number)?;
    let mut action = None;
    if title.is_some() || body.is_some() {
        action = Some("edited");
        issue.title = title.unwrap_or_else(|| issue.title.clone());
        issue.body = body.or_else(|| issue.body.clone());
    }
    if let Some(is_open) = is_open.filter(|is_open| *is_open != issue.is_open) {
        action = Some(if is_open { "reopened" } else { "closed" });
        issue.is_open = is_open;
        issue.closed_at = (!is_open).then_some(now);
        issue.closed_by = (!is_open).then_some(login);
    }
    if action.is_some() {
        issue.updated_at = now;
    }
    if let Some(labels) = labels {
        call.issue_mut(number)?.labels.clear();
        add_labels(call, number, &labels)?;
    }
    if let Some(assignees) = assignees {
        call.issue_mut(number)?.assignees.clear();
        assign(call, number, &assignees)?;
    }
    Ok(action)
}

fn state(call: &GithubCall<'_>, resource: &str) -> Result<Option<bool>, GithubError> {
    match call.text("state")?.as_deref() {
        None => Ok(None),
        Some("open") => Ok(Some(true)),
        Some("closed") => Ok(Some(false)),
        Some(other) => Err(GithubError::invalid(json!({
            "resource": resource, "field": "state", "code": "invalid", "value": other,
        }))),
    }
}

/// Returns the title of the body, which may not be blank.
pub(crate) fn title(call: &GithubCall<'_>, resource: &str) -> Result<Option<String>, GithubError> {
    let title = call.text("title")?.filter(|title| !title.trim().is_empty());
    let title = title.ok_or_else(|| GithubError::field(resource, "title", "missing_field"))?;
    if title.chars().count() > MAX_TITLE {
        return Err(GithubError::invalid(json!({
            "resource": resource, "code": "custom", "field": "title",
            "message": "title is too long (maximum is 256 characters)",
        })));
    }
    Ok(Some(title))
}

/// Adds an issue and returns its number.
pub(crate) fn add(
    call: &mut GithubCall<'_>,
    title: String,
    body: Option<String>,
) -> Result<u64, GithubError> {
    let (id, now, author) = (call.state.next_id(), call.now, call.caller.login.clone());
    let repo = call.repo_mut()?;
    let number = repo.issues.last().map_or(1, |issue| issue.number + 1);
    repo.issues.push(GithubIssue {
        id,
        number,
        title,
        body,
        author,
        is_open: true,
        labels: Vec::new(),
        assignees: Vec::new(),
        created_at: now,
        updated_at: now,
        closed_at: None,
        closed_by: None,
        pull: None,
    });
    Ok(number)
}

/// Adds labels to an issue. A label that the repository does not have is created, as the service does.
pub(crate) fn add_labels(
    call: &mut GithubCall<'_>,
    number: u64,
    names: &[String],
) -> Result<Vec<String>, GithubError> {
    let mut added = Vec::new();
    for name in names {
        let id = call.state.next_id();
        let repo = call.repo_mut()?;
        let known = repo
            .labels
            .iter()
            .find(|it| it.name.eq_ignore_ascii_case(name));
        let name = known.map_or_else(|| name.clone(), |label| label.name.clone());
        if known.is_none() {
            let color = "ededed".to_owned();
            repo.labels.push(GithubLabel {
                id,
                name: name.clone(),
                color,
            });
            let label = call
                .view()
                .labels(call.repo()?, std::slice::from_ref(&name));
            call.emit("label", json!({"action": "created", "label": label[0]}));
        }
        let issue = call.issue_mut(number)?;
        if !issue.labels.contains(&name) {
            issue.labels.push(name.clone());
            added.push(name);
        }
    }
    Ok(added)
}

/// Adds assignees to an issue. An account that cannot be assigned is left out without an error, as the service does.
pub(crate) fn assign(
    call: &mut GithubCall<'_>,
    number: u64,
    logins: &[String],
) -> Result<Vec<String>, GithubError> {
    let mut added = Vec::new();
    for login in logins {
        let login = call.state.user(login).map(|user| user.login.clone());
        let login = login.filter(|login| call.repo().is_ok_and(|it| it.is_collaborator(login)));
        let Some(login) = login else { continue };
        let issue = call.issue_mut(number)?;
        if !issue.assignees.contains(&login) {
            issue.assignees.push(login.clone());
            added.push(login);
        }
    }
    Ok(added)
}

pub(crate) fn rendered(call: &GithubCall<'_>, number: u64) -> Result<Value, GithubError> {
    Ok(call.view().issue(call.repo()?, call.issue(number)?))
}

impl GithubCall<'_> {
    pub(crate) fn issue(&self, number: u64) -> Result<&GithubIssue, GithubError> {
        self.repo()?
            .issue(number)
            .ok_or_else(GithubError::not_found)
    }

    pub(crate) fn issue_mut(&mut self, number: u64) -> Result<&mut GithubIssue, GithubError> {
        let mut issues = self.repo_mut()?.issues.iter_mut();
        let found = issues.find(|issue| issue.number == number);
        found.ok_or_else(GithubError::not_found)
    }
}
