//! All ticks of timetables, computed with the slow calendar under the current rules of the zones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use jiff::tz::TimeZone;

use crate::calendar::SlowCron;
use crate::setup::{TEXTS, Timetable, ZONES};
use crate::zone::{SlowZone, new_year};

/// The years within which all clocks of a simulation stay.
const YEARS: (i16, i16) = (2022, 2030);
/// How far from a change of a zone's rules it may move a tick.
const NEAR: i64 = 2 * 86_400;

/// Seconds since 1970 of every tick, oldest first.
pub(crate) type TickTimes = Arc<Vec<i64>>;

/// The calendars of one simulation: the published rules of zones, and the releases during the simulation.
#[derive(Debug, Default)]
pub(crate) struct Almanac {
    released: HashMap<usize, Rules>,
    known: HashMap<Timetable, TickTimes>,
}

#[derive(Debug)]
struct Rules {
    zone: SlowZone,
    /// The first instant at which they differ from the published rules.
    from: i64,
}

impl Almanac {
    /// Returns the rules of a zone.
    pub(crate) fn zone(&self, place: usize) -> SlowZone {
        self.released
            .get(&place)
            .map_or_else(|| published_zone(place), |rules| rules.zone.clone())
    }

    /// Gives a zone new rules, which differ from the old ones from an instant on.
    pub(crate) fn release(&mut self, place: usize, zone: SlowZone, from: i64) {
        let before = self.released.get(&place).map_or(from, |rules| rules.from);
        let from = from.min(before);
        self.released.insert(place, Rules { zone, from });
        self.known.retain(|table, _| table.zone != place);
    }

    /// Returns all ticks of a timetable.
    pub(crate) fn ticks(&mut self, table: Timetable) -> TickTimes {
        let published = published(table);
        let Some(rules) = self.released.get(&table.zone) else {
            return published;
        };
        let worked_out = || {
            let since = rules.from - NEAR;
            let n_shared = published.partition_point(|tick| *tick <= since);
            let mut ticks = published[..n_shared].to_vec();
            ticks.extend(cron(table).ticks(&rules.zone, since, new_year(YEARS.1 + 1)));
            Arc::new(ticks)
        };
        Arc::clone(self.known.entry(table).or_insert_with(worked_out))
    }
}

fn cron(table: Timetable) -> SlowCron {
    SlowCron::parse(TEXTS[table.text]).expect("the expression is right")
}

fn published_zone(place: usize) -> SlowZone {
    let zone = TimeZone::get(ZONES[place]).expect("the zone is known");
    SlowZone::new(&zone, YEARS.0, YEARS.1)
}

/// Returns all ticks of a timetable by the published rules, which are computed once per process.
fn published(table: Timetable) -> TickTimes {
    static KNOWN: OnceLock<Mutex<HashMap<Timetable, TickTimes>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    if let Some(ticks) = known.lock().expect("no holder panics").get(&table) {
        return Arc::clone(ticks);
    }
    let zone = published_zone(table.zone);
    let (first, last) = (new_year(YEARS.0), new_year(YEARS.1 + 1));
    let ticks = Arc::new(cron(table).ticks(&zone, first, last));
    let mut known = known.lock().expect("no holder panics");
    Arc::clone(known.entry(table).or_insert(ticks))
}
