//! Prints the description, the notes and the next five ticks of an expression in a zone:
//! `cargo run -p daemon-cron --example next_ticks -- "30 2 * * *" Europe/Berlin 2026-03-27T00:00:00Z`
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use daemon_cron::{CronExpr, Schedule, Zone, notes};
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let text = arguments.next().unwrap_or_else(|| "30 2 * * *".to_owned());
    let zone = arguments
        .next()
        .unwrap_or_else(|| "Europe/Berlin".to_owned());
    let from = arguments
        .next()
        .unwrap_or_else(|| "2026-03-27T00:00:00Z".to_owned());

    let expr: CronExpr = text.parse()?;
    let zone = Zone::new(TimeZone::get(&zone)?);
    let mut after: Timestamp = from.parse()?;

    println!("`{expr}` fires {} ({zone})", expr.describe());
    for note in notes(&text, &zone, after)? {
        println!("{}: {note}: {}", note.code(), note.help);
    }
    let schedule = Schedule::new(expr, zone);
    for _ in 0..5 {
        let Some(tick) = schedule.next_after(after) else {
            break;
        };
        println!(
            "{tick}  {}",
            tick.to_zoned(schedule.zone().time_zone().clone())
        );
        after = tick;
    }
    Ok(())
}
