//! What recurs: the seam between the scheduler's policies and the calendar.

use daemon_cron::Schedule;
use jiff::Timestamp;

/// Something that is due again and again.
pub trait Recurrence {
    /// Returns the earliest tick strictly later than `after`.
    fn next_after(&self, after: Timestamp) -> Option<Timestamp>;

    /// Returns the latest tick that is later than `after` and not later than `until`.
    ///
    /// The provided method visits every tick between the two.
    fn latest_in(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        ticks_in(self, after, until).last()
    }

    /// Counts the ticks later than `after` and not later than `until`.
    ///
    /// The provided method visits every tick between the two.
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

/// Counting and finding the latest cost no more when there are more ticks between.
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
