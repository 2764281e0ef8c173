//! Branches that are created, moved and deleted, and the events of it.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::{pulls, view};
use crate::http::HttpResponse;

const ZERO: &str = "0000000000000000000000000000000000000000";

type Answer = Result<HttpResponse, GithubError>;

/// A branch that moved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GithubPush {
    /// The branch.
    pub branch: String,
    /// Its commit before; `None` if it was created.
    pub before: Option<String>,
    /// Its commit after; `None` if it was deleted.
    pub after: Option<String>,
    /// The commits, as `commits` of the webhook has them.
    pub commits: Vec<Value>,
}

/// Lists the branches whose full names begin with a prefix.
pub(crate) fn matching(call: &mut GithubCall<'_>) -> Answer {
    let prefix = format!("refs/{}", call.param("prefix"));
    let (repo, base) = (call.repo()?, call.base);
    let api = format!("{base}/repos/{}/git", repo.full_name());
    let named = repo
        .branches
        .iter()
        .map(|(name, sha)| (format!("refs/heads/{name}"), sha));
    let rows = named.filter(|(name, _)| name.starts_with(&prefix));
    let rows = rows.map(|(name, sha)| {
        let object = json!({"type": "commit", "sha": sha, "url": format!("{api}/commits/{sha}")});
        json!({"ref": name, "node_id": "REF_kw", "url": format!("{api}/{name}"), "object": object})
    });
    Ok(call.page(&rows.collect::<Vec<_>>()))
}

/// Compares two commits or branches. This service knows no commits, so it lists one with the committer of all.
pub(crate) fn compare(call: &mut GithubCall<'_>) -> Answer {
    let (base, head) = call
        .param("ends")
        .split_once("...")
        .ok_or_else(GithubError::not_found)?;
    let repo = call.repo()?;
    let sha = |end: &str| repo.branch(end).unwrap_or_else(|| end.to_owned());
    let (base, head) = (sha(base), sha(head));
    let files = repo.read_files.as_ref().map(|read| read(&base, &head));
    let files = files.unwrap_or_default().into_iter();
    let files: Vec<Value> = files
        .map(|file| json!({"filename": file.path, "status": file.status, "patch": file.patch}))
        .collect();
    let person =
        json!({"name": "Ann", "email": "ann@example.com", "date": view::time(repo.created_at)});
    let commit = json!({
        "sha": head, "author": call.view().user("ann"), "committer": call.view().user("ann"),
        "commit": {"message": "a change", "author": person, "committer": person},
    });
    let body = json!({
        "status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1,
        "commits": [commit], "files": files,
    });
    Ok(HttpResponse::json(200, &body))
}

pub(crate) fn create(call: &mut GithubCall<'_>) -> Answer {
    let name = call.text("ref")?.unwrap_or_default();
    let invalid = || GithubError::new(422, "Reference name is not valid");
    let branch = name
        .strip_prefix("refs/heads/")
        .ok_or_else(invalid)?
        .to_owned();
    let sha = sha(call)?;
    if call.repo()?.branch(&branch).is_some() {
        return Err(GithubError::new(422, "Reference already exists"));
    }
    moved(call, branch, None, Some(sha), 201)
}

pub(crate) fn update(call: &mut GithubCall<'_>) -> Answer {
    let branch = call.param("branch").to_owned();
    let missing = || GithubError::new(422, "Reference does not exist");
    let before = call.repo()?.branch(&branch).ok_or_else(missing)?;
    let sha = sha(call)?;
    moved(call, branch, Some(before), Some(sha), 200)
}

pub(crate) fn delete(call: &mut GithubCall<'_>) -> Answer {
    let branch = call.param("branch").to_owned();
    let missing = || GithubError::new(422, "Reference does not exist");
    let before = call.repo()?.branch(&branch).ok_or_else(missing)?;
    moved(call, branch, Some(before), None, 204)
}

fn sha(call: &GithubCall<'_>) -> Result<String, GithubError> {
    let missing = || GithubError::missing("sha");
    call.text("sha")?.ok_or_else(missing)
}

fn moved(
    call: &mut GithubCall<'_>,
    branch: String,
    before: Option<String>,
    after: Option<String>,
    status: u16,
) -> Answer {
    let repo = call.repo_mut()?;
    match &after {
        Some(sha) => repo.branches.insert(branch.clone(), sha.clone()),
        None => repo.branches.remove(&branch),
    };
    repo.refresh_heads();
    let body = json!({
        "ref": format!("refs/heads/{branch}"), "object": {"type": "commit", "sha": after},
    });
    let is_deleted = after.is_none();
    let commits = Vec::new();
    announce(
        call,
        GithubPush {
            branch,
            before,
            after,
            commits,
        },
    )?;
    Ok(if is_deleted {
        HttpResponse::empty(status)
    } else {
        HttpResponse::json(status, &body)
    })
}

/// Sends the events of a branch that moved.
pub(crate) fn announce(call: &mut GithubCall<'_>, push: GithubPush) -> Result<(), GithubError> {
    let (name, base) = (call.repo()?.full_name(), call.base);
    let main = call.repo()?.default_branch.clone();
    let now = call.now;
    call.repo_mut()?.pushed_at = now;
    if push.before.is_none() {
        let payload = json!({
            "ref": push.branch, "ref_type": "branch", "master_branch": main, "description": null,
            "pusher_type": "user",
        });
        call.emit("create", payload);
    }
    let before = push.before.as_deref().unwrap_or(ZERO);
    let after = push.after.as_deref().unwrap_or(ZERO);
    let payload = json!({
        "ref": format!("refs/heads/{}", push.branch), "before": before, "after": after,
        "created": push.before.is_none(), "deleted": push.after.is_none(), "forced": false,
        "base_ref": null, "compare": format!("{base}/{name}/compare/{before}...{after}"),
        "head_commit": push.commits.last(), "commits": push.commits,
        "pusher": {"name": call.caller.login, "email": null},
    });
    call.emit("push", payload);
    let issues = call.repo()?.issues.iter().filter(|issue| issue.is_open);
    let is_head = |head: &str| head == push.branch && push.before.is_some() && push.after.is_some();
    let of_branch =
        issues.filter(|issue| issue.pull.as_ref().is_some_and(|pull| is_head(&pull.head)));
    let numbers: Vec<u64> = of_branch.map(|issue| issue.number).collect();
    for number in numbers {
        let pull = pulls::rendered(call, number)?;
        call.emit_pull(
            "synchronize",
            &pull,
            json!({"before": before, "after": after}),
        );
    }
    if push.after.is_none() {
        let payload = json!({"ref": push.branch, "ref_type": "branch", "pusher_type": "user"});
        call.emit("delete", payload);
    }
    Ok(())
}
