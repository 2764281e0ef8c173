//! CloudEvents 1.0 over HTTP: structured, binary and batch mode.

mod attributes;

use std::borrow::Cow;

use daemon_event::{DeliveryId, Event, vocabulary};
use serde_json::value::RawValue;

use self::attributes::{Attributes, attribute};
use crate::delivery::{self, Delivery, Headers, WebhookSource};
use crate::error::{Malformed, Rejected};
use crate::json;
use crate::tokens::SenderTokens;

/// The largest accepted body, in bytes.
const MAX_BODY: usize = 1 << 20;
/// The maximum number of events of a batch.
const MAX_BATCH: usize = 100;
/// The beginning of the delivery ids of CloudEvents.
const SCHEME: &str = "cloudevents:";

/// Events in the format of CloudEvents 1.0, from senders with a bearer token.
///
/// An event whose type is `<source>.<event>.<action>` of the vocabulary, such as `github.pull_request.opened`, is that event,
/// and its data is the payload. Any other is stored as a whole, and no condition matches it. The delivery id,
/// `cloudevents:<sender> <source> <id>`, contains the name of the sender's token.
#[derive(Clone, Debug)]
pub struct CloudEvents {
    tokens: SenderTokens,
}

impl CloudEvents {
    /// Creates the source with the tokens of its senders.
    pub const fn new(tokens: SenderTokens) -> Self {
        Self { tokens }
    }
}

impl WebhookSource for CloudEvents {
    fn max_body(&self) -> usize {
        MAX_BODY
    }

    fn admit(&self, headers: &Headers) -> Result<(), Rejected> {
        self.tokens.sender(headers).map(|_| ())
    }

    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected> {
        self.admit(delivery.headers)?;
        delivery::check_limits(delivery, "a CloudEvents sender", MAX_BODY)
    }

    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed> {
        let sender = self.tokens.sender(delivery.headers);
        let sender = sender.expect("`verify` found the sender");
        let body = utf8(delivery.body)?;
        json::check_depth(delivery.body)?;
        match mode(delivery.headers)? {
            Mode::Structured => {
                let attributes = Attributes::structured(raw(body)?)?;
                Ok(vec![event(delivery, sender, &attributes)?])
            }
            Mode::Binary(media) => {
                let data = match body {
                    "" => None,
                    body => Some(raw(body)?),
                };
                let attributes = Attributes::binary(delivery.headers, media, data)?;
                Ok(vec![event(delivery, sender, &attributes)?])
            }
            Mode::Batch => batch(delivery, sender, body),
        }
    }
}

/// Returns what identifies a CloudEvent, its source and id, if the delivery is one.
///
/// No service's delivery id contains a space, so that none can pass for it.
pub(crate) fn identity(delivery: &DeliveryId) -> Option<&str> {
    parts(delivery).map(|(_, identity)| identity)
}

/// Returns the name of the token by which a delivery came, if it is a CloudEvent.
pub fn sender(delivery: &DeliveryId) -> Option<&str> {
    parts(delivery).map(|(sender, _)| sender)
}

fn parts(delivery: &DeliveryId) -> Option<(&str, &str)> {
    let parts = delivery.as_str().strip_prefix(SCHEME)?.split_once(' ')?;
    parts.1.contains(' ').then_some(parts)
}

/// How a request contains events.
enum Mode<'a> {
    /// The body is an event.
    Structured,
    /// The headers are the attributes, the body is the data of this media type.
    Binary(Option<&'a str>),
    /// The body is a list of events.
    Batch,
}

fn mode(headers: &Headers) -> Result<Mode<'_>, Malformed> {
    let media = match headers.only("Content-Type") {
        Ok(value) => value,
        Err(0) => return Ok(Mode::Binary(None)),
        Err(count) => {
            let name = "Content-Type";
            return Err(Malformed::Header { name, count });
        }
    };
    let unknown = || Malformed::MediaType(delivery::shown(media));
    let essence = delivery::essence(media).to_ascii_lowercase();
    match &*essence {
        b"application/cloudevents+json" => Ok(Mode::Structured),
        b"application/cloudevents-batch+json" => Ok(Mode::Batch),
        // Other formats of events: their bytes are not the data.
        other if other.starts_with(b"application/cloudevents") => Err(unknown()),
        _ => match std::str::from_utf8(media) {
            Ok(text) if attributes::is_json(text) => Ok(Mode::Binary(Some(text))),
            _ => Err(unknown()),
        },
    }
}

fn batch(delivery: &Delivery<'_>, sender: &str, body: &str) -> Result<Vec<Event>, Malformed> {
    let items: Vec<&RawValue> = serde_json::from_str(body).map_err(|error| not_json(&error))?;
    if items.len() > MAX_BATCH {
        let (count, max) = (items.len(), MAX_BATCH);
        return Err(Malformed::Batch { count, max });
    }
    let mut own = delivery.clone();
    let mut events = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let read = Attributes::structured(item);
        let read = read.and_then(|attributes| event(&own, sender, &attributes));
        events.push(read.map_err(|source| Malformed::Item {
            index,
            source: Box::new(source),
        })?);
        own.event_id = own.event_id.next();
    }
    Ok(events)
}

/// Reads one event.
fn event(
    delivery: &Delivery<'_>,
    sender: &str,
    attributes: &Attributes<'_>,
) -> Result<Event, Malformed> {
    let identity = (attributes.word("source")?, attributes.text("id")?);
    let name = attributes.text("type")?;
    let id = format!("{SCHEME}{sender} {} {}", identity.0, identity.1).parse()?;
    let time = attributes.time()?;
    let event = match vocabulary::of_type(name) {
        Some((source, kind, action)) => {
            let data = attributes.json_data()?;
            let event = json::parsed(delivery, source, kind, id, data.get().as_bytes())?;
            if action.is_some() && event.action.as_deref() != action {
                return Err(attribute("type", "the data has another action"));
            }
            event
        }
        None => {
            let source = daemon_event::Source::Cloudevents;
            let whole = attributes.whole();
            json::parsed(delivery, source, vocabulary::UNMAPPED, id, whole.as_bytes())?
        }
    };
    Ok(Event {
        time: time.unwrap_or(event.time),
        ..event
    })
}

fn utf8(body: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(body).map_err(|error| {
        Malformed::Body(daemon_event::MalformedPayload::Encoding {
            valid_up_to: error.valid_up_to(),
        })
    })
}

fn raw(text: &str) -> Result<&RawValue, Malformed> {
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> Malformed {
    Malformed::Body(daemon_event::MalformedPayload::Json {
        line: error.line(),
        column: error.column(),
    })
}

/// Decodes percent-encoded bytes; `None` if they are not, or if they are not UTF-8.
fn decoded(value: &[u8]) -> Option<Cow<'_, str>> {
    if !value.contains(&b'%') {
        return std::str::from_utf8(value).ok().map(Cow::Borrowed);
    }
    let mut acc = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        acc.push(match byte {
            b'%' => {
                delivery::hex_digit(*bytes.next()?)? << 4 | delivery::hex_digit(*bytes.next()?)?
            }
            byte => *byte,
        });
    }
    String::from_utf8(acc).ok().map(Cow::Owned)
}
