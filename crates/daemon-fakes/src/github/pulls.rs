//! Pull requests: list, create, get, edit and merge.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::issues;
use super::state::{GithubIssue, GithubPull};
use crate::http::HttpResponse;

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    let parameter = |name: &str| call.request.parameter(name);
    let repo = call.repo()?;
    // A head that is not `owner:branch` does not restrict the list, as in the real service.
    let head = parameter("head").and_then(|head| head.split_once(':'));
    let is_asked = |issue: &&GithubIssue| {
        issue.pull.as_ref().is_some_and(|pull| {
            issues::is_in_state(issue, parameter("state").unwrap_or("open"))
                && parameter("base").is_none_or(|base| base == pull.base)
                && head.is_none_or(|(owner, branch)| {
                    owner.eq_ignore_ascii_case(&repo.owner) && branch == pull.head
                })
        })
    };
    let mut found: Vec<&GithubIssue> = repo.issues.iter().filter(is_asked).collect();
    issues::sort(&mut found, parameter("sort"), call.is_descending());
    let view = call.view();
    let pulls = found
        .iter()
        .filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
    let items: Vec<Value> = pulls
        .map(|(issue, pull)| view.pull(repo, issue, pull))
        .collect();
    Ok(call.page(&items))
}

pub(crate) fn create(call: &mut GithubCall<'_>) -> Answer {
    let title = issues::title(call, "PullRequest")?;
    let body = call.long_text("PullRequest")?;
    let is_draft = call.body["draft"] == true;
    let pull = ends(call, is_draft)?;
    let number = issues::add(call, title.unwrap_or_default(), body)?;
    call.issue_mut(number)?.pull = Some(pull);
    let body = rendered(call, number)?;
    call.emit_pull("opened", &body, json!({}));
    Ok(HttpResponse::json(201, &body))
}

/// Checks the two branches of a new pull request.
fn ends(call: &GithubCall<'_>, is_draft: bool) -> Result<GithubPull, GithubError> {
    let repo = call.repo()?;
    let required = |name: &str| {
        let missing = || GithubError::missing(name);
        call.text(name)?.ok_or_else(missing)
    };
    let invalid = |field: &str| GithubError::field("PullRequest", field, "invalid");
    let (head, base) = (required("head")?, required("base")?);
    // A head of another owner is a fork, and this service has none.
    let head = match head.split_once(':') {
        Some((owner, branch)) if owner.eq_ignore_ascii_case(&repo.owner) => branch.to_owned(),
        Some(_) => return Err(invalid("head")),
        None => head,
    };
    let head_sha = repo.branch(&head).ok_or_else(|| invalid("head"))?;
    let base_sha = repo.branch(&base).ok_or_else(|| invalid("base"))?;
    let is_same = |issue: &&GithubIssue| {
        let pull = issue.pull.as_ref().filter(|_| issue.is_open);
        pull.is_some_and(|pull| pull.head == head && pull.base == base)
    };
    if repo.issues.iter().find(is_same).is_some() {
        let message = format!("A pull request already exists for {}:{head}.", repo.owner);
        return Err(GithubError::custom("PullRequest", message));
    }
    if head_sha == base_sha {
        let message = format!("No commits between {base} and {head}");
        return Err(GithubError::custom("PullRequest", message));
    }
    Ok(GithubPull {
        head,
        head_sha,
        base,
        base_sha,
        is_draft,
        merged: None,
        reviewers: Vec::new(),
    })
}

pub(crate) fn get(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    Ok(HttpResponse::json(200, &rendered(call, number)?))
}

/// Lists the pull requests whose head or merge is a commit.
pub(crate) fn of_commit(call: &mut GithubCall<'_>) -> Answer {
    let (repo, view, sha) = (call.repo()?, call.view(), call.param("sha"));
    let has_commit = |pull: &GithubPull| {
        pull.head_sha == sha || pull.merged.as_ref().is_some_and(|(_, merge)| merge == sha)
    };
    let pulls = repo
        .issues
        .iter()
        .filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
    let pulls = pulls.filter(|(_, pull)| has_commit(pull));
    let items: Vec<Value> = pulls
        .map(|(issue, pull)| view.pull(repo, issue, pull))
        .collect();
    Ok(call.page(&items))
}

pub(crate) fn edit(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    change(call, number)?;
    Ok(HttpResponse::json(200, &rendered(call, number)?))
}

/// Edits a pull request through the route of issues, which answers with the issue.
pub(crate) fn edit_as_issue(call: &mut GithubCall<'_>, number: u64) -> Answer {
    change(call, number)?;
    Ok(HttpResponse::json(200, &issues::rendered(call, number)?))
}

/// Applies the fields that an edit may have; `draft` has no effect, as in the real service.
fn change(call: &mut GithubCall<'_>, number: u64) -> Result<(), GithubError> {
    let pull = call.pull(number)?;
    if call.body["state"] == "open" {
        let cannot = |why: String| {
            GithubError::invalid(json!({
                "resource": "PullRequest", "code": "invalid", "field": "state",
                "message": format!("state cannot be changed. {why}"),
            }))
        };
        if pull.merged.is_some() {
            return Err(cannot("The pull request cannot be reopened.".to_owned()));
        }
        if call.repo()?.branch(&pull.head).is_none() {
            return Err(cannot(format!(
                "The {} branch has been deleted.",
                pull.head
            )));
        }
    }
    let action = issues::apply_edits(call, number, "PullRequest")?;
    if let Some(action) = action {
        let body = rendered(call, number)?;
        call.emit_pull(action, &body, json!({}));
    }
    Ok(())
}

/// Merges as a person does on the page. With branches on disk the base is expected to be moved there.
pub(crate) fn merge(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    let (issue, pull) = (call.issue(number)?, call.pull(number)?);
    if !issue.is_open || pull.is_draft {
        return Err(GithubError::new(405, "Pull Request is not mergeable"));
    }
    let (base, id, now) = (pull.base.clone(), issue.id, call.now);
    let repo = call.repo_mut()?;
    let sha = match &repo.read_branch {
        Some(read) => read(&base).ok_or_else(GithubError::not_found)?,
        None => {
            let sha = format!("{id:040x}");
            repo.branches.insert(base, sha.clone());
            sha
        }
    };
    let login = call.caller.login.clone();
    let issue = call.issue_mut(number)?;
    (issue.is_open, issue.closed_at, issue.updated_at) = (false, Some(now), now);
    issue.closed_by = Some(login);
    if let Some(pull) = issue.pull.as_mut() {
        pull.merged = Some((now, sha.clone()));
    }
    let body = rendered(call, number)?;
    call.emit_pull("closed", &body, json!({}));
    let merged = json!({"sha": sha, "merged": true, "message": "Pull Request successfully merged"});
    Ok(HttpResponse::json(200, &merged))
}

pub(crate) fn rendered(call: &GithubCall<'_>, number: u64) -> Result<Value, GithubError> {
    let (issue, pull) = (call.issue(number)?, call.pull(number)?);
    Ok(call.view().pull(call.repo()?, issue, pull))
}

impl GithubCall<'_> {
    /// Returns the pull request with this number, if it is not an issue.
    pub(crate) fn pull(&self, number: u64) -> Result<&GithubPull, GithubError> {
        let pull = self.issue(number)?.pull.as_ref();
        pull.ok_or_else(GithubError::not_found)
    }

    /// Sends an event of a pull request.
    pub(crate) fn emit_pull(&mut self, action: &str, pull: &Value, more: Value) {
        let mut payload = json!({"action": action, "number": pull["number"], "pull_request": pull});
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        self.emit("pull_request", payload);
    }
}
