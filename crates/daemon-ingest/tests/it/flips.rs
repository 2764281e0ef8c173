//! Deliveries of which one bit was changed: every bit of the signature, of the signed time and of the body counts.

use daemon_ingest::{
    CloudEvents, Github, Headers, Linear, Secrets, SenderTokens, Sentry, Slack, WebhookSource,
};

use crate::signatures::{
    GITHUB_DIGITS, GITHUB_SECRET, LINEAR_BODY, LINEAR_SECRET, LINEAR_SIGNATURE, LINEAR_TIME, NOON,
    SENTRY_BODY, SENTRY_SECRET, SENTRY_SIGNATURE, SLACK_BODY, SLACK_SECRET, SLACK_SIGNATURE,
    SLACK_TIME,
};
use crate::{at, delivery};

/// A signed delivery, and when it is received.
struct Signed {
    source: Box<dyn WebhookSource>,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: &'static str,
    received: &'static str,
}

fn signed() -> [Signed; 4] {
    let secrets = |secret: &str| Secrets::new([secret]).unwrap();
    let github = format!("sha256={GITHUB_DIGITS}");
    [
        Signed {
            source: Box::new(Github::new(secrets(GITHUB_SECRET))),
            headers: vec![("X-Hub-Signature-256", github.into_bytes())],
            body: "Hello, World!",
            received: NOON,
        },
        Signed {
            source: Box::new(Slack::new(secrets(SLACK_SECRET))),
            headers: vec![
                ("X-Slack-Signature", SLACK_SIGNATURE.into()),
                ("X-Slack-Request-Timestamp", b"1531420618".into()),
            ],
            body: SLACK_BODY,
            received: SLACK_TIME,
        },
        Signed {
            source: Box::new(Linear::new(secrets(LINEAR_SECRET))),
            headers: vec![("Linear-Signature", LINEAR_SIGNATURE.into())],
            body: LINEAR_BODY,
            received: LINEAR_TIME,
        },
        Signed {
            source: Box::new(Sentry::new(secrets(SENTRY_SECRET))),
            headers: vec![("Sentry-Hook-Signature", SENTRY_SIGNATURE.into())],
            body: SENTRY_BODY,
            received: NOON,
        },
    ]
}

impl Signed {
    /// Returns the status of the rejection of other headers and another body; 200 if they are accepted.
    fn status(&self, headers: &[(&'static str, Vec<u8>)], body: &[u8]) -> u16 {
        let headers = Headers::new(headers.iter().cloned());
        let delivery = delivery(&headers, body, at(self.received));
        self.source
            .verify(&delivery)
            .map_or_else(|rejected| rejected.status(), |()| 200)
    }
}

/// Returns every form of `bytes` with one bit changed.
fn flipped(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut acc = bytes.to_vec();
        acc[bit / 8] ^= 1 << (bit % 8);
        acc
    })
}

/// P4, for each service that signs: the time of sending of Linear is a part of its body.
#[test]
fn a_flipped_bit_of_signature_time_or_body_is_rejected() {
    for one in signed() {
        assert_eq!(one.status(&one.headers, one.body.as_bytes()), 200);
        let mut n_flips = 0;
        for (header, (name, value)) in one.headers.iter().enumerate() {
            for flip in flipped(value) {
                let mut headers = one.headers.clone();
                headers[header].1 = flip;
                let status = one.status(&headers, one.body.as_bytes());
                let sent = headers[header].1.escape_ascii();
                assert_eq!(status, 401, "{name}: {sent}");
                n_flips += 1;
            }
        }
        for flip in flipped(one.body.as_bytes()) {
            let status = one.status(&one.headers, &flip);
            assert_eq!(status, 401, "{}", flip.escape_ascii());
            n_flips += 1;
        }
        let signed = one.headers.iter().map(|(_, value)| value.len());
        assert_eq!(n_flips, (signed.sum::<usize>() + one.body.len()) * 8);
    }
}

/// A token signs nothing, so only its own bits count.
#[test]
fn a_flipped_bit_of_a_token_is_rejected() {
    let token = "ci-0f4c5b1e-not-guessable-0f4c5b1e-not-guessable";
    let host = "h0-0f4c5b1e-not-guessable-0f4c5b1e-not-guessable";
    let tokens = SenderTokens::of_host(host);
    let tokens = tokens.with_lines(&format!("ci:{token}\n")).unwrap();
    let source = CloudEvents::new(tokens);
    let status = |token: &[u8]| {
        let value = [b"Bearer ", token].concat();
        let headers = Headers::new([("Authorization", value)]);
        let admitted = source.admit(&headers);
        admitted.map_or_else(|rejected| rejected.status(), |()| 200)
    };
    for token in [host, token] {
        assert_eq!(status(token.as_bytes()), 200);
        for flip in flipped(token.as_bytes()) {
            assert_eq!(status(&flip), 401, "{}", flip.escape_ascii());
        }
    }
}
