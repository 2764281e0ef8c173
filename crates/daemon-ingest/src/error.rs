//! The reasons for which a delivery is not accepted.

use daemon_event::InvalidId;

/// The reason why a delivery cannot be attributed to its source.
///
/// Send only the status to the sender: details of a 401 would help to forge a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The body has a content encoding, so its bytes are not the signed ones.
    #[error("the body has the content encoding `{0}`")]
    Encoded(Box<str>),
    /// The body is larger than any that the source sends.
    #[error("the body has {bytes} bytes, {source_name} sends at most {max}")]
    TooLarge {
        /// The source's name, such as `github`.
        source_name: &'static str,
        /// The size of the body.
        bytes: usize,
        /// The largest body that the source sends.
        max: usize,
    },
    /// A header that the signature needs is missing.
    #[error("there is no `{0}` header")]
    Unsigned(&'static str),
    /// A header that the signature needs occurs more than once.
    #[error("there are {count} `{name}` headers")]
    Repeated {
        /// The header's name.
        name: &'static str,
        /// The number of occurrences.
        count: usize,
    },
    /// The signature does not have the source's format.
    #[error("the `{0}` header is not a signature")]
    NotASignature(&'static str),
    /// The signature was made with none of the secrets.
    #[error(
        "the signature fits none of the secrets: the sender has another one, or signed another body"
    )]
    WrongSignature,
    /// The bearer token belongs to no sender.
    #[error("the bearer token is of no sender")]
    UnknownToken,
    /// The signed time of sending is missing or unreadable.
    #[error("the delivery has no readable time of sending")]
    Undated,
    /// The delivery was sent too long ago, or its time is in the future.
    #[error("the delivery is {seconds} seconds off")]
    Stale {
        /// The age of the delivery; negative if its time is in the future.
        seconds: i64,
    },
}

impl Rejected {
    /// Returns the HTTP status of the response: 401, 413 or 415.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Encoded(_) => 415,
            Self::TooLarge { .. } => 413,
            Self::Unsigned(_)
            | Self::Repeated { .. }
            | Self::NotASignature(_)
            | Self::WrongSignature
            | Self::UnknownToken
            | Self::Undated
            | Self::Stale { .. } => 401,
        }
    }
}

/// The reason why a verified delivery is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The media type is neither JSON nor, for sources that send them, a form.
    #[error("the body has the media type `{0}`")]
    MediaType(Box<str>),
    /// A header with the delivery's id or kind is missing or occurs more than once.
    #[error("there are {count} `{name}` headers instead of one")]
    Header {
        /// The header's name.
        name: &'static str,
        /// The number of occurrences.
        count: usize,
    },
    /// A header or field with the delivery's id or kind has a value that no source sends.
    #[error("`{name}` is invalid: {reason}")]
    Name {
        /// The name of the header or field.
        name: &'static str,
        /// The defect of the value.
        reason: &'static str,
    },
    /// An attribute of a CloudEvent is missing, or has a value that it cannot have.
    #[error("`{place}`: {reason}")]
    Attribute {
        /// The name of the attribute.
        place: Box<str>,
        /// The defect.
        reason: &'static str,
    },
    /// One event of a batch is not an event, so that none is accepted.
    #[error("event {index} of the batch")]
    Item {
        /// The number of the event, from 0.
        index: usize,
        /// The defect of the event.
        #[source]
        source: Box<Self>,
    },
    /// The batch has more events than are accepted at once.
    #[error("the batch has {count} events, at most {max} are accepted")]
    Batch {
        /// The number of its events.
        count: usize,
        /// The largest accepted number.
        max: usize,
    },
    /// The form has no `payload` field, or the field is not percent-encoded.
    #[error("the form has no readable `payload`")]
    Form,
    /// The body is nested more deeply than any event.
    #[error("the body is nested deeper than {0} levels")]
    Depth(usize),
    /// The body is not an event of the announced kind.
    #[error("the body is not the announced event")]
    Body(#[from] daemon_event::MalformedPayload),
    /// The delivery's id cannot be used as an identifier.
    #[error("the delivery has no usable id")]
    Id(#[from] InvalidId),
}

impl Malformed {
    /// Returns the HTTP status of the response: 400 or 415.
    pub const fn status(&self) -> u16 {
        match self {
            Self::MediaType(_) => 415,
            Self::Item { source, .. } => source.status(),
            _ => 400,
        }
    }
}
