//! The tick loop without its clock and its store: which ticks are due, their outcomes, and the commits that record them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use daemon_cron::{CronExpr, Schedule, Zone};
use daemon_engine::{Joining, NewTrigger, Occasion, Trigger};
use daemon_event::{ActivationId, DaemonKey, Subject, TriggerKey};
use daemon_schedule::{
    Cancels, ClockDirection, ClockStep, ClockWatch, MAX_DRIFT, MissedTicks, Scheduler, TickOutcome,
    TickPlan, TickPolicy, TickRow, Unfinished,
};
use jiff::{SignedDuration, Timestamp};

use crate::rows::{Coverage, TickCommit, TickResult};
use crate::zones::{SystemZones, Zones};

/// The subject of all ticks of a daemon. It differs from that of every event, so that ticks and events never join each other.
pub const TICK_SUBJECT: &str = "schedule";

/// Turns the passing of time into commits, for the open coverages of a store.
///
/// The caller owns both clocks and the store. It calls [`round`](Self::round) about once a second, commits what
/// [`Overdue::commits`] says, and hands every answer to [`recorded`](Self::recorded). After an error, and whenever
/// coverages may have changed, it loads them again: a ticker contains nothing that is not stored.
#[derive(Debug)]
pub struct Ticker {
    scheduler: Scheduler<TickKey>,
    clock: ClockWatch,
    built_at: Timestamp,
    zones: Arc<dyn Zones>,
    #[cfg(feature = "internal-testing")]
    canary: Option<crate::Canary>,
}

/// A daemon and the number of its coverage.
type TickKey = (DaemonKey, u64);

/// The result of loading coverages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Whether the stored cursors fit the clock.
    pub cursors: Cursors,
    /// The coverages whose expression or zone cannot be read; they do not tick.
    pub unreadable: Vec<Coverage>,
}

/// Whether cursors fit the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursors {
    /// No cursor is later than now.
    Passed,
    /// The clock stepped back while no host ran: the caller retracts in the store and loads again.
    Ahead,
}

/// The result of a round.
#[derive(Clone, Debug)]
pub enum Round {
    /// The clock is earlier than the build of this program: it must be wrong, so nothing is due.
    Wait,
    /// The clock stepped back: the store retracts what is later than now, and is read again.
    SteppedBack,
    /// These are due; a step forward is downtime.
    Due {
        /// Daemons with ticks to record.
        overdue: Vec<Overdue>,
        /// By how much the clock stepped forward.
        skipped: Option<SignedDuration>,
    },
}

/// A daemon with ticks to record.
#[derive(Clone, Debug)]
pub struct Overdue {
    /// The daemon whose ticks are due.
    pub daemon: DaemonKey,
    /// The number of the coverage that the ticks belong to.
    pub coverage: u64,
    schedule: Schedule,
    from: Timestamp,
    after: Timestamp,
    to: Timestamp,
    #[cfg(feature = "internal-testing")]
    is_jittered: bool,
}

/// The values that an activation of a tick needs in addition to the tick.
#[derive(Clone, Debug)]
pub struct Waking {
    /// The revision that is registered.
    pub rev: String,
    /// The five-field expression, as the daemon file spells it.
    pub expression: String,
    /// How long it is put off.
    pub jitter: Duration,
    /// Its id, if it is made.
    pub activation_id: ActivationId,
}

/// Whether a ticker's coverages are those of the store after a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickerState {
    /// The ticker is up to date.
    Current,
    /// The coverage was ended by a registration: the caller loads the coverages again.
    Stale,
}

impl Ticker {
    /// Makes a ticker without coverages over the zones of the system; before `built_at`, no clock is believed.
    pub fn new(built_at: Timestamp) -> Self {
        Self::with_zones(built_at, Arc::new(SystemZones))
    }

    /// Makes a ticker that reads zones from the given database whenever it loads.
    pub fn with_zones(built_at: Timestamp, zones: Arc<dyn Zones>) -> Self {
        Self {
            scheduler: Scheduler::new(),
            clock: ClockWatch::default(),
            built_at,
            zones,
            #[cfg(feature = "internal-testing")]
            canary: None,
        }
    }

    /// Plants a fault.
    #[cfg(feature = "internal-testing")]
    pub fn plant(&mut self, canary: crate::Canary) {
        self.canary = Some(canary);
    }

    /// Makes the ticker hold exactly the given coverages.
    pub fn load(&mut self, coverages: Vec<Coverage>, now: Timestamp) -> Loaded {
        self.scheduler = Scheduler::new();
        let mut loaded = Loaded {
            cursors: Cursors::Passed,
            unreadable: Vec::new(),
        };
        let mut zones: BTreeMap<String, Option<Zone>> = BTreeMap::new();
        for coverage in coverages {
            // A cursor slightly ahead is drift between the clocks of two hosts; more than that is a step back while no host
            // ran.
            if coverage.cursor.duration_since(now) > MAX_DRIFT {
                loaded.cursors = Cursors::Ahead;
            }
            let text = &coverage.schedule;
            let zone = zones
                .entry(text.zone.clone())
                // Thousands of coverages share a few zones, and each zone is tabulated when it is made.
                .or_insert_with(|| self.zones.zone(&text.zone));
            match (text.expression.parse::<CronExpr>(), zone) {
                (Ok(expr), Some(zone)) => {
                    let key = (coverage.daemon, coverage.number);
                    self.scheduler.insert(key, expr, zone, coverage.cursor);
                }
                _ => loaded.unreadable.push(coverage),
            }
        }
        loaded
    }

    /// Looks at the wall clock and at the time since boot, and says what is due.
    pub fn round(&mut self, now: Timestamp, since_boot: Duration) -> Round {
        if now < self.built_at {
            return Round::Wait;
        }
        let skipped = match self.clock.observe(now, since_boot) {
            Some(ClockStep::Backward(_)) => {
                self.scheduler.step_back(now);
                return Round::SteppedBack;
            }
            Some(ClockStep::Forward(by)) => Some(by),
            None => None,
        };
        let mut overdue = Vec::new();
        let passage = self.scheduler.advance(now, |due| {
            overdue.push(Overdue {
                daemon: due.key.0.clone(),
                coverage: due.key.1,
                schedule: due.schedule.clone(),
                from: due.from,
                after: due.after,
                to: due.to,
                #[cfg(feature = "internal-testing")]
                is_jittered: false,
            });
        });
        #[cfg(feature = "internal-testing")]
        self.spoil(&mut overdue, now);
        match passage {
            ClockDirection::Forward => Round::Due { overdue, skipped },
            ClockDirection::SteppedBack => Round::SteppedBack,
        }
    }

    #[cfg(feature = "internal-testing")]
    fn spoil(&self, overdue: &mut Vec<Overdue>, now: Timestamp) {
        match self.canary {
            Some(crate::Canary::CursorKept) => overdue.retain(|due| due.from <= now),
            Some(crate::Canary::JitterInScheduledAt) => {
                overdue.iter_mut().for_each(|due| due.is_jittered = true);
            }
            _ => {}
        }
    }

    /// Returns when to look again at the latest; `None` without coverages.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.scheduler.deadline()
    }

    /// Takes the store's answer to a commit of a coverage.
    pub fn recorded(
        &mut self,
        daemon: &DaemonKey,
        coverage: u64,
        result: &TickResult,
    ) -> TickerState {
        let key = || (daemon.clone(), coverage);
        match result {
            TickResult::Recorded(_) => TickerState::Current,
            // Another host committed first and may have ended since, so this one continues from the stored cursor.
            TickResult::Elsewhere {
                cursor: Some(cursor),
            } => {
                self.scheduler.set_cursor(&key(), *cursor);
                TickerState::Current
            }
            TickResult::Elsewhere { cursor: None } => {
                self.scheduler.remove(&key());
                TickerState::Stale
            }
        }
    }
}

impl Overdue {
    /// Decides the outcomes of the ticks, as commits of which each makes at most one activation and begins where the
    /// one before ends. `waking` contains the values for an activation; without it, as for a removed daemon, none is made.
    pub fn commits(
        &self,
        policy: &TickPolicy,
        unfinished: Unfinished,
        now: Timestamp,
        mut waking: impl FnMut() -> Option<Waking>,
    ) -> Vec<TickCommit> {
        let plan = policy.plan(&self.schedule, self.after, now, unfinished);
        let mut missed = plan.missed(&self.schedule);
        let last = last_enqueued(&plan);
        let (mut commits, mut rows, mut from) = (Vec::new(), Vec::new(), self.from);
        for (place, row) in plan.rows.iter().enumerate() {
            rows.push(*row);
            if row.outcome != TickOutcome::Enqueued {
                continue;
            }
            let is_last = last == Some(place);
            let missed = missed.take_if(|_| is_last);
            let waking = waking();
            #[cfg(feature = "internal-testing")]
            let row = &self.jittered(*row, waking.as_ref(), &mut rows);
            let trigger = waking.map(|waking| self.trigger(waking, row.scheduled_at, missed, now));
            // Each commit moves the cursor only to its own tick, so that a crash between two commits loses no tick.
            let to = if is_last { self.to } else { row.scheduled_at };
            commits.push(self.commit(from, to, std::mem::take(&mut rows), now));
            if let Some(commit) = commits.last_mut() {
                commit.trigger = trigger;
            }
            from = to;
        }
        // Rows behind the last enqueued one belong to its commit, whose cursor is already at the end.
        match commits.last_mut() {
            Some(last) => last.rows.append(&mut rows),
            None => {
                let mut only = self.commit(from, self.to, rows, now);
                let joins = plan.triggers.last().copied();
                only.trigger = joins.zip(waking()).map(|(at, waking)| NewTrigger {
                    joining: Joining::Coalesce,
                    ..self.trigger(waking, at, missed, now)
                });
                commits.push(only);
            }
        }
        if let Some(first) = commits.first_mut() {
            // Only the first, or a later commit would cancel the activation that an earlier one made.
            first.cancels = plan.cancels_running;
        }
        commits
    }

    /// Shifts an enqueued row by its jitter, as the fault has it.
    #[cfg(feature = "internal-testing")]
    fn jittered(&self, row: TickRow, waking: Option<&Waking>, rows: &mut [TickRow]) -> TickRow {
        let jitter = waking.map_or(Duration::ZERO, |waking| waking.jitter);
        let (true, Some(last)) = (self.is_jittered, rows.last_mut()) else {
            return row;
        };
        *last = TickRow::one(row.scheduled_at + jitter, row.outcome);
        *last
    }

    fn commit(
        &self,
        from: Timestamp,
        to: Timestamp,
        rows: Vec<TickRow>,
        now: Timestamp,
    ) -> TickCommit {
        TickCommit {
            daemon: self.daemon.clone(),
            coverage: self.coverage,
            from,
            to,
            rows,
            trigger: None,
            cancels: Cancels::Nothing,
            now,
        }
    }

    fn trigger(
        &self,
        waking: Waking,
        at: Timestamp,
        missed: Option<MissedTicks>,
        now: Timestamp,
    ) -> NewTrigger {
        NewTrigger {
            daemon: self.daemon.clone(),
            rev: waking.rev,
            subject: Some(tick_subject()),
            trigger: Trigger {
                key: TriggerKey::Tick(at),
                conditions: Vec::new(),
                by: None,
                occasion: Some(Arc::new(occasion(
                    waking.expression,
                    self.schedule.zone(),
                    at,
                    missed,
                ))),
                recorded_at: now,
            },
            activation_id: waking.activation_id,
            // Jitter delays the start only. `scheduled_at` identifies the tick, and two hosts must compute the same.
            not_before: now + waking.jitter,
            joining: Joining::Separate,
            link: None,
        }
    }
}

/// Returns the details of a tick.
pub fn occasion(
    expression: String,
    zone: &Zone,
    at: Timestamp,
    missed: Option<MissedTicks>,
) -> Occasion {
    let local = at.to_zoned(zone.time_zone().clone());
    Occasion {
        expression,
        zone: zone.name().to_owned(),
        local: local.strftime("%Y-%m-%d %H:%M %:z").to_string(),
        missed,
    }
}

/// Returns the subject of every tick's activation.
pub fn tick_subject() -> Subject {
    static SUBJECT: LazyLock<Subject> =
        LazyLock::new(|| TICK_SUBJECT.parse().expect("it is a subject"));
    SUBJECT.clone()
}

fn last_enqueued(plan: &TickPlan) -> Option<usize> {
    plan.rows
        .iter()
        .rposition(|row| row.outcome == TickOutcome::Enqueued)
}
