//! Who makes a request.

use std::fmt;
use std::str::FromStr;

use daemon_event::InvalidId;

use crate::id::{Incarnation, RowId};

/// Who makes a request. An agent is identified by its token, never by a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Principal {
    /// The person who owns the host.
    Operator,
    /// The host itself: its driver, its bridge, its clock.
    Host,
    /// An agent without a token and without a row.
    Unregistered,
    /// An agent, with the incarnation that it was given when it checked in.
    Daemon {
        /// Its row.
        row: RowId,
        /// Its incarnation.
        incarnation: Incarnation,
    },
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Host => f.write_str("host"),
            Self::Unregistered => f.write_str("unregistered"),
            Self::Daemon { row, incarnation } => write!(f, "daemon:{row}#{}", incarnation.0),
        }
    }
}

impl FromStr for Principal {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let named = [Self::Operator, Self::Host, Self::Unregistered];
        if let Some(named) = named.into_iter().find(|named| named.to_string() == text) {
            return Ok(named);
        }
        let daemon = || {
            let (row, incarnation) = text.strip_prefix("daemon:")?.split_once('#')?;
            let incarnation = Incarnation(incarnation.parse().ok()?);
            let row = row.parse().ok()?;
            Some(Self::Daemon { row, incarnation })
        };
        // `u32::from_str` accepts a leading `+`, so that the text is compared.
        daemon()
            .filter(|daemon| daemon.to_string() == text)
            .ok_or_else(|| InvalidId::new(text, "who makes a request"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_that_is_printed_is_parsed_and_another_text_is_refused() {
        let row: RowId = "01KB46Y5M00000000000000000".parse().unwrap();
        let incarnation = Incarnation(12);
        let daemon = Principal::Daemon { row, incarnation };
        for principal in [
            Principal::Operator,
            Principal::Host,
            Principal::Unregistered,
            daemon,
        ] {
            assert_eq!(principal.to_string().parse(), Ok(principal));
        }
        for text in [
            "",
            "daemon:",
            "daemon:x#1",
            "daemon:01KB46Y5M00000000000000000#+1",
        ] {
            text.parse::<Principal>().unwrap_err();
        }
    }
}
