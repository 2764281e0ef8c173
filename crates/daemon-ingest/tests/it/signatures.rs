//! Verification of signatures and of the time of sending.

use std::time::Duration;

use daemon_ingest::{Github, Headers, Linear, Rejected, Secrets, Sentry, Slack, WebhookSource};

use crate::signing::hex_hmac;
use crate::{at, delivery};

pub(crate) const GITHUB_SECRET: &str = "It's a Secret to Everybody";
pub(crate) const GITHUB_DIGITS: &str =
    "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
pub(crate) const SLACK_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
pub(crate) const SLACK_BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
pub(crate) const SLACK_SIGNATURE: &str =
    "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
pub(crate) const LINEAR_SECRET: &str = "lin_wh_test_secret";
pub(crate) const LINEAR_BODY: &str = r#"{"action":"create","type":"Issue","createdAt":"2026-01-02T03:04:05.000Z","data":{"id":"a1","title":"café 🐞"},"organizationId":"o1","webhookTimestamp":1767323045000,"webhookId":"w1"}"#;
pub(crate) const LINEAR_SIGNATURE: &str =
    "91f763b7152b0f93e581227cec613966d45aaad4cbca432017dd8af83b032212";
pub(crate) const SENTRY_SECRET: &str = "sentry_client_secret_test";
pub(crate) const SENTRY_BODY: &str = r#"{"action":"created","installation":{"uuid":"a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},"data":{"issue":{"id":"1170820242","title":"ReferenceError: blooopy is not defined"}},"actor":{"type":"application","id":"sentry","name":"Sentry"}}"#;
pub(crate) const SENTRY_SIGNATURE: &str =
    "57daffa32809d7d8be976b9378f1588080174e7abd16b87e778b43d376722a0b";
const SENTRY_EMPTY: &str = "361476a6d72decfe20ad207e39ec0aeb195937f54deb44e748bc832b2e47cb6b";
pub(crate) const NOON: &str = "2026-11-20T12:00:00Z";
pub(crate) const SLACK_TIME: &str = "2018-07-12T18:36:58Z";
pub(crate) const LINEAR_TIME: &str = "2026-01-02T03:04:05Z";

fn github() -> Github {
    Github::new(Secrets::new([GITHUB_SECRET]).unwrap())
}

#[test]
fn a_body_is_signed_as_github_signs_it() {
    let secrets = Secrets::new([GITHUB_SECRET, "an older one"]).unwrap();
    let signature = secrets.github_signature(b"Hello, World!");
    assert_eq!(signature, format!("sha256={GITHUB_DIGITS}"));
}

fn verify(
    source: &dyn WebhookSource,
    headers: &[(&str, &str)],
    body: &[u8],
    now: &str,
) -> Result<(), Rejected> {
    let headers = Headers::new(headers.iter().copied());
    source.verify(&delivery(&headers, body, at(now)))
}

fn slack_headers<'a>(signature: &'a str, sent: &'a str) -> [(&'static str, &'a str); 2] {
    [
        ("X-Slack-Signature", signature),
        ("X-Slack-Request-Timestamp", sent),
    ]
}

/// The source, the headers, the body, and the time of receipt.
type Case<'a> = (
    &'a dyn WebhookSource,
    &'a [(&'a str, &'a str)],
    &'a str,
    &'a str,
);

#[test]
fn signatures_of_every_source_are_accepted() {
    let slack = Slack::new(Secrets::new([SLACK_SECRET]).unwrap());
    let linear = Linear::new(Secrets::new([LINEAR_SECRET]).unwrap());
    let sentry = Sentry::new(Secrets::new([SENTRY_SECRET]).unwrap());
    let github_signature = format!("sha256={GITHUB_DIGITS}");
    let slack_signed = slack_headers(SLACK_SIGNATURE, "1531420618");
    let cases: [Case<'_>; 5] = [
        (
            &github(),
            &[("x-hub-signature-256", &github_signature)],
            "Hello, World!",
            NOON,
        ),
        (&slack, &slack_signed, SLACK_BODY, SLACK_TIME),
        (
            &linear,
            &[("Linear-Signature", LINEAR_SIGNATURE)],
            LINEAR_BODY,
            LINEAR_TIME,
        ),
        (
            &sentry,
            &[("Sentry-Hook-Signature", SENTRY_SIGNATURE)],
            SENTRY_BODY,
            NOON,
        ),
        (
            &sentry,
            &[("Sentry-Hook-Signature", SENTRY_EMPTY)],
            "",
            NOON,
        ),
    ];
    for (source, headers, body, now) in cases {
        assert_eq!(
            verify(source, headers, body.as_bytes(), now),
            Ok(()),
            "{headers:?}"
        );
        let changed = format!("{body}\n");
        let refused = verify(source, headers, changed.as_bytes(), now);
        assert_eq!(refused, Err(Rejected::WrongSignature), "{headers:?}");
    }
}

#[test]
fn a_signature_must_have_the_exact_format() {
    let upper = GITHUB_DIGITS.to_uppercase();
    let short = &GITHUB_DIGITS[..63];
    for value in [
        "",
        "sha256=",
        "v0=",
        "v1,",
        "sha1=",
        GITHUB_DIGITS,
        "sha256",
        &format!("sha1={GITHUB_DIGITS}"),
        &format!("SHA256={GITHUB_DIGITS}"),
        &format!("sha256={upper}"),
        &format!("sha256={short}"),
        &format!("sha256={GITHUB_DIGITS}0"),
        &format!("sha256= {GITHUB_DIGITS}"),
        &format!("sha256={GITHUB_DIGITS} "),
        &format!(" sha256={GITHUB_DIGITS}"),
        &format!("sha256={GITHUB_DIGITS}{GITHUB_DIGITS}"),
        &format!("sha256={short}g"),
        &format!("sha256={short}é"),
        "sha256=0x",
        "sha256=\u{661}\u{661}",
    ] {
        let refused = verify(
            &github(),
            &[("X-Hub-Signature-256", value)],
            b"Hello, World!",
            NOON,
        );
        assert_eq!(
            refused,
            Err(Rejected::NotASignature("X-Hub-Signature-256")),
            "{value:?}"
        );
        assert_eq!(refused.unwrap_err().status(), 401);
    }
}

#[test]
fn missing_and_repeated_signatures_are_rejected() {
    let good = format!("sha256={GITHUB_DIGITS}");
    let body = b"Hello, World!";
    assert_eq!(
        verify(&github(), &[("X-Hub-Signature", "sha1=aa")], body, NOON),
        Err(Rejected::Unsigned("X-Hub-Signature-256"))
    );
    let twice = [
        ("X-Hub-Signature-256", good.as_str()),
        ("x-hub-signature-256", good.as_str()),
    ];
    let repeated = Rejected::Repeated {
        name: "X-Hub-Signature-256",
        count: 2,
    };
    assert_eq!(verify(&github(), &twice, body, NOON), Err(repeated));
    let many = vec![("X-Hub-Signature-256", good.as_str()); 1000];
    let repeated = Rejected::Repeated {
        name: "X-Hub-Signature-256",
        count: 1000,
    };
    assert_eq!(verify(&github(), &many, body, NOON), Err(repeated));
    let binary = Headers::new([("X-Hub-Signature-256", [0xff; 71])]);
    let refused = github().verify(&delivery(&binary, body, at(NOON)));
    assert_eq!(refused, Err(Rejected::NotASignature("X-Hub-Signature-256")));
}

#[test]
fn every_secret_is_tried_and_an_empty_one_is_rejected() {
    let good = format!("sha256={GITHUB_DIGITS}");
    let headers = [("X-Hub-Signature-256", good.as_str())];
    let check = |secrets: &[&str]| {
        let github = Github::new(Secrets::new(secrets).unwrap());
        verify(&github, &headers, b"Hello, World!", NOON)
    };
    assert_eq!(check(&["old", GITHUB_SECRET]), Ok(()));
    assert_eq!(check(&[GITHUB_SECRET, "new"]), Ok(()));
    assert_eq!(check(&["old", "new"]), Err(Rejected::WrongSignature));
    assert_eq!(
        check(&["It's a Secret to Everybody\n"]),
        Err(Rejected::WrongSignature)
    );
    for none in [&[][..], &[""], &["good", ""], &[" \n"]] {
        assert!(Secrets::new(none).is_err(), "{none:?}");
    }
    let shown = format!("{:?}", Secrets::new([GITHUB_SECRET]).unwrap());
    assert_eq!(shown, "Secrets(1 hidden)");
}

#[test]
fn encoded_and_oversized_bodies_are_rejected_before_the_signature() {
    let encoded = verify(&github(), &[("Content-Encoding", "gzip")], b"", NOON).unwrap_err();
    assert_eq!(
        (encoded.status(), encoded),
        (415, Rejected::Encoded("gzip".into()))
    );
    let identity = verify(&github(), &[("content-encoding", "identity")], b"", NOON).unwrap_err();
    assert_eq!(identity.status(), 415);
    let sentry = Sentry::new(Secrets::new([SENTRY_SECRET]).unwrap());
    let large = vec![b' '; sentry.max_body() + 1];
    assert_eq!(
        verify(&sentry, &[], &large, NOON).unwrap_err().status(),
        413
    );
}

#[test]
fn slack_deliveries_are_accepted_within_five_minutes() {
    let slack = Slack::new(Secrets::new([SLACK_SECRET]).unwrap());
    let check = |sent: &str, now: &str| {
        let signature = format!(
            "v0={}",
            hex_hmac(SLACK_SECRET, format!("v0:{sent}:x").as_bytes())
        );
        verify(&slack, &slack_headers(&signature, sent), b"x", now)
    };
    for (now, expected) in [
        ("2018-07-12T18:41:58Z", Ok(())),
        ("2018-07-12T18:31:58Z", Ok(())),
        (
            "2018-07-12T18:41:59Z",
            Err(Rejected::Stale { seconds: 301 }),
        ),
        (
            "2018-07-12T18:31:57Z",
            Err(Rejected::Stale { seconds: -301 }),
        ),
    ] {
        assert_eq!(check("1531420618", now), expected, "{now}");
    }
    for sent in [
        "",
        "0",
        "-1",
        "1531420618.5",
        "1531420618000",
        "+1531420618",
        " 1531420618",
        "now",
    ] {
        let refused = check(sent, SLACK_TIME).unwrap_err();
        assert_eq!(refused.status(), 401, "{sent:?}: {refused}");
        assert!(
            matches!(refused, Rejected::Undated | Rejected::Stale { .. }),
            "{sent:?}: {refused}"
        );
    }
    let signature = format!("v0={}", hex_hmac(SLACK_SECRET, b"v0::x"));
    let unsigned = verify(
        &slack,
        &[("X-Slack-Signature", signature.as_str())],
        b"x",
        SLACK_TIME,
    );
    assert_eq!(
        unsigned,
        Err(Rejected::Unsigned("X-Slack-Request-Timestamp"))
    );
}

#[test]
fn linear_deliveries_are_accepted_within_a_minute_or_as_configured() {
    let linear = Linear::new(Secrets::new([LINEAR_SECRET]).unwrap());
    let late = linear.clone().accepting_late(Duration::from_secs(6 * 3600));
    let check = |linear: &Linear, body: &str, now: &str| {
        let signature = hex_hmac(LINEAR_SECRET, body.as_bytes());
        verify(
            linear,
            &[("Linear-Signature", signature.as_str())],
            body.as_bytes(),
            now,
        )
    };
    for (now, strict, lenient) in [
        ("2026-01-02T03:05:05Z", Ok(()), Ok(())),
        ("2026-01-02T03:03:05Z", Ok(()), Ok(())),
        (
            "2026-01-02T03:05:06Z",
            Err(Rejected::Stale { seconds: 61 }),
            Ok(()),
        ),
        (
            "2026-01-02T09:04:05Z",
            Err(Rejected::Stale { seconds: 21_600 }),
            Ok(()),
        ),
        (
            "2026-01-02T03:03:04Z",
            Err(Rejected::Stale { seconds: -61 }),
            Err(Rejected::Stale { seconds: -61 }),
        ),
    ] {
        assert_eq!(check(&linear, LINEAR_BODY, now), strict, "{now}");
        assert_eq!(check(&late, LINEAR_BODY, now), lenient, "{now}");
    }
    for sent in [
        "0",
        "\"1767323045000\"",
        "1767323045",
        "null",
        "-1",
        "1767323045000.5",
    ] {
        let body = format!(r#"{{"type":"Issue","webhookTimestamp":{sent}}}"#);
        assert_eq!(
            check(&linear, &body, LINEAR_TIME).unwrap_err().status(),
            401,
            "{sent}"
        );
    }
    assert_eq!(
        check(&linear, r#"{"type":"Issue"}"#, LINEAR_TIME),
        Err(Rejected::Undated)
    );
}
