//! The trait that separates the policies from the calendar.

use daemon_cron::Schedule;
use jiff::Timestamp;

/// A sequence of instants, such as the ticks of a cron schedule.
///
/// # Examples
///
/// ```
/// use daemon_schedule::{Recurrence, TickOutcome, TickPolicy, Unfinished};
/// use jiff::Timestamp;
///
/// /// Every 90 seconds, which no cron expression can express.
/// struct EveryNinetySeconds;
///
/// impl Recurrence for EveryNinetySeconds {
///     fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
///         Timestamp::from_second((after.as_second().div_euclid(90) + 1) * 90).ok()
///     }
/// }
///
/// let (after, now) = ("2026-11-20T09:00:00Z".parse()?, "2026-11-20T09:03:00Z".parse()?);
/// let plan = TickPolicy::default().plan(&EveryNinetySeconds, after, now, Unfinished::default());
/// let outcomes: Vec<_> = plan.rows.iter().map(|row| row.outcome).collect();
/// assert_eq!(outcomes, [TickOutcome::Coalesced, TickOutcome::Enqueued]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Recurrence {
    /// Returns the earliest tick that is strictly later than `after`.
    fn next_after(&self, after: Timestamp) -> Option<Timestamp>;

    /// Returns the latest tick that is later than `after` and not later than `until`.
    ///
    /// The default implementation visits every tick between the two.
    fn latest_in(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        ticks_in(self, after, until).last()
    }

    /// Returns the number of ticks later than `after` and not later than `until`.
    ///
    /// The default implementation visits every tick between the two.
    fn count_in(&self, after: Timestamp, until: Timestamp) -> u64 {
        ticks_in(self, after, until).map(|_| 1).sum()
    }
}

fn ticks_in<R: Recurrence + ?Sized>(
    recurrence: &R,
    after: Timestamp,
    until: Timestamp,
) -> impl Iterator<Item = Timestamp> {
    let first = recurrence.next_after(after);
    std::iter::successors(first, |tick| recurrence.next_after(*tick))
        .take_while(move |tick| *tick <= until)
}

/// The cost of `latest_in` and `count_in` does not grow with the number of ticks between the two
/// instants.
impl Recurrence for Schedule {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        Self::next_after(self, after)
    }

    fn latest_in(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        self.latest_until(until).filter(|tick| *tick > after)
    }

    fn count_in(&self, after: Timestamp, until: Timestamp) -> u64 {
        self.count(after, until)
    }
}
