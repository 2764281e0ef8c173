//! Counts of the events of simulations.

use std::ops::AddAssign;

use daemon_schedule::TickOutcome;
use daemon_store::StoredTick;

/// Counts of the events of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Virtual minutes.
    pub minutes: u64,
    /// Ticks that were recorded.
    pub ticks: u64,
    /// Ticks by outcome, in the order of [`TickOutcome::ALL`].
    pub outcomes: [u64; TickOutcome::ALL.len()],
    /// Activations that were made.
    pub activations: u64,
    /// Hosts that died.
    pub crashes: u64,
    /// Clocks that were set.
    pub steps: u64,
    /// Schedules that changed.
    pub edits: u64,
    /// Gates that were closed.
    pub holds: u64,
    /// Daemons that were removed.
    pub removals: u64,
    /// Providers that hung.
    pub hangs: u64,
    /// Databases of time zones that were released.
    pub releases: u64,
    /// Events that were accepted.
    pub events: u64,
    /// Ticks recorded, or activations made, twice.
    pub duplicates: u64,
    /// Ticks without a row.
    pub gaps: u64,
    /// Other violated guarantees.
    pub others: u64,
}

impl AddAssign for EventCounts {
    fn add_assign(&mut self, other: Self) {
        self.minutes += other.minutes;
        self.ticks += other.ticks;
        for (sum, more) in self.outcomes.iter_mut().zip(other.outcomes) {
            *sum += more;
        }
        self.activations += other.activations;
        self.crashes += other.crashes;
        self.steps += other.steps;
        self.edits += other.edits;
        self.holds += other.holds;
        self.removals += other.removals;
        self.hangs += other.hangs;
        self.releases += other.releases;
        self.events += other.events;
        self.duplicates += other.duplicates;
        self.gaps += other.gaps;
        self.others += other.others;
    }
}

impl EventCounts {
    /// Counts the ticks of a row.
    pub(crate) fn add_row(&mut self, row: &StoredTick) {
        self.ticks += row.count;
        let place = TickOutcome::ALL
            .iter()
            .position(|known| *known == row.outcome);
        self.outcomes[place.expect("it is one of all")] += row.count;
    }

    /// Lists every outcome with how many ticks had it.
    pub fn outcomes(&self) -> impl Iterator<Item = (TickOutcome, u64)> {
        TickOutcome::ALL.into_iter().zip(self.outcomes)
    }
}
