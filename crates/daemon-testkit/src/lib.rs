//! Simulations of schedules in virtual time, compared with an independent oracle.
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
//! [`simulate`] runs a [`Setup`] and checks it; [`simulate_with_story`] also returns a log of the events, to investigate a
//! seed that failed. Both drive the real `Ticker`, the real decisions of the engine and the in-memory twin of the
//! stores on one thread. The seed of a [`Setup`] decides everything: hosts that race and die between the steps of a
//! transaction, clocks that are set, edits, removals, holds, providers that fail and hang, releases of the time zone
//! database. The oracle follows with a calendar of its own ([`SlowCron`], [`SlowZone`]) and compares the recorded rows with
//! the required ones.
//!
//! # What this crate does not do
//!
//! It starts no process, opens no file and never waits. Real disks and clocks are covered by the tests of the
//! program.
//!
//! # Guarantees
//!
//! The same setup gives the same trace. The oracle shares no code with `daemon-cron` and `daemon-schedule`.

mod almanac;
mod calendar;
mod dice;
mod differential;
mod host;
mod host_world;
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
pub use host_world::{
    HostCanary, HostOutcome, HostReport, HostSetup, HostTally, simulate_host,
    simulate_host_with_story,
};
pub use report::{SimulationReport, core_time};
pub use setup::Setup;
pub use story::LogLine;
pub use tally::EventCounts;
pub use world::{SimulationOutcome, simulate, simulate_with_story};
pub use zone::SlowZone;
