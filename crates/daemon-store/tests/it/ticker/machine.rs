//! One host over the twin, in virtual time.

use std::time::Duration;

use daemon_engine::{Gate, HostEpoch};
use daemon_event::{ActivationId, DaemonKey};
use daemon_schedule::TickPolicy;
use daemon_store::memory::StoreModel;
use daemon_store::{
    ClaimRequest, Cursors, DaemonRow, Modes, Query, Registration, Round, ScheduleText, StoredTick,
    TickCommit, Ticker, Validity, Waking,
};
use jiff::{SignedDuration, Timestamp};

/// One host over one store, with a wall clock that can be set.
pub(super) struct Machine {
    pub(super) store: StoreModel,
    pub(super) ticker: Ticker,
    pub(super) policy: TickPolicy,
    pub(super) jitter: Duration,
    pub(super) now: Timestamp,
    pub(super) since_boot: Duration,
    pub(super) n_activations: u64,
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().expect("an instant")
}

pub(super) fn key() -> DaemonKey {
    DaemonKey {
        repo: "o/r".parse().expect("a name"),
        id: "a".parse().expect("an id"),
    }
}

impl Machine {
    pub(super) fn new(expression: &str, zone: &str, now: &str) -> Self {
        let mut machine = Self {
            store: StoreModel::default(),
            ticker: Ticker::new(at("2024-01-01T00:00:00Z")),
            policy: TickPolicy::default(),
            jitter: Duration::ZERO,
            now: at(now),
            since_boot: Duration::from_secs(100),
            n_activations: 0,
        };
        machine.edit(Some((expression, zone)));
        machine
    }

    pub(super) fn with(self, policy: TickPolicy) -> Self {
        Self { policy, ..self }
    }

    pub(super) fn edit(&mut self, schedule: Option<(&str, &str)>) {
        let daemons = schedule.map(|(expression, zone)| DaemonRow {
            key: key(),
            path: "a".to_owned(),
            rev: "1".to_owned(),
            commit: String::new(),
            purpose: String::new(),
            validity: Validity::Valid,
            diagnostics: String::new(),
            definition: String::new(),
            modes: Modes::default(),
            schedule: Some(ScheduleText {
                expression: expression.to_owned(),
                zone: zone.to_owned(),
            }),
            gate: Gate::Open,
            failures: 0,
            since_seq: 0,
            registered_at: self.now,
        });
        self.store.register(Registration {
            repo: key().repo,
            commit: String::new(),
            daemons: daemons.into_iter().collect(),
            now: self.now,
            since: None,
        });
        self.load();
    }

    pub(super) fn load(&mut self) -> Cursors {
        self.ticker.load(self.store.coverages(), self.now).cursors
    }

    /// Lets real time pass, then looks.
    pub(super) fn pass(&mut self, time: SignedDuration) -> Vec<TickCommit> {
        self.now += time;
        self.since_boot += time.unsigned_abs();
        self.look()
    }

    /// Sets the wall clock, then looks.
    pub(super) fn set_clock(&mut self, now: &str) -> Vec<TickCommit> {
        self.now = at(now);
        self.look()
    }

    pub(super) fn due(&mut self) -> Vec<TickCommit> {
        let overdue = match self.ticker.round(self.now, self.since_boot) {
            Round::Wait => return Vec::new(),
            Round::SteppedBack => {
                self.store.retract(self.now);
                self.load();
                return Vec::new();
            }
            Round::Due { overdue, .. } => overdue,
        };
        let known = self.store.tick_activations(&[key()]);
        let mut commits = Vec::new();
        for due in overdue {
            commits.extend(
                due.commits(&self.policy, known[0].unfinished(), self.now, || {
                    self.n_activations += 1;
                    Some(Waking {
                        rev: "1".to_owned(),
                        expression: "as written".to_owned(),
                        jitter: self.jitter,
                        activation_id: ActivationId::new(self.n_activations, [0; 10]),
                    })
                }),
            );
        }
        commits
    }

    pub(super) fn look(&mut self) -> Vec<TickCommit> {
        let commits = self.due();
        let results = self.store.commit_ticks(commits.clone());
        for (commit, result) in commits.iter().zip(&results) {
            self.ticker
                .recorded(&commit.daemon, commit.coverage, result);
        }
        commits
    }

    pub(super) fn ticks(&self) -> Vec<StoredTick> {
        let query = Query {
            limit: 500,
            ..Query::default()
        };
        let mut rows = self.store.ticks(&query).expect("lists").rows;
        rows.reverse();
        rows
    }

    /// The rows as `first..last xcount outcome`, times of day only.
    pub(super) fn rows(&self) -> Vec<String> {
        let clock = |at: Timestamp| at.strftime("%H:%M").to_string();
        let show = |tick: &StoredTick| match tick.count {
            1 => format!("{} {}", clock(tick.scheduled_at), tick.outcome),
            n => format!(
                "{}..{} x{n} {}",
                clock(tick.first),
                clock(tick.scheduled_at),
                tick.outcome
            ),
        };
        self.ticks().iter().map(show).collect()
    }

    pub(super) fn claim(&mut self) -> Option<daemon_engine::Activation> {
        self.store.claim(&ClaimRequest {
            owner: HostEpoch(1),
            now: self.now,
            lease_until: self.now + SignedDuration::from_hours(1),
            host_slots: 4,
            daemon_slots: 1,
            rates: Default::default(),
            day_usd: None,
        })
    }

    pub(super) fn n_pending(&self) -> usize {
        self.store.tick_activations(&[key()])[0].pending.len()
    }
}
