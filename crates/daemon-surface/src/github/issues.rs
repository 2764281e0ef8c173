//! Issues, and the labels of issues and pull requests.

use daemon_engine::{Found, RemoteId};
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::Job;
use super::rows::{UserRow, is_ours};
use crate::api::{ApiError, Listed, PAGE, Taken};

/// How many pages of the newest issues a look-up reads.
const MAX_PAGES: usize = 10;
/// How far the clocks of this host and of GitHub may differ.
const SKEW: SignedDuration = SignedDuration::from_hours(24);

#[derive(Debug, Deserialize)]
pub(super) struct IssueRow {
    number: u64,
    html_url: Option<String>,
    body: Option<String>,
    user: Option<UserRow>,
    created_at: Option<String>,
    #[serde(default)]
    labels: Vec<LabelRow>,
    #[serde(default)]
    pub(super) assignees: Vec<UserRow>,
}

#[derive(Debug, Deserialize)]
struct LabelRow {
    name: String,
}

impl IssueRow {
    pub(super) fn remote(&self, kind: &str) -> RemoteId {
        RemoteId {
            id: format!("{kind}:{}", self.number),
            url: self.html_url.clone(),
            revision: None,
        }
    }

    fn is_before(&self, instant: Timestamp) -> bool {
        let created = self
            .created_at
            .as_deref()
            .and_then(|text| text.parse::<Timestamp>().ok());
        created.is_some_and(|created| created < instant)
    }
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let (actor, marker) = (job.surface.actor().await?, job.mark.marker());
    let oldest = job.output.created_at - SKEW;
    let query = [("state", "all"), ("sort", "created"), ("direction", "desc")];
    let (mut found, mut n_rows) = (None, 0);
    let take = |row: IssueRow| {
        n_rows += 1;
        if is_ours(row.body.as_deref(), row.user.as_ref(), &marker, &actor) {
            found = Some(row.remote("issue"));
            return Taken::Enough;
        }
        // The first page is read whole, because the clocks may differ by more.
        match n_rows >= PAGE && row.is_before(oldest) {
            true => Taken::Enough,
            false => Taken::More,
        }
    };
    let listed = job
        .api
        .pages(&job.path(&["issues"]), &query, MAX_PAGES, take)
        .await?;
    Ok(match (found, listed) {
        (Some(remote), _) => Found::At(remote),
        (None, Listed::Whole) => Found::Absent,
        (None, Listed::Cut) => Found::Unreadable,
    })
}

pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let labels: Vec<&str> = job.act.fields.lines("labels").collect();
    let body = json!({
        "title": job.text("title"),
        "body": job.body("body"),
        "labels": labels,
    });
    let answer = job
        .api
        .write(Method::POST, &job.path(&["issues"]), &body)
        .await?;
    answer.json::<IssueRow>().map(|row| row.remote("issue"))
}

/// Gets the issue or pull request of the target.
pub(super) async fn current(job: &Job<'_>) -> Result<IssueRow, ApiError> {
    job.api
        .get(&job.path(&["issues", &job.object]), &[])
        .await?
        .json()
}

/// The labels that are to be added and removed.
struct LabelChanges<'j> {
    add: Vec<&'j str>,
    remove: Vec<&'j str>,
}

impl<'j> LabelChanges<'j> {
    fn of(job: &'j Job<'_>, row: &IssueRow) -> Self {
        let has = |name: &str| {
            row.labels
                .iter()
                .any(|label| label.name.eq_ignore_ascii_case(name))
        };
        let fields = &job.act.fields;
        Self {
            add: fields.lines("add").filter(|name| !has(name)).collect(),
            remove: fields.lines("remove").filter(|name| has(name)).collect(),
        }
    }
}

pub(super) async fn find_labels(job: &Job<'_>) -> Result<Found, ApiError> {
    let row = current(job).await?;
    let changes = LabelChanges::of(job, &row);
    Ok(match changes.add.is_empty() && changes.remove.is_empty() {
        true => Found::At(row.remote("labels")),
        false => Found::Absent,
    })
}

pub(super) async fn label(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let row = current(job).await?;
    let changes = LabelChanges::of(job, &row);
    if !changes.add.is_empty() {
        let path = job.path(&["issues", &job.object, "labels"]);
        job.api
            .write(Method::POST, &path, &json!({"labels": changes.add}))
            .await?;
    }
    for name in changes.remove {
        let path = job.path(&["issues", &job.object, "labels", name]);
        match job.api.write(Method::DELETE, &path, &json!({})).await {
            Ok(_) => {}
            // Removed by someone else in the meantime.
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(row.remote("labels"))
}
