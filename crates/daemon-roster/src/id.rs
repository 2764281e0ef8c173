//! Ids, names and references of the roster.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use daemon_event::{InvalidId, ulid};
use jiff::Timestamp;

/// Declares a newtype over a checked ULID, whose order is that of creation.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates an id from the time and 80 random bits.
            pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
                // Times before 1970 sort first; only a clock that was never set has them.
                let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
                Self(ulid(millis, random).into())
            }
        }

        checked_text!($name, is_ulid, $what);
    };
}

/// Declares a newtype over a non-empty string without control characters, of bounded length in bytes.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $max:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        checked_text!($name, |text: &str| {
            !text.is_empty() && text.len() <= $max && !text.chars().any(char::is_control)
        }, concat!($what, " (1 to ", $max, " bytes without control characters)"));
    };
}

macro_rules! checked_text {
    ($name:ident, $is_valid:expr, $what:expr) => {
        impl $name {
            /// Returns it as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let is_valid = $is_valid;
                if is_valid(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidId::new(text, $what))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

fn is_ulid(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase() && !b"ILOU".contains(&b);
    text.len() == 26 && text.as_bytes()[0] <= b'7' && text.bytes().all(is_digit)
}

id!(
    /// Identifies one row of the roster.
    RowId,
    "the id of a row (26 characters of Crockford base 32)"
);
id!(
    /// Identifies one coordination signal.
    SignalId,
    "the id of a signal (26 characters of Crockford base 32)"
);
id!(
    /// Identifies one reset.
    ResetId,
    "the id of a reset (26 characters of Crockford base 32)"
);
id!(
    /// Identifies one spawn plan.
    PlanId,
    "the id of a spawn plan (26 characters of Crockford base 32)"
);
id!(
    /// Identifies one spawn, so that a process that was started before a crash is found again.
    Nonce,
    "a nonce (26 characters of Crockford base 32)"
);
id!(
    /// Proves the claim of one signal; each claim has another token.
    ClaimToken,
    "the token of a claim (26 characters of Crockford base 32)"
);
name!(
    /// The name of a project: one `[[repo]]` of the configuration.
    Project,
    200,
    "a project"
);
name!(
    /// The name by which a daemon is listed.
    DaemonName,
    512,
    "the name of a daemon"
);
name!(
    /// What identifies an agent within its project, also across restarts.
    ActorRef,
    512,
    "an actor reference"
);
name!(
    /// The program that an agent runs in, such as `claude`.
    Harness,
    64,
    "a harness"
);
name!(
    /// The id of a process, as the agent reports it.
    ProcessRef,
    512,
    "the id of a process"
);
name!(
    /// The id of a session, as the agent reports it.
    SessionRef,
    512,
    "the id of a session"
);
name!(
    /// Where the text of a handoff is.
    HandoffRef,
    1024,
    "the reference of a handoff"
);
name!(
    /// By which equal pending signals are recognised.
    DedupeKey,
    1024,
    "a dedupe key"
);
name!(
    /// The id that a caller gives a request, so that a repetition has no second effect.
    RequestKey,
    200,
    "a request id"
);
name!(
    /// What a bridge returns for a process that it started.
    BridgeHandle,
    1024,
    "the handle of a process"
);
name!(
    /// Why a caller requests a change, for the audit log.
    ReasonText,
    1000,
    "a reason"
);

/// The SHA-256 of a token; tokens themselves are never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenHash(pub [u8; 32]);

/// How often an agent was started under one row; calls of older ones are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u32);

/// How often a baton changed its holder; acts of older holders are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u64);

impl Incarnation {
    /// The first one.
    pub const FIRST: Self = Self(1);

    /// Returns the one that follows.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Generation {
    /// Returns the one that follows.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_made_is_parsed_and_one_of_another_form_is_refused() {
        let id = RowId::new("2026-11-28T09:00:00Z".parse().unwrap(), [7; 10]);
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for text in [
            "",
            "01KB4",
            "81KB46Y5M00000000000000000",
            "01kb46y5m00000000000000000",
        ] {
            let error = text.parse::<RowId>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("`{text}` is not the id of a row (26 characters of Crockford base 32)")
            );
        }
    }

    #[test]
    fn a_name_is_refused_that_is_empty_too_long_or_has_control_characters() {
        assert_eq!("garden".parse::<Project>().unwrap().as_str(), "garden");
        for text in ["", "a\nb", &"x".repeat(201)] {
            text.parse::<Project>().unwrap_err();
        }
    }
}
