//! Tabulated time zones, shared by the schedules in the same zone.

use std::collections::HashMap;
use std::sync::Mutex;

use daemon_cron::Zone;
use jiff::tz::TimeZone;

/// Tabulated zones, by IANA name.
///
/// A zone has a table of its transitions; thousands of daemons usually share a handful of zones.
#[derive(Debug, Default)]
pub(crate) struct ZoneCache {
    known: Mutex<HashMap<Box<str>, Zone>>,
}

impl ZoneCache {
    /// Returns the zone with an IANA name; `None` if the time zone database does not have it.
    ///
    /// A zone is tabulated again if the database has changed since.
    pub(crate) fn get(&self, name: &str) -> Option<Zone> {
        let current = TimeZone::get(name).ok()?;
        // Names differ in letter case only: the database ignores it.
        let name = current.iana_name().unwrap_or(name);
        let mut known = self.known.lock().expect("no holder panics");
        if let Some(zone) = known.get(name)
            && *zone.time_zone() == current
        {
            return Some(zone.clone());
        }
        let zone = Zone::new(current.clone());
        known.insert(name.into(), zone.clone());
        Some(zone)
    }
}

#[cfg(test)]
mod tests {
    use super::ZoneCache;

    #[test]
    fn a_zone_is_tabulated_once() {
        let zones = ZoneCache::default();
        let (one, other) = (zones.get("Europe/Berlin"), zones.get("europe/berlin"));
        let (one, other) = (one.expect("a zone"), other.expect("a zone"));
        assert!(std::ptr::eq(one.time_zone(), other.time_zone()));
        assert!(zones.get("Mars/Olympus").is_none());
    }
}
