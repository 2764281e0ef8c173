//! The delivery, and the seam of whoever can read it.

use daemon_event::{DeliveryId, Event, EventId};
use jiff::Timestamp;

use crate::error::{Malformed, Rejected};
use crate::slack::Challenge;

/// One request to a webhook, as received.
#[derive(Clone, Debug)]
pub struct Delivery<'a> {
    /// The headers.
    pub headers: &'a Headers,
    /// The body, byte for byte.
    pub body: &'a [u8],
    /// When it was received.
    pub received_at: Timestamp,
    /// The id its event gets if it is new.
    pub event_id: EventId,
}

/// A service that sends webhooks.
pub trait Source: Send + Sync {
    /// Returns the largest body the service sends, in bytes.
    fn max_body(&self) -> usize;

    /// Checks that the delivery is from the service and recent.
    ///
    /// # Errors
    /// Why it is not; see [`Rejected::status`].
    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected>;

    /// Reads the text that the service wants to have echoed, where a verified delivery asks for that.
    ///
    /// Few services do; the others ask for nothing.
    ///
    /// # Errors
    /// What is wrong with the request; see [`Malformed::status`].
    fn challenge(&self, delivery: &Delivery<'_>) -> Result<Option<Challenge>, Malformed> {
        let _asked_by_few = delivery;
        Ok(None)
    }

    /// Reads the events of a verified delivery.
    ///
    /// A kind that the vocabulary does not know is an event too; no condition meets it.
    ///
    /// # Errors
    /// What is wrong with it; see [`Malformed::status`].
    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed>;
}

/// The headers of a request: names in any case, values as bytes.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    entries: Vec<(Box<str>, Box<[u8]>)>,
}

impl Headers {
    /// Collects headers, repeated ones included.
    pub fn new<N: Into<Box<str>>, V: AsRef<[u8]>>(
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let entry = |(name, value): (N, V)| (name.into(), value.as_ref().into());
        Self {
            entries: headers.into_iter().map(entry).collect(),
        }
    }

    /// Returns the values of a header.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.entries
            .iter()
            .filter(move |(entry, _)| entry.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// Returns the only value of a header, or how many there are.
    pub(crate) fn only(&self, name: &str) -> Result<&[u8], usize> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (first, second) => {
                Err(usize::from(first.is_some()) + usize::from(second.is_some()) + values.count())
            }
        }
    }
}

/// Refuses bodies that are encoded or larger than the source sends.
pub(crate) fn check_limits(
    delivery: &Delivery<'_>,
    source_name: &'static str,
    max: usize,
) -> Result<(), Rejected> {
    if let Some(encoding) = delivery.headers.all("Content-Encoding").next() {
        return Err(Rejected::Encoded(shown(encoding)));
    }
    let bytes = delivery.body.len();
    if bytes > max {
        return Err(Rejected::TooLarge {
            source_name,
            bytes,
            max,
        });
    }
    Ok(())
}

/// What the media type says about the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Form,
}

/// Reads the media type; a body without one is taken for JSON.
pub(crate) fn media(delivery: &Delivery<'_>) -> Result<Media, Malformed> {
    let Some(value) = delivery.headers.all("Content-Type").next() else {
        return Ok(Media::Json);
    };
    let essence = value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    if essence.eq_ignore_ascii_case(b"application/json") {
        Ok(Media::Json)
    } else if essence.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") {
        Ok(Media::Form)
    } else {
        Err(Malformed::MediaType(shown(value)))
    }
}

/// Refuses what is not JSON.
pub(crate) fn json_media(delivery: &Delivery<'_>) -> Result<(), Malformed> {
    match media(delivery)? {
        Media::Json => Ok(()),
        Media::Form => Err(Malformed::MediaType(
            "application/x-www-form-urlencoded".into(),
        )),
    }
}

/// Reads the header that names the kind of event.
pub(crate) fn kind<'a>(delivery: &Delivery<'a>, name: &'static str) -> Result<&'a str, Malformed> {
    let value = header(delivery, name)?;
    checked_name(value, name, 64)
}

/// Reads the header that names the delivery.
pub(crate) fn delivery_id(
    delivery: &Delivery<'_>,
    name: &'static str,
) -> Result<DeliveryId, Malformed> {
    let value = header(delivery, name)?;
    Ok(checked_name(value, name, 128)?.parse()?)
}

fn header<'a>(delivery: &Delivery<'a>, name: &'static str) -> Result<&'a [u8], Malformed> {
    delivery
        .headers
        .only(name)
        .map_err(|count| Malformed::Header { name, count })
}

/// Checks that a name is short and of letters, digits, `_`, `-`, `.`, `:`, so that it can stand in
/// keys, paths and logs as it is.
pub(crate) fn checked_name<'a>(
    value: &'a [u8],
    name: &'static str,
    max: usize,
) -> Result<&'a str, Malformed> {
    let refused = |reason| Err(Malformed::Name { name, reason });
    if value.is_empty() {
        return refused("it is empty");
    }
    if value.len() > max {
        return refused("it is too long");
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(byte);
    match std::str::from_utf8(value) {
        Ok(text) if value.iter().all(is_plain) => Ok(text),
        _ => refused("it has other characters than letters, digits and `_-.:`"),
    }
}

fn shown(value: &[u8]) -> Box<str> {
    value
        .iter()
        .take(80)
        .flat_map(|byte| byte.escape_ascii())
        .map(char::from)
        .collect()
}
