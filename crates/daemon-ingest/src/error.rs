//! Why a delivery is not taken.

use daemon_event::InvalidId;

/// Says why a delivery is not from its source.
///
/// The sender must learn no more than the status: all variants of status 401 are answered alike.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The body is encoded, so that its bytes are not the signed ones.
    #[error("the body has the content encoding `{0}`")]
    Encoded(Box<str>),
    /// The body is larger than the source sends.
    #[error("the body has {bytes} bytes, {source_name} sends at most {max}")]
    TooLarge {
        /// The name of the source.
        source_name: &'static str,
        /// The size of the body.
        bytes: usize,
        /// The source's cap.
        max: usize,
    },
    /// A header that the signature needs is absent.
    #[error("there is no `{0}` header")]
    Unsigned(&'static str),
    /// A header that the signature needs is there more than once.
    #[error("there are {count} `{name}` headers")]
    Repeated {
        /// The header.
        name: &'static str,
        /// How many there are.
        count: usize,
    },
    /// The signature is not of the source's form.
    #[error("the `{0}` header is not a signature")]
    NotASignature(&'static str),
    /// No secret makes this signature.
    #[error("the signature fits none of the secrets")]
    WrongSignature,
    /// The time the source signed is absent or unreadable.
    #[error("the delivery has no readable time of sending")]
    Undated,
    /// The delivery was sent too long ago, or in the future.
    #[error("the delivery is {seconds} seconds off")]
    Stale {
        /// How far its time lies from now; negative when it lies ahead.
        seconds: i64,
    },
}

impl Rejected {
    /// Returns the HTTP status to answer with: 401, 413 or 415.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Encoded(_) => 415,
            Self::TooLarge { .. } => 413,
            Self::Unsigned(_)
            | Self::Repeated { .. }
            | Self::NotASignature(_)
            | Self::WrongSignature
            | Self::Undated
            | Self::Stale { .. } => 401,
        }
    }
}

/// Says why a verified delivery is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The body is neither JSON nor, where the source sends them, a form.
    #[error("the body has the media type `{0}`")]
    MediaType(Box<str>),
    /// A header that names the delivery or its kind is absent or there more than once.
    #[error("there are {count} `{name}` headers instead of one")]
    Header {
        /// The header.
        name: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A header or field that names the delivery or its kind holds what none has.
    #[error("`{name}` is no name: {reason}")]
    Name {
        /// The header or field.
        name: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The form has no `payload`, or it is not percent-encoded text.
    #[error("the form has no readable `payload`")]
    Form,
    /// The body is nested deeper than any event.
    #[error("the body is nested deeper than {0} levels")]
    Depth(usize),
    /// The body is not the event that its headers announce.
    #[error("the body is not the announced event")]
    Body(#[from] daemon_event::MalformedPayload),
    /// The delivery has no usable id.
    #[error("the delivery has no usable id")]
    Id(#[from] InvalidId),
}

impl Malformed {
    /// Returns the HTTP status to answer with: 400 or 415.
    pub const fn status(&self) -> u16 {
        match self {
            Self::MediaType(_) => 415,
            _ => 400,
        }
    }
}
