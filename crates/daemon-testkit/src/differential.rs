//! Next occurrences compared with the slow calendar.

use std::fmt;

use daemon_cron::{CronExpr, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::calendar::SlowCron;
use crate::dice::Dice;
use crate::random_expression;
use crate::zone::{SlowZone, new_year};

const FIRST_YEAR: i16 = 1990;
const LAST_YEAR: i16 = 2037;

/// A difference between the two calendars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The expression.
    pub expression: String,
    /// The zone.
    pub zone: String,
    /// The instant after which the next occurrence is wanted.
    pub after: Timestamp,
    /// The next occurrence by `daemon-cron`.
    pub found: Option<Timestamp>,
    /// The next occurrence by the slow calendar.
    pub expected: Option<Timestamp>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |at: &Option<Timestamp>| at.map_or("none".to_owned(), |at| at.to_string());
        write!(
            f,
            "`{}` {} after {}: found {}, expected {}",
            self.expression,
            self.zone,
            self.after,
            show(&self.found),
            show(&self.expected)
        )
    }
}

/// The extent and the result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differential {
    /// Triples of expression, zone and instant.
    pub n_triples: u64,
    /// Zones.
    pub n_zones: usize,
    /// How many of the instants lay within a day of a change of the clocks.
    pub n_near_changes: u64,
    /// The first differences, at most ten.
    pub differences: Vec<Difference>,
}

/// Lists every zone of the database, by name.
pub fn every_zone() -> Vec<String> {
    let mut names: Vec<String> = jiff::tz::db()
        .available()
        .map(|name| name.as_str().to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Compares `n` random triples from 1990 to 2037, each zone in turn; `progress` is called after every zone.
pub fn compare_calendars(
    n: u64,
    seed: u64,
    zones: &[String],
    mut progress: impl FnMut(usize),
) -> Differential {
    let n_zones = u64::try_from(zones.len()).expect("a length fits").max(1);
    let mut report = Differential::default();
    for (place, name) in (0_u64..).zip(zones) {
        let Ok(zone) = TimeZone::get(name) else {
            continue;
        };
        let mut dice = Dice(seed ^ place.wrapping_mul(0x9E37_79B9));
        let slow = SlowZone::new(&zone, FIRST_YEAR, LAST_YEAR + 9);
        let fast = Zone::new(zone.clone());
        // The remainder goes to the first zones, so that the triples are as many as were asked for.
        let share = n / n_zones + u64::from(place < n % n_zones);
        for _ in 0..share {
            let after = moment(&zone, &mut dice, &mut report);
            report.n_triples += 1;
            if let Some(difference) = compare_one(&mut dice, &slow, &fast, after)
                && report.differences.len() < 10
            {
                report.differences.push(difference);
            }
        }
        report.n_zones += 1;
        progress(report.n_zones);
    }
    report
}

/// Draws an instant; half of them are near a change of the clocks.
fn moment(zone: &TimeZone, dice: &mut Dice, report: &mut Differential) -> Timestamp {
    let second = dice.between(new_year(FIRST_YEAR), new_year(LAST_YEAR + 1) - 1);
    let at = Timestamp::from_second(second).expect("the years are in range");
    let change = zone.following(at).next().filter(|_| dice.once_in(2));
    match change {
        Some(change) if change.timestamp().as_second() < new_year(LAST_YEAR + 1) => {
            report.n_near_changes += 1;
            let near = change.timestamp().as_second() + dice.between(-86_400, 86_400);
            Timestamp::from_second(near).expect("the years are in range")
        }
        _ => at,
    }
}

fn compare_one(
    dice: &mut Dice,
    slow: &SlowZone,
    fast: &Zone,
    after: Timestamp,
) -> Option<Difference> {
    let text = random_expression::expression(dice);
    let parsed: Option<CronExpr> = text.parse().ok();
    let read = SlowCron::parse(&text);
    let found = parsed.and_then(|expr| expr.next_after_in(fast, after));
    let expected = read.as_ref().and_then(|cron| cron.next_after(slow, after));
    let is_read_alike = parsed.is_some() && read.is_some();
    (!is_read_alike || found != expected).then(|| Difference {
        expression: text,
        zone: fast.name().to_owned(),
        after,
        found,
        expected,
    })
}
