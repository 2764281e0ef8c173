//! A sans-IO scheduler over any key: due ticks, misfire, overlap, jitter.
//!
//! ```
//! use daemon_cron::Zone;
//! use daemon_schedule::{Policy, Scheduler, TickOutcome, TickRow, Unfinished};
//!
//! let mut scheduler = Scheduler::new();
//! let nine = "2026-11-20T09:00:00Z".parse()?;
//! scheduler.insert("librarian", "0 9 * * *".parse()?, &Zone::utc(), "2026-11-20T08:00:00Z".parse()?);
//!
//! let mut plans = Vec::new();
//! scheduler.advance(nine, |due| {
//!     let plan = Policy::default().plan(due.schedule, due.after, nine, Unfinished::default());
//!     plans.push((*due.key, due.to, plan.rows));
//! });
//! assert_eq!(plans, [("librarian", nine, vec![TickRow::one(nine, TickOutcome::Enqueued)])]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Scheduler`] says which keys have unrecorded ticks. A [`Policy`] turns the span between a
//! key's cursor and now into a [`Plan`]: rows to record and ticks that trigger an activation, as
//! plain data that somebody else commits in one transaction: compare the stored cursor with
//! `from`, set it to `to`, write the rows. What recurs stands behind [`Recurrence`].
//!
//! # What this crate does not do
//!
//! It reads no clock, sleeps for nobody, stores nothing and starts nothing. It tells when it wants
//! to be called again. It does not decide what a tick does.
//!
//! # Guarantees
//!
//! Every tick later than a key's cursor is reported once as long as cursors are set back when
//! recording fails. Each tick of a span is in exactly one row of its plan. A plan costs no more for
//! ten years than for a day. A cursor in the future never mutes its key.

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
    Cancels, Misfire, Missed, Overlap, Plan, Policy, Unfinished, UnknownPolicy, jitter,
};
pub use recurrence::Recurrence;
pub use scheduler::{Due, Passage, Scheduler};
pub use tick::{TickOutcome, TickRow, UnknownOutcome};
