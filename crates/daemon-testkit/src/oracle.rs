//! What must be recorded, worked out with another calendar.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use daemon_engine::{Activation, ActivationState};
use daemon_event::{DaemonKey, TriggerKey};
use daemon_schedule::{Misfire, Overlap, TickOutcome};
use daemon_store::StoredTick;
use daemon_store::decide::SUPPLANTED;
use daemon_store::memory::Model;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::calendar::SlowCron;
use crate::setup::{Rules, TEXTS, Timetable, ZONES};
use crate::zone::{SlowZone, new_year};

/// The years that any clock of a simulation shows.
const YEARS: (i16, i16) = (2022, 2030);
/// Steps back of no more than this may go unnoticed, so that what is recorded then stands.
const UNNOTICED: i64 = 150;

/// What was made within this time before the end may still be going on.
const LAST_MOMENTS: i64 = 2 * 3600;

/// Seconds since 1970 of every tick, oldest first.
type Ticks = Arc<Vec<i64>>;

/// Returns all ticks of a timetable; they are worked out once.
fn ticks_of(table: Timetable) -> Ticks {
    static KNOWN: OnceLock<Mutex<HashMap<Timetable, Ticks>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    if let Some(ticks) = known.lock().expect("no holder panics").get(&table) {
        return Arc::clone(ticks);
    }
    let zone = TimeZone::get(ZONES[table.zone]).expect("the zone is known");
    let zone = SlowZone::new(&zone, YEARS.0, YEARS.1);
    let cron = SlowCron::parse(TEXTS[table.text]).expect("the expression is right");
    let ticks = Arc::new(cron.ticks(&zone, new_year(YEARS.0), new_year(YEARS.1 + 1)));
    let mut known = known.lock().expect("no holder panics");
    Arc::clone(known.entry(table).or_insert(ticks))
}

/// What is expected of one daemon.
#[derive(Debug)]
struct Expected {
    key: DaemonKey,
    rules: Rules,
    /// The ticks of each coverage, by its number less one.
    coverages: Vec<Ticks>,
    /// The ticks of the open coverage, and the place of the first that the clock has not come to.
    open: Option<(Ticks, usize)>,
    /// The ticks that the clock passed, as it passed them last.
    passed: Vec<i64>,
    /// Ticks whose row may stand though the clock never came to them again.
    tolerated: BTreeSet<i64>,
    n_seen: usize,
}

/// A broken promise, and in which tally it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    Duplicate(String),
    Gap(String),
    Other(String),
}

/// Follows the clock and the registry, and judges the store.
#[derive(Debug)]
pub(crate) struct Oracle {
    daemons: Vec<Expected>,
    /// Events that were accepted, by the daemon they concern.
    events: Vec<(usize, TriggerKey)>,
    wall: i64,
    pub(crate) violations: Vec<Violation>,
}

impl Oracle {
    pub(crate) fn new(daemons: Vec<(DaemonKey, Rules)>, wall: i64) -> Self {
        let daemons = daemons.into_iter().map(|(key, rules)| Expected {
            key,
            rules,
            coverages: Vec::new(),
            open: None,
            passed: Vec::new(),
            tolerated: BTreeSet::new(),
            n_seen: 0,
        });
        Self {
            daemons: daemons.collect(),
            events: Vec::new(),
            wall,
            violations: Vec::new(),
        }
    }

    /// Notes what the wall clock shows.
    pub(crate) fn pass(&mut self, wall: i64) {
        let is_back = wall < self.wall;
        self.wall = wall;
        for daemon in &mut self.daemons {
            if is_back {
                daemon.step_back(wall);
            } else {
                daemon.pass(wall);
            }
        }
    }

    /// Notes a schedule that was registered, or that there is none.
    pub(crate) fn registered(&mut self, daemon: usize, table: Option<Timetable>) {
        let daemon = &mut self.daemons[daemon];
        daemon.open = table.map(|table| {
            let ticks = ticks_of(table);
            daemon.coverages.push(Arc::clone(&ticks));
            let next = ticks.partition_point(|tick| *tick <= self.wall);
            (ticks, next)
        });
    }

    /// Notes an event that was accepted.
    pub(crate) fn told(&mut self, daemon: usize, key: TriggerKey) {
        self.events.push((daemon, key));
    }

    /// Demands a row of every tick that the clock has come to, at a moment when a host says that it is done.
    pub(crate) fn demand_rows(&mut self, store: &Model) {
        for daemon in &mut self.daemons {
            if daemon.passed.len() == daemon.n_seen {
                continue;
            }
            daemon.n_seen = daemon.passed.len();
            let Some(last) = daemon.passed.last() else {
                continue;
            };
            if store.standing_tick(&daemon.key, at(*last)).is_none() {
                let (key, last, wall) = (&daemon.key, at(*last), at(self.wall));
                let text = format!("G1: {key} has no row for {last} at {wall}");
                self.violations.push(Violation::Gap(text));
            }
        }
    }

    /// Judges everything that is stored, once all is quiet.
    pub(crate) fn judge(&mut self, store: &Model) {
        let activations: Vec<&Activation> = store.all_activations().collect();
        let ids: HashMap<&str, &Activation> = activations
            .iter()
            .map(|activation| (activation.id.as_str(), *activation))
            .collect();
        let mut acc = Vec::new();
        let mut rows: HashMap<&DaemonKey, Vec<&StoredTick>> = HashMap::new();
        for row in store.all_ticks() {
            if row.outcome != TickOutcome::Retracted {
                rows.entry(&row.daemon).or_default().push(row);
            }
        }
        for daemon in &self.daemons {
            let mut rows = rows.remove(&daemon.key).unwrap_or_default();
            rows.sort_by_key(|row| row.scheduled_at);
            daemon.judge_rows(&rows, &mut acc);
            for row in rows {
                daemon.judge_outcome(row, &ids, &mut acc);
            }
        }
        self.judge_activations(&activations, store, &mut acc);
        self.violations.append(&mut acc);
    }

    fn judge_activations(
        &self,
        activations: &[&Activation],
        store: &Model,
        acc: &mut Vec<Violation>,
    ) {
        let mut keys = HashMap::new();
        for activation in activations {
            for trigger in &activation.triggers {
                let name = (&activation.daemon, &trigger.key);
                if let Some(other) = keys.insert(name, &activation.id) {
                    let key = &trigger.key;
                    let text = format!("G2: {other} and {} both have {key}", activation.id);
                    acc.push(Violation::Duplicate(text));
                }
            }
            if activation.created_at.as_second() < self.wall - LAST_MOMENTS {
                judge_end(activation, acc);
            }
            if let TriggerKey::Tick(tick) = activation.triggers[0].key {
                let row = store.standing_tick(&activation.daemon, tick);
                if row.is_none_or(|row| row.activation.as_ref() != Some(&activation.id)) {
                    let text = format!("G3: no row tells of {} at {tick}", activation.id);
                    acc.push(Violation::Other(text));
                }
            }
        }
        for (daemon, key) in &self.events {
            if !keys.contains_key(&(&self.daemons[*daemon].key, key)) {
                let text = format!("G6: {key} woke nobody");
                acc.push(Violation::Other(text));
            }
        }
    }
}

/// Demands that an activation came to an end, and a good reason if it was cancelled.
fn judge_end(activation: &Activation, acc: &mut Vec<Violation>) {
    let (id, state) = (&activation.id, activation.state);
    if !state.is_final() {
        let text = format!("G4: {id} is {state} in the end");
        acc.push(Violation::Other(text));
    }
    if state != ActivationState::Cancelled {
        return;
    }
    let reason = activation.reason.as_deref().unwrap_or_default();
    let is_tick = matches!(activation.triggers[0].key, TriggerKey::Tick(_));
    let is_good = match reason {
        "the daemon was removed" => true,
        "expired" => activation.finished_at.is_some_and(|end| {
            end.duration_since(activation.not_before) >= SignedDuration::from_hours(24)
        }),
        SUPPLANTED => is_tick,
        _ => false,
    };
    if !is_good {
        let text = format!("G4: {id} was cancelled: {reason}");
        acc.push(Violation::Other(text));
    }
}

impl Expected {
    fn pass(&mut self, wall: i64) {
        let Some((ticks, next)) = &mut self.open else {
            return;
        };
        while let Some(tick) = ticks.get(*next).filter(|tick| **tick <= wall) {
            self.passed.push(*tick);
            *next += 1;
        }
    }

    fn step_back(&mut self, wall: i64) {
        while let Some(last) = self.passed.pop_if(|last| *last > wall) {
            if last <= wall + UNNOTICED {
                self.tolerated.insert(last);
            }
        }
        self.n_seen = self.n_seen.min(self.passed.len());
        if let Some((ticks, next)) = &mut self.open {
            *next = (*next).min(ticks.partition_point(|tick| *tick <= wall));
        }
    }

    /// Compares the standing rows with the ticks that the clock passed.
    fn judge_rows(&self, rows: &[&StoredTick], acc: &mut Vec<Violation>) {
        let mut recorded: Vec<(i64, TickOutcome)> = Vec::new();
        for row in rows {
            match self.ticks_of_row(row) {
                Ok(ticks) => recorded.extend(ticks.iter().map(|tick| (*tick, row.outcome))),
                Err(text) => acc.push(Violation::Other(text)),
            }
        }
        for pair in recorded.windows(2) {
            if pair[0].0 >= pair[1].0 {
                let text = format!("G3: {} has two rows for {}", self.key, at(pair[1].0));
                acc.push(Violation::Duplicate(text));
            }
        }
        let mut known = recorded.iter().peekable();
        for tick in &self.passed {
            while let Some(extra) = known.next_if(|row| row.0 < *tick) {
                self.judge_extra(*extra, acc);
            }
            if known.next_if(|row| row.0 == *tick).is_none() {
                let text = format!("G1: {} has no row for {}", self.key, at(*tick));
                acc.push(Violation::Gap(text));
            }
        }
        known.for_each(|extra| self.judge_extra(*extra, acc));
    }

    /// A row of an instant that the clock did not pass stands only if it made an activation before the clock went back.
    fn judge_extra(&self, (tick, outcome): (i64, TickOutcome), acc: &mut Vec<Violation>) {
        if outcome != TickOutcome::Enqueued && !self.tolerated.contains(&tick) {
            let text = format!("G3: {} has a row {outcome} for {}", self.key, at(tick));
            acc.push(Violation::Other(text));
        }
    }

    /// Lists the instants that a row stands for, by the calendar of its coverage.
    fn ticks_of_row(&self, row: &StoredTick) -> Result<&[i64], String> {
        let number = row.coverage.and_then(|number| usize::try_from(number).ok());
        let ticks = number.and_then(|number| self.coverages.get(number.checked_sub(1)?));
        let Some(ticks) = ticks else {
            return Err(format!("P7: {} has a row of no coverage", self.key));
        };
        let (first, last) = (row.first.as_second(), row.scheduled_at.as_second());
        let from = ticks.partition_point(|tick| *tick < first);
        let until = ticks.partition_point(|tick| *tick <= last);
        let held = ticks.get(from..until).unwrap_or_default();
        let is_right = held.first() == Some(&first)
            && held.last() == Some(&last)
            && u64::try_from(held.len()) == Ok(row.count);
        if is_right {
            return Ok(held);
        }
        let (key, first, last) = (&self.key, row.first, row.scheduled_at);
        Err(format!(
            "P5: {key} has {} ticks from {first} to {last}, recorded as {}",
            held.len(),
            row.count
        ))
    }

    fn judge_outcome(
        &self,
        row: &StoredTick,
        ids: &HashMap<&str, &Activation>,
        acc: &mut Vec<Violation>,
    ) {
        let policy = &self.rules.policy;
        let late = row.recorded_at.duration_since(row.scheduled_at);
        let window = match policy.misfire {
            Misfire::Skip => SignedDuration::from_secs(60),
            Misfire::Coalesce | Misfire::CatchUp => {
                SignedDuration::try_from(policy.window).unwrap_or(SignedDuration::MAX)
            }
        };
        let named = row.activation.as_ref().map(|id| ids.get(id.as_str()));
        let is_right = match row.outcome {
            TickOutcome::Enqueued => {
                let key = TriggerKey::Tick(row.scheduled_at);
                late <= window
                    && row.count == 1
                    && named
                        .flatten()
                        .is_some_and(|one| one.triggers[0].key == key)
            }
            TickOutcome::Coalesced => late <= window && named.flatten().is_some(),
            TickOutcome::MissedWindow => late > window || policy.misfire == Misfire::CatchUp,
            TickOutcome::SkippedOverlap => {
                policy.overlap == Overlap::Skip && named.flatten().is_some()
            }
            TickOutcome::Refused => policy.overlap == Overlap::BufferAll,
            TickOutcome::Superseded | TickOutcome::Retracted => true,
            TickOutcome::SkippedQuiet => false,
        };
        if !is_right {
            let text = format!(
                "G3: {} may not say {} under {policy:?}",
                self.key, row.outcome
            );
            acc.push(Violation::Other(format!("{text}: {row:?}")));
        }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("the years are in range")
}
