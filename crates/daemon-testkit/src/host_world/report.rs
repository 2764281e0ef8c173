//! The sum of many simulated hosts.

use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use daemon_engine::ActivationState;

use super::HostOutcome;

/// What happened, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTally {
    /// Virtual minutes.
    pub minutes: u64,
    /// Events that senders had.
    pub events: u64,
    /// Events that were acknowledged.
    pub acknowledged: u64,
    /// Activations, by state at the end, in the order of [`ActivationState::ALL`].
    pub activations: [u64; ActivationState::ALL.len()],
    /// Activations that were leased, once for each attempt.
    pub claims: u64,
    /// Attempts that were taken back.
    pub taken_back: u64,
    /// Ends of attempts that the store refused because the lease was lost.
    pub fenced: u64,
    /// Outputs that landed on the surface.
    pub landed: u64,
    /// Look-ups of outputs.
    pub look_ups: u64,
    /// Hosts that began.
    pub starts: u64,
    /// Hosts that died.
    pub crashes: u64,
    /// Hosts that stopped when they were asked to.
    pub stops: u64,
    /// Times that the clock was set.
    pub steps: u64,
    /// Operations of the store that failed or whose result was lost.
    pub store_faults: u64,
    /// Periods in which the store failed.
    pub outages: u64,
    /// Times that the disk was full.
    pub full_disks: u64,
}

impl HostTally {
    pub(super) fn add(&mut self, state: ActivationState) {
        let place = ActivationState::ALL.iter().position(|one| *one == state);
        self.activations[place.expect("it is one of all")] += 1;
    }
}

impl AddAssign for HostTally {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.activations.iter_mut().zip(other.activations) {
            *sum += more;
        }
        self.minutes += other.minutes;
        self.events += other.events;
        self.acknowledged += other.acknowledged;
        self.claims += other.claims;
        self.taken_back += other.taken_back;
        self.fenced += other.fenced;
        self.landed += other.landed;
        self.look_ups += other.look_ups;
        self.starts += other.starts;
        self.crashes += other.crashes;
        self.stops += other.stops;
        self.steps += other.steps;
        self.store_faults += other.store_faults;
        self.outages += other.outages;
        self.full_disks += other.full_disks;
    }
}

/// The sum of many lives.
#[derive(Clone, Debug, Default)]
pub struct HostReport {
    /// How many seeds ran.
    pub n_seeds: u64,
    /// What happened in them.
    pub tally: HostTally,
    /// Seeds with a violation, each with its first one.
    pub failures: Vec<(u64, String)>,
    /// How many violations there were in all.
    pub n_violations: usize,
    /// The time that cores worked on them.
    pub busy: Duration,
}

impl HostReport {
    /// Adds one life.
    pub fn add(&mut self, seed: u64, outcome: &HostOutcome, took: Duration) {
        self.n_seeds += 1;
        self.tally += outcome.tally;
        self.busy += took;
        self.n_violations += outcome.violations.len();
        if let Some(first) = outcome.violations.first() {
            self.failures.push((seed, first.clone()));
        }
    }
}

impl fmt::Display for HostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = &self.tally;
        writeln!(
            f,
            "{} seeds, {} virtual hours, {} events of which {} were acknowledged, {} activations, {} attempts",
            self.n_seeds,
            t.minutes / 60,
            t.events,
            t.acknowledged,
            t.activations.iter().sum::<u64>(),
            t.claims
        )?;
        let states = ActivationState::ALL.iter().zip(t.activations);
        let ended: Vec<String> = states
            .filter(|(_, count)| *count > 0)
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        writeln!(f, "{}", ended.join(", "))?;
        writeln!(
            f,
            "{} outputs landed, {} look-ups, {} attempts taken back, {} writes of stale attempts refused",
            t.landed, t.look_ups, t.taken_back, t.fenced
        )?;
        writeln!(
            f,
            "{} starts, {} crashes, {} stops, {} clock steps, {} faults of the store, {} outages, {} full disks",
            t.starts, t.crashes, t.stops, t.steps, t.store_faults, t.outages, t.full_disks
        )?;
        write!(
            f,
            "{} violations, {:.1} s of a core",
            self.n_violations,
            self.busy.as_secs_f64()
        )?;
        for (seed, violation) in &self.failures {
            write!(f, "\nseed {seed}: {violation}")?;
        }
        Ok(())
    }
}
