//! The time zones of schedules: each is tabulated once, however many daemons have it.

use std::collections::HashMap;
use std::sync::Mutex;

use daemon_cron::Zone;
use jiff::tz::TimeZone;

/// The tabulated zones, by their names.
#[derive(Debug, Default)]
pub struct Zones {
    known: Mutex<HashMap<Box<str>, Zone>>,
}

impl Zones {
    /// Returns the zone with an IANA name as the time zone database has it now; `None` if it has none.
    pub fn get(&self, name: &str) -> Option<Zone> {
        let current = TimeZone::get(name).ok()?;
        // A name in other letter case is the same zone.
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
    use super::Zones;

    #[test]
    fn a_zone_is_tabulated_once() {
        let zones = Zones::default();
        let (one, other) = (zones.get("Europe/Berlin"), zones.get("europe/berlin"));
        let (one, other) = (one.expect("a zone"), other.expect("a zone"));
        assert!(std::ptr::eq(one.time_zone(), other.time_zone()));
        assert!(zones.get("Mars/Olympus").is_none());
    }
}
