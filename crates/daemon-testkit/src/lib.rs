//! Schedules simulated in virtual time, and an oracle that says what must be recorded.
//!
//! ```
//! use daemon_testkit::{Setup, simulate};
//!
//! let setup = Setup { days: 3, ..Setup::of_seed(7) };
//! let outcome = simulate(&setup);
//! assert_eq!(outcome.violations, [""; 0]);
//! assert_eq!(simulate(&setup).trace, outcome.trace);
//! ```
//!
//! [`simulate`] lives a [`Setup`] and judges it; [`tell`] also says what happened, line by line, for whoever looks into
//! a seed that failed. Both drive the real `Ticker`, the real decisions of the engine and the in-memory twin of the
//! stores on one thread. The seed of a [`Setup`] decides everything: hosts that race and die between the steps of a
//! transaction, clocks that are set, edits, removals, holds, providers that fail and hang, releases of the time zone
//! database. An oracle follows with its own calendar ([`SlowCron`], [`SlowZone`]) and compares what is recorded with
//! what must be.
//!
//! # What this crate does not do
//!
//! It starts no process, opens no file and waits for nothing. What a real disk and a real clock do is tested on the
//! binary.
//!
//! # Guarantees
//!
//! The same setup gives the same trace. The oracle shares no code with `daemon-cron` and `daemon-schedule`.

mod almanac;
mod calendar;
mod dice;
mod differential;
mod host;
mod oracle;
mod random_expression;
mod report;
mod setup;
mod story;
mod tally;
mod tzdb;
mod world;
mod zone;

pub use calendar::SlowCron;
pub use daemon_store::Canary;
pub use differential::{Difference, Differential, compare_calendars, every_zone};
pub use report::{Report, core_time};
pub use setup::Setup;
pub use story::Line;
pub use tally::Tally;
pub use world::{Outcome, simulate, tell};
pub use zone::SlowZone;
