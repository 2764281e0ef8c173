//! A delivery, and the trait of the services that send them.

use daemon_event::{DeliveryId, Event, EventId};
use jiff::Timestamp;

use crate::error::{Malformed, Rejected};
use crate::slack::Challenge;

/// One request to a webhook endpoint, as received.
#[derive(Clone, Debug)]
pub struct Delivery<'a> {
    /// All headers of the request, repeated ones included.
    pub headers: &'a Headers,
    /// The body, byte for byte.
    pub body: &'a [u8],
    /// The time of receipt by this host's clock.
    pub received_at: Timestamp,
    /// The id to give to the delivery's event.
    pub event_id: EventId,
}

/// A service that sends webhooks.
pub trait WebhookSource: Send + Sync {
    /// Returns the largest body that the service sends, in bytes.
    fn max_body(&self) -> usize;

    /// Checks what the headers prove by themselves, before the body is received.
    ///
    /// The default implementation accepts: a signature covers the body.
    ///
    /// # Errors
    /// Returns the reason for the rejection; see [`Rejected::status`].
    fn admit(&self, headers: &Headers) -> Result<(), Rejected> {
        let _signed_with_the_body = headers;
        Ok(())
    }

    /// Checks that the delivery was signed by the service and sent recently.
    ///
    /// # Errors
    /// Returns the reason for the rejection; see [`Rejected::status`].
    fn verify(&self, delivery: &Delivery<'_>) -> Result<(), Rejected>;

    /// Reads the text that the service wants to have echoed, if a verified delivery asks for an echo.
    ///
    /// The default implementation returns `None`: most services do not check an endpoint this way.
    ///
    /// # Errors
    /// Returns the defect of the request; see [`Malformed::status`].
    fn challenge(&self, delivery: &Delivery<'_>) -> Result<Option<Challenge>, Malformed> {
        let _asked_by_few = delivery;
        Ok(None)
    }

    /// Reads the events of a verified delivery.
    ///
    /// A kind that is not in the vocabulary is an event too; no condition matches it.
    ///
    /// # Errors
    /// Returns the defect of the delivery; see [`Malformed::status`].
    fn events(&self, delivery: &Delivery<'_>) -> Result<Vec<Event>, Malformed>;
}

/// The headers of a request. Names are compared without regard to case; values are bytes.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    entries: Vec<(Box<str>, Box<[u8]>)>,
}

impl Headers {
    /// Collects headers in their order, repeated ones included.
    pub fn new<N: Into<Box<str>>, V: AsRef<[u8]>>(
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let entry = |(name, value): (N, V)| (name.into(), value.as_ref().into());
        Self {
            entries: headers.into_iter().map(entry).collect(),
        }
    }

    /// Returns all values of a header.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.entries
            .iter()
            .filter(move |(entry, _)| entry.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// Returns all headers whose names begin with a prefix: the rest of the name, and the value.
    pub(crate) fn with_prefix<'a>(
        &'a self,
        prefix: &str,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.entries.iter().filter_map(move |(name, value)| {
            let (start, rest) = name.split_at_checked(prefix.len())?;
            let is_it = start.eq_ignore_ascii_case(prefix);
            is_it.then_some((rest, &**value))
        })
    }

    /// Returns the value of a header that occurs once, or the number of its occurrences.
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

/// Rejects a body that is encoded or larger than the source sends.
pub(crate) fn check_limits(
    delivery: &Delivery<'_>,
    source_name: &'static str,
    max: usize,
) -> Result<(), Rejected> {
    // Before the signature, which is over the decoded bytes; decoding first would work on unverified input.
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

/// The media types that sources send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Form,
}

/// Reads the media type; a body without one is assumed to be JSON.
pub(crate) fn media(delivery: &Delivery<'_>) -> Result<Media, Malformed> {
    let Some(value) = delivery.headers.all("Content-Type").next() else {
        return Ok(Media::Json);
    };
    let essence = essence(value);
    if essence.eq_ignore_ascii_case(b"application/json") {
        Ok(Media::Json)
    } else if essence.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") {
        Ok(Media::Form)
    } else {
        Err(Malformed::MediaType(shown(value)))
    }
}

/// Returns a media type without its parameters.
pub(crate) fn essence(value: &[u8]) -> &[u8] {
    let mut parts = value.split(|byte| *byte == b';');
    parts.next().unwrap_or_default().trim_ascii()
}

/// Rejects a body that is not JSON.
pub(crate) fn json_media(delivery: &Delivery<'_>) -> Result<(), Malformed> {
    match media(delivery)? {
        Media::Json => Ok(()),
        Media::Form => Err(Malformed::MediaType(
            "application/x-www-form-urlencoded".into(),
        )),
    }
}

/// Reads the header with the kind of the event.
pub(crate) fn kind<'a>(delivery: &Delivery<'a>, name: &'static str) -> Result<&'a str, Malformed> {
    let value = header(delivery, name)?;
    checked_name(value, name, 64)
}

/// Reads the header with the id of the delivery.
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

/// Checks that a name is short and consists of letters, digits, `_`, `-`, `.` and `:`, so that it can be used in keys,
/// paths and logs without escaping.
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

/// Returns the start of a header's value, escaped, to be quoted in an error.
pub(crate) fn shown(value: &[u8]) -> Box<str> {
    value
        .iter()
        .take(80)
        .flat_map(|byte| byte.escape_ascii())
        .map(char::from)
        .collect()
}

/// Returns the value of a hexadecimal digit in either case.
pub(crate) fn hex_digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}
