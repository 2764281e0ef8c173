//! Slack's Events API.

use std::borrow::Cow;
use std::time::Duration;

use daemon_event::{DeliveryId, Event};
use jiff::Timestamp;
use serde::Deserialize;

use crate::delivery::{self, Delivery, WebhookSource};
use crate::error::{Malformed, Rejected};
use crate::json;
use crate::secret::{Secrets, signing_header};

/// The largest accepted body, in bytes.
const MAX_BODY: usize = 1 << 20;

/// The maximum difference between the signed time and the time of receipt; Slack recommends five minutes.
const FRESH: Duration = Duration::from_secs(300);

/// Deliveries of a Slack app, signed in `X-Slack-Signature` together with the time of sending.
#[derive(Clone, Debug)]
pub struct Slack {
    secrets: Secrets,
}

/// The text by which Slack checks an endpoint: the response must echo it as `text/plain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge(Box<str>);

impl Challenge {
    /// Returns the text to echo.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Deserialize)]
struct CallbackEnvelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    challenge: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: Option<InnerEvent<'a>>,
}

#[derive(Deserialize)]
struct InnerEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

impl Slack {
    /// Creates the source with the signing secrets of the app.
    pub const fn new(secrets: Secrets) -> Self {
        Self { secrets }
    }
}

impl WebhookSource for Slack {
    fn max_body(&self) -> usize {
        MAX_BODY
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected> {
        delivery::check_limits(delivery, "slack", MAX_BODY)?;
        let signature = self
            .secrets
            .signature(delivery, "X-Slack-Signature", "v0=")?;
        let sent = signing_header(delivery, "X-Slack-Request-Timestamp")?;
        self.secrets
            .check(&[b"v0:", sent, b":", delivery.body], &signature)?;
        self.secrets.check_age(
            delivery.received_at,
            sent_at(sent).ok_or(Rejected::Undated)?,
            FRESH,
            FRESH,
        )
    }

    fn challenge(&self, delivery: &Delivery<'_>) -> Result<Option<Challenge>, Malformed> {
        let envelope = envelope(delivery)?;
        if envelope.kind != "url_verification" {
            return Ok(None);
        }
        let text = envelope.challenge.unwrap_or_default();
        // Echoing arbitrary text would let a sender choose the content of a response.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=256).contains(&text.len()) || !text.bytes().all(is_plain) {
            let reason = "it has other characters than letters, digits, `_` and `-`, or too many";
            return Err(Malformed::Name {
                name: "challenge",
                reason,
            });
        }
        Ok(Some(Challenge(text.into())))
    }

    /// Reads the event of a callback; returns an empty list for a challenge.
    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed> {
        let envelope = envelope(delivery)?;
        if envelope.kind == "url_verification" {
            return Ok(Vec::new());
        }
        let missing = |place: &str| daemon_event::MalformedPayload::Missing {
            kind: envelope.kind.chars().take(80).collect(),
            place: place.into(),
        };
        let inner = envelope.event.as_ref().ok_or_else(|| missing("event"))?;
        let id = envelope
            .event_id
            .as_ref()
            .ok_or_else(|| missing("event_id"))?;
        let id: DeliveryId = delivery::checked_name(id.as_bytes(), "event_id", 128)?.parse()?;
        let kind = delivery::checked_name(inner.kind.as_bytes(), "event.type", 64)?;
        let source = daemon_event::Source::Slack;
        json::event(delivery, source, kind, id, delivery.body).map(|event| vec![event])
    }
}

fn envelope<'a>(delivery: &Delivery<'a>) -> Result<CallbackEnvelope<'a>, Malformed> {
    delivery::json_media(delivery)?;
    json::check_depth(delivery.body)?;
    serde_json::from_slice(delivery.body).map_err(|error| {
        Malformed::Body(daemon_event::MalformedPayload::Json {
            line: error.line(),
            column: error.column(),
        })
    })
}

/// Parses whole seconds since the epoch; only digits are accepted, as in Slack's header.
fn sent_at(value: &[u8]) -> Option<Timestamp> {
    // `str::parse` alone would also accept a sign, and the signature covers the exact bytes.
    let is_seconds = (1..=11).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let seconds = std::str::from_utf8(value).ok().filter(|_| is_seconds)?;
    Timestamp::from_second(seconds.parse().ok()?).ok()
}
