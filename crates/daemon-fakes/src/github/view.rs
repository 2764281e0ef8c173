//! The JSON of the objects, as the API and the webhooks send it.

mod checks;
mod reviews;

use std::time::Duration;

use serde_json::{Value, json};

use super::state::{
    GithubAccountKind, GithubComment, GithubIssue, GithubLabel, GithubPull, GithubRepo, GithubState,
};
use crate::clock::to_seconds_text;
use crate::http::encode;

pub(crate) use checks::permissions;

/// Writes objects of a state.
#[derive(Clone, Copy)]
pub(crate) struct GithubView<'v> {
    pub(crate) state: &'v GithubState,
    pub(crate) base: &'v str,
}

pub(crate) fn time(time: Duration) -> Value {
    json!(to_seconds_text(time))
}

fn head_of(issue: &GithubIssue) -> Option<&str> {
    issue.pull.as_ref().map(|pull| pull.head_sha.as_str())
}

impl GithubView<'_> {
    pub(crate) fn user(&self, login: &str) -> Value {
        let base = self.base;
        let found = self.state.user(login);
        let (id, kind) = found.map_or((0, GithubAccountKind::User), |user| (user.id, user.kind));
        let kind = match kind {
            GithubAccountKind::User => "User",
            GithubAccountKind::Bot => "Bot",
            GithubAccountKind::Organization => "Organization",
        };
        json!({
            "login": login, "id": id, "node_id": format!("U_kg{id}"), "type": kind,
            "url": format!("{base}/users/{}", encode(login)),
            "html_url": format!("{base}/{}", encode(login)),
            "avatar_url": "", "site_admin": false,
        })
    }

    pub(crate) fn users(&self, logins: &[String]) -> Value {
        logins.iter().map(|login| self.user(login)).collect()
    }

    pub(crate) fn repo(&self, repo: &GithubRepo) -> Value {
        let (base, name) = (self.base, repo.full_name());
        let n_open = repo.issues.iter().filter(|issue| issue.is_open).count();
        json!({
            "id": repo.id, "node_id": format!("R_kg{}", repo.id),
            "name": repo.name, "full_name": name, "private": false,
            "owner": self.user(&repo.owner),
            "html_url": format!("{base}/{name}"), "url": format!("{base}/repos/{name}"),
            "clone_url": format!("{base}/{name}.git"),
            "description": null, "fork": false, "archived": false, "disabled": false,
            "has_issues": true, "open_issues_count": n_open, "open_issues": n_open,
            "default_branch": repo.default_branch, "visibility": "public",
            "created_at": time(repo.created_at), "updated_at": time(repo.created_at),
            "pushed_at": time(repo.pushed_at),
        })
    }

    pub(crate) fn label(&self, repo: &GithubRepo, label: &GithubLabel) -> Value {
        let url = format!(
            "{}/repos/{}/labels/{}",
            self.base,
            repo.full_name(),
            encode(&label.name)
        );
        json!({
            "id": label.id, "node_id": format!("LA_kw{}", label.id), "url": url,
            "name": label.name, "color": label.color, "default": false, "description": null,
        })
    }

    pub(crate) fn labels(&self, repo: &GithubRepo, names: &[String]) -> Value {
        let found = |name: &String| repo.labels.iter().find(|label| label.name == *name);
        let labels = names.iter().filter_map(found);
        labels.map(|label| self.label(repo, label)).collect()
    }

    fn association(repo: &GithubRepo, login: &str) -> &'static str {
        if repo.owner.eq_ignore_ascii_case(login) {
            "OWNER"
        } else if repo.is_collaborator(login) {
            "COLLABORATOR"
        } else {
            "NONE"
        }
    }

    /// Returns what issues and pull requests have in common.
    fn common(&self, repo: &GithubRepo, issue: &GithubIssue) -> Value {
        json!({
            "id": issue.id, "number": issue.number, "title": issue.title, "body": issue.body,
            "state": if issue.is_open { "open" } else { "closed" },
            "locked": false, "active_lock_reason": null, "milestone": null,
            "user": self.user(&issue.author),
            "author_association": Self::association(repo, &issue.author),
            "labels": self.labels(repo, &issue.labels),
            "assignee": issue.assignees.first().map(|login| self.user(login)),
            "assignees": self.users(&issue.assignees),
            "created_at": time(issue.created_at), "updated_at": time(issue.updated_at),
            "closed_at": issue.closed_at.map(time),
        })
    }

    /// Returns the page of an issue or a pull request.
    pub(crate) fn issue_page(&self, repo: &GithubRepo, issue: &GithubIssue) -> String {
        let kind = if issue.pull.is_some() {
            "pull"
        } else {
            "issues"
        };
        format!("{}/{}/{kind}/{}", self.base, repo.full_name(), issue.number)
    }

    pub(crate) fn issue(&self, repo: &GithubRepo, issue: &GithubIssue) -> Value {
        let api = format!("{}/repos/{}", self.base, repo.full_name());
        let url = format!("{api}/issues/{}", issue.number);
        let n_comments = repo
            .comments
            .iter()
            .filter(|it| it.issue == issue.number)
            .count();
        let mut acc = self.common(repo, issue);
        acc["node_id"] = json!(format!("I_kw{}", issue.id));
        acc["url"] = json!(url);
        acc["repository_url"] = json!(api);
        acc["labels_url"] = json!(format!("{url}/labels{{/name}}"));
        acc["comments_url"] = json!(format!("{url}/comments"));
        acc["html_url"] = json!(self.issue_page(repo, issue));
        acc["comments"] = json!(n_comments);
        acc["closed_by"] = json!(issue.closed_by.as_deref().map(|login| self.user(login)));
        acc["state_reason"] = json!((!issue.is_open).then_some("completed"));
        if let Some(pull) = &issue.pull {
            let page = self.issue_page(repo, issue);
            acc["draft"] = json!(pull.is_draft);
            acc["pull_request"] = json!({
                "url": format!("{api}/pulls/{}", issue.number), "html_url": page,
                "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
                "merged_at": pull.merged.as_ref().map(|(at, _)| time(*at)),
            });
        }
        acc
    }

    pub(crate) fn pull(&self, repo: &GithubRepo, issue: &GithubIssue, pull: &GithubPull) -> Value {
        let api = format!("{}/repos/{}", self.base, repo.full_name());
        let (url, page) = (
            format!("{api}/pulls/{}", issue.number),
            self.issue_page(repo, issue),
        );
        let end = |branch: &str, sha: &str| {
            json!({
                "label": format!("{}:{branch}", repo.owner), "ref": branch, "sha": sha,
                "user": self.user(&repo.owner), "repo": self.repo(repo),
            })
        };
        let of_issue = repo.comments.iter().filter(|it| it.issue == issue.number);
        let mut acc = self.common(repo, issue);
        let own = json!({
            "node_id": format!("PR_kw{}", issue.id), "url": url, "html_url": page,
            "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
            "issue_url": format!("{api}/issues/{}", issue.number),
            "comments_url": format!("{api}/issues/{}/comments", issue.number),
            "review_comments_url": format!("{url}/comments"), "commits_url": format!("{url}/commits"),
            "statuses_url": format!("{api}/statuses/{}", pull.head_sha),
            "head": end(&pull.head, &pull.head_sha), "base": end(&pull.base, &pull.base_sha),
            "draft": pull.is_draft, "auto_merge": null, "maintainer_can_modify": false,
            "requested_reviewers": self.users(&pull.reviewers), "requested_teams": [],
            "merged": pull.merged.is_some(), "mergeable": pull.merged.is_none().then_some(true),
            "mergeable_state": if pull.is_draft { "draft" } else { "clean" },
            "merged_at": pull.merged.as_ref().map(|(at, _)| time(*at)),
            "merge_commit_sha": pull.merged.as_ref().map(|(_, sha)| sha),
            "comments": of_issue.count(),
        });
        if let (Value::Object(acc), Value::Object(own)) = (&mut acc, own) {
            acc.extend(own);
        }
        acc
    }

    pub(crate) fn comment(&self, repo: &GithubRepo, comment: &GithubComment) -> Value {
        let api = format!("{}/repos/{}/issues", self.base, repo.full_name());
        let page = repo
            .issue(comment.issue)
            .map(|issue| self.issue_page(repo, issue));
        json!({
            "id": comment.id, "node_id": format!("IC_kw{}", comment.id),
            "url": format!("{api}/comments/{}", comment.id),
            "html_url": format!("{}#issuecomment-{}", page.unwrap_or_default(), comment.id),
            "issue_url": format!("{api}/{}", comment.issue),
            "user": self.user(&comment.author),
            "author_association": Self::association(repo, &comment.author),
            "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
            "body": comment.body,
        })
    }
}
