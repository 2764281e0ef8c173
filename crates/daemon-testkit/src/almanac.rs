//! All ticks of timetables, worked out with the slow calendar under the rules of zones as they stand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use jiff::tz::TimeZone;

use crate::calendar::SlowCron;
use crate::setup::{TEXTS, Timetable, ZONES};
use crate::zone::{SlowZone, new_year};

/// The years that any clock of a simulation shows.
const YEARS: (i16, i16) = (2022, 2030);
/// How far from a change of a zone's rules it may move a tick.
const NEAR: i64 = 2 * 86_400;

/// Seconds since 1970 of every tick, oldest first.
pub(crate) type Ticks = Arc<Vec<i64>>;

/// What one life knows of calendars: what is published, and what was released while it went on.
#[derive(Debug, Default)]
pub(crate) struct Almanac {
    released: HashMap<usize, Rules>,
    known: HashMap<Timetable, Ticks>,
}

#[derive(Debug)]
struct Rules {
    zone: SlowZone,
    /// The first instant at which they differ from what is published.
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
    pub(crate) fn ticks(&mut self, table: Timetable) -> Ticks {
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

/// Returns all ticks of a timetable by the published rules; they are worked out once.
fn published(table: Timetable) -> Ticks {
    static KNOWN: OnceLock<Mutex<HashMap<Timetable, Ticks>>> = OnceLock::new();
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
