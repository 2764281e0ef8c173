//! The numbers that the roster works with.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::id::Project;
use crate::row::RowKind;

/// After how long without a sign a row is stale, and after how long dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivenessWindow {
    /// A row of at most this age is live.
    pub stale: SignedDuration,
    /// A row of at most this age is stale, an older one dead.
    pub dead: SignedDuration,
}

/// The configuration of a roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterSettings {
    /// The projects that have rows.
    pub projects: BTreeSet<Project>,
    /// For standing and repository daemons.
    pub base: LivenessWindow,
    /// For standing and repository daemons whose accepted cadence is `dormant`.
    pub dormant: LivenessWindow,
    /// For runs.
    pub run: LivenessWindow,
    /// For hosts.
    pub host: LivenessWindow,
    /// If set, standing daemons are stale after it and dead after twice as long, with every cadence. Unset by default,
    /// because it makes a dormant daemon stale that checks in as it should.
    pub stale_after: Option<SignedDuration>,
    /// How often a standing daemon checks in.
    pub heartbeat: SignedDuration,
    /// How late a check-in may be before its row is marked as overdue.
    pub grace: SignedDuration,
    /// How long an expected row may wait for its first check-in before it is marked.
    pub spawn_overdue: SignedDuration,
    /// How long a claim of a signal lasts without a check-in.
    pub claim_lease: SignedDuration,
    /// How often a signal is claimed before it is given up.
    pub max_attempts: u32,
    /// How long a successor waits for the handoff before it may take the baton itself, and how long a started successor may take
    /// to check in.
    pub pull_after: SignedDuration,
    /// How long a spawn plan can be confirmed.
    pub plan_ttl: SignedDuration,
    /// How many standing daemons the host may have started in all projects.
    pub cap: usize,
    /// How often within an hour an agent is resumed whose process ended with its host; 0 for never.
    pub restarts_an_hour: usize,
    /// Whether requests of agents and people are refused, apart from check-ins.
    pub is_read_only: bool,
}

impl Default for RosterSettings {
    fn default() -> Self {
        let window = |stale, dead| LivenessWindow {
            stale: SignedDuration::from_mins(stale),
            dead: SignedDuration::from_mins(dead),
        };
        Self {
            projects: BTreeSet::new(),
            base: window(20, 40),
            dormant: window(45, 90),
            run: window(5, 10),
            host: window(1, 3),
            stale_after: None,
            heartbeat: SignedDuration::from_mins(13),
            grace: SignedDuration::from_mins(1),
            spawn_overdue: SignedDuration::from_mins(10),
            claim_lease: SignedDuration::from_mins(15),
            max_attempts: 5,
            pull_after: SignedDuration::from_mins(10),
            plan_ttl: SignedDuration::from_mins(5),
            cap: 8,
            restarts_an_hour: 3,
            is_read_only: false,
        }
    }
}

impl RosterSettings {
    /// Returns the window of a kind of row with the base cadence.
    pub(crate) fn window(&self, kind: RowKind) -> LivenessWindow {
        match kind {
            RowKind::Standing | RowKind::Repository => self.base,
            RowKind::Run => self.run,
            RowKind::Host => self.host,
        }
    }
}
