//! An API's token and base, and an API that is not configured.

use daemon_engine::{FactErrorKind, Facts as _};
use daemon_event::Need;
use daemon_surface::{ApiBase, ApiToken, ServiceFacts};

use super::fact_kit::pull_request;
use super::fake_api::{TOKEN, api_of};

#[tokio::test]
async fn a_service_that_is_not_configured_is_not_asked_and_may_be_later() {
    let facts = ServiceFacts::default();
    let error = facts.fetch(&Need::ChangedFiles, &pull_request()).await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            FactErrorKind::Retryable,
            "GitHub's API is not asked: sources.github.token_file is not set"
        )
    );
}

#[test]
fn a_token_is_one_line_and_shown_nowhere() {
    let token: ApiToken = format!(" {TOKEN}\n").parse().unwrap();
    assert_eq!(token, TOKEN.parse().unwrap());
    let api = api_of("https://api.github.com");
    let shown = format!("{api:?} {token:?} {:?}", "a b".parse::<ApiToken>());
    assert!(!shown.contains(TOKEN), "{shown}");
    for text in ["", " \n", "a b", "a\nb", "é"] {
        assert!(text.parse::<ApiToken>().is_err(), "{text:?}");
    }
}

#[test]
fn a_base_is_https_or_on_this_machine() {
    let why = |text: &str| match text.parse::<ApiBase>() {
        Ok(base) => base.to_string(),
        Err(error) => error.to_string(),
    };
    let cases = [
        ("https://api.github.com", "https://api.github.com"),
        ("https://ghe.example/api/v3/", "https://ghe.example/api/v3"),
        ("http://127.0.0.1:80/x", "http://127.0.0.1/x"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:9", "http://[::1]:9"),
        (
            "http://api.github.com",
            "`http://api.github.com` is not a base of an API: it is neither https nor on this machine",
        ),
        (
            "http://127.0.0.1.example",
            "`http://127.0.0.1.example` is not a base of an API: it is neither https nor on this machine",
        ),
        (
            "file:///etc",
            "`file:///etc` is not a base of an API: it is neither https nor on this machine",
        ),
        (
            "https://u:p@api.github.com",
            "`…` is not a base of an API: it has more than a host and a path",
        ),
        (
            "https://api.github.com?x",
            "`https://api.github.com?x` is not a base of an API: it has more than a host and a path",
        ),
        (
            "api.github.com",
            "`api.github.com` is not a base of an API: it is not a URL",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(why(text), expected);
    }
}
