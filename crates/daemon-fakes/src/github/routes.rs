//! The routes of the API, and which kind of token each needs.

use super::call::{GithubCall, GithubError};
use super::{comments, issues, pulls, repos};
use crate::http::{HttpResponse, decode};

/// What a request needs before its handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
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

const ROUTES: &[GithubRoute] = &[
    row("GET", "/user", Needs::User, repos::user),
    row("GET", "/repos/{o}/{r}", Needs::Read, repos::get),
    row(
        "GET",
        "/repos/{o}/{r}/branches/{branch*}",
        Needs::Read,
        repos::branch,
    ),
    row(
        "GET",
        "/repos/{o}/{r}/git/ref/heads/{branch*}",
        Needs::Read,
        repos::git_ref,
    ),
    row("GET", "/repos/{o}/{r}/issues", Needs::Read, issues::list),
    row(
        "POST",
        "/repos/{o}/{r}/issues",
        Needs::Write,
        issues::create,
    ),
    row(
        "GET",
        "/repos/{o}/{r}/issues/comments",
        Needs::Read,
        comments::list_of_repo,
    ),
    row(
        "GET",
        "/repos/{o}/{r}/issues/comments/{id}",
        Needs::Read,
        comments::get,
    ),
    row(
        "PATCH",
        "/repos/{o}/{r}/issues/comments/{id}",
        Needs::Write,
        comments::edit,
    ),
    row(
        "GET",
        "/repos/{o}/{r}/issues/{number}",
        Needs::Read,
        issues::get,
    ),
    row(
        "PATCH",
        "/repos/{o}/{r}/issues/{number}",
        Needs::Write,
        issues::edit,
    ),
    row(
        "GET",
        "/repos/{o}/{r}/issues/{number}/comments",
        Needs::Read,
        comments::list,
    ),
    row(
        "POST",
        "/repos/{o}/{r}/issues/{number}/comments",
        Needs::Write,
        comments::create,
    ),
    row("GET", "/repos/{o}/{r}/pulls", Needs::Read, pulls::list),
    row("POST", "/repos/{o}/{r}/pulls", Needs::Write, pulls::create),
    row(
        "GET",
        "/repos/{o}/{r}/pulls/{number}",
        Needs::Read,
        pulls::get,
    ),
    row(
        "PATCH",
        "/repos/{o}/{r}/pulls/{number}",
        Needs::Write,
        pulls::edit,
    ),
    row(
        "PUT",
        "/repos/{o}/{r}/pulls/{number}/merge",
        Needs::Write,
        pulls::merge,
    ),
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
