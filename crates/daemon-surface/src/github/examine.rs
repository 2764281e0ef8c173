//! Examines the access to GitHub, for `doctor`.

use std::collections::BTreeMap;

use daemon_engine::proposal::GithubName;
use daemon_engine::{PlaceCondition, PlaceReport, SurfaceError};
use serde::Deserialize;

use super::GithubSurface;
use crate::api::{ApiError, Credentials};

#[derive(Debug, Deserialize)]
struct RepoRow {
    #[serde(default)]
    permissions: BTreeMap<String, bool>,
}

#[derive(Debug, Deserialize)]
struct InstallationRow {
    #[serde(default)]
    permissions: BTreeMap<String, String>,
}

/// The permissions of an App that some verbs need.
const WRITTEN: [&str; 3] = ["issues", "pull_requests", "checks"];

pub(super) async fn examine(surface: &GithubSurface) -> Vec<PlaceReport> {
    let login = surface.actor().await;
    let condition = match &login {
        Ok(login) => PlaceCondition::Takes {
            detail: format!("outputs are written as `{login}`"),
        },
        Err(error) => refuses(
            error.clone(),
            account_remedy(error, surface.api.credentials()),
        ),
    };
    let mut reports = vec![PlaceReport {
        place: "account".to_owned(),
        condition,
    }];
    if login.is_ok() {
        for repo in &surface.repos {
            let examined = match surface.api.credentials() {
                Credentials::Token(_) => of_token(surface, repo).await,
                Credentials::App(_) => of_app(surface, repo).await,
            };
            let refused = |error: ApiError| {
                let remedy = repo_remedy(&error, surface.api.credentials());
                refuses(error, remedy)
            };
            reports.push(PlaceReport {
                place: repo.to_string(),
                condition: examined.unwrap_or_else(refused),
            });
        }
    }
    reports
}

async fn of_token(surface: &GithubSurface, repo: &GithubName) -> Result<PlaceCondition, ApiError> {
    let path = ["repos", repo.owner(), repo.name()];
    let row: RepoRow = surface.api.get(&path, &[]).await?.json()?;
    Ok(match row.permissions.get("push") {
        Some(true) => PlaceCondition::Takes {
            detail: "comments, issues, pull requests and labels are written; a token makes no check runs".to_owned(),
        },
        _ => PlaceCondition::Doubtful {
            detail: "the account cannot push, so it may comment, but not label or assign".to_owned(),
            remedy: "give the account the role `write`".to_owned(),
        },
    })
}

async fn of_app(surface: &GithubSurface, repo: &GithubName) -> Result<PlaceCondition, ApiError> {
    let path = ["repos", repo.owner(), repo.name(), "installation"];
    let row: InstallationRow = surface.api.get(&path, &[]).await?.json()?;
    let may = |name: &&str| {
        row.permissions
            .get(*name)
            .is_some_and(|level| level != "read")
    };
    let missing: Vec<&str> = WRITTEN.into_iter().filter(|name| !may(name)).collect();
    Ok(match missing.is_empty() {
        true => PlaceCondition::Takes {
            detail: "comments, issues, pull requests, labels and check runs are written".to_owned(),
        },
        false => PlaceCondition::Doubtful {
            detail: format!("the App may not write: {}", missing.join(", ")),
            remedy: "grant the permissions to the App".to_owned(),
        },
    })
}

/// Returns what to do if the account cannot be read.
fn account_remedy(error: &ApiError, credentials: &Credentials) -> &'static str {
    match credentials {
        Credentials::Token(_) if error.is_unauthorized() => {
            "put a valid token into the file or the variable that surfaces.github names, and reload"
        }
        Credentials::App(_) if error.is_unauthorized() || error.is_absent() => {
            "compare surfaces.github.app_id with the App, and make a new private key for key_file"
        }
        Credentials::Token(_) | Credentials::App(_) => {
            "see surfaces.github.api_base and the credentials of surfaces.github"
        }
    }
}

/// Returns what to do if a repository cannot be read.
fn repo_remedy(error: &ApiError, credentials: &Credentials) -> &'static str {
    match credentials {
        Credentials::Token(_) if error.is_absent() => {
            "compare `[[repo]] name` with the URL on GitHub, and give the token access to the repository"
        }
        Credentials::App(_) if error.is_absent() => {
            "install the App in the repository, from its settings on GitHub"
        }
        Credentials::Token(_) | Credentials::App(_) => "give the account access to the repository",
    }
}

fn refuses(error: ApiError, remedy: &str) -> PlaceCondition {
    PlaceCondition::Refuses {
        detail: SurfaceError::from(error).message,
        remedy: remedy.to_owned(),
    }
}
