//! Five-field cron expressions: parse them, print them, ask when they fire next.
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
//! [`CronExpr`] is an expression, [`Schedule`] an expression in a [`Zone`]. A refused text yields
//! an [`Error`] with every [`Problem`] of the text, each with a diagnostic code, a place, help and
//! often a [`Fix`]. [`notes`] tells what an accepted text may do that its author did not mean.
//!
//! # What this crate does not do
//!
//! It has no clock and no timers; see `daemon-schedule`. It refuses seconds, years, `@daily` and
//! the extensions of other schedulers (`L`, `W`, `#`, `?`, `H`). It does not look zones up: the
//! caller hands over a `jiff` time zone.
//!
//! # Guarantees
//!
//! Parsing never panics and printing then parsing gives an equal expression. `next_after` is
//! strictly later than its argument, and iterated it yields every tick once, in order. Nothing
//! here walks minutes: the cost of a search does not grow with the distance to the next tick.

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
pub use field::Field;
pub use note::{Note, NoteKind, notes};
pub use problem::{Error, Fix, Problem, ProblemKind};
pub use schedule::Schedule;
pub use wall::{WallMinute, Walls};
pub use zone::Zone;
