//! Comments on issues and pull requests.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::issues;
use super::state::GithubComment;
use crate::http::HttpResponse;

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    let number = call.issue(call.number("number")?)?.number;
    listed(call, |comment| comment.issue == number)
}

pub(crate) fn list_of_repo(call: &mut GithubCall<'_>) -> Answer {
    listed(call, |_| true)
}

fn listed(call: &GithubCall<'_>, is_asked: impl Fn(&GithubComment) -> bool) -> Answer {
    let (repo, view, since) = (call.repo()?, call.view(), call.since()?);
    let is_recent =
        |comment: &&GithubComment| since.is_none_or(|since| comment.updated_at >= since);
    let comments = repo.comments.iter().filter(|comment| is_asked(comment));
    let mut comments: Vec<&GithubComment> = comments.filter(is_recent).collect();
    // The oldest comes first unless the request names an order.
    if let Some(sort) = call.request.parameter("sort") {
        if sort == "updated" {
            comments.sort_by_key(|comment| (comment.updated_at, comment.id));
        }
        if call.is_descending() {
            comments.reverse();
        }
    }
    let items: Vec<Value> = comments.iter().map(|it| view.comment(repo, it)).collect();
    Ok(call.page(&items))
}

pub(crate) fn create(call: &mut GithubCall<'_>) -> Answer {
    let number = call.issue(call.number("number")?)?.number;
    let body = call.comment_text("IssueComment")?;
    let comment = GithubComment {
        id: call.state.next_id(),
        issue: number,
        author: call.caller.login.clone(),
        body,
        created_at: call.now,
        updated_at: call.now,
    };
    let id = comment.id;
    call.issue_mut(number)?.updated_at = comment.created_at;
    call.repo_mut()?.comments.push(comment);
    let rendered = announce(call, "created", id)?;
    Ok(HttpResponse::json(201, &rendered))
}

pub(crate) fn get(call: &mut GithubCall<'_>) -> Answer {
    let (repo, comment) = (call.repo()?, call.comment(call.number("id")?)?);
    let comment = call.view().comment(repo, comment);
    Ok(HttpResponse::json(200, &comment))
}

pub(crate) fn edit(call: &mut GithubCall<'_>) -> Answer {
    let id = call.number("id")?;
    check_owner(call, id)?;
    let body = call.comment_text("IssueComment")?;
    let now = call.now;
    let comments = call.repo_mut()?.comments.iter_mut();
    for comment in comments.filter(|comment| comment.id == id) {
        comment.body.clone_from(&body);
        comment.updated_at = now;
    }
    let rendered = announce(call, "edited", id)?;
    Ok(HttpResponse::json(200, &rendered))
}

pub(crate) fn delete(call: &mut GithubCall<'_>) -> Answer {
    let id = call.number("id")?;
    check_owner(call, id)?;
    announce(call, "deleted", id)?;
    call.repo_mut()?.comments.retain(|comment| comment.id != id);
    Ok(HttpResponse::empty(204))
}

/// Refuses to change the comment of another account, except for collaborators.
fn check_owner(call: &GithubCall<'_>, id: u64) -> Result<(), GithubError> {
    let login = &call.caller.login;
    if call.comment(id)?.author != *login && !call.repo()?.is_collaborator(login) {
        return Err(GithubError::new(
            403,
            "Must have admin rights to Repository.",
        ));
    }
    Ok(())
}

/// Sends the event of a comment and returns the comment.
fn announce(call: &mut GithubCall<'_>, action: &str, id: u64) -> Result<Value, GithubError> {
    let comment = call.comment(id)?;
    let issue = issues::rendered(call, comment.issue)?;
    let comment = call.view().comment(call.repo()?, comment);
    let payload = json!({"action": action, "issue": issue, "comment": comment});
    call.emit("issue_comment", payload);
    Ok(comment)
}

impl GithubCall<'_> {
    fn comment(&self, id: u64) -> Result<&GithubComment, GithubError> {
        let found = self
            .repo()?
            .comments
            .iter()
            .find(|comment| comment.id == id);
        found.ok_or_else(GithubError::not_found)
    }
}
