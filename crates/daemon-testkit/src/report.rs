//! The summed results of many simulations.

use std::fmt;
use std::time::Duration;

use crate::tally::EventCounts;
use crate::world::SimulationOutcome;

/// The summed results of many simulations.
#[derive(Clone, Debug, Default)]
pub struct SimulationReport {
    /// How many seeds ran.
    pub n_seeds: u64,
    /// The counted events of all simulations.
    pub tally: EventCounts,
    /// Seeds with a violation, each with its first one.
    pub failures: Vec<(u64, String)>,
    /// The processor time they took.
    pub busy: Duration,
}

impl SimulationReport {
    /// Adds the result of one simulation.
    pub fn add(&mut self, seed: u64, outcome: &SimulationOutcome, took: Duration) {
        self.n_seeds += 1;
        self.tally += outcome.tally;
        self.busy += took;
        if let Some(first) = outcome.violations.first() {
            self.failures.push((seed, first.clone()));
        }
    }

    /// Adds the results of another report.
    pub fn merge(&mut self, other: Self) {
        self.n_seeds += other.n_seeds;
        self.tally += other.tally;
        self.busy += other.busy;
        self.failures.extend(other.failures);
    }

    /// Returns virtual minutes per second and core.
    pub fn minutes_per_second(&self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a speed is told to three digits"
        )]
        let minutes = self.tally.minutes as f64;
        minutes / self.busy.as_secs_f64().max(1e-9)
    }
}

/// Returns the processor time of this thread, which other programs on the machine do not change.
pub fn core_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(spent.tv_sec).unwrap_or(0),
        u32::try_from(spent.tv_nsec).unwrap_or(0),
    )
}

impl fmt::Display for SimulationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = &self.tally;
        writeln!(
            f,
            "{} seeds, {} virtual days, {} ticks, {} activations",
            self.n_seeds,
            t.minutes / 1440,
            t.ticks,
            t.activations
        )?;
        let outcomes: Vec<String> = t
            .outcomes()
            .filter(|(_, count)| *count > 0)
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .collect();
        writeln!(f, "{}", outcomes.join(", "))?;
        writeln!(
            f,
            "{} crashes, {} clock steps, {} edits, {} holds, {} removals, {} hangs, {} releases of the time zone database, {} events",
            t.crashes, t.steps, t.edits, t.holds, t.removals, t.hangs, t.releases, t.events
        )?;
        writeln!(
            f,
            "{} duplicates, {} gaps, {} other violations",
            t.duplicates, t.gaps, t.others
        )?;
        write!(
            f,
            "{:.0} virtual minutes a second of a core",
            self.minutes_per_second()
        )?;
        for (seed, violation) in &self.failures {
            write!(f, "\nseed {seed}: {violation}")?;
        }
        Ok(())
    }
}
