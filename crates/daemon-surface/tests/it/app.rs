//! GitHub Apps: assertions, installations and their tokens.

use std::sync::{Arc, Mutex};

use daemon_engine::{FactErrorKind, Facts as _, RetryAfter};
use daemon_event::Need;
use daemon_surface::{AppCredentials, AppKey, Credentials, ServiceApi, ServiceFacts, WallClock};
use jiff::{SignedDuration, Timestamp};

use super::fact_kit::{files, found, pull_request};
use super::fake_api::{FakeApi, Reply, ok, status};

/// A key for tests only.
const KEY: &str = include_str!("app_key.pem");
const NOW: i64 = 1_800_000_000;
/// The assertion of the App 7 at `NOW`, as `openssl dgst -sha256 -sign` signs it.
const ASSERTION: &str = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3OTk5OTk5NDAsImV4cCI6MTgwMDAwMDU0MCwiaXNzIjoiNyJ9.w1-Uj5NmoQns3EviqJaFAlyf5w-bnND3wndkG-7N2cXQbSkr2gRVXfbDpJrTlcKIoRoBt_RtAcLFOd6jxRml-rTcApG2gqbdRXpXTJO3ap_BlAtCGXalUFYq6bhPd6miew4RqmIaliwqTqphLGJHWe7ChO7MahPLuKhwQpRk7nUAA1VTRmS-UlvD6iJ1M7jq8wgZImUvgAyo25uzk2cvbyAtyIzVN-5m_Uz8WnzHo49bxb-NzjoEX6KmONkU0ffdivwb2yab-qpkh4lVOzq7BHTak8Tm3VHWUrZiYiYS37jEBmPhQtad0xUYmwWUK0dIAbZJCeDnk1YAxOYFNLffPQ";

/// Facts that are fetched as an App, and what was done on the way.
struct Kit {
    facts: ServiceFacts,
    fake: FakeApi,
    minted: Arc<Mutex<Vec<String>>>,
    now: Arc<Mutex<Timestamp>>,
}

impl Kit {
    async fn start(installation: Option<u64>, replies: Vec<Reply>) -> Self {
        let fake = FakeApi::start(replies).await;
        let minted = Arc::new(Mutex::new(Vec::new()));
        let now = Arc::new(Mutex::new(Timestamp::from_second(NOW).unwrap()));
        let (log, time) = (Arc::clone(&minted), Arc::clone(&now));
        let on_token = move |token: &str| log.lock().unwrap().push(token.to_owned());
        let app = AppCredentials::new(7, KEY.parse().unwrap(), installation, on_token);
        let clock = WallClock::new(move || *time.lock().unwrap());
        let base = fake.base.parse().unwrap();
        let api = ServiceApi::new(base, Credentials::App(app), clock).unwrap();
        let facts = ServiceFacts {
            github: Some(api),
            slack: None,
        };
        Self {
            facts,
            fake,
            minted,
            now,
        }
    }

    async fn fetch(&self) -> Result<(), (FactErrorKind, String)> {
        let fetched = self.facts.fetch(&Need::ChangedFiles, &pull_request()).await;
        let fetched = fetched.map_err(|error| (error.kind, error.message))?;
        assert_eq!(Ok(fetched), found(&["a"]));
        Ok(())
    }

    /// Returns the requests, each with what it authenticated with.
    fn requests(self) -> Vec<(String, String)> {
        let heads = self.fake.heads();
        let request = |head: &String| {
            let target = head.split(' ').take(2).collect::<Vec<_>>().join(" ");
            let header = head
                .lines()
                .find_map(|line| line.strip_prefix("authorization: Bearer "));
            let header = header.unwrap();
            let header = if header == ASSERTION {
                "assertion"
            } else {
                header
            };
            (target, header.to_owned())
        };
        heads.iter().map(request).collect()
    }
}

fn minted(token: &str, second: i64) -> Reply {
    let until = Timestamp::from_second(second).unwrap();
    ok(format!(r#"{{"token":"{token}","expires_at":"{until}"}}"#))
}

const FILES: &str = "GET /v3/repos/o/r/pulls/7/files?per_page=100&page=1";
const INSTALLATION: &str = "GET /v3/repos/o/r/installation";
const MINT: &str = "POST /v3/app/installations/31/access_tokens";

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let pair = |(target, header): &(&str, &str)| ((*target).to_owned(), (*header).to_owned());
    expected.iter().map(pair).collect()
}

#[tokio::test]
async fn a_token_of_the_installation_is_used_until_shortly_before_its_end() {
    let replies = vec![
        ok(r#"{"id":31}"#),
        minted("ghs_one", NOW + 3_600),
        ok(files(&["a"])),
        ok(files(&["a"])),
        minted("ghs_two", NOW + 7_200),
        ok(files(&["a"])),
    ];
    let kit = Kit::start(None, replies).await;
    kit.fetch().await.unwrap();
    *kit.now.lock().unwrap() += SignedDuration::from_mins(54);
    kit.fetch().await.unwrap();
    // The assertion is of another time then, and so another one.
    *kit.now.lock().unwrap() += SignedDuration::from_mins(1);
    kit.fetch().await.unwrap();
    assert_eq!(*kit.minted.lock().unwrap(), ["ghs_one", "ghs_two"]);
    let shown = format!("{:?}", kit.facts);
    assert!(
        !shown.contains("ghs_") && !shown.contains("PRIVATE"),
        "{shown}"
    );
    let mut requests = kit.requests();
    let (target, renewed) = requests.remove(4);
    assert_eq!(target, MINT);
    assert_ne!(renewed, "ghs_one");
    let expected = [
        (INSTALLATION, "assertion"),
        (MINT, "assertion"),
        (FILES, "ghs_one"),
        (FILES, "ghs_one"),
        (FILES, "ghs_two"),
    ];
    assert_eq!(requests, pairs(&expected));
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_replaced_once() {
    let replies = vec![
        minted("ghs_one", NOW + 3_600),
        status(401, ""),
        minted("ghs_two", NOW + 3_600),
        status(401, ""),
    ];
    let kit = Kit::start(Some(31), replies).await;
    let why = "GitHub's API: 401 (the token is not accepted)".to_owned();
    assert_eq!(kit.fetch().await, Err((FactErrorKind::Final, why)));
    let expected = [
        (MINT, "assertion"),
        (FILES, "ghs_one"),
        (MINT, "assertion"),
        (FILES, "ghs_two"),
    ];
    assert_eq!(kit.requests(), pairs(&expected));
}

#[tokio::test]
async fn an_app_that_is_not_installed_is_an_error_that_names_the_step() {
    let kit = Kit::start(None, vec![status(404, "")]).await;
    let why =
        "GitHub's API: the App's installation: 404 (it is not there, or the token may not see it)";
    assert_eq!(
        kit.fetch().await,
        Err((FactErrorKind::Final, why.to_owned()))
    );
    let kit = Kit::start(Some(31), vec![status(502, "")]).await;
    let why = "GitHub's API: the App's token: 502 (it failed)";
    assert_eq!(
        kit.fetch().await,
        Err((FactErrorKind::Retryable, why.to_owned()))
    );
}

#[tokio::test]
async fn after_the_last_allowed_request_none_is_sent_until_the_limit_ends() {
    let last = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1800000060\r\n";
    let replies = vec![
        minted("ghs_one", NOW + 3_600),
        Reply::Says(200, last, files(&["a"])),
        ok(files(&["a"])),
    ];
    let kit = Kit::start(Some(31), replies).await;
    kit.fetch().await.unwrap();
    let until = RetryAfter::Until(Timestamp::from_second(NOW + 60).unwrap());
    let limited = (
        FactErrorKind::Limited(until),
        "GitHub's API: it wants fewer requests".to_owned(),
    );
    assert_eq!(kit.fetch().await, Err(limited));
    *kit.now.lock().unwrap() += SignedDuration::from_secs(60);
    kit.fetch().await.unwrap();
    let expected = [(MINT, "assertion"), (FILES, "ghs_one"), (FILES, "ghs_one")];
    assert_eq!(kit.requests(), pairs(&expected));
}

#[test]
fn a_key_is_an_rsa_key_and_its_error_does_not_repeat_it() {
    assert_eq!(format!("{:?}", KEY.parse::<AppKey>().unwrap()), "AppKey(…)");
    for text in [
        "",
        "ghp_x",
        "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    ] {
        let error = text.parse::<AppKey>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the key of a GitHub App is an RSA key in PEM form"
        );
    }
}

#[tokio::test]
async fn after_a_response_that_limits_requests_none_is_sent_until_the_limit_ends() {
    let replies = vec![
        minted("ghs_one", NOW + 3_600),
        status(429, "Retry-After: 30\r\n"),
        ok(files(&["a"])),
    ];
    let kit = Kit::start(Some(31), replies).await;
    let kinds = |fetched: Result<(), (FactErrorKind, String)>| fetched.map_err(|(kind, _)| kind);
    let limited = FactErrorKind::Limited(RetryAfter::For(SignedDuration::from_secs(30)));
    assert_eq!(kinds(kit.fetch().await), Err(limited));
    let until = RetryAfter::Until(Timestamp::from_second(NOW + 30).unwrap());
    assert_eq!(kinds(kit.fetch().await), Err(FactErrorKind::Limited(until)));
    *kit.now.lock().unwrap() += SignedDuration::from_secs(30);
    kit.fetch().await.unwrap();
    let expected = [(MINT, "assertion"), (FILES, "ghs_one"), (FILES, "ghs_one")];
    assert_eq!(kit.requests(), pairs(&expected));
}
