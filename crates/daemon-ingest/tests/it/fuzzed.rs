//! The bodies of the fuzz targets over requests of a seed, so that they run without a fuzzer, too.

use crate::fuzz_bodies::{
    NumberedHeaders, OF_CLOUDEVENTS, OF_WEBHOOKS, RECEIVED, cloudevents, webhook,
};
use crate::random::Random;
use crate::setting;
use crate::signatures::{
    GITHUB_DIGITS, LINEAR_BODY, LINEAR_SIGNATURE, SENTRY_BODY, SENTRY_SIGNATURE, SLACK_SIGNATURE,
};

/// What the bodies are made of: those of services, and pieces that a parser may trip over.
const BODIES: [&str; 8] = [
    LINEAR_BODY,
    SENTRY_BODY,
    r#"{"action":"opened","issue":{"number":7,"title":"Drip"},"repository":{"full_name":"acme/pump"},"sender":{"login":"kit"}}"#,
    r#"{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"message","channel":"C1","user":"U1","ts":"1.2","text":"hi"}}"#,
    r#"{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}"#,
    r#"{"specversion":"1.0","id":"1","source":"/ci","type":"github.issues.opened","data":{"action":"opened","issue":{"number":7}}}"#,
    r#"[{"specversion":"1.0","id":"1","source":"/ci","type":"build"},{"specversion":"1.0","id":"2","source":"/ci","type":"build","data_base64":"AA=="}]"#,
    "payload=%7B%22action%22%3A%22opened%22%2C%22issue%22%3A%7B%22number%22%3A7%7D%7D",
];
const PIECES: [&str; 12] = [
    "",
    "null",
    "1e400",
    "\"\\ud800\"",
    "{\"a\":",
    "[[[[[[[[",
    "}",
    "\u{feff}",
    "-0",
    "\"type\":\"Issue\",",
    "18446744073709551616",
    "\0",
];
/// Values of headers of any name.
const VALUES: [&str; 14] = [
    SLACK_SIGNATURE,
    LINEAR_SIGNATURE,
    SENTRY_SIGNATURE,
    "issues",
    "Issue",
    "issue",
    "d-1",
    "application/json",
    "application/cloudevents+json",
    "application/cloudevents-batch+json; charset=utf-8",
    "application/x-www-form-urlencoded",
    "1.0",
    "%41%zz%",
    "2026-11-20T12:00:00Z",
];

/// Returns a known text with a few places changed, or bytes of any value.
fn changed(random: &mut Random, known: &[&str]) -> Vec<u8> {
    if random.below(8) == 0 {
        return random.bytes(64);
    }
    let mut acc = random.one_of(known).as_bytes().to_vec();
    for _ in 0..random.below(4) {
        let at = random.below(acc.len() + 1);
        let until = at + random.below(acc.len() - at + 1).min(random.below(16));
        match random.below(3) {
            0 if at < acc.len() => acc[at] ^= 1 << random.below(8),
            1 => drop(acc.splice(at..until, random.one_of(&PIECES).bytes())),
            _ => drop(acc.splice(at..until, random.bytes(4))),
        }
    }
    acc
}

/// Returns headers of which most have one of the names, each at most once, and values that pass for one.
fn headers(random: &mut Random, names: &[&str]) -> NumberedHeaders {
    let github = format!("sha256={GITHUB_DIGITS}");
    let sent = RECEIVED.to_string();
    let values = [&VALUES[..], &[&github, &sent]].concat();
    let mut acc = NumberedHeaders::new();
    for number in 0..u8::try_from(names.len()).unwrap() {
        if random.below(4) > 0 {
            acc.push((number, changed(random, &values)));
        }
    }
    if random.below(16) == 0 {
        let number = u8::try_from(random.below(names.len())).unwrap();
        acc.push((number, changed(random, &values)));
    }
    acc
}

/// How many requests each loop makes.
fn runs() -> u64 {
    setting("DAEMON_TEST_FUZZ_RUNS", 4_000)
}

#[test]
fn no_webhook_without_the_secret_is_accepted_and_none_causes_a_panic() {
    let mut random = Random(7);
    for _ in 0..runs() {
        let source = u8::try_from(random.below(4)).unwrap();
        let headers = headers(&mut random, &OF_WEBHOOKS);
        webhook(source, headers, &changed(&mut random, &BODIES));
    }
}

#[test]
fn no_cloudevent_without_a_token_is_accepted_and_none_causes_a_panic() {
    let mut random = Random(7);
    for _ in 0..runs() {
        let headers = headers(&mut random, &OF_CLOUDEVENTS);
        cloudevents(headers, &changed(&mut random, &BODIES));
    }
}
