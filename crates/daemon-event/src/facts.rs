//! The typed fields of an event that decide conditions.

/// The typed fields of one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {}
