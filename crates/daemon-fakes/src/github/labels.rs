//! Labels, assignees and requested reviewers: sets of an issue or a pull request.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::{issues, pulls};
use crate::http::HttpResponse;

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn list_of_repo(call: &mut GithubCall<'_>) -> Answer {
    let (repo, view) = (call.repo()?, call.view());
    let labels = repo.labels.iter().map(|label| view.label(repo, label));
    Ok(call.page(&labels.collect::<Vec<_>>()))
}

pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    labels(call, call.number("number")?)
}

fn labels(call: &GithubCall<'_>, number: u64) -> Answer {
    let labels = &call.issue(number)?.labels;
    let labels = call.view().labels(call.repo()?, labels);
    Ok(HttpResponse::json(200, &labels))
}

pub(crate) fn add(call: &mut GithubCall<'_>) -> Answer {
    let number = call.issue(call.number("number")?)?.number;
    let missing = || GithubError::missing("labels");
    let names = call.texts("labels")?.ok_or_else(missing)?;
    if names
        .iter()
        .any(|name| name.is_empty() || name.chars().count() > 50)
    {
        return Err(GithubError::field("Label", "name", "invalid"));
    }
    let added = issues::add_labels(call, number, &names)?;
    call.issue_mut(number)?.updated_at = call.now;
    for name in added {
        announce_label(call, number, "labeled", &name)?;
    }
    labels(call, number)
}

pub(crate) fn remove(call: &mut GithubCall<'_>) -> Answer {
    let number = call.issue(call.number("number")?)?.number;
    let name = call.param("name").to_owned();
    let (issue, now) = (call.issue(number)?, call.now);
    let known = issue
        .labels
        .iter()
        .find(|label| label.eq_ignore_ascii_case(&name));
    let missing = || GithubError::new(404, "Label does not exist");
    let name = known.ok_or_else(missing)?.clone();
    let issue = call.issue_mut(number)?;
    issue.labels.retain(|label| *label != name);
    issue.updated_at = now;
    announce_label(call, number, "unlabeled", &name)?;
    labels(call, number)
}

pub(crate) fn announce_label(
    call: &mut GithubCall<'_>,
    number: u64,
    action: &str,
    name: &str,
) -> Result<(), GithubError> {
    let label = call.view().labels(call.repo()?, &[name.to_owned()]);
    announce(call, number, action, json!({"label": label[0]}))
}

/// Sends the event of an issue, or of a pull request, with one more field.
fn announce(
    call: &mut GithubCall<'_>,
    number: u64,
    action: &str,
    more: Value,
) -> Result<(), GithubError> {
    if call.issue(number)?.pull.is_some() {
        let pull = pulls::rendered(call, number)?;
        call.emit_pull(action, &pull, more);
        return Ok(());
    }
    let mut payload = json!({"action": action, "issue": issues::rendered(call, number)?});
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more);
    }
    call.emit("issues", payload);
    Ok(())
}

pub(crate) fn assign(call: &mut GithubCall<'_>) -> Answer {
    let number = call.issue(call.number("number")?)?.number;
    let logins = call.texts("assignees")?.unwrap_or_default();
    let added = issues::assign(call, number, &logins)?;
    announce_assignees(call, number, "assigned", &added)?;
    Ok(HttpResponse::json(201, &issues::rendered(call, number)?))
}

pub(crate) fn unassign(call: &mut GithubCall<'_>) -> Answer {
    let number = call.issue(call.number("number")?)?.number;
    let logins = call.texts("assignees")?.unwrap_or_default();
    let removed = take(&mut call.issue_mut(number)?.assignees, &logins);
    announce_assignees(call, number, "unassigned", &removed)?;
    Ok(HttpResponse::json(200, &issues::rendered(call, number)?))
}

/// Removes logins from a set and returns those that were in it.
fn take(set: &mut Vec<String>, logins: &[String]) -> Vec<String> {
    let is_named = |login: &mut String| logins.iter().any(|it| it.eq_ignore_ascii_case(login));
    set.extract_if(.., is_named).collect()
}

pub(crate) fn announce_assignees(
    call: &mut GithubCall<'_>,
    number: u64,
    action: &str,
    logins: &[String],
) -> Result<(), GithubError> {
    for login in logins {
        let assignee = call.view().user(login);
        announce(call, number, action, json!({"assignee": assignee}))?;
    }
    Ok(())
}

pub(crate) fn request_review(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    call.pull(number)?;
    let logins = call.texts("reviewers")?.unwrap_or_default();
    let (author, repo) = (&call.issue(number)?.author, call.repo()?);
    if logins
        .iter()
        .any(|login| login.eq_ignore_ascii_case(author))
    {
        let message = "Review cannot be requested from pull request author.";
        return Err(GithubError::new(422, message));
    }
    if !logins.iter().all(|login| repo.is_collaborator(login)) {
        let message = format!(
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a \
             collaborator of the {} repository.",
            repo.full_name()
        );
        return Err(GithubError::new(422, message));
    }
    for login in logins {
        let known = call.state.user(&login).map(|user| user.login.clone());
        let login = known.unwrap_or(login);
        let Some(pull) = call.issue_mut(number)?.pull.as_mut() else {
            continue;
        };
        if !pull.reviewers.contains(&login) {
            pull.reviewers.push(login.clone());
            let reviewer = call.view().user(&login);
            announce(
                call,
                number,
                "review_requested",
                json!({"requested_reviewer": reviewer}),
            )?;
        }
    }
    Ok(HttpResponse::json(201, &pulls::rendered(call, number)?))
}

pub(crate) fn cancel_review(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    call.pull(number)?;
    let logins = call.texts("reviewers")?.unwrap_or_default();
    let pull = call.issue_mut(number)?.pull.as_mut();
    let removed = pull.map(|pull| take(&mut pull.reviewers, &logins));
    for login in removed.unwrap_or_default() {
        let reviewer = call.view().user(&login);
        announce(
            call,
            number,
            "review_request_removed",
            json!({"requested_reviewer": reviewer}),
        )?;
    }
    Ok(HttpResponse::json(200, &pulls::rendered(call, number)?))
}
