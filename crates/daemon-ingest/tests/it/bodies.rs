//! Events of verified deliveries.

use daemon_event::{Event, RepoName, Source as EventSource, Subject};
use daemon_ingest::{
    Challenge, Github, Headers, Linear, Malformed, Secrets, Sentry, Slack, WebhookSource,
    identities,
};
use proptest::prelude::*;

use crate::signing::hex_hmac;
use crate::{answer, at, delivery};

const SECRET: &str = "s3cret";
const NOW: &str = "2026-11-20T12:00:00Z";
const ISSUE: &str = r#"{"action":"opened","issue":{"number":7,"title":"Drip"},"repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#;

fn secrets() -> Secrets {
    Secrets::new([SECRET]).unwrap()
}

fn github() -> Github {
    Github::new(secrets())
}

fn github_headers(kind: &str, id: &str, body: &[u8]) -> Vec<(&'static str, String)> {
    vec![
        ("X-GitHub-Event", kind.to_owned()),
        ("X-GitHub-Delivery", id.to_owned()),
        (
            "X-Hub-Signature-256",
            format!("sha256={}", hex_hmac(SECRET, body)),
        ),
    ]
}

/// Signs a body as GitHub does and returns the status of a host's response.
fn github_answer(kind: &str, body: &str) -> u16 {
    let headers = Headers::new(github_headers(kind, "d-1", body.as_bytes()));
    answer(&github(), &headers, body.as_bytes(), NOW)
}

fn github_event(kind: &str, id: &str, body: &str) -> Event {
    let headers = Headers::new(github_headers(kind, id, body.as_bytes()));
    let delivery = delivery(&headers, body.as_bytes(), at(NOW));
    github().verify(&delivery).unwrap();
    github().events(&delivery).unwrap().remove(0)
}

#[test]
fn a_signed_delivery_becomes_one_event() {
    let event = github_event("issues", "72d3162e-cc78-11e3-81ab-4c9367dc0958", ISSUE);
    assert_eq!(
        (event.source, event.kind.as_str()),
        (EventSource::Github, "issues")
    );
    assert_eq!(event.action.as_deref(), Some("opened"));
    assert_eq!(
        event.subject.as_ref().map(Subject::as_str),
        Some("github:acme/pump#7")
    );
    assert_eq!(event.repo.as_ref().map(RepoName::as_str), Some("acme/pump"));
    assert_eq!(
        event.actor.as_ref().map(|actor| actor.name.as_str()),
        Some("kit")
    );
    assert_eq!(
        event.delivery.as_str(),
        "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    );
    assert_eq!((event.time, event.received_at), (at(NOW), at(NOW)));
    assert_eq!(&*event.payload, ISSUE.as_bytes());
}

#[test]
fn the_signature_of_a_form_covers_the_encoded_form() {
    let form = "payload=%7B%22action%22%3A%22opened%22%2C%22issue%22%3A%7B%22number%22%3A7%2C%22title%22%3A%22a+b%22%7D%7D";
    let mut headers = github_headers("issues", "d-1", form.as_bytes());
    headers.push((
        "Content-Type",
        "application/x-www-form-urlencoded".to_owned(),
    ));
    let as_form = Headers::new(headers.clone());
    assert_eq!(answer(&github(), &as_form, form.as_bytes(), NOW), 200);
    let event = github()
        .events(&delivery(&as_form, form.as_bytes(), at(NOW)))
        .unwrap()
        .remove(0);
    let decoded = r#"{"action":"opened","issue":{"number":7,"title":"a b"}}"#;
    assert_eq!(&*event.payload, decoded.as_bytes());
    // A signature of the payload inside the form does not count.
    let inner = format!("sha256={}", hex_hmac(SECRET, decoded.as_bytes()));
    headers[2].1 = inner;
    assert_eq!(
        answer(&github(), &Headers::new(headers), form.as_bytes(), NOW),
        401
    );
    for torn in ["payload=%7", "payload=%zz", "other=1", ""] {
        let mut headers = github_headers("issues", "d-1", torn.as_bytes());
        headers.push((
            "Content-Type",
            "application/x-www-form-urlencoded; charset=utf-8".to_owned(),
        ));
        assert_eq!(
            answer(&github(), &Headers::new(headers), torn.as_bytes(), NOW),
            400,
            "{torn:?}"
        );
    }
}

#[test]
fn bodies_that_are_not_events_are_rejected_after_the_signature() {
    let deep = format!(
        r#"{{"zen":{}1{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let edge =
        |levels: usize| format!(r#"{{"zen":{}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let quoted = format!(r#"{{"zen":"{}\"["}}"#, "[".repeat(500));
    let spread = |open: &str, close: &str| format!("{}1{}", open.repeat(129), close.repeat(129));
    let wide = format!(r#"{{"zen":[{}[]]}}"#, "[],".repeat(500));
    for (body, expected) in [
        ("", 400),
        ("nonsense", 400),
        ("[]", 400),
        ("null", 400),
        (r#"{"zen":1"#, 400),
        (r#"{"zen":1} "#, 200),
        (r#"{"zen":1}x"#, 400),
        (r#"{"zen":1}{"zen":1}"#, 400),
        (deep.as_str(), 400),
        (edge(127).as_str(), 200),
        (edge(128).as_str(), 400),
        (spread("{\"a\":", "}").as_str(), 400),
        (spread("{\n \"a\" : ", "\t}").as_str(), 400),
        (format!("{{\"a\":{}}}", spread("[\r\n", "]")).as_str(), 400),
        (format!("{{\"a\":{}}}", spread("[0,", "]")).as_str(), 400),
        (quoted.as_str(), 200),
        (wide.as_str(), 200),
    ] {
        let shown: String = body.chars().take(40).collect();
        assert_eq!(github_answer("weather", body), expected, "{shown}");
    }
    let latin = b"{\"zen\":\"caf\xe9\"}";
    let headers = Headers::new(github_headers("ping", "d-1", latin));
    assert_eq!(answer(&github(), &headers, latin, NOW), 400);
    for media in [
        "multipart/form-data; boundary=x",
        "text/plain",
        "",
        "application/jsonx",
    ] {
        let mut headers = github_headers("ping", "d-1", b"{}");
        headers.push(("Content-Type", media.to_owned()));
        assert_eq!(
            answer(&github(), &Headers::new(headers), b"{}", NOW),
            415,
            "{media:?}"
        );
    }
}

#[test]
fn the_body_must_have_the_shape_of_the_announced_kind() {
    for (kind, body, expected) in [
        ("issues", ISSUE, 200),
        ("pull_request", ISSUE, 400),
        ("issues", r#"{"action":"opened"}"#, 400),
        ("weather", r#"{"action":"rained"}"#, 200),
        ("../x", ISSUE, 400),
        ("", ISSUE, 400),
        ("issues issues", ISSUE, 400),
    ] {
        assert_eq!(github_answer(kind, body), expected, "{kind}");
    }
    let long = "k".repeat(65);
    assert_eq!(github_answer(&long, ISSUE), 400);
}

#[test]
fn unknown_kinds_and_repositories_are_events() {
    let event = github_event(
        "weather",
        "d-1",
        r#"{"action":"rained","repository":{"full_name":"no/where"}}"#,
    );
    assert_eq!(
        (event.kind.as_str(), event.action.as_deref()),
        ("weather", Some("rained"))
    );
    assert_eq!(event.repo.as_ref().map(RepoName::as_str), Some("no/where"));
}

#[test]
fn the_delivery_id_is_checked() {
    let million = "x".repeat(1 << 20);
    for (id, expected) in [
        ("72d3162e-cc78-11e3-81ab-4c9367dc0958", 200),
        ("", 400),
        ("a b", 400),
        ("../../etc", 400),
        ("é", 400),
        ("x\ny", 400),
        (million.as_str(), 400),
    ] {
        let headers = Headers::new(github_headers("issues", id, ISSUE.as_bytes()));
        let shown: String = id.chars().take(40).collect();
        assert_eq!(
            answer(&github(), &headers, ISSUE.as_bytes(), NOW),
            expected,
            "{shown:?}"
        );
    }
    let mut without = github_headers("issues", "d-1", ISSUE.as_bytes());
    without.remove(1);
    let headers = Headers::new(without);
    let refused = github()
        .events(&delivery(&headers, ISSUE.as_bytes(), at(NOW)))
        .unwrap_err();
    assert_eq!(
        refused,
        Malformed::Header {
            name: "X-GitHub-Delivery",
            count: 0
        }
    );
    let mut twice = github_headers("issues", "d-1", ISSUE.as_bytes());
    twice.push(("x-github-delivery", "d-2".to_owned()));
    assert_eq!(
        answer(&github(), &Headers::new(twice), ISSUE.as_bytes(), NOW),
        400
    );
}

#[test]
fn duplicates_are_detected_by_id_and_by_body_unless_bodies_repeat() {
    let first = identities(&github_event("issues", "d-1", ISSUE));
    assert_eq!(first[0], "id:github:d-1");
    assert!(
        first[1].starts_with("body:github:") && first[1].len() == 12 + 64,
        "{first:?}"
    );
    let replayed = identities(&github_event("issues", "d-2", ISSUE));
    assert_eq!(
        (replayed[0].as_str(), &replayed[1]),
        ("id:github:d-2", &first[1])
    );
    let other = identities(&github_event(
        "issues",
        "d-1",
        &ISSUE.replace("Drip", "Drop"),
    ));
    assert_eq!(other[0], first[0]);
    assert_ne!(other[1], first[1]);
    for (kind, body) in [
        ("ping", r#"{"zen":"x","hook_id":1}"#),
        ("repository_dispatch", r#"{"action":"go"}"#),
        ("workflow_dispatch", r#"{"inputs":{},"workflow":"ci.yml"}"#),
        (
            "check_run",
            r#"{"action":"rerequested","check_run":{"id":1,"name":"ci"}}"#,
        ),
    ] {
        assert_eq!(
            identities(&github_event(kind, "d-1", body)),
            ["id:github:d-1"],
            "{kind}"
        );
    }
}

#[test]
fn slack_callbacks_are_identified_by_their_event_id() {
    let slack = Slack::new(secrets());
    let body = r#"{"type":"event_callback","event_id":"Ev1","event":{"type":"message","user":"U1","channel":"C1","text":"hi","ts":"1355517523.000005"}}"#;
    let headers = Headers::new([("Content-Type", "application/json")]);
    let event = slack
        .events(&delivery(&headers, body.as_bytes(), at(NOW)))
        .unwrap()
        .remove(0);
    assert_eq!(
        (event.kind.as_str(), event.delivery.as_str()),
        ("message", "Ev1")
    );
    assert_eq!(identities(&event), ["id:slack:Ev1"]);
    for (body, expected) in [
        (
            r#"{"type":"event_callback","event":{"type":"message"}}"#,
            400,
        ),
        (r#"{"type":"event_callback","event_id":"Ev1"}"#, 400),
        (
            r#"{"type":"event_callback","event_id":"Ev/1","event":{"type":"message"}}"#,
            400,
        ),
        ("[]", 400),
    ] {
        let refused = slack
            .events(&delivery(&headers, body.as_bytes(), at(NOW)))
            .unwrap_err();
        assert_eq!(refused.status(), expected, "{body}");
    }
}

#[test]
fn a_challenge_is_echoed_only_if_it_has_plain_characters() {
    let slack = Slack::new(secrets());
    let headers = Headers::new([("Content-Type", "application/json")]);
    let challenge = |text: &str| {
        let body = format!(r#"{{"type":"url_verification","challenge":"{text}"}}"#);
        let delivery = delivery(&headers, body.as_bytes(), at(NOW));
        assert_eq!(slack.events(&delivery).map(|events| events.len()), Ok(0));
        slack
            .challenge(&delivery)
            .map(|found| found.as_ref().map(Challenge::as_str).map(str::to_owned))
    };
    assert_eq!(
        challenge("3eZbrw1aBm2rZgRNFdxV_-"),
        Ok(Some("3eZbrw1aBm2rZgRNFdxV_-".to_owned()))
    );
    for refused in [
        "",
        "<script>",
        "a b",
        &"x".repeat(257),
        &"x".repeat(1 << 20),
    ] {
        assert!(challenge(refused).is_err(), "{:.20}", refused);
    }
    let body = br#"{"type":"event_callback"}"#;
    assert_eq!(
        slack.challenge(&delivery(&headers, body, at(NOW))),
        Ok(None)
    );
}

#[test]
fn linear_and_sentry_announce_kind_and_delivery_in_headers() {
    let linear = Linear::new(secrets());
    let body = r#"{"action":"create","type":"Issue","createdAt":"2026-01-02T03:04:05.000Z","data":{"id":"a1","identifier":"ENG-12","title":"t"},"webhookTimestamp":1767323045000}"#;
    let headers = Headers::new([("Linear-Event", "Issue"), ("Linear-Delivery", "l-1")]);
    let event = linear
        .events(&delivery(&headers, body.as_bytes(), at(NOW)))
        .unwrap()
        .remove(0);
    assert_eq!(
        (event.kind.as_str(), event.time),
        ("Issue", at("2026-01-02T03:04:05Z"))
    );
    assert_eq!(identities(&event).len(), 2);
    let mismatched = Headers::new([("Linear-Event", "Comment"), ("Linear-Delivery", "l-1")]);
    let refused = linear
        .events(&delivery(&mismatched, body.as_bytes(), at(NOW)))
        .unwrap_err();
    assert_eq!(refused.status(), 400);

    let sentry = Sentry::new(secrets());
    let body = r#"{"action":"created","data":{"issue":{"id":"1","title":"t"}},"actor":{"type":"application","name":"Sentry"}}"#;
    let headers = Headers::new([("Sentry-Hook-Resource", "issue"), ("Request-ID", "r-1")]);
    let event = sentry
        .events(&delivery(&headers, body.as_bytes(), at(NOW)))
        .unwrap()
        .remove(0);
    assert_eq!(
        (event.kind.as_str(), event.delivery.as_str()),
        ("issue", "r-1")
    );
    let unknown = Headers::new([("Sentry-Hook-Resource", "hologram"), ("Request-ID", "r-2")]);
    assert!(
        sentry
            .events(&delivery(&unknown, body.as_bytes(), at(NOW)))
            .is_ok()
    );
}

proptest! {
    #[test]
    fn reading_a_verified_body_does_not_panic(
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[\\[\\]{}:,\"a-z0-9\\\\]{0,80}".prop_map(String::into_bytes),
        ],
        kind in prop::sample::select(vec!["issues", "push", "pull_request", "weather"]),
    ) {
        let headers = Headers::new(github_headers(kind, "d-1", &body));
        let status = answer(&github(), &headers, &body, NOW);
        prop_assert!(matches!(status, 200 | 400), "{}", status);
        let any: [&dyn WebhookSource; 2] = [&Slack::new(secrets()), &Linear::new(secrets())];
        for source in any {
            let result = source.events(&delivery(&headers, &body, at(NOW)));
            prop_assert!(result.map_or_else(|error| error.status() >= 400, |_| true));
        }
    }
}
