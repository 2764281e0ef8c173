//! Runs during faults of a model API.

use std::time::Duration;

use daemon_fakes::{Message, Reply};
use daemon_provider::tool_loop::RetryPolicy;
use daemon_provider::{ErrorClass, FailureKind, Outcome, RunEvent};
use daemon_provider_llm::ApiKey;

use crate::kit::{Bench, end, failure};

/// Returns the names and details of the limit events.
fn limits(events: &[RunEvent]) -> Vec<(&str, &str)> {
    let limits = events.iter().filter_map(|event| match event {
        RunEvent::Limit { name, detail } => Some((name.as_str(), detail.as_str())),
        _ => None,
    });
    limits.collect()
}

#[tokio::test]
async fn a_key_that_is_refused_is_sent_once() {
    for (api, code) in [
        ("anthropic", 401),
        ("openai", 403),
        ("openai-responses", 404),
    ] {
        let bench = Bench::new([Reply::error(code, "no such key"), Reply::text("late")]);
        let mut config = bench.config(api);
        config.key = ApiKey::new("sk-test");
        let (message, kind, class) = failure(&bench.story(config, bench.request()).await);
        assert_eq!(message, format!("the API answered {code}: no such key"));
        assert_eq!((kind, class), (FailureKind::Provider, ErrorClass::Final));
        let received = bench.api.received();
        assert_eq!(received.len(), 1, "{api}");
        assert_eq!(received[0].key.as_deref(), Some("sk-test"), "{api}");
    }
}

#[tokio::test]
async fn a_wait_that_the_api_asks_for_is_kept() {
    let bench = Bench::new([
        Reply::rate_limited("1"),
        Reply::rate_limited("0"),
        Reply::text("ok"),
    ]);
    let events = bench.play().await;
    assert_eq!(end(&events), (Outcome::Done, "ok"));
    let limits = limits(&events);
    assert_eq!(
        limits[0],
        (
            "rate_limited",
            "the API answered 429: slow down; waiting 1.0 s"
        )
    );
    assert_eq!(limits.len(), 2);
}

#[tokio::test]
async fn a_wait_beyond_all_patience_is_not_begun() {
    for seconds in ["601", "99999999"] {
        let bench = Bench::new([Reply::rate_limited(seconds), Reply::text("late")]);
        let (message, kind, class) = failure(&bench.play().await);
        assert_eq!(message, "the API answered 429: slow down");
        assert_eq!(
            (kind, class),
            (FailureKind::Provider, ErrorClass::Retryable)
        );
        assert_eq!(bench.api.received().len(), 1);
    }
}

#[tokio::test]
async fn the_waits_of_a_run_are_counted_together() {
    let bench = Bench::new(vec![Reply::rate_limited("0"); 20]);
    let mut config = bench.config("openai");
    config.retry = RetryPolicy {
        first_delay: Duration::from_millis(4),
        rate_limit_wait: Duration::from_millis(20),
        ..RetryPolicy::default()
    };
    let events = bench.story(config, bench.request()).await;
    assert_eq!(failure(&events).2, ErrorClass::Retryable);
    // 2 to 4, 4 to 8 and 8 to 16 milliseconds: the fourth wait fits no more, at the latest.
    let n_sent = bench.api.received().len();
    assert!((2..=4).contains(&n_sent), "{n_sent}");
}

#[tokio::test]
async fn a_broken_stream_is_tried_again() {
    for api in ["anthropic", "openai", "openai-responses"] {
        let cut = || Reply::Truncated(Message::text("half of it"));
        let bench = Bench::new([
            cut(),
            Reply::error(503, "busy"),
            cut(),
            Reply::text("whole"),
        ]);
        let events = bench.story(bench.config(api), bench.request()).await;
        assert_eq!(end(&events), (Outcome::Done, "whole"), "{api}");
        assert_eq!(limits(&events).len(), 3, "{api}");
        assert_eq!(bench.api.received().len(), 4, "{api}");
    }
}

#[tokio::test]
async fn three_tries_more_and_then_the_run_may_be_tried_again() {
    let table = [
        (Reply::html(), "the answer is no reply of this API"),
        (Reply::error(500, "oops"), "the API answered 500: oops"),
        (
            Reply::Truncated(Message::text("half of it")),
            "the reply was cut off before its end",
        ),
    ];
    for (reply, message) in table {
        let bench = Bench::new(vec![reply; 5]);
        let (told, kind, class) = failure(&bench.play().await);
        assert_eq!(
            (told.as_str(), kind, class),
            (message, FailureKind::Provider, ErrorClass::Retryable)
        );
        assert_eq!(bench.api.received().len(), 4, "{message}");
    }
}

#[tokio::test]
async fn a_silent_stream_is_left_and_one_that_drips_is_not() {
    let short = |bench: &Bench| {
        let mut config = bench.config("openai");
        config.retry.read_timeout = Duration::from_millis(300);
        config
    };
    let bench = Bench::new([
        Reply::Silence(Message::text("half of it")),
        Reply::text("whole"),
    ]);
    let events = bench.story(short(&bench), bench.request()).await;
    assert_eq!(end(&events), (Outcome::Done, "whole"));
    assert_eq!(limits(&events).len(), 1);
    // Longer than the silence in all, but never silent for so long.
    let drip = Reply::Drip(Message::text("drop by drop"), Duration::from_millis(80));
    let bench = Bench::new([drip]);
    let events = bench.story(short(&bench), bench.request()).await;
    assert_eq!(end(&events), (Outcome::Done, "drop by drop"));
    assert_eq!(limits(&events), []);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Reply::Status {
        code: 307,
        headers: vec![(
            "Location".to_owned(),
            "http://192.0.2.1/v1/chat/completions".to_owned(),
        )],
        body: String::new(),
    };
    let bench = Bench::new([elsewhere]);
    let (message, _, class) = failure(&bench.play().await);
    assert_eq!(
        (message.as_str(), class),
        ("the API answered 307", ErrorClass::Final)
    );
}

#[tokio::test]
async fn an_api_that_is_not_there_may_be_later() {
    let bench = Bench::new([]);
    let mut config = bench.config("openai");
    // A port that was just given back.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    config.base_url = Some(format!("http://{}", listener.local_addr().unwrap()));
    drop(listener);
    let (message, kind, class) = failure(&bench.story(config, bench.request()).await);
    assert!(message.starts_with("the connection failed: "), "{message}");
    assert_eq!(
        (kind, class),
        (FailureKind::Provider, ErrorClass::Retryable)
    );
}
