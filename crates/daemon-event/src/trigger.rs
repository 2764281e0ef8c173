//! The reason for an activation.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use crate::ids::{EventId, InvalidId};

/// The unique name of one reason to wake a daemon.
///
/// A daemon and a trigger key identify exactly one activation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TriggerKey {
    /// An event: `event:<id>`.
    Event(EventId),
    /// A due instant of the daemon's schedule: `tick:<scheduled_at>`.
    Tick(Timestamp),
    /// A person's request: `person:<request id>`.
    Person(Box<str>),
}

impl fmt::Display for TriggerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(id) => write!(f, "event:{id}"),
            Self::Tick(at) => write!(f, "tick:{at}"),
            Self::Person(request) => write!(f, "person:{request}"),
        }
    }
}

impl FromStr for TriggerKey {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let refused = || InvalidId::new(text, "a trigger key (`event:…`, `tick:…` or `person:…`)");
        match text.split_once(':') {
            Some(("event", id)) => Ok(Self::Event(id.parse()?)),
            Some(("tick", at)) => at.parse().map(Self::Tick).ok().ok_or_else(refused),
            Some(("person", request)) if !request.is_empty() => Ok(Self::Person(request.into())),
            _ => Err(refused()),
        }
    }
}
