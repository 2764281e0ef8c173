//! What becomes of overdue ticks: misfire, overlap and jitter as functions of what is known.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::amend::{just_before, range};
use crate::recurrence::Recurrence;
use crate::tick::{TickOutcome, TickRow};

/// How many ticks `catch_up` enqueues, and how many activations `buffer_all` lets wait.
const CAP: u64 = 100;

/// The lateness that the misfire policy `skip` tolerates.
const PUNCTUAL: Duration = Duration::from_secs(60);

/// Says what becomes of ticks that are late and of ticks that meet an unfinished activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What becomes of overdue ticks.
    pub misfire: Misfire,
    /// How late a tick may be before it is missed.
    pub window: Duration,
    /// What becomes of a tick while an activation of an earlier one is unfinished.
    pub overlap: Overlap,
}

impl Default for Policy {
    /// Coalesces within 24 hours and lets one activation wait.
    fn default() -> Self {
        Self {
            misfire: Misfire::Coalesce,
            window: Duration::from_secs(24 * 3600),
            overlap: Overlap::BufferOne,
        }
    }
}

/// What becomes of overdue ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfire {
    /// The newest in the window is enqueued and the others in the window join it.
    Coalesce,
    /// What is over 60 seconds late is missed.
    Skip,
    /// Those in the window are enqueued, oldest first, at most 100.
    CatchUp,
}

/// What becomes of a tick while an activation of an earlier one is unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// While one runs one waits, and later ticks join it.
    BufferOne,
    /// The tick is skipped.
    Skip,
    /// Every tick waits, at most 100.
    BufferAll,
    /// What runs is cancelled in favour of the tick.
    CancelOther,
}

/// The activations of earlier ticks of the same daemon that have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// How many are claimed, running or delivering.
    pub running: u64,
    /// How many are pending.
    pub pending: u64,
}

/// What to record and to do about the ticks of one span, as plain data for one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The rows, oldest first, without gap or overlap.
    pub rows: Vec<TickRow>,
    /// The ticks that trigger an activation: the key of each `enqueued` row, or the newest of
    /// those that join the activation already waiting.
    pub triggers: Vec<Timestamp>,
    /// Whether what runs is to be cancelled.
    pub cancels_running: Cancels,
}

/// Whether a plan cancels the running activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cancels {
    /// It goes on.
    #[default]
    Nothing,
    /// It is asked to stop.
    Running,
}

/// What a trigger tells of the ticks that did not get an activation of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// How many.
    pub count: u64,
    /// The oldest.
    pub first: Timestamp,
    /// The newest.
    pub last: Timestamp,
    /// The newest 100, oldest first.
    pub list: Vec<Timestamp>,
}

impl Policy {
    /// Plans what becomes of the ticks later than `after` and not later than `now`.
    ///
    /// The work does not grow with the number of ticks: however long the span, there are at most
    /// three rows, or a few more than a hundred under `catch_up`.
    pub fn plan(
        &self,
        recurrence: &dyn Recurrence,
        after: Timestamp,
        now: Timestamp,
        unfinished: Unfinished,
    ) -> Plan {
        let mut plan = Plan::default();
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

    /// The instant after which ticks lie in the window; a tick exactly at its edge does.
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
        plan: &mut Plan,
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
        plan: &mut Plan,
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
                // Those that join what waited before need one trigger, the newest.
                TickOutcome::Coalesced if had_pending => plan.triggers = vec![tick],
                _ => {}
            }
            plan.push(Some(TickRow::one(tick, outcome)));
            plan.cancel(self.overlap, unfinished);
            after = tick;
        }
        plan.push(range(recurrence, after, now, TickOutcome::MissedWindow));
    }

    /// Decides about a tick in the window by what is unfinished.
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

impl Plan {
    /// Appends a row, joining it to the last one when both are of one range.
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

    /// Tells which ticks of the plan got no activation of their own; none when all did.
    pub fn missed(&self, recurrence: &dyn Recurrence) -> Option<Missed> {
        let rows = || {
            let is_missed = |row: &&TickRow| {
                matches!(
                    row.outcome,
                    TickOutcome::Coalesced | TickOutcome::MissedWindow
                )
            };
            self.rows.iter().filter(is_missed)
        };
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
        Some(Missed {
            count: rows().map(|row| row.count).sum(),
            first: rows().next()?.first,
            last: rows().next_back()?.scheduled_at,
            list,
        })
    }
}

/// Returns how long a daemon's ticks are put off to spread load: a part of `limit` that depends
/// on nothing but the daemon.
///
/// It moves when an activation may start, never the tick's own instant.
pub fn jitter(daemon: &[u8], limit: Duration) -> Duration {
    // FNV-1a: the same on every host and in every release, which `std`'s hashers do not promise.
    let hash = daemon.iter().fold(0xcbf2_9ce4_8422_2325_u64, |acc, byte| {
        (acc ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(hash.checked_rem(limit).unwrap_or(0))
}

/// Reports a word that names no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    word: Box<str>,
    known: &'static str,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is none of {}", self.word, self.known)
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
