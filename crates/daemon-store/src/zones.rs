//! Where the zones of coverages come from.

use std::fmt;

use daemon_cron::Zone;
use jiff::tz::TimeZone;

/// A time zone database: what the names in coverages mean.
///
/// A newer database changes only future ticks: recorded ticks stay, and unrecorded ones before now are computed with the
/// zones of the host that records them.
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
