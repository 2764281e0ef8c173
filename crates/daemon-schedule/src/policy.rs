//! Policies for overdue ticks: misfire, overlap and jitter.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::amend::{just_before, range};
use crate::recurrence::Recurrence;
use crate::tick::{TickOutcome, TickRow};

/// The maximum number of ticks that `catch_up` enqueues, and of activations that wait under
/// `buffer_all`.
const CAP: u64 = 100;

/// The lateness up to which the misfire policy `skip` still enqueues a tick.
const PUNCTUAL: Duration = Duration::from_secs(60);

/// The policy of a schedule for late ticks and for ticks during an unfinished activation.
///
/// # Examples
///
/// After an outage of a day the newest tick is enqueued and the others in the window join it:
///
/// ```
/// use daemon_cron::{Schedule, Zone};
/// use daemon_schedule::{TickPolicy, Unfinished};
///
/// let hourly = Schedule::new("0 * * * *".parse()?, Zone::utc());
/// let (cursor, now) = ("2026-11-19T09:00:00Z".parse()?, "2026-11-20T09:00:00Z".parse()?);
/// let plan = TickPolicy::default().plan(&hourly, cursor, now, Unfinished::default());
///
/// let rows: Vec<_> = plan.rows.iter().map(|row| format!("{} {}", row.count, row.outcome)).collect();
/// assert_eq!(rows, ["23 coalesced", "1 enqueued"]);
/// assert_eq!(plan.triggers, [now]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickPolicy {
    /// The policy for overdue ticks.
    pub misfire: Misfire,
    /// The lateness up to which a tick is not missed. [`Misfire::Skip`] uses 60 seconds instead.
    pub window: Duration,
    /// The policy for a tick while an activation of an earlier tick is unfinished.
    pub overlap: Overlap,
}

impl Default for TickPolicy {
    /// Returns the policy `coalesce` within 24 hours and `buffer_one`.
    fn default() -> Self {
        Self {
            misfire: Misfire::Coalesce,
            window: Duration::from_secs(24 * 3600),
            overlap: Overlap::BufferOne,
        }
    }
}

/// The policy for overdue ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfire {
    /// The newest tick in the window is enqueued. The other ticks in the window join it.
    Coalesce,
    /// Ticks that are more than 60 seconds late are missed.
    Skip,
    /// The oldest 100 ticks in the window are enqueued in order. Newer ones are missed.
    CatchUp,
}

/// The policy for a tick while an activation of an earlier tick is unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// One activation waits while another runs. Later ticks join the waiting one.
    BufferOne,
    /// The tick is skipped.
    Skip,
    /// Every tick waits in an activation of its own, up to 100.
    BufferAll,
    /// The running activation is cancelled and the tick takes its place.
    CancelOther,
}

/// The numbers of unfinished activations that earlier ticks of the same key created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// The number of activations that are claimed, running or delivering.
    pub running: u64,
    /// The number of pending activations.
    pub pending: u64,
}

/// The rows and triggers of the ticks in a span, as plain data for one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickPlan {
    /// The rows to record, oldest first. They cover every tick of the span once.
    pub rows: Vec<TickRow>,
    /// The ticks that trigger an activation: each `enqueued` tick, or the newest of the ticks that
    /// join an activation which was waiting before.
    pub triggers: Vec<Timestamp>,
    /// Whether the running activation is to be cancelled.
    pub cancels_running: Cancels,
}

/// Whether a plan cancels the running activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cancels {
    /// The running activation continues.
    #[default]
    Nothing,
    /// The running activation is asked to stop.
    Running,
}

/// The ticks of a plan that did not get an activation of their own, for the trigger to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedTicks {
    /// The number of missed ticks, at least 1.
    pub count: u64,
    /// The oldest missed tick.
    pub first: Timestamp,
    /// The newest missed tick.
    pub last: Timestamp,
    /// At most 100 missed ticks: the newest ones, oldest first.
    pub list: Vec<Timestamp>,
}

impl TickPolicy {
    /// Plans the ticks later than `after` and not later than `now`.
    ///
    /// The work does not grow with the number of ticks: a plan has at most three rows, or a few more
    /// than a hundred under `catch_up`.
    pub fn plan(
        &self,
        recurrence: &dyn Recurrence,
        after: Timestamp,
        now: Timestamp,
        unfinished: Unfinished,
    ) -> TickPlan {
        let mut plan = TickPlan::default();
        let opening = self.opening(now).max(after);
        plan.push(range(recurrence, after, opening, TickOutcome::MissedWindow));
        match self.misfire {
            Misfire::Coalesce | Misfire::Skip => {
                self.coalesce(recurrence, opening, now, unfinished, &mut plan);
            }
            Misfire::CatchUp => self.catch_up(recurrence, opening, now, unfinished, &mut plan),
        }
        plan
    }

    /// Returns the instant after which ticks are in the window. A tick exactly at the edge is inside.
    fn opening(&self, now: Timestamp) -> Timestamp {
        let window = match self.misfire {
            Misfire::Skip => PUNCTUAL,
            Misfire::Coalesce | Misfire::CatchUp => self.window,
        };
        let edge = now
            .saturating_sub(window)
            .expect("saturates for absolute durations");
        edge.saturating_sub(SignedDuration::from_nanos(1))
            .expect("saturates for absolute durations")
    }

    fn coalesce(
        &self,
        recurrence: &dyn Recurrence,
        opening: Timestamp,
        now: Timestamp,
        unfinished: Unfinished,
        plan: &mut TickPlan,
    ) {
        let Some(newest) = recurrence.latest_in(opening, now) else {
            return;
        };
        match self.admission(unfinished) {
            TickOutcome::Enqueued => {
                let before = just_before(newest);
                plan.push(range(recurrence, opening, before, TickOutcome::Coalesced));
                plan.push(Some(TickRow::one(newest, TickOutcome::Enqueued)));
                plan.triggers.push(newest);
            }
            // Not enqueued: all ticks share the outcome. If they join a waiting activation, the newest
            // is its trigger.
            outcome => {
                plan.push(range(recurrence, opening, now, outcome));
                if outcome == TickOutcome::Coalesced {
                    plan.triggers.push(newest);
                }
            }
        }
        plan.cancel(self.overlap, unfinished);
    }

    fn catch_up(
        &self,
        recurrence: &dyn Recurrence,
        opening: Timestamp,
        now: Timestamp,
        unfinished: Unfinished,
        plan: &mut TickPlan,
    ) {
        let mut after = opening;
        let mut unfinished = unfinished;
        let had_pending = unfinished.pending > 0;
        for _ in 0..CAP {
            let Some(tick) = recurrence.next_after(after).filter(|tick| *tick <= now) else {
                break;
            };
            let outcome = self.admission(unfinished);
            match outcome {
                TickOutcome::Enqueued => {
                    unfinished.pending += 1;
                    plan.triggers.push(tick);
                }
                // The ticks that join an activation which was waiting before need one trigger, the
                // newest. A tick that joins one of this plan needs none.
                TickOutcome::Coalesced if had_pending => plan.triggers = vec![tick],
                _ => {}
            }
            plan.push(Some(TickRow::one(tick, outcome)));
            plan.cancel(self.overlap, unfinished);
            after = tick;
        }
        // Ticks are enqueued oldest first, so the ones above the cap are the newest.
        plan.push(range(recurrence, after, now, TickOutcome::MissedWindow));
    }

    /// Returns the outcome of a tick in the window.
    fn admission(&self, unfinished: Unfinished) -> TickOutcome {
        match self.overlap {
            Overlap::BufferOne | Overlap::CancelOther if unfinished.pending > 0 => {
                TickOutcome::Coalesced
            }
            Overlap::Skip if unfinished.running + unfinished.pending > 0 => {
                TickOutcome::SkippedOverlap
            }
            Overlap::BufferAll if unfinished.pending >= CAP => TickOutcome::Refused,
            Overlap::BufferOne | Overlap::CancelOther | Overlap::Skip | Overlap::BufferAll => {
                TickOutcome::Enqueued
            }
        }
    }
}

impl TickPlan {
    /// Appends a row. Extends the last row instead if both have the same outcome.
    ///
    /// An enqueued tick keeps its own row, because its instant is the key of its activation.
    fn push(&mut self, row: Option<TickRow>) {
        let Some(row) = row else { return };
        match self.rows.last_mut() {
            Some(last) if last.outcome == row.outcome && row.outcome != TickOutcome::Enqueued => {
                last.scheduled_at = row.scheduled_at;
                last.count += row.count;
            }
            _ => self.rows.push(row),
        }
    }

    fn cancel(&mut self, overlap: Overlap, unfinished: Unfinished) {
        if overlap == Overlap::CancelOther && unfinished.running > 0 {
            self.cancels_running = Cancels::Running;
        }
    }

    /// Returns the ticks of the plan that are coalesced or missed, or `None` if every tick has an
    /// activation of its own.
    ///
    /// `recurrence` must be the one of the plan.
    pub fn missed(&self, recurrence: &dyn Recurrence) -> Option<MissedTicks> {
        let rows = || {
            let is_missed = |row: &&TickRow| {
                matches!(
                    row.outcome,
                    TickOutcome::Coalesced | TickOutcome::MissedWindow
                )
            };
            self.rows.iter().filter(is_missed)
        };
        // From the newest tick back, so that a row of a million ticks costs a hundred steps.
        let mut list = Vec::new();
        for row in rows().rev() {
            let mut until = row.scheduled_at;
            while list.len() < 100
                && let Some(tick) = recurrence.latest_in(just_before(row.first), until)
            {
                list.push(tick);
                until = just_before(tick);
            }
        }
        list.reverse();
        Some(MissedTicks {
            count: rows().map(|row| row.count).sum(),
            first: rows().next()?.first,
            last: rows().next_back()?.scheduled_at,
            list,
        })
    }
}

/// Returns the delay with which the ticks of a daemon start, to spread the load of many daemons.
///
/// The delay is less than `limit`, a whole number of milliseconds, and depends only on the bytes of
/// `daemon` and on `limit`. It is zero if `limit` is less than a millisecond. Add it to the start of
/// the activation, not to the instant of the tick.
///
/// # Examples
///
/// ```
/// use daemon_schedule::jitter;
/// use std::time::Duration;
///
/// let limit = Duration::from_secs(300);
/// assert!(jitter(b"librarian", limit) < limit);
/// assert_ne!(jitter(b"librarian", limit), jitter(b"janitor", limit));
/// ```
pub fn jitter(daemon: &[u8], limit: Duration) -> Duration {
    // FNV-1a gives the same delay on every host and in every release. The hashers of `std` do not
    // guarantee this.
    let hash = daemon.iter().fold(0xcbf2_9ce4_8422_2325_u64, |acc, byte| {
        (acc ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(hash.checked_rem(limit).unwrap_or(0))
}

/// The error of a word that is not a [`Misfire`] or [`Overlap`] policy. `Display` lists the known
/// words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    word: Box<str>,
    known: &'static str,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not one of {}", self.word, self.known)
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Misfire {
    type Err = UnknownPolicy;

    fn from_str(word: &str) -> Result<Self, UnknownPolicy> {
        match word {
            "coalesce" => Ok(Self::Coalesce),
            "skip" => Ok(Self::Skip),
            "catch_up" => Ok(Self::CatchUp),
            _ => Err(UnknownPolicy {
                word: word.into(),
                known: "`coalesce`, `skip`, `catch_up`",
            }),
        }
    }
}

impl FromStr for Overlap {
    type Err = UnknownPolicy;

    fn from_str(word: &str) -> Result<Self, UnknownPolicy> {
        match word {
            "buffer_one" => Ok(Self::BufferOne),
            "skip" => Ok(Self::Skip),
            "buffer_all" => Ok(Self::BufferAll),
            "cancel_other" => Ok(Self::CancelOther),
            _ => Err(UnknownPolicy {
                word: word.into(),
                known: "`buffer_one`, `skip`, `buffer_all`, `cancel_other`",
            }),
        }
    }
}
