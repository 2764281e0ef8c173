//! Reviews, review comments and changed files of pull requests.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError, is_too_long};
use super::diff::{DiffPlace, GithubFile};
use super::state::{GithubReview, GithubReviewComment};
use crate::http::HttpResponse;

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn files(call: &mut GithubCall<'_>) -> Answer {
    let files = changed(call, call.number("number")?)?;
    let file = |file: &GithubFile| {
        let (additions, deletions) = file.counts();
        json!({
            "sha": format!("{:040x}", file.patch.len()), "filename": file.path, "status": file.status,
            "additions": additions, "deletions": deletions, "changes": additions + deletions,
            "patch": file.patch,
        })
    };
    Ok(call.page(&files.iter().map(file).collect::<Vec<_>>()))
}

fn changed(call: &GithubCall<'_>, number: u64) -> Result<Vec<GithubFile>, GithubError> {
    let (pull, read) = (call.pull(number)?, call.repo()?.read_files.as_ref());
    Ok(read.map_or_else(Vec::new, |read| read(&pull.base_sha, &pull.head_sha)))
}

pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    call.pull(number)?;
    let (repo, view) = (call.repo()?, call.view());
    let reviews = repo.reviews.iter().filter(|review| review.pull == number);
    let items: Vec<Value> = reviews.map(|review| view.review(repo, review)).collect();
    Ok(call.page(&items))
}

/// Creates a review. It and its comments exist together or not at all.
pub(crate) fn create(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    let commit = call.text("commit_id")?;
    let commit = commit.unwrap_or(call.pull(number)?.head_sha.clone());
    let comments = match &call.body["comments"] {
        Value::Array(comments) => comments.clone(),
        _ => Vec::new(),
    };
    let state = review_state(call, number, !comments.is_empty())?;
    let files = changed(call, number)?;
    let mut places = Vec::new();
    for comment in &comments {
        let place = place(comment)
            .ok_or_else(|| GithubError::unprocessable("Line could not be resolved"))?;
        let file = files.iter().find(|file| file.path == place.path);
        let file = file.ok_or_else(|| GithubError::unprocessable("Path could not be resolved"))?;
        if !file.has(&place) {
            return Err(GithubError::unprocessable("Line could not be resolved"));
        }
        let body = comment["body"].as_str().filter(|body| !body.is_empty());
        let body = body.ok_or_else(|| GithubError::unprocessable("Body can't be blank"))?;
        places.push((place, body.to_owned()));
    }
    let review = GithubReview {
        id: call.state.next_id(),
        pull: number,
        author: call.caller.login.clone(),
        body: call.text("body")?.unwrap_or_default(),
        state,
        commit: commit.clone(),
        submitted_at: call.now,
    };
    let id = review.id;
    call.repo_mut()?.reviews.push(review.clone());
    let review = call.view().review(call.repo()?, &review);
    let pull = super::pulls::rendered(call, number)?;
    let payload = json!({"action": "submitted", "review": review, "pull_request": pull});
    // Only its author sees a review that is not submitted yet.
    if review["state"] != "PENDING" {
        call.emit("pull_request_review", payload);
    }
    for (place, body) in places {
        add(
            call,
            number,
            NewComment {
                place,
                body,
                commit: commit.clone(),
                review: Some(id),
                reply_to: None,
            },
        )?;
    }
    Ok(HttpResponse::json(200, &review))
}

/// Returns the state that the event of a new review leads to.
fn review_state(
    call: &GithubCall<'_>,
    number: u64,
    has_comments: bool,
) -> Result<String, GithubError> {
    let event = call.text("event")?.unwrap_or_default();
    let is_own = call.issue(number)?.author == call.caller.login;
    let body = call.text("body")?.unwrap_or_default();
    let blank = GithubError::unprocessable("Body can't be blank");
    if is_too_long(&body) {
        return Err(GithubError::unprocessable(
            "Body is too long (maximum is 65536 characters)",
        ));
    }
    let state = match event.as_str() {
        "APPROVE" if is_own => {
            return Err(GithubError::unprocessable(
                "Can not approve your own pull request",
            ));
        }
        "REQUEST_CHANGES" if is_own => {
            return Err(GithubError::unprocessable(
                "Can not request changes on your own pull request",
            ));
        }
        "REQUEST_CHANGES" if body.is_empty() => return Err(blank),
        "COMMENT" if body.is_empty() && !has_comments => return Err(blank),
        "APPROVE" => "APPROVED",
        "REQUEST_CHANGES" => "CHANGES_REQUESTED",
        "COMMENT" => "COMMENTED",
        "" => "PENDING",
        _ => {
            return Err(GithubError::unprocessable(
                "Event is not included in the list",
            ));
        }
    };
    Ok(state.to_owned())
}

/// Reads where a comment is; `None` without a path or a line.
fn place(comment: &Value) -> Option<DiffPlace> {
    let side = |name: &str| comment[name].as_str().unwrap_or("RIGHT").to_owned();
    let start = comment["start_line"].as_u64();
    Some(DiffPlace {
        path: comment["path"].as_str()?.to_owned(),
        line: comment["line"].as_u64()?,
        side: side("side"),
        start: start.map(|line| {
            (
                line,
                side(if comment["start_side"].is_string() {
                    "start_side"
                } else {
                    "side"
                }),
            )
        }),
    })
}

pub(crate) fn list_comments(call: &mut GithubCall<'_>) -> Answer {
    let number = call.number("number")?;
    call.pull(number)?;
    listed(call, |comment| comment.pull == number)
}

pub(crate) fn list_comments_of_repo(call: &mut GithubCall<'_>) -> Answer {
    listed(call, |_| true)
}

pub(crate) fn list_comments_of_review(call: &mut GithubCall<'_>) -> Answer {
    let review = call.number("id")?;
    listed(call, |comment| comment.review == Some(review))
}

fn listed(call: &GithubCall<'_>, is_asked: impl Fn(&GithubReviewComment) -> bool) -> Answer {
    let (repo, view, since) = (call.repo()?, call.view(), call.since()?);
    let is_recent = |it: &&GithubReviewComment| since.is_none_or(|since| it.updated_at >= since);
    let comments = repo
        .review_comments
        .iter()
        .filter(|comment| is_asked(comment));
    let comments = comments.filter(is_recent);
    let items: Vec<Value> = comments.map(|it| view.review_comment(repo, it)).collect();
    Ok(call.page(&items))
}

/// A review comment that passed the checks.
struct NewComment {
    place: DiffPlace,
    body: String,
    commit: String,
    review: Option<u64>,
    reply_to: Option<u64>,
}

pub(crate) fn create_comment(call: &mut GithubCall<'_>) -> Answer {
    const RESOURCE: &str = "PullRequestReviewComment";
    let number = call.number("number")?;
    call.pull(number)?;
    let body = call.comment_text(RESOURCE)?;
    if let Some(reply_to) = call.body["in_reply_to"].as_u64() {
        let comments = call.repo()?.review_comments.iter();
        let mut first = comments.filter(|it| it.id == reply_to && it.pull == number);
        let first = first.next().ok_or_else(GithubError::not_found)?.clone();
        let (place, commit) = (first.place, first.commit);
        let comment = NewComment {
            place,
            body,
            commit,
            review: None,
            reply_to: Some(reply_to),
        };
        return Ok(HttpResponse::json(201, &alone(call, number, comment)?));
    }
    let commit = call
        .text("commit_id")?
        .ok_or_else(|| GithubError::missing("commit_id"))?;
    call.text("path")?
        .ok_or_else(|| GithubError::missing("path"))?;
    let field = |name: &str| {
        let field = format!("pull_request_review_thread.{name}");
        let message = format!("{field} must be part of the diff");
        GithubError::invalid(
            json!({"resource": RESOURCE, "code": "custom", "field": field, "message": message}),
        )
    };
    let place = place(&call.body).ok_or_else(|| field("line"))?;
    let files = changed(call, number)?;
    let file = files.iter().find(|file| file.path == place.path);
    if !file.ok_or_else(|| field("path"))?.has(&place) {
        return Err(field("line"));
    }
    let comment = NewComment {
        place,
        body,
        commit,
        review: None,
        reply_to: None,
    };
    Ok(HttpResponse::json(201, &alone(call, number, comment)?))
}

/// Adds a comment that is not part of a review. The service makes a review with an empty body for it.
fn alone(
    call: &mut GithubCall<'_>,
    number: u64,
    comment: NewComment,
) -> Result<Value, GithubError> {
    let review = GithubReview {
        id: call.state.next_id(),
        pull: number,
        author: call.caller.login.clone(),
        body: String::new(),
        state: "COMMENTED".to_owned(),
        commit: comment.commit.clone(),
        submitted_at: call.now,
    };
    let id = review.id;
    call.repo_mut()?.reviews.push(review.clone());
    let mut review = call.view().review(call.repo()?, &review);
    review["body"] = Value::Null;
    let comment = NewComment {
        review: Some(id),
        ..comment
    };
    let comment = add(call, number, comment)?;
    let pull = super::pulls::rendered(call, number)?;
    let payload = json!({"action": "submitted", "review": review, "pull_request": pull});
    call.emit("pull_request_review", payload);
    Ok(comment)
}

fn add(call: &mut GithubCall<'_>, number: u64, new: NewComment) -> Result<Value, GithubError> {
    let comment = GithubReviewComment {
        id: call.state.next_id(),
        pull: number,
        review: new.review,
        reply_to: new.reply_to,
        author: call.caller.login.clone(),
        body: new.body,
        commit: new.commit,
        place: new.place,
        created_at: call.now,
        updated_at: call.now,
    };
    let repo = call.repo_mut()?;
    repo.review_comments.push(comment.clone());
    let comment = call.view().review_comment(call.repo()?, &comment);
    let pull = super::pulls::rendered(call, number)?;
    let payload = json!({"action": "created", "comment": comment, "pull_request": pull});
    call.emit("pull_request_review_comment", payload);
    Ok(comment)
}
