//! Assignees and requested reviewers.

use daemon_engine::{Found, RemoteId};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::issues::{self, IssueRow};
use super::rows::UserRow;
use super::{Job, refused};
use crate::api::ApiError;

/// What a pull request has in addition to an issue.
#[derive(Debug, Default, Deserialize)]
struct ReviewersRow {
    #[serde(default)]
    requested_reviewers: Vec<UserRow>,
    #[serde(default)]
    requested_teams: Vec<TeamRow>,
}

#[derive(Debug, Deserialize)]
struct TeamRow {
    slug: String,
}

impl ReviewersRow {
    fn has(&self, name: &str) -> bool {
        match name.split_once('/') {
            Some((_, team)) => self
                .requested_teams
                .iter()
                .any(|row| row.slug.eq_ignore_ascii_case(team)),
            None => has(&self.requested_reviewers, name),
        }
    }
}

fn has(users: &[UserRow], login: &str) -> bool {
    users
        .iter()
        .any(|user| user.login.eq_ignore_ascii_case(login))
}

/// Who is missing, and who is to be removed.
struct PeopleChanges<'j> {
    row: IssueRow,
    add: Vec<&'j str>,
    remove: Vec<&'j str>,
    reviewers: Vec<&'j str>,
}

async fn changes<'j>(job: &'j Job<'_>) -> Result<PeopleChanges<'j>, ApiError> {
    let row = issues::current(job).await?;
    let fields = &job.act.fields;
    let wanted: Vec<&str> = fields.lines("reviewers").collect();
    let requested = match wanted.is_empty() {
        true => ReviewersRow::default(),
        false => {
            let path = job.path(&["pulls", &job.object]);
            job.api.get(&path, &[]).await?.json()?
        }
    };
    Ok(PeopleChanges {
        add: fields
            .lines("add")
            .filter(|login| !has(&row.assignees, login))
            .collect(),
        remove: fields
            .lines("remove")
            .filter(|login| has(&row.assignees, login))
            .collect(),
        reviewers: wanted
            .into_iter()
            .filter(|name| !requested.has(name))
            .collect(),
        row,
    })
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let changes = changes(job).await?;
    let lists = [&changes.add, &changes.remove, &changes.reviewers];
    Ok(match lists.iter().all(|list| list.is_empty()) {
        true => Found::At(changes.row.remote("assignees")),
        false => Found::Absent,
    })
}

pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let changes = changes(job).await?;
    let assignees = job.path(&["issues", &job.object, "assignees"]);
    if !changes.remove.is_empty() {
        let body = json!({"assignees": changes.remove});
        job.api.write(Method::DELETE, &assignees, &body).await?;
    }
    if !changes.add.is_empty() {
        let body = json!({"assignees": changes.add});
        let row: IssueRow = job
            .api
            .write(Method::POST, &assignees, &body)
            .await?
            .json()?;
        // GitHub ignores accounts that have no access to the repository.
        if let Some(login) = changes.add.iter().find(|login| !has(&row.assignees, login)) {
            return Err(refused(format!("`{login}` cannot be assigned")));
        }
    }
    if !changes.reviewers.is_empty() {
        let (teams, logins): (Vec<&str>, Vec<&str>) = changes
            .reviewers
            .iter()
            .partition(|name| name.contains('/'));
        let teams = teams.iter().filter_map(|name| name.split_once('/'));
        let teams: Vec<&str> = teams.map(|(_, team)| team).collect();
        let path = job.path(&["pulls", &job.object, "requested_reviewers"]);
        let body = json!({"reviewers": logins, "team_reviewers": teams});
        job.api.write(Method::POST, &path, &body).await?;
    }
    Ok(changes.row.remote("assignees"))
}
