//! A sans-IO scheduler for cron schedules under keys of any type: due ticks, misfire and overlap
//! policies, jitter.
//!
//! ```
//! use daemon_cron::Zone;
//! use daemon_schedule::{Scheduler, TickOutcome, TickPolicy, TickRow, Unfinished};
//!
//! let mut scheduler = Scheduler::new();
//! let nine = "2026-11-20T09:00:00Z".parse()?;
//! scheduler.insert("librarian", "0 9 * * *".parse()?, &Zone::utc(), "2026-11-20T08:00:00Z".parse()?);
//!
//! let mut plans = Vec::new();
//! scheduler.advance(nine, |due| {
//!     let plan = TickPolicy::default().plan(due.schedule, due.after, nine, Unfinished::default());
//!     plans.push((*due.key, due.to, plan.rows));
//! });
//! assert_eq!(plans, [("librarian", nine, vec![TickRow::one(nine, TickOutcome::Enqueued)])]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - [`Scheduler`] contains the schedules of all keys. [`advance`](Scheduler::advance) reports each
//!   key that has unrecorded ticks as a [`Due`]; [`deadline`](Scheduler::deadline) is the instant of
//!   the next call.
//! - Each key has a *cursor*: the instant up to which its ticks are recorded.
//! - [`TickPolicy`] turns the span from the cursor to now into a [`TickPlan`]: the [`TickRow`]s to record
//!   and the ticks that trigger an activation. A plan is plain data for one transaction: compare the
//!   stored cursor with [`Due::from`], set it to [`Due::to`], write the rows.
//! - [`Recurrence`] is the trait of everything that can be planned. `daemon_cron::Schedule`
//!   implements it.
//! - [`superseded`], [`retracted`] and [`unrecorded`] compute rows after an edit of a schedule, after
//!   the clock stepped back, and where some ticks are recorded already.
//! - [`ClockWatch`] detects steps of the wall clock. [`jitter`] spreads activations over time.
//!
//! # Example: a loop that drives the scheduler
//!
//! A driver sleeps until the deadline, advances, and records each plan. If recording fails, it sets
//! the cursor back, and the key is reported again. Time is an argument, so a test runs the same loop
//! without waiting: here the clock jumps to each deadline, and the store fails once.
//!
//! ```
//! use daemon_cron::Zone;
//! use daemon_schedule::{Scheduler, TickPolicy, Unfinished};
//! use jiff::Timestamp;
//!
//! let mut now: Timestamp = "2026-11-20T08:57:00Z".parse()?;
//! let end: Timestamp = "2026-11-20T09:02:00Z".parse()?;
//! let mut scheduler = Scheduler::new();
//! scheduler.insert("even", "*/2 * * * *".parse()?, &Zone::utc(), now);
//! scheduler.insert("nine", "0 9 * * *".parse()?, &Zone::utc(), now);
//!
//! let mut recorded = Vec::new();
//! let mut is_store_down = true;
//! while now <= end {
//!     let mut failed = Vec::new();
//!     scheduler.advance(now, |due| {
//!         if std::mem::take(&mut is_store_down) {
//!             failed.push((*due.key, due.from));
//!             return;
//!         }
//!         let plan = TickPolicy::default().plan(due.schedule, due.after, now, Unfinished::default());
//!         for row in plan.rows {
//!             recorded.push(format!("{} {} {}", due.key, row.outcome, row.scheduled_at));
//!         }
//!     });
//!     for (key, cursor) in failed {
//!         scheduler.set_cursor(&key, cursor);
//!     }
//!     // A real driver sleeps until the deadline.
//!     now = now.max(scheduler.deadline().expect("there are keys"));
//! }
//! recorded.sort();
//! assert_eq!(recorded, [
//!     "even enqueued 2026-11-20T08:58:00Z",
//!     "even enqueued 2026-11-20T09:00:00Z",
//!     "even enqueued 2026-11-20T09:02:00Z",
//!     "nine enqueued 2026-11-20T09:00:00Z",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The example `embed_tokio` of this crate is the same loop with a real clock.
//!
//! # What this crate does not do
//!
//! - It reads no clock and starts no timer: the caller passes `now` and waits for the deadline.
//! - It stores nothing. Cursors and rows are the caller's to persist.
//! - It does not decide what a tick does; it names the ticks that trigger an activation.
//!
//! # Guarantees
//!
//! - Every tick later than the cursor of its key is reported once, provided that the cursor is set
//!   back when recording fails.
//! - Each tick of a span is in exactly one row of its plan.
//! - Planning ten years costs no more than planning a day.
//! - A cursor in the future does not silence its key: the next tick is reported.
//!
//! # Features and versions
//!
//! The crate has no features. [`jiff::Timestamp`], `daemon_cron::Schedule` and `daemon_cron::Zone` are
//! part of its public API. The minimum supported Rust version is the `rust-version` of its manifest.

mod amend;
mod clock;
mod group;
mod index;
mod policy;
mod recurrence;
mod scheduler;
mod tick;

pub use amend::{retracted, superseded, unrecorded};
pub use clock::{ClockStep, ClockWatch, MAX_DRIFT};
pub use policy::{
    Cancels, Misfire, MissedTicks, Overlap, TickPlan, TickPolicy, Unfinished, UnknownPolicy, jitter,
};
pub use recurrence::Recurrence;
pub use scheduler::{ClockDirection, Due, Scheduler};
pub use tick::{TickOutcome, TickRow, UnknownOutcome};
