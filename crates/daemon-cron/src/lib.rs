//! Five-field cron expressions: parse them, print them, find out when they fire next.
//!
//! ```
//! use daemon_cron::{CronExpr, Schedule, Zone};
//!
//! let weekdays: CronExpr = "30 14 * * MON-FRI".parse()?;
//! assert_eq!(weekdays.to_string(), "30 14 * * 1-5");
//!
//! let saturday = "2026-11-21T00:00:00Z".parse()?;
//! let monday = "2026-11-23T14:30:00Z".parse()?;
//! assert_eq!(weekdays.next_after(saturday), Some(monday));
//!
//! let berlin = Zone::new(jiff::tz::TimeZone::get("Europe/Berlin")?);
//! let schedule = Schedule::new(weekdays, berlin);
//! assert_eq!(schedule.next_after(saturday), Some("2026-11-23T13:30:00Z".parse()?));
//!
//! let refused = "0 30 14 * * 1-5".parse::<CronExpr>().unwrap_err();
//! assert_eq!(refused.problems()[0].code(), "D201");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - [`CronExpr`] is a parsed expression: a `Copy` value of 24 bytes. It computes ticks in UTC.
//! - [`Zone`] is a time zone with its offset transitions in a table. Create one per zone and clone it.
//! - [`Schedule`] is an expression in a zone. It computes ticks in UTC from local time:
//!   [`next_after`](Schedule::next_after), [`latest_until`](Schedule::latest_until) and
//!   [`count`](Schedule::count).
//! - [`Error`] contains every [`CronProblem`] of a rejected expression, each with a diagnostic code,
//!   a byte span, help and often a [`Replacement`].
//! - [`notes`] returns a [`Note`] for each way in which a valid expression may surprise its author:
//!   it never fires, fires every minute, or falls into an hour that the clocks skip.
//! - [`WallTime`] is the local time of a zone at an instant. With it one evaluation of the zone
//!   serves any number of expressions.
//!
//! # Example: daylight saving
//!
//! An expression without `*` in its minute and hour is *fixed-time*. A time that the clocks skip
//! fires as the gap ends, and a time that they repeat fires in the first pass. Every other
//! expression is an *interval* and follows the local clock.
//!
//! ```
//! use daemon_cron::{Schedule, Zone};
//! use jiff::{Timestamp, tz::TimeZone};
//!
//! let new_york = Zone::new(TimeZone::get("America/New_York")?);
//! let nightly = Schedule::new("30 2 * * *".parse()?, new_york.clone());
//!
//! // On 2026-03-08 the clocks go from 01:59 EST to 03:00 EDT, so 02:30 does not exist.
//! let saturday: Timestamp = "2026-03-07T12:00:00Z".parse()?;
//! let sunday = nightly.next_after(saturday).expect("the expression fires every day");
//! let local = |tick: Timestamp| tick.to_zoned(new_york.time_zone().clone()).to_string();
//! assert_eq!(local(sunday), "2026-03-08T03:00:00-04:00[America/New_York]");
//!
//! let monday = nightly.next_after(sunday).expect("the expression fires every day");
//! assert_eq!(local(monday), "2026-03-09T02:30:00-04:00[America/New_York]");
//!
//! let half_hours = Schedule::new("*/30 2 * * *".parse()?, new_york.clone());
//! assert_eq!(half_hours.count(saturday, sunday), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Example: problems and notes
//!
//! ```
//! use daemon_cron::{CronExpr, NoteKind, Zone, notes};
//!
//! let error = "60 22-6 * * *".parse::<CronExpr>().unwrap_err();
//! let lines: Vec<String> = error
//!     .problems()
//!     .iter()
//!     .map(|problem| format!("{} {:?}: {problem}; {}", problem.code(), problem.span, problem.help))
//!     .collect();
//! assert_eq!(lines, [
//!     "D203 0..2: minute 60 is out of range; 0–59",
//!     "D206 3..7: `22-6` descends; `22-23,0-6`",
//! ]);
//!
//! let found = notes("0 0 30 2 *", &Zone::utc(), "2026-01-01T00:00:00Z".parse()?)?;
//! assert_eq!(found[0].kind, NoteKind::NeverFires);
//! assert_eq!(found[0].to_string(), "no such date: 30 February");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//!
//! - It has no clock and no timers; see `daemon-schedule`.
//! - It rejects seconds, years, `@daily` and the extensions of other schedulers (`L`, `W`, `#`,
//!   `?`, `H`).
//! - It does not read the time zone database: the caller passes a [`jiff::tz::TimeZone`].
//!
//! # Guarantees
//!
//! - Parsing never panics, and reports every problem at once.
//! - Printing an expression and parsing the result gives an equal expression.
//! - `next_after` returns an instant strictly later than its argument. Calling it with its own
//!   result yields every tick once, in order.
//! - Ticks are whole minutes in the years 1972 to 9998.
//! - A search jumps months, days and hours, so its cost does not grow with the distance to the next
//!   tick. An expression that never fires is recognised when it is parsed.
//!
//! # Features and versions
//!
//! The crate has no features. [`jiff::Timestamp`] and [`jiff::tz::TimeZone`] are part of its public
//! API. The minimum supported Rust version is the `rust-version` of its manifest.

mod civil;
mod describe;
mod expr;
mod field;
mod help;
mod note;
mod parse;
mod print;
mod problem;
mod schedule;
mod search;
mod wall;
mod wrap;
mod zone;

pub use expr::CronExpr;
pub use field::CronField;
pub use note::{Note, NoteKind, notes};
pub use problem::{CronProblem, CronProblemKind, Error, Replacement};
pub use schedule::Schedule;
pub use wall::{WallMinute, WallTime};
pub use zone::Zone;
