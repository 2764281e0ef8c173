//! Comments on issues, whose ids are derived from the keys of outputs.

use daemon_engine::proposal::OutputVerb;
use daemon_engine::{Found, OutputKey, RemoteId};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Job, graphql, refused};
use crate::api::ApiError;
use crate::text::MAX_TEXT;

const READ: &str = "query($id: String!) { comment(id: $id) { id url body user { id } } }";
const ISSUE: &str = "query($id: String!) { issue(id: $id) { id } }";
const CREATE: &str = "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id url } } }";
const UPDATE: &str = "mutation($id: String!, $input: CommentUpdateInput!) { commentUpdate(id: $id, input: $input) { success comment { id url } } }";

#[derive(Debug, Deserialize)]
struct CommentRow {
    id: String,
    url: Option<String>,
    body: Option<String>,
    user: Option<IdRow>,
}

#[derive(Debug, Deserialize)]
struct IdRow {
    id: String,
}

#[derive(Debug, Deserialize)]
struct CommentData {
    comment: CommentRow,
}

#[derive(Debug, Deserialize)]
struct IssueData {
    issue: IdRow,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(alias = "commentUpdate")]
    comment_create: CommentData,
}

impl CommentRow {
    fn remote(self) -> RemoteId {
        RemoteId {
            id: format!("comment:{}", self.id),
            url: self.url,
            revision: None,
        }
    }
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let own = id_of(&job.output.key);
    let ids: Vec<&str> = match (edited(job), job.act.verb) {
        (Some(id), OutputVerb::EditComment) => vec![id],
        // The comment in the slot may have been deleted, and a new one written.
        (Some(id), _) => vec![id, &own],
        (None, _) => vec![&own],
    };
    let viewer = job.surface.viewer().await?;
    for id in ids {
        let row = match graphql::read::<CommentData>(job.api, READ, json!({"id": id})).await {
            Ok(data) => data.comment,
            Err(error) if error.is_absent() => continue,
            Err(error) => return Err(error),
        };
        // An App's comment has no user.
        let is_own = row.user.as_ref().is_none_or(|user| *user.id == *viewer);
        let body = row.body.as_deref().unwrap_or_default();
        if is_own && body.contains(job.output.key.as_str()) {
            return Ok(Found::At(row.remote()));
        }
    }
    Ok(Found::Absent)
}

/// Writes a comment, or replaces the one in the slot; one that was deleted is written again.
pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    if edited(job).is_some() {
        match edit(job).await {
            Err(error) if error.is_absent() => {}
            edited => return edited,
        }
    }
    let data: IssueData = graphql::read(job.api, ISSUE, json!({"id": job.issue})).await?;
    let input = json!({
        "id": id_of(&job.output.key),
        "issueId": data.issue.id,
        "body": body(job),
    });
    written(job, CREATE, json!({"input": input})).await
}

/// Replaces the text of an own comment.
pub(super) async fn edit(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let id = edited(job).ok_or_else(|| refused("the comment that it edits is not known"))?;
    let variables = json!({"id": id, "input": {"body": body(job)}});
    written(job, UPDATE, variables).await
}

async fn written(job: &Job<'_>, mutation: &str, variables: Value) -> Result<RemoteId, ApiError> {
    let written: Written = graphql::write(job.api, mutation, variables).await?;
    Ok(written.comment_create.comment.remote())
}

fn body(job: &Job<'_>) -> String {
    job.mark
        .signed(job.act.fields.text("body").unwrap_or_default(), MAX_TEXT)
}

/// Returns the id of the comment that is edited.
fn edited<'j>(job: &'j Job<'_>) -> Option<&'j str> {
    job.content.edits.as_deref()?.strip_prefix("comment:")
}

/// Derives the id of a comment from the key of its output, in the form of a random UUID, which Linear requires.
fn id_of(key: &OutputKey) -> String {
    let hash = Sha256::digest(format!("linear comment {key}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_id_of_a_comment_is_a_uuid_that_depends_on_the_key_alone() {
        let id = |key: &str| super::id_of(&key.parse().unwrap());
        let one = id("4ymwin7k4k363ohv3ycu7vcqhh");
        assert_eq!(one, id("4ymwin7k4k363ohv3ycu7vcqhh"));
        assert_ne!(one, id("5ymwin7k4k363ohv3ycu7vcqhh"));
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "4");
        assert!("89ab".contains(&one[19..20]), "{one}");
    }
}
