//! Pages of repositories, issues and pull requests.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::diff::GithubFile;
use super::state::{
    GithubCheckRun, GithubIssue, GithubPull, GithubRepo, GithubState, GithubWorkflowRun,
};
use crate::clock::to_seconds_text;
use crate::html::{badges, document, entry, escape, markdown};
use crate::http::decode;

/// Returns the page at a path; `None` if the path names nothing.
pub(crate) fn page(state: &GithubState, path: &str) -> Option<String> {
    let segments: Vec<String> = path.split('/').skip(1).map(decode).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let repo = |owner, name| state.repo_at(owner, name).map(|at| &state.repos[at]);
    match segments[..] {
        [""] => Some(repos(state)),
        [owner, name] | [owner, name, "issues" | "pulls"] => Some(list(repo(owner, name)?)),
        [owner, name, "issues" | "pull", number] => {
            let repo = repo(owner, name)?;
            let issue = repo.issue(number.parse().ok()?)?;
            Some(issue_page(repo, issue))
        }
        [owner, name, "runs", id] => {
            let (repo, id): (_, u64) = (repo(owner, name)?, id.parse().ok()?);
            let run = repo.check_runs.iter().find(|run| run.id == id)?;
            Some(check_page(repo, run))
        }
        [owner, name, "actions", "runs", id] => {
            let (repo, id): (_, u64) = (repo(owner, name)?, id.parse().ok()?);
            let run = repo.workflow_runs.iter().find(|run| run.id == id)?;
            Some(workflow_page(repo, run))
        }
        _ => None,
    }
}

fn repos(state: &GithubState) -> String {
    let row = |repo: &GithubRepo| {
        let name = escape(&repo.full_name());
        format!("<li><a href=\"/{name}\">{name}</a></li>")
    };
    let rows: String = state.repos.iter().map(row).collect();
    document(
        "github",
        "Repositories",
        &format!("<h1>Repositories</h1><ul>{rows}</ul>"),
    )
}

fn list(repo: &GithubRepo) -> String {
    let name = repo.full_name();
    let mut acc = format!("<h1><b>{}</b></h1>", escape(&name));
    for (title, is_pull) in [("Pull requests", true), ("Issues", false)] {
        let of_kind = repo
            .issues
            .iter()
            .rev()
            .filter(|issue| issue.pull.is_some() == is_pull);
        let rows: String = of_kind.map(|issue| row(repo, issue)).collect();
        let rows = if rows.is_empty() {
            "<li class=quiet>None</li>".to_owned()
        } else {
            rows
        };
        write!(acc, "<h2>{title}</h2><ul>{rows}</ul>").expect("writing to a string cannot fail");
    }
    document("github", &name, &acc)
}

fn row(repo: &GithubRepo, issue: &GithubIssue) -> String {
    let kind = if issue.pull.is_some() {
        "pull"
    } else {
        "issues"
    };
    format!(
        "<li>{}<a href=\"/{}/{kind}/{}\">{}</a> <span class=quiet>#{} by {}</span> {}</li>",
        state_badge(issue),
        escape(&repo.full_name()),
        issue.number,
        escape(&issue.title),
        issue.number,
        escape(&issue.author),
        badges("label", &issue.labels)
    )
}

fn state_badge(issue: &GithubIssue) -> String {
    let pull = issue.pull.as_ref();
    let state = match (issue.is_open, pull) {
        (
            _,
            Some(GithubPull {
                merged: Some(_), ..
            }),
        ) => "Merged",
        (true, Some(GithubPull { is_draft: true, .. })) => "Draft",
        (true, _) => "Open",
        (false, _) => "Closed",
    };
    badges(&state.to_lowercase(), [&state.to_owned()])
}

fn issue_page(repo: &GithubRepo, issue: &GithubIssue) -> String {
    let title = format!("{} #{}", issue.title, issue.number);
    let mut acc = format!(
        "{}<h1>{} <small>#{}</small></h1><p>{}",
        repo_link(repo),
        escape(&issue.title),
        issue.number,
        state_badge(issue)
    );
    if let Some(pull) = &issue.pull {
        let line = format!(
            "<b>{}</b> wants to merge <code>{}</code> into <code>{}</code>",
            escape(&issue.author),
            escape(&pull.head),
            escape(&pull.base)
        );
        acc.push_str(&line);
    }
    acc.push_str("</p>");
    for (name, texts) in [
        ("Labels", &issue.labels),
        ("Assignees", &issue.assignees),
        (
            "Reviewers",
            issue
                .pull
                .as_ref()
                .map_or(&Vec::new(), |pull| &pull.reviewers),
        ),
    ] {
        if !texts.is_empty() {
            let badges = badges("label", texts);
            write!(acc, "<p><span class=quiet>{name}</span> {badges}</p>")
                .expect("writing to a string cannot fail");
        }
    }
    acc.push_str(&entries(repo, issue));
    if let Some(pull) = &issue.pull {
        acc.push_str(&checks(repo, pull));
        acc.push_str(&files(repo, pull));
    }
    document("github", &title, &acc)
}

/// Returns the body, comments, reviews and review comments in the order in which they were written.
fn entries(repo: &GithubRepo, issue: &GithubIssue) -> String {
    let body = issue.body.as_deref().unwrap_or("No description provided.");
    let number = issue.number;
    let time = |time: Duration| to_seconds_text(time).replace('T', " ");
    let mut acc: Vec<(u64, String)> = vec![(
        0,
        entry(
            &issue.author,
            "opened this",
            &time(issue.created_at),
            &markdown(body),
        ),
    )];
    for comment in repo.comments.iter().filter(|it| it.issue == number) {
        let id = format!("<a id=issuecomment-{}></a>", comment.id);
        let what = if comment.updated_at > comment.created_at {
            "commented, edited"
        } else {
            "commented"
        };
        let html = entry(
            &comment.author,
            what,
            &time(comment.created_at),
            &markdown(&comment.body),
        );
        acc.push((comment.id, id + &html));
    }
    for review in repo.reviews.iter().filter(|it| it.pull == number) {
        let what = review.state.to_lowercase().replace('_', " ");
        let id = format!("<a id=pullrequestreview-{}></a>", review.id);
        let html = entry(
            &review.author,
            &what,
            &time(review.submitted_at),
            &markdown(&review.body),
        );
        acc.push((review.id, id + &html));
    }
    for comment in repo.review_comments.iter().filter(|it| it.pull == number) {
        let place = &comment.place;
        let what = format!("on {} line {}", place.path, place.line);
        let id = format!("<a id=discussion_r{}></a>", comment.id);
        let html = entry(
            &comment.author,
            &what,
            &time(comment.created_at),
            &markdown(&comment.body),
        );
        acc.push((comment.id, id + &html));
    }
    // Ids rise with time.
    acc.sort_by_key(|(id, _)| *id);
    acc.into_iter().map(|(_, html)| html).collect()
}

fn checks(repo: &GithubRepo, pull: &GithubPull) -> String {
    let runs = repo
        .check_runs
        .iter()
        .filter(|run| run.head_sha == pull.head_sha);
    let row = |run: &GithubCheckRun| {
        let badge = outcome(run.conclusion.as_ref().unwrap_or(&run.status));
        format!(
            "<li>{badge}<a href=\"/{}/runs/{}\">{}</a> <span class=quiet>{}</span></li>",
            escape(&repo.full_name()),
            run.id,
            escape(&run.name),
            escape(run.title.as_deref().unwrap_or_default())
        )
    };
    let rows: String = runs.map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("<h2>Checks</h2><ul>{rows}</ul>")
}

fn repo_link(repo: &GithubRepo) -> String {
    let name = escape(&repo.full_name());
    format!("<p class=quiet><a href=\"/{name}\">{name}</a></p>")
}

fn check_page(repo: &GithubRepo, run: &GithubCheckRun) -> String {
    let summary = run.summary.as_deref().unwrap_or_default();
    let annotation = |annotation: &Value| {
        let text = |name: &str| annotation[name].as_str().unwrap_or_default();
        let place = format!("{}:{}", text("path"), annotation["start_line"]);
        entry(
            &place,
            text("annotation_level"),
            "",
            &markdown(text("message")),
        )
    };
    let annotations: String = run.annotations.iter().map(annotation).collect();
    let body = format!(
        "{}<h1>{} <small>on {}</small></h1><p>{}{}</p>{}{annotations}",
        repo_link(repo),
        escape(&run.name),
        escape(&run.head_sha),
        outcome(run.conclusion.as_ref().unwrap_or(&run.status)),
        escape(run.title.as_deref().unwrap_or_default()),
        markdown(summary)
    );
    document("github", &run.name, &body)
}

fn workflow_page(repo: &GithubRepo, run: &GithubWorkflowRun) -> String {
    let queued = "queued".to_owned();
    let body = format!(
        "{}<h1>{} <small>attempt {}</small></h1><p>{}<code>{}</code></p>",
        repo_link(repo),
        escape(&run.name),
        run.attempt,
        outcome(run.conclusion.as_ref().unwrap_or(&queued)),
        escape(&run.head_branch)
    );
    document("github", &run.name, &body)
}

/// Returns a state of a run as a badge whose class is the state.
fn outcome(state: &String) -> String {
    badges(&escape(state), [state])
}

fn files(repo: &GithubRepo, pull: &GithubPull) -> String {
    let read = repo.read_files.as_ref();
    let files = read.map_or_else(Vec::new, |read| read(&pull.base_sha, &pull.head_sha));
    let file = |file: &GithubFile| {
        let line = |line: &str| match line.chars().next() {
            Some('+') => format!("<ins>{}</ins>", escape(line)),
            Some('-') => format!("<del>{}</del>", escape(line)),
            _ => escape(line) + "\n",
        };
        let patch: String = file.patch.lines().map(line).collect();
        format!(
            "<article><header><code>{}</code></header><pre>{patch}</pre></article>",
            escape(&file.path)
        )
    };
    let shown: String = files.iter().map(file).collect();
    if shown.is_empty() {
        return shown;
    }
    format!("<h2>Files changed</h2>{shown}")
}
