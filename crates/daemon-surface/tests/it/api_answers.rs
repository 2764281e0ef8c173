//! Errors, redirects and unreadable bodies from an API.

use std::time::Duration;

use daemon_engine::{FactErrorKind, Facts as _, RetryAfter};
use daemon_event::Need;
use daemon_surface::ServiceFacts;
use jiff::{SignedDuration, Timestamp};

use super::fact_kit::{files, found, github, page, pull_request};
use super::fake_api::{FakeApi, Reply, api_of, ok, status};

#[tokio::test]
async fn what_a_status_says_decides_whether_it_is_asked_again() {
    use FactErrorKind::{Final, Limited, Retryable};
    let limited = |seconds| Limited(RetryAfter::For(SignedDuration::from_secs(seconds)));
    let until = |seconds| Limited(RetryAfter::Until(Timestamp::from_second(seconds).unwrap()));
    let http_date = "Retry-After: Fri, 20 Nov 2026 15:40:00 GMT\r\n";
    let cases = [
        (500, "", Retryable, "500 (it failed)"),
        (502, "", Retryable, "502 (it failed)"),
        (408, "", Retryable, "408 (it failed)"),
        (400, "", Final, "400 (it was refused)"),
        (401, "", Final, "401 (the token is not accepted)"),
        (403, "", Final, "403 (the token has no permission)"),
        (
            404,
            "",
            Final,
            "404 (it is not there, or the token may not see it)",
        ),
        (422, "", Final, "422 (it was refused)"),
        (429, "", limited(60), "429 (it wants fewer requests)"),
        (
            403,
            "Retry-After: 99999999\r\n",
            limited(99_999_999),
            "403 (it wants fewer requests)",
        ),
        (
            403,
            "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1800000000\r\n",
            until(1_800_000_000),
            "403 (it wants fewer requests)",
        ),
        (
            503,
            http_date,
            until(1_795_189_200),
            "503 (it wants fewer requests)",
        ),
    ];
    for (code, headers, kind, why) in cases {
        let replies = vec![status(code, headers)];
        let (told, _) = github(replies, Need::ChangedFiles, &pull_request()).await;
        assert_eq!(
            told,
            Err((kind, format!("GitHub's API: {why}"))),
            "{headers}"
        );
    }
    let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let replies = vec![Reply::Says(403, "", secondary.to_owned())];
    let (told, _) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told.unwrap_err().0, limited(60));
}

#[tokio::test]
async fn a_broken_or_endless_answer_is_asked_for_again() {
    let cases = [
        (Reply::Hangs, "the connection broke"),
        (Reply::Drips, "it does not answer in time"),
        (ok("<html>"), "its answer cannot be read: line 1, column 1"),
    ];
    for (reply, why) in cases {
        let fake = FakeApi::start(vec![reply]).await;
        let facts = ServiceFacts {
            github: Some(fake.api().with_timeout(Duration::from_millis(200))),
            slack: None,
        };
        let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
        let error = error.unwrap_err();
        assert_eq!(
            (error.kind, error.message),
            (FactErrorKind::Retryable, format!("GitHub's API: {why}"))
        );
        fake.asked();
    }
    let facts = ServiceFacts {
        github: Some(api_of("http://127.0.0.1:1")),
        slack: None,
    };
    let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            FactErrorKind::Retryable,
            "GitHub's API: it cannot be reached"
        )
    );
}

#[tokio::test]
async fn an_answer_over_the_cap_is_refused() {
    let fake = FakeApi::start(vec![ok(files(&["a", "b", "c"]))]).await;
    let facts = ServiceFacts {
        github: Some(fake.api().with_max_body(64)),
        slack: None,
    };
    let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
    let error = error.unwrap_err();
    let why = "GitHub's API: its answer has more than 64 bytes";
    assert_eq!(
        (error.kind, error.message.as_str()),
        (FactErrorKind::Final, why)
    );
}

#[tokio::test]
async fn a_redirect_is_followed_below_the_base_only() {
    let replies = vec![
        status(301, "Location: /v3/repositories/1/pulls/7/files\r\n"),
        ok(files(&["a"])),
    ];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    assert_eq!(told, found(&["a"]));
    assert_eq!(
        asked,
        [
            page("pulls/7/files", 1).as_str(),
            "/v3/repositories/1/pulls/7/files"
        ]
    );

    let elsewhere = FakeApi::start(vec![ok(files(&["stolen"]))]).await;
    let target = format!("Location: {}/repos\r\n", elsewhere.base);
    let cases = [
        (
            Box::leak(target.into_boxed_str()) as &'static str,
            "it redirects to another place, which is not asked",
        ),
        (
            "Location: /v2/repos\r\n",
            "it redirects to another place, which is not asked",
        ),
        (
            "Location: /v3x/repos\r\n",
            "it redirects to another place, which is not asked",
        ),
        ("Location: https://[\r\n", "it redirects to nowhere"),
        ("", "it redirects to nowhere"),
    ];
    for (location, why) in cases {
        let replies = vec![status(302, location)];
        let (told, _) = github(replies, Need::ChangedFiles, &pull_request()).await;
        let why = format!("GitHub's API: {why}");
        assert_eq!(told, Err((FactErrorKind::Final, why)), "{location}");
    }
    assert_eq!(elsewhere.asked(), Vec::<String>::new());

    let endless = || status(307, "Location: /v3/again\r\n");
    let replies = vec![endless(), endless(), endless(), endless()];
    let (told, asked) = github(replies, Need::ChangedFiles, &pull_request()).await;
    let why = "GitHub's API: it redirects without end".to_owned();
    assert_eq!((told, asked.len()), (Err((FactErrorKind::Final, why)), 4));
}
