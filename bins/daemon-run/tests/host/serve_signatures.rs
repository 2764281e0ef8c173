//! Forged signatures: 300 mutations of a vector of each source, all refused alike.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::{self, hmac_hex};
use crate::world::{Host, World};

const REFUSED: &str = "{\"schema_version\":1,\"ok\":false,\"error\":{\"code\":\"unauthorized\",\"message\":\"the delivery is not authentic\",\"help\":null}}\n";
/// How many mutations of each vector are sent.
const MUTATIONS: usize = 300;
/// The seed of the random ones.
const SEED: u64 = 7;

/// A delivery that its source signed.
#[derive(Clone)]
struct Vector {
    source: &'static str,
    secret: &'static str,
    /// The header with the signature, and what is before the digits.
    header: &'static str,
    prefix: &'static str,
    /// The signed time of sending, for sources with a header for it.
    sent: Option<String>,
    body: Vec<u8>,
}

/// What is sent: the values of the signature's header, the time of sending, and the body.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Forgery {
    signatures: Vec<Vec<u8>>,
    sent: Option<Vec<u8>>,
    body: Vec<u8>,
}

fn vectors() -> [Vector; 4] {
    let now = jiff::Timestamp::now();
    let vector = |source, secret, header, prefix, body: &str| Vector {
        source,
        secret,
        header,
        prefix,
        sent: None,
        body: body.as_bytes().to_vec(),
    };
    let slack = vector(
        "slack",
        "8f742231b10e8888abcd99yyyzzz85a5",
        "X-Slack-Signature",
        "v0=",
        "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&command=%2Fwebhook-collect&text=",
    );
    let linear = format!(
        r#"{{"action":"create","type":"Issue","createdAt":"2026-01-02T03:04:05.000Z","data":{{"id":"a1","title":"café 🐞"}},"organizationId":"o1","webhookTimestamp":{},"webhookId":"w1"}}"#,
        now.as_millisecond()
    );
    [
        vector(
            "github",
            "It's a Secret to Everybody",
            "X-Hub-Signature-256",
            "sha256=",
            "Hello, World!",
        ),
        Vector {
            sent: Some(now.as_second().to_string()),
            ..slack
        },
        vector(
            "linear",
            "lin_wh_test_secret",
            "Linear-Signature",
            "",
            &linear,
        ),
        vector(
            "sentry",
            "sentry_client_secret_test",
            "Sentry-Hook-Signature",
            "",
            r#"{"action":"created","installation":{"uuid":"a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},"data":{"issue":{"id":"1170820242","title":"ReferenceError: blooopy is not defined"}},"actor":{"type":"application","id":"sentry","name":"Sentry"}}"#,
        ),
    ]
}

impl Vector {
    /// Returns the digits of the signature of a body with a secret.
    fn digits(&self, secret: &str, body: &[u8]) -> String {
        let signed = match &self.sent {
            Some(sent) => [format!("v0:{sent}:").as_bytes(), body].concat(),
            None => body.to_vec(),
        };
        hmac_hex(secret, &signed)
    }

    /// Returns the delivery with another value of the signature's header.
    fn with(&self, signature: &str) -> Forgery {
        Forgery {
            signatures: vec![signature.as_bytes().to_vec()],
            sent: self.sent.clone().map(String::into_bytes),
            body: self.body.clone(),
        }
    }

    fn genuine(&self) -> Forgery {
        let digits = self.digits(self.secret, &self.body);
        self.with(&format!("{}{digits}", self.prefix))
    }

    /// Returns the mutations of the signature's form.
    fn forms(&self) -> Vec<Forgery> {
        let prefix = self.prefix;
        let digits = self.digits(self.secret, &self.body);
        let twice = digits.repeat(2);
        let lengths = (0..=70).filter(|length| *length != 64);
        let mut forms: Vec<String> = lengths
            .map(|length| format!("{prefix}{}", &twice[..length]))
            .collect();
        let (half, rest) = digits.split_at(32);
        let wide: String = digits.chars().map(widened).collect();
        let arabic = "\u{661}".repeat(64);
        forms.extend([
            format!("{prefix}{twice}"),
            format!("{prefix}{}", digits.to_uppercase()),
            format!("{prefix} {digits}"),
            format!("{prefix}{half} {rest}"),
            format!("{prefix}{half}\t{rest}"),
            format!("{prefix}{digits}, {prefix}{digits}"),
            format!("{prefix}{digits},{prefix}{digits}"),
            format!("{prefix}{prefix}{digits}x"),
            format!("{prefix}0x{digits}"),
            format!("{prefix}{wide}"),
            format!("{prefix}{arabic}"),
            format!("{prefix}\"{digits}\""),
            format!("sha1={}", &digits[..40]),
            format!("sha1={digits}"),
            format!("v1={digits}"),
            format!("v1,{digits}"),
            format!("SHA256={digits}"),
            format!("sha-256={digits}"),
            format!("={digits}"),
        ]);
        let genuine = self.genuine();
        // HTTP ignores blanks around a value.
        forms.retain(|form| form.trim().as_bytes() != genuine.signatures[0]);
        let mut forgeries: Vec<Forgery> = forms.iter().map(|form| self.with(form)).collect();
        let repeated = Forgery {
            signatures: [&genuine.signatures[..], &genuine.signatures].concat(),
            ..genuine.clone()
        };
        let unsigned = Forgery {
            signatures: Vec::new(),
            ..genuine
        };
        forgeries.extend([repeated, unsigned]);
        forgeries
    }

    /// Returns the mutations of what is signed, and signatures with other secrets.
    fn contents(&self) -> Vec<Forgery> {
        let genuine = self.genuine();
        let text = String::from_utf8_lossy(&self.body).into_owned();
        let mut bodies = vec![
            format!("{text}\n"),
            format!("{text}\r\n"),
            format!(" {text}"),
            format!("\u{feff}{text}"),
            text.replace(':', ": "),
            String::new(),
        ];
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            bodies.push(format!("{value:#}"));
            bodies.push(text.replace("é", "\\u00e9").replace('"', " \""));
        }
        bodies.retain(|body| *body != text);
        let mut forgeries: Vec<Forgery> = bodies
            .into_iter()
            .map(|body| Forgery {
                body: body.into_bytes(),
                ..genuine.clone()
            })
            .collect();
        let secret = self.secret;
        let secrets = [
            String::new(),
            format!("{secret}\n"),
            format!(" {secret}"),
            secret.to_uppercase(),
            secret[1..].to_owned(),
            "old".to_owned(),
        ];
        let others = secrets.iter().map(|secret| self.digits(secret, &self.body));
        forgeries.extend(others.map(|digits| self.with(&format!("{}{digits}", self.prefix))));
        if self.sent.is_some() {
            // Of the body alone, as the other sources sign it.
            let bare = hmac_hex(secret, &self.body);
            forgeries.push(self.with(&format!("{}{bare}", self.prefix)));
            forgeries.push(Forgery {
                sent: None,
                ..genuine
            });
        }
        forgeries
    }

    /// Returns the delivery, signed, with a time of sending `seconds` before now; `None` if the source signs no time.
    fn aged(&self, seconds: i64) -> Option<Forgery> {
        let sent = jiff::Timestamp::now().as_second() - seconds;
        let other = match self.source {
            "slack" => Self {
                sent: Some(sent.to_string()),
                ..self.clone()
            },
            "linear" => {
                let mut body: Value = serde_json::from_slice(&self.body).expect("an object");
                body["webhookTimestamp"] = (sent * 1000).into();
                Self {
                    body: body.to_string().into_bytes(),
                    ..self.clone()
                }
            }
            _ => return None,
        };
        Some(other.genuine())
    }

    /// Returns the mutations, each once.
    fn mutations(&self) -> Vec<Forgery> {
        let genuine = self.genuine();
        let mut known = BTreeSet::from([genuine.clone()]);
        let mut all = [self.forms(), self.contents()].concat();
        all.extend(
            [-600, 600, 86_400]
                .into_iter()
                .filter_map(|age| self.aged(age)),
        );
        all.retain(|forgery| known.insert(forgery.clone()));
        let mut random = Random(SEED);
        while all.len() < MUTATIONS {
            let mut forgery = genuine.clone();
            let part = match (random.below(3), &mut forgery.sent) {
                (0, Some(sent)) => sent,
                (1, _) => &mut forgery.body,
                _ => &mut forgery.signatures[0],
            };
            let (at, bit) = (random.below(part.len()), random.below(8));
            part[at] ^= 1 << bit;
            // HTTP itself forbids control characters in headers.
            let values = forgery.signatures.iter().chain(&forgery.sent);
            let is_sendable = values.flatten().all(|byte| *byte > b' ' && *byte != 0x7f);
            if is_sendable && known.insert(forgery.clone()) {
                all.push(forgery);
            }
        }
        assert_eq!(all.len(), MUTATIONS, "{}", self.source);
        all
    }

    /// Sends a delivery and returns the status and the body of the response.
    fn send(&self, host: &Host, forgery: &Forgery) -> (u16, String) {
        let (address, source) = (host.address(), self.source);
        let mut request = format!(
            "POST /webhooks/{source} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-GitHub-Event: ping\r\nX-GitHub-Delivery: d\r\nLinear-Event: Issue\r\nLinear-Delivery: d\r\n\
             Sentry-Hook-Resource: issue\r\nRequest-ID: d\r\nContent-Length: {}\r\n",
            forgery.body.len()
        )
        .into_bytes();
        let sent = forgery
            .sent
            .iter()
            .map(|sent| ("X-Slack-Request-Timestamp", sent));
        let signatures = forgery.signatures.iter().map(|value| (self.header, value));
        for (name, value) in sent.chain(signatures) {
            request.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        request.extend(b"\r\n");
        request.extend(&forgery.body);
        let answer = http::raw(address, &request);
        (answer.status, answer.body)
    }
}

/// Returns the full-width form of a character.
fn widened(c: char) -> char {
    char::from_u32(u32::from(c) + 0xfee0).expect("digits and letters have one")
}

/// A generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let n = u64::try_from(n).expect("a length fits");
        usize::try_from((z ^ (z >> 31)) % n).expect("it is below a length")
    }
}

/// Makes a host with the secret of each vector.
fn host(env: &[(&str, &str)]) -> (World, Host) {
    let world = World::new(&[]);
    let sections = vectors().map(|vector| {
        let (source, file) = (vector.source, format!("{}-secret", vector.source));
        std::fs::write(world.home.join(&file), vector.secret).expect("the secret");
        format!("[sources.{source}]\nsecret_file = {file:?}\n")
    });
    let config = sections.concat();
    world.watch_with(&config);
    let host = world.serve_with(&[], env);
    (world, host)
}

/// Sends every mutation, and returns those that were not refused with the one response.
fn accepted(host: &Host) -> Vec<(&'static str, String)> {
    let mut accepted = Vec::new();
    for vector in vectors() {
        for forgery in vector.mutations() {
            let answer = vector.send(host, &forgery);
            if answer != (401, REFUSED.to_owned()) {
                let value = forgery.signatures.concat();
                accepted.push((
                    vector.source,
                    format!("{} {answer:?}", value.escape_ascii()),
                ));
            }
        }
    }
    accepted
}

#[test]
fn every_mutation_of_a_signed_delivery_is_refused_with_one_body() {
    let (_world, host) = host(&[]);
    assert_eq!(accepted(&host), []);
    assert_eq!(host.list("events"), Vec::<Value>::new());
    // The vectors themselves are authentic, also those whose bodies are not events.
    for vector in vectors() {
        let (status, body) = vector.send(&host, &vector.genuine());
        assert_ne!(status, 401, "{}: {body}", vector.source);
    }
}

#[test]
fn an_empty_secret_of_any_source_refuses_to_start() {
    for vector in vectors() {
        for text in ["", "\n", " \n\t\n"] {
            let world = World::new(&[]);
            std::fs::write(world.home.join("secret"), text).expect("the secret");
            let source = vector.source;
            world.watch_with(&format!("[sources.{source}]\nsecret_file = \"secret\"\n"));
            let message = world.refusal("source-secret");
            let expected = format!("sources.{source}: a webhook secret is empty or missing");
            assert_eq!(message, expected, "{text:?}");
        }
    }
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_comparison_of_any_length_is_found_out_for_every_source() {
    let (_world, host) = host(&[("DAEMON_CANARY", "compare-without-length")]);
    let found: BTreeSet<&str> = accepted(&host)
        .into_iter()
        .map(|(source, _)| source)
        .collect();
    assert_eq!(
        found,
        BTreeSet::from(["github", "linear", "sentry", "slack"])
    );
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_accepts_any_age_is_found_out_for_each_source_that_signs_a_time() {
    let (_world, host) = host(&[("DAEMON_CANARY", "skip-freshness")]);
    let found = accepted(&host).into_iter().map(|(source, _)| source);
    // A body that is no event is refused with another status once it is believed.
    assert_eq!(
        found.collect::<Vec<_>>(),
        ["slack", "slack", "slack", "linear", "linear", "linear"]
    );
}
