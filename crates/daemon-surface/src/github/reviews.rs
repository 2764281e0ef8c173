//! Reviews of pull requests, and comments on their lines.

use daemon_engine::proposal::ProposalFields;
use daemon_engine::{Found, RemoteId};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::Job;
use super::pulls::PullRow;
use super::rows::TextRow;
use crate::api::ApiError;
use crate::text::{MAX_TEXT, OutputMark};

const REVIEW: &str = "review";
const REVIEW_COMMENT: &str = "review_comment";

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    job.find_marked(&["pulls", &job.object, "reviews"], &[], REVIEW)
        .await
}

pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let event = match job.text("event") {
        "request_changes" => "REQUEST_CHANGES",
        _ => "COMMENT",
    };
    // Each has the marker, because each makes an event of its own.
    let comments = job.act.fields.rows("comments");
    let comments: Vec<Value> = comments
        .map(|row| on_lines(&row, &job.mark).into())
        .collect();
    let body = json!({"body": job.body("body"), "event": event, "comments": comments});
    let path = job.path(&["pulls", &job.object, "reviews"]);
    let answer = job.api.write(Method::POST, &path, &body).await?;
    answer.json::<TextRow>().map(|row| row.remote(REVIEW))
}

pub(super) async fn find_comment(job: &Job<'_>) -> Result<Found, ApiError> {
    let newest = [("sort", "created"), ("direction", "desc")];
    job.find_marked(&["pulls", &job.object, "comments"], &newest, REVIEW_COMMENT)
        .await
}

pub(super) async fn deliver_comment(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let pull: PullRow = job
        .api
        .get(&job.path(&["pulls", &job.object]), &[])
        .await?
        .json()?;
    let mut body = on_lines(&job.act.fields, &job.mark);
    body.insert("body".to_owned(), job.body("body").into());
    body.insert("commit_id".to_owned(), pull.head.sha.into());
    let path = job.path(&["pulls", &job.object, "comments"]);
    let answer = job.api.write(Method::POST, &path, &body.into()).await?;
    answer
        .json::<TextRow>()
        .map(|row| row.remote(REVIEW_COMMENT))
}

/// Returns the members of a comment on lines.
fn on_lines(fields: &ProposalFields, mark: &OutputMark) -> Map<String, Value> {
    let text = |name: &str| fields.text(name).unwrap_or_default();
    let side = fields.text("side").unwrap_or("RIGHT");
    let mut acc = Map::new();
    let mut add = |name: &str, value: Value| acc.insert(name.to_owned(), value);
    add("path", text("path").into());
    add("body", mark.after(text("body"), MAX_TEXT).into());
    add("line", fields.number("line").into());
    add("side", side.into());
    // GitHub refuses a range of one line.
    let start = fields
        .number("start_line")
        .filter(|start| Some(*start) != fields.number("line"));
    if let Some(start) = start {
        add("start_line", start.into());
        add("start_side", side.into());
    }
    acc
}
