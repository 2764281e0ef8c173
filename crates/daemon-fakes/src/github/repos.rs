//! The account of a token, repositories and their branches.

use serde_json::json;

use super::call::{GithubCall, GithubError};
use crate::http::{HttpResponse, encode};

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn user(call: &mut GithubCall<'_>) -> Answer {
    let user = call.view().user(&call.caller.login);
    Ok(HttpResponse::json(200, &user))
}

pub(crate) fn get(call: &mut GithubCall<'_>) -> Answer {
    let mut body = call.view().repo(call.repo()?);
    let may_push = call.repo()?.is_collaborator(&call.caller.login);
    body["permissions"] = json!({"admin": false, "push": may_push, "pull": true});
    Ok(HttpResponse::json(200, &body))
}

pub(crate) fn branch(call: &mut GithubCall<'_>) -> Answer {
    let (repo, name) = (call.repo()?, call.param("branch"));
    let missing = || GithubError::new(404, "Branch not found");
    let sha = repo.branch(name).ok_or_else(missing)?;
    let url = format!("{}/repos/{}/commits/{sha}", call.base, repo.full_name());
    let body = json!({
        "name": name, "commit": {"sha": sha, "url": url}, "protected": repo.protected.contains(name),
    });
    Ok(HttpResponse::json(200, &body))
}

pub(crate) fn git_ref(call: &mut GithubCall<'_>) -> Answer {
    let (repo, name) = (call.repo()?, call.param("branch"));
    let sha = repo.branch(name).ok_or_else(GithubError::not_found)?;
    let git = format!("{}/repos/{}/git", call.base, repo.full_name());
    let body = json!({
        "ref": format!("refs/heads/{name}"),
        "node_id": format!("REF_{}", encode(name)),
        "url": format!("{git}/refs/heads/{name}"),
        "object": {"type": "commit", "sha": sha, "url": format!("{git}/commits/{sha}")},
    });
    Ok(HttpResponse::json(200, &body))
}
