//! Pull requests: opened from the branch of an activation, and edited.

use daemon_engine::proposal::GithubName;
use daemon_engine::{Found, RemoteId};
use daemon_repo::{DaemonBranch, RefName};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::rows::{UserRow, is_ours};
use super::{Job, refused};
use crate::api::{ApiError, ApiErrorKind, RequestEffect, ServiceApi, Taken, cleaned};
use crate::text::MAX_TEXT;

/// How many pages of the pull requests of one branch are read.
const MAX_PAGES: usize = 3;
/// What precedes an addition to the body of a pull request.
const SEPARATOR: &str = "\n\n---\n\n";
/// The characters that must be left in a body for an addition: marker and footer need about 300.
const LEAST_ADDED: usize = 1_000;

#[derive(Debug, Deserialize)]
pub(super) struct PullRow {
    pub(super) number: u64,
    html_url: Option<String>,
    title: Option<String>,
    body: Option<String>,
    user: Option<UserRow>,
    pub(super) head: EndRow,
    #[serde(default)]
    labels: Vec<LabelRow>,
    /// The id in GraphQL.
    node_id: Option<String>,
    #[serde(default)]
    draft: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct EndRow {
    pub(super) sha: String,
}

#[derive(Debug, Deserialize)]
struct LabelRow {
    name: String,
}

/// The state of a pull request, as the service names it.
#[derive(Debug, Deserialize)]
struct StateRow {
    state: String,
}

#[derive(Debug, Deserialize)]
struct RepoRow {
    default_branch: String,
}

/// The response to a mutation of GraphQL, which is successful also if the mutation is not.
#[derive(Debug, Deserialize)]
struct MutationAnswer {
    #[serde(default)]
    errors: Vec<MutationError>,
}

#[derive(Debug, Deserialize)]
struct MutationError {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: String,
}

impl PullRow {
    fn remote(&self) -> RemoteId {
        RemoteId {
            id: format!("pull_request:{}", self.number),
            url: self.html_url.clone(),
            revision: None,
        }
    }

    fn has(&self, label: &str) -> bool {
        self.labels
            .iter()
            .any(|row| row.name.eq_ignore_ascii_case(label))
    }
}

/// Reports whether a pull request is open; one that does not exist is not.
pub(super) async fn is_open(
    api: &ServiceApi,
    repo: &GithubName,
    number: &str,
) -> Result<bool, ApiError> {
    let path = ["repos", repo.owner(), repo.name(), "pulls", number];
    match api.get(&path, &[]).await {
        Ok(answer) => Ok(answer.json::<StateRow>()?.state == "open"),
        Err(error) if error.is_absent() => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let pull = own_pull(job).await?;
    Ok(match pull {
        Some(pull) if job.act.fields.lines("labels").all(|label| pull.has(label)) => {
            Found::At(pull.remote())
        }
        // Also the pull request without all of its labels: a send adds those and opens nothing.
        Some(_) | None => Found::Absent,
    })
}

/// Returns the pull request that this output opened.
async fn own_pull(job: &Job<'_>) -> Result<Option<PullRow>, ApiError> {
    let (actor, marker) = (job.surface.actor().await?, job.mark.marker());
    let head = format!("{}:{}", job.repo.owner(), branch(job)?);
    let query = [("head", head.as_str()), ("state", "all")];
    let mut found = None;
    let take = |row: PullRow| match is_ours(row.body.as_deref(), row.user.as_ref(), &marker, &actor)
    {
        true => {
            found = Some(row);
            Taken::Enough
        }
        false => Taken::More,
    };
    job.api
        .pages(&job.path(&["pulls"]), &query, MAX_PAGES, take)
        .await?;
    Ok(found)
}

/// Returns the name of the branch with the changes.
fn branch<'j>(job: &'j Job<'_>) -> Result<&'j str, ApiError> {
    let head = job.content.head.as_deref();
    let branch = head.and_then(|head| head.strip_prefix("refs/heads/"));
    branch.ok_or_else(|| refused("the stored output names no branch"))
}

pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let pull = match own_pull(job).await? {
        Some(pull) => pull,
        None => match rolling_pull(job).await? {
            Some(pull) => add(job, pull).await?,
            None => open(job).await?,
        },
    };
    let missing: Vec<&str> = job
        .act
        .fields
        .lines("labels")
        .filter(|label| !pull.has(label))
        .collect();
    if !missing.is_empty() {
        let number = pull.number.to_string();
        let path = job.path(&["issues", &number, "labels"]);
        let labelled = job
            .api
            .write(Method::POST, &path, &json!({"labels": missing}))
            .await;
        match labelled {
            // The pull request is what was proposed; without the right to label, it has no labels.
            Err(error) if !matches!(error.kind, ApiErrorKind::Refused(_)) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(pull.remote())
}

/// Returns the open pull request that an earlier output opened from the same rolling branch.
async fn rolling_pull(job: &Job<'_>) -> Result<Option<PullRow>, ApiError> {
    let branch = branch(job)?;
    let name = RefName::branch(branch).ok();
    let is_rolling = matches!(
        name.as_ref().and_then(DaemonBranch::parse),
        Some(DaemonBranch::Rolling(daemon, _)) if daemon == job.output.daemon.id
    );
    if !is_rolling {
        return Ok(None);
    }
    let actor = job.surface.actor().await?;
    let head = format!("{}:{branch}", job.repo.owner());
    let query = [("head", head.as_str()), ("state", "open")];
    let mut found = None;
    let take = |row: PullRow| match is_ours(row.body.as_deref(), row.user.as_ref(), "", &actor) {
        true => {
            found = Some(row);
            Taken::Enough
        }
        false => Taken::More,
    };
    let path = job.path(&["pulls"]);
    job.api.pages(&path, &query, MAX_PAGES, take).await?;
    Ok(found)
}

/// Adds title and text of the output to the body of a pull request, with a marker of their own.
async fn add(job: &Job<'_>, pull: PullRow) -> Result<PullRow, ApiError> {
    let known = pull.body.clone().unwrap_or_default();
    let room = MAX_TEXT.saturating_sub(known.chars().count() + SEPARATOR.len());
    // What was not added because the body is full is in the commits.
    if room > LEAST_ADDED {
        let text = format!("### {}\n\n{}", job.text("title"), job.text("body"));
        let body = format!("{known}{SEPARATOR}{}", job.mark.around(&text, room));
        let number = pull.number.to_string();
        let path = job.path(&["pulls", &number]);
        let changes = json!({"body": body});
        job.api.write(Method::PATCH, &path, &changes).await?;
    }
    Ok(pull)
}

async fn open(job: &Job<'_>) -> Result<PullRow, ApiError> {
    let branch = branch(job)?;
    let parts: Vec<&str> = ["git", "ref", "heads"]
        .into_iter()
        .chain(branch.split('/'))
        .collect();
    match job.api.get(&job.path(&parts), &[]).await {
        Ok(_) => {}
        // The push is another output of the same activation, and takes its own time.
        Err(error) if error.is_absent() => {
            let why = format!("the branch `{branch}` is not there yet");
            return Err(ApiError::failed(RequestEffect::None, why));
        }
        Err(error) => return Err(error),
    }
    let base = match job.act.fields.text("base") {
        Some(base) => base.to_owned(),
        None => {
            let repo: RepoRow = job.api.get(&job.path(&[]), &[]).await?.json()?;
            repo.default_branch
        }
    };
    let body = json!({
        "title": job.text("title"),
        "body": job.body("body"),
        "head": branch,
        "base": base,
        "draft": job.act.fields.flag("draft").unwrap_or_default(),
    });
    job.api
        .write(Method::POST, &job.path(&["pulls"]), &body)
        .await?
        .json()
}

pub(super) async fn find_edit(job: &Job<'_>) -> Result<Found, ApiError> {
    let pull = current(job).await?;
    Ok(match changes(job, &pull).await? {
        changes if changes.is_empty() && draft(job, &pull).is_none() => Found::At(pull.remote()),
        _ => Found::Absent,
    })
}

pub(super) async fn edit(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let pull = current(job).await?;
    let changes = changes(job, &pull).await?;
    if !changes.is_empty() {
        let path = job.path(&["pulls", &job.object]);
        job.api.write(Method::PATCH, &path, &changes.into()).await?;
    }
    if let Some(is_draft) = draft(job, &pull) {
        set_draft(job, &pull, is_draft).await?;
    }
    Ok(pull.remote())
}

/// Returns whether the pull request is to be a draft, if it is not so yet.
fn draft(job: &Job<'_>, pull: &PullRow) -> Option<bool> {
    let wanted = job.act.fields.flag("draft")?;
    (wanted != pull.draft).then_some(wanted)
}

/// Makes the pull request a draft, or ready for review. Only GraphQL can.
async fn set_draft(job: &Job<'_>, pull: &PullRow, is_draft: bool) -> Result<(), ApiError> {
    let mutation = match is_draft {
        true => {
            "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"
        }
        false => {
            "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"
        }
    };
    let body = json!({"query": mutation, "variables": {"id": pull.node_id}});
    let about = job.path(&["pulls", &job.object]);
    let answer: MutationAnswer = job.api.mutate(&about, &body).await?.json()?;
    let Some(failure) = answer.errors.into_iter().next() else {
        return Ok(());
    };
    let said = cleaned(&failure.message).unwrap_or_default();
    let error = match failure.kind.as_deref() {
        Some("RATE_LIMITED") => ApiError::rate_limited(said),
        Some("INTERNAL" | "SERVICE_UNAVAILABLE") | None => {
            ApiError::failed(RequestEffect::Write, said)
        }
        Some(_) => ApiError::refused(RequestEffect::Write, said),
    };
    job.api.pause(&error);
    Err(error)
}

async fn current(job: &Job<'_>) -> Result<PullRow, ApiError> {
    job.api
        .get(&job.path(&["pulls", &job.object]), &[])
        .await?
        .json()
}

/// Returns what the pull request does not have yet.
async fn changes(job: &Job<'_>, pull: &PullRow) -> Result<Map<String, Value>, ApiError> {
    let mut acc = Map::new();
    if let Some(title) = job.act.fields.text("title")
        && pull.title.as_deref() != Some(title)
    {
        acc.insert("title".to_owned(), title.into());
    }
    if let Some(text) = job.act.fields.text("body") {
        // GitHub stores line ends as they were sent, but a browser sends both characters.
        let known = pull
            .body
            .as_deref()
            .unwrap_or_default()
            .replace("\r\n", "\n");
        let actor = job.surface.actor().await?;
        let author = pull.user.as_ref().map(|user| user.login.as_str());
        let body = match author.is_some_and(|author| author.eq_ignore_ascii_case(&actor)) {
            true => job.mark.replaced(&known, text, MAX_TEXT),
            // The marker of another author is a copy.
            false => job.mark.around(text, MAX_TEXT),
        };
        if body != known {
            acc.insert("body".to_owned(), body.into());
        }
    }
    Ok(acc)
}
