//! Tests of the public API.
#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod due;
mod misfires;
mod overlaps;
mod plan_kit;
mod plans;
mod revisions;
mod simulation;

use daemon_cron::{CronExpr, Schedule, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn expr(text: &str) -> CronExpr {
    text.parse().unwrap()
}

fn zone(name: &str) -> Zone {
    Zone::new(TimeZone::get(name).unwrap())
}

fn schedule(text: &str) -> Schedule {
    Schedule::new(expr(text), Zone::utc())
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}
