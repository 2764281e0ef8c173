//! The routes of the API, and which kind of token each needs.

use super::call::{GithubCall, GithubError};
use super::{
    app, checks, comments, graphql, hooks, issues, labels, pulls, refs, repos, reviews, workflows,
};
use crate::http::{HttpResponse, decode};

/// What a request needs before its handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// A JSON web token of an App.
    App,
    /// A token of a person; an installation gets 403.
    User,
    /// Any token.
    Read,
    /// A token that may write.
    Write,
}

/// Carries out one request.
pub(crate) type GithubHandler = fn(&mut GithubCall<'_>) -> Result<HttpResponse, GithubError>;

/// A row: method, path, what it needs, handler. `{x}` is one segment, `{x*}` the rest of the path.
pub(crate) struct GithubRoute {
    method: &'static str,
    path: &'static str,
    pub(crate) needs: Needs,
    pub(crate) handle: GithubHandler,
}

const fn row(
    method: &'static str,
    path: &'static str,
    needs: Needs,
    handle: GithubHandler,
) -> GithubRoute {
    GithubRoute {
        method,
        path,
        needs,
        handle,
    }
}

#[rustfmt::skip]
const ROUTES: &[GithubRoute] = &[
    row("GET", "/app", Needs::App, app::get),
    row("GET", "/app/hook/config", Needs::App, hooks::app_config),
    row("GET", "/app/hook/deliveries", Needs::App, hooks::deliveries),
    row("POST", "/app/hook/deliveries/{id}/attempts", Needs::App, hooks::attempt),
    row("POST", "/app/installations/{id}/access_tokens", Needs::App, app::access_token),
    row("GET", "/user", Needs::User, repos::user),
    row("POST", "/graphql", Needs::Read, graphql::execute),
    row("GET", "/repos/{o}/{r}", Needs::Read, repos::get),
    row("GET", "/repos/{o}/{r}/installation", Needs::App, app::installation),
    row("GET", "/repos/{o}/{r}/branches/{branch*}", Needs::Read, repos::branch),
    row("GET", "/repos/{o}/{r}/git/ref/heads/{branch*}", Needs::Read, repos::git_ref),
    row("GET", "/repos/{o}/{r}/git/matching-refs/{prefix*}", Needs::Read, refs::matching),
    row("GET", "/repos/{o}/{r}/compare/{ends}", Needs::Read, refs::compare),
    row("POST", "/repos/{o}/{r}/git/refs", Needs::Write, refs::create),
    row("PATCH", "/repos/{o}/{r}/git/refs/heads/{branch*}", Needs::Write, refs::update),
    row("DELETE", "/repos/{o}/{r}/git/refs/heads/{branch*}", Needs::Write, refs::delete),
    row("GET", "/repos/{o}/{r}/labels", Needs::Read, labels::list_of_repo),
    row("GET", "/repos/{o}/{r}/issues", Needs::Read, issues::list),
    row("POST", "/repos/{o}/{r}/issues", Needs::Write, issues::create),
    row("GET", "/repos/{o}/{r}/issues/comments", Needs::Read, comments::list_of_repo),
    row("GET", "/repos/{o}/{r}/issues/comments/{id}", Needs::Read, comments::get),
    row("PATCH", "/repos/{o}/{r}/issues/comments/{id}", Needs::Write, comments::edit),
    row("DELETE", "/repos/{o}/{r}/issues/comments/{id}", Needs::Write, comments::delete),
    row("GET", "/repos/{o}/{r}/issues/{number}", Needs::Read, issues::get),
    row("PATCH", "/repos/{o}/{r}/issues/{number}", Needs::Write, issues::edit),
    row("GET", "/repos/{o}/{r}/issues/{number}/comments", Needs::Read, comments::list),
    row("POST", "/repos/{o}/{r}/issues/{number}/comments", Needs::Write, comments::create),
    row("GET", "/repos/{o}/{r}/issues/{number}/labels", Needs::Read, labels::list),
    row("POST", "/repos/{o}/{r}/issues/{number}/labels", Needs::Write, labels::add),
    row("DELETE", "/repos/{o}/{r}/issues/{number}/labels/{name}", Needs::Write, labels::remove),
    row("POST", "/repos/{o}/{r}/issues/{number}/assignees", Needs::Write, labels::assign),
    row("DELETE", "/repos/{o}/{r}/issues/{number}/assignees", Needs::Write, labels::unassign),
    row("GET", "/repos/{o}/{r}/pulls", Needs::Read, pulls::list),
    row("POST", "/repos/{o}/{r}/pulls", Needs::Write, pulls::create),
    row("GET", "/repos/{o}/{r}/pulls/comments", Needs::Read, reviews::list_comments_of_repo),
    row("GET", "/repos/{o}/{r}/pulls/{number}", Needs::Read, pulls::get),
    row("PATCH", "/repos/{o}/{r}/pulls/{number}", Needs::Write, pulls::edit),
    row("PUT", "/repos/{o}/{r}/pulls/{number}/merge", Needs::Write, pulls::merge),
    row("GET", "/repos/{o}/{r}/pulls/{number}/files", Needs::Read, reviews::files),
    row("POST", "/repos/{o}/{r}/pulls/{number}/requested_reviewers", Needs::Write, labels::request_review),
    row("DELETE", "/repos/{o}/{r}/pulls/{number}/requested_reviewers", Needs::Write, labels::cancel_review),
    row("GET", "/repos/{o}/{r}/pulls/{number}/reviews", Needs::Read, reviews::list),
    row("POST", "/repos/{o}/{r}/pulls/{number}/reviews", Needs::Write, reviews::create),
    row("GET", "/repos/{o}/{r}/pulls/{number}/reviews/{id}/comments", Needs::Read, reviews::list_comments_of_review),
    row("GET", "/repos/{o}/{r}/pulls/{number}/comments", Needs::Read, reviews::list_comments),
    row("POST", "/repos/{o}/{r}/pulls/{number}/comments", Needs::Write, reviews::create_comment),
    row("GET", "/repos/{o}/{r}/commits/{sha}/pulls", Needs::Read, pulls::of_commit),
    row("GET", "/repos/{o}/{r}/commits/{ref}/check-runs", Needs::Read, checks::list),
    row("POST", "/repos/{o}/{r}/check-runs", Needs::Write, checks::create),
    row("GET", "/repos/{o}/{r}/check-runs/{id}", Needs::Read, checks::get),
    row("PATCH", "/repos/{o}/{r}/check-runs/{id}", Needs::Write, checks::edit),
    row("GET", "/repos/{o}/{r}/check-runs/{id}/annotations", Needs::Read, checks::annotations),
    row("POST", "/repos/{o}/{r}/check-runs/{id}/rerequest", Needs::Write, checks::rerequest),
    row("GET", "/repos/{o}/{r}/actions/runs", Needs::Read, workflows::workflow_runs),
    row("GET", "/repos/{o}/{r}/actions/runs/{id}", Needs::Read, workflows::workflow_run),
    row("POST", "/repos/{o}/{r}/actions/runs/{id}/rerun-failed-jobs", Needs::Write, workflows::rerun_failed),
    row("POST", "/repos/{o}/{r}/actions/jobs/{id}/rerun", Needs::Write, workflows::rerun_job),
    row("GET", "/repos/{o}/{r}/hooks", Needs::Read, hooks::list),
    row("GET", "/repos/{o}/{r}/hooks/{hook}/deliveries", Needs::Read, hooks::deliveries),
    row("GET", "/repos/{o}/{r}/hooks/{hook}/deliveries/{id}", Needs::Read, hooks::delivery),
    row("POST", "/repos/{o}/{r}/hooks/{hook}/deliveries/{id}/attempts", Needs::Write, hooks::attempt),
];

/// The values of the parameters in a path, decoded.
pub(crate) type PathParams = Vec<(&'static str, String)>;

/// Returns the first route for a method and a path.
pub(crate) fn find(method: &str, path: &str) -> Option<(&'static GithubRoute, PathParams)> {
    let of_method = ROUTES.iter().filter(|route| route.method == method);
    let mut found = of_method.filter_map(|route| Some((route, matches(route.path, path)?)));
    found.next()
}

fn matches(pattern: &'static str, path: &str) -> Option<PathParams> {
    let mut acc = Vec::new();
    let mut segments = path.split('/');
    for expected in pattern.split('/') {
        let Some(name) = expected
            .strip_prefix('{')
            .and_then(|it| it.strip_suffix('}'))
        else {
            if segments.next()? != expected {
                return None;
            }
            continue;
        };
        let value = match name.strip_suffix('*') {
            Some(_) => segments.by_ref().collect::<Vec<_>>().join("/"),
            None => segments.next()?.to_owned(),
        };
        if value.is_empty() {
            return None;
        }
        acc.push((name.trim_end_matches('*'), decode(&value)));
    }
    segments.next().is_none().then_some(acc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_matched_segment_by_segment() {
        let rows = [
            ("/a/{x}", "/a/b%20c", Some("b c")),
            ("/a/{x}", "/a/b/c", None),
            ("/a/{x}", "/a/", None),
            ("/a/{x*}", "/a/b/c", Some("b/c")),
            ("/a/{x*}", "/a/b%2Fc", Some("b/c")),
            ("/a/b", "/a/c", None),
        ];
        for (pattern, path, expected) in rows {
            let expected = expected.map(|value| vec![("x", value.to_owned())]);
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
