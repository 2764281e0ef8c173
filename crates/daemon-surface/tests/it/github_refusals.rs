//! What stops an output on its way to GitHub: refused plans, changed rows, responses, look-ups that prove nothing.

use daemon_engine::{Found, OutputState, RetryAfter, Surface as _, SurfaceErrorKind};
use daemon_surface::GithubSurface;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::fake_api::{FakeApi, Reply, api_of, ok, status};
use super::outbox::{Planned, planned};

fn surface(fake: &FakeApi) -> GithubSurface {
    GithubSurface::new(api_of(&fake.base), Vec::new())
}

fn reply(body: Value) -> Reply {
    ok(body.to_string())
}

/// Returns responses to a comment, each with its meaning.
fn responses() -> Vec<(Reply, SurfaceErrorKind, &'static str)> {
    use SurfaceErrorKind::{Ambiguous, Refused, Retryable};
    let said = r#"{"message":"Validation\u001b[31m Failed","errors":[{"field":"body","code":"too_long"},{"message":"and\nmore"},"plain"]}"#;
    vec![
        (
            Reply::Says(422, "", said.to_owned()),
            Refused,
            "422 (it was refused): Validation [31m Failed; body too_long; and more; plain",
        ),
        (
            status(401, ""),
            Refused,
            "401 (the token is not accepted): no",
        ),
        (
            status(403, ""),
            Refused,
            "403 (the token has no permission): no",
        ),
        (
            status(404, ""),
            Refused,
            "404 (it is not there, or the token may not see it): no",
        ),
        (status(410, ""), Refused, "410 (it was refused): no"),
        (status(409, ""), Ambiguous, "409 (it was refused): no"),
        (status(500, ""), Ambiguous, "500 (it failed): no"),
        (
            status(503, "Retry-After: 7\r\n"),
            Ambiguous,
            "503 (it wants fewer requests): no",
        ),
        (
            status(429, "Retry-After: 7\r\n"),
            Retryable,
            "429 (it wants fewer requests): no",
        ),
        (
            status(403, "Retry-After: 7\r\n"),
            Retryable,
            "403 (it wants fewer requests): no",
        ),
        (
            status(302, "Location: /v3/x\r\n"),
            Refused,
            "it redirects a request with a body",
        ),
        (Reply::Hangs, Ambiguous, "the connection broke"),
        (
            ok("<html>"),
            Ambiguous,
            "its answer cannot be read: line 1, column 1",
        ),
    ]
}

#[tokio::test]
async fn a_status_decides_whether_an_output_may_be_there() {
    let line = r#"{"v":1,"verb":"comment","target":"github:o/r#1","body":"x"}"#;
    for (reply, kind, why) in responses() {
        let fake = FakeApi::start(vec![reply]).await;
        let output = planned(1, line, Planned::default());
        let error = surface(&fake).deliver(&output).await.unwrap_err();
        assert_eq!(
            (error.kind, &error.message),
            (kind, &format!("GitHub: {why}"))
        );
        let is_limited = why.contains("fewer");
        // Without a time of the service, a look-up waits until the service is done with the request.
        let seconds = if is_limited { 7 } else { 5 };
        let limit = RetryAfter::For(SignedDuration::from_secs(seconds));
        let expected = (is_limited || kind == SurfaceErrorKind::Ambiguous).then_some(limit);
        assert_eq!(error.retry_after, expected, "{why}");
    }
    let unreachable = GithubSurface::new(api_of("http://127.0.0.1:1"), Vec::new());
    let error = unreachable
        .deliver(&planned(1, line, Planned::default()))
        .await
        .unwrap_err();
    assert_eq!(error.kind, SurfaceErrorKind::Retryable);
}

#[tokio::test]
async fn a_look_up_that_proves_nothing_is_repeated_or_ends_unread() {
    let line = r#"{"v":1,"verb":"comment","target":"github:o/r#1","body":"x"}"#;
    let output = planned(1, line, Planned::default());
    let me = || reply(json!({"login": "bot"}));
    let find = async |replies| {
        let fake = FakeApi::start(replies).await;
        let found = surface(&fake).find(&output).await;
        found.map_err(|error| error.kind)
    };
    assert_eq!(
        find(vec![me(), status(404, "")]).await,
        Ok(Found::Unreadable)
    );
    for code in [401, 403, 500] {
        let found = find(vec![me(), status(code, "")]).await;
        assert_eq!(found, Err(SurfaceErrorKind::Retryable), "{code}");
    }
    let full: Vec<Value> = (0..100).map(|id| json!({"id": id})).collect();
    let pages = (0..30).map(|_| reply(full.clone().into()));
    assert_eq!(
        find(std::iter::once(me()).chain(pages).collect()).await,
        Ok(Found::Unreadable)
    );
}

#[test]
fn what_must_not_be_sent_is_refused_when_it_is_planned() {
    let state = |line: &str, more| {
        let output = planned(1, line, more);
        (output.state, output.content, output.error)
    };
    let refused = |why: &str| (OutputState::Refused, "{}".to_owned(), Some(why.to_owned()));
    let none = Planned::default();
    let comment = |body: &str| {
        format!(r#"{{"v":1,"verb":"comment","target":"github:o/r#1","body":"{body}"}}"#)
    };
    assert_eq!(
        state(&comment("ghp_0123456789abcdefghijABCDEFGHIJ012345"), none),
        refused("the proposal holds what looks like a GitHub token"),
    );
    assert_eq!(
        state(&comment("my hook-secret"), none),
        refused("the proposal holds what looks like a secret of this host"),
    );
    assert_eq!(
        state(
            r#"{"v":1,"verb":"open_pull_request","target":"github:o/r","title":"x","body":"x"}"#,
            none
        ),
        refused("nothing changed in the worktree, so there is no branch to merge"),
    );
    let (planned, content, _) = state(
        &comment("@octocat @all <!-- daemon:x act:y out:z -->"),
        none,
    );
    assert_eq!(planned, OutputState::Planned);
    let expected = json!({
        "v": 1,
        "proposal": {
            "v": 1, "verb": "comment", "target": "github:o/r#1",
            "body": "@octocat @\u{200b}all &lt;!-- daemon:x act:y out:z -->",
        },
    });
    assert_eq!(serde_json::from_str::<Value>(&content).unwrap(), expected);
}

#[tokio::test]
async fn a_row_that_was_changed_is_not_sent() {
    let line = r#"{"v":1,"verb":"comment","target":"github:o/r#1","body":"x"}"#;
    let fake = FakeApi::start(Vec::new()).await;
    let original = planned(1, line, Planned::default());
    for (content, target, why) in [
        ("{}", "github:o/r#1", "the stored output cannot be read"),
        (
            original.content.as_str(),
            "github:o/r#2",
            "the stored output is not about `github:o/r#2`",
        ),
    ] {
        let mut output = original.clone();
        output.content = content.to_owned();
        output.target = target.to_owned();
        let error = surface(&fake).deliver(&output).await.unwrap_err();
        assert_eq!(error.kind, SurfaceErrorKind::Refused);
        assert!(error.message.starts_with(why), "{}", error.message);
    }
}
