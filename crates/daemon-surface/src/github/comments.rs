//! Comments on issues and pull requests, and edits of own ones.

use daemon_engine::proposal::OutputVerb;
use daemon_engine::{Found, RemoteId};
use reqwest::Method;
use serde_json::json;

use super::rows::TextRow;
use super::{Job, refused};
use crate::api::ApiError;

/// The kind in remote ids.
const COMMENT: &str = "comment";

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    if let Some(id) = job.edited(COMMENT) {
        let (actor, marker) = (job.surface.actor().await?, job.mark.marker());
        match current(job, id).await? {
            Some(row) if row.is_ours(&marker, &actor) => return Ok(Found::At(row.remote(COMMENT))),
            Some(_) => return Ok(Found::Absent),
            None if job.act.verb == OutputVerb::EditComment => return Ok(Found::Absent),
            // The comment in the slot was deleted, and a new one may have been written.
            None => {}
        }
    }
    job.find_marked(&["issues", &job.object, "comments"], &[], COMMENT)
        .await
}

/// Returns a comment; `None` if it does not exist any more.
async fn current(job: &Job<'_>, id: &str) -> Result<Option<TextRow>, ApiError> {
    match job
        .api
        .get(&job.path(&["issues", "comments", id]), &[])
        .await
    {
        Ok(answer) => answer.json().map(Some),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a comment, or replaces the one in the slot; one that was deleted is written again.
pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    if job.edited(COMMENT).is_some() {
        match edit(job).await {
            Err(error) if error.is_absent() => {}
            edited => return edited,
        }
    }
    let path = job.path(&["issues", &job.object, "comments"]);
    let body = json!({"body": job.body("body")});
    let answer = job.api.write(Method::POST, &path, &body).await?;
    answer.json::<TextRow>().map(|row| row.remote(COMMENT))
}

/// Replaces the text of an own comment.
pub(super) async fn edit(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let id = job
        .edited(COMMENT)
        .ok_or_else(|| refused("the comment that it edits is not known"))?;
    let path = job.path(&["issues", "comments", id]);
    let body = json!({"body": job.body("body")});
    let answer = job.api.write(Method::PATCH, &path, &body).await?;
    answer.json::<TextRow>().map(|row| row.remote(COMMENT))
}
