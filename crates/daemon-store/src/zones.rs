//! Where the zones of coverages come from.

use std::fmt;

use daemon_cron::Zone;
use jiff::tz::TimeZone;

/// A time zone database: what the names in coverages mean.
///
/// A newer database changes future ticks only: what is recorded stays, and what lies behind a cursor is read by the
/// zones of whoever records it.
pub trait Zones: fmt::Debug + Send + Sync {
    /// Returns the zone of an IANA name, if there is one.
    fn zone(&self, name: &str) -> Option<Zone>;
}

/// The database of the system, or the one built in where the system has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemZones;

impl Zones for SystemZones {
    fn zone(&self, name: &str) -> Option<Zone> {
        TimeZone::get(name).ok().map(Zone::new)
    }
}
