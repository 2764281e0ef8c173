//! A sans-IO scheduler over any key: due ticks, misfire, overlap, jitter.
//!
//! ```
//! use daemon_schedule::TickOutcome;
//!
//! assert_eq!("missed_window".parse(), Ok(TickOutcome::MissedWindow));
//! ```

mod tick;

pub use tick::{TickOutcome, TickRow, UnknownOutcome};
