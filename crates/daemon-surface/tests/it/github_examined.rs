//! What `doctor` shows of the access to GitHub with a token.

use daemon_engine::{PlaceCondition, Surface as _};
use daemon_surface::GithubSurface;

use super::fake_api::{FakeApi, Reply, api_of, ok, status};

/// Examines `o/r` and returns each place with `ok`, `warn` or `fail` and the detail.
async fn examined(replies: Vec<Reply>) -> Vec<(String, &'static str, String)> {
    let fake = FakeApi::start(replies).await;
    let surface = GithubSurface::new(api_of(&fake.base), vec!["o/r".parse().unwrap()]);
    let reports = surface.examine().await.into_iter();
    let report = reports.map(|report| match report.condition {
        PlaceCondition::Takes { detail } => (report.place, "ok", detail),
        PlaceCondition::Doubtful { detail, .. } => (report.place, "warn", detail),
        PlaceCondition::Refuses { detail, .. } => (report.place, "fail", detail),
    });
    report.collect()
}

fn places(expected: &[(&str, &'static str, &str)]) -> Vec<(String, &'static str, String)> {
    let place = |(place, status, detail): &(&str, &'static str, &str)| {
        ((*place).to_owned(), *status, (*detail).to_owned())
    };
    expected.iter().map(place).collect()
}

const ACCOUNT: (&str, &str, &str) = ("account", "ok", "outputs are written as `bot`");

fn me() -> Reply {
    ok(r#"{"login":"bot"}"#)
}

#[tokio::test]
async fn an_account_that_may_push_writes_everything_but_check_runs() {
    let detail =
        "comments, issues, pull requests and labels are written; a token makes no check runs";
    let found = examined(vec![
        me(),
        ok(r#"{"permissions":{"pull":true,"push":true}}"#),
    ])
    .await;
    assert_eq!(found, places(&[ACCOUNT, ("o/r", "ok", detail)]));
}

#[tokio::test]
async fn an_account_that_only_reads_may_comment() {
    let detail = "the account cannot push, so it may comment, but not label or assign";
    let found = examined(vec![
        me(),
        ok(r#"{"permissions":{"pull":true,"push":false}}"#),
    ])
    .await;
    assert_eq!(found, places(&[ACCOUNT, ("o/r", "warn", detail)]));
}

#[tokio::test]
async fn a_repository_that_is_not_visible_and_a_token_that_is_not_accepted_fail() {
    let hidden = "404 (it is not there, or the token may not see it): no";
    let found = examined(vec![me(), status(404, "")]).await;
    assert_eq!(found, places(&[ACCOUNT, ("o/r", "fail", hidden)]));
    let refused = "401 (the token is not accepted): no";
    let found = examined(vec![status(401, "")]).await;
    assert_eq!(found, places(&[("account", "fail", refused)]));
}
