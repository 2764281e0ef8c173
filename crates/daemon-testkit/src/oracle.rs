//! The oracle: the required records, computed with a calendar of its own.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use daemon_engine::{Activation, ActivationState};
use daemon_event::{DaemonKey, TriggerKey};
use daemon_schedule::{Misfire, Overlap, TickOutcome};
use daemon_store::StoredTick;
use daemon_store::decide::SUPPLANTED;
use daemon_store::memory::StoreModel;
use hashbrown::HashMap;
use jiff::{SignedDuration, Timestamp};

use crate::almanac::{Almanac, TickTimes};
use crate::setup::{Rules, Timetable};
use crate::zone::SlowZone;

/// Steps back of at most this may go unnoticed, so that records of that time are kept.
const UNNOTICED: i64 = 150;

/// Activations made within this time before the end may be unfinished.
const LAST_MOMENTS: i64 = 2 * 3600;

/// The expected records of one daemon.
#[derive(Debug)]
struct Expected {
    key: DaemonKey,
    rules: Rules,
    /// The calendars of each coverage, by its number less one; a release of the zone adds one.
    coverages: Vec<Vec<TickTimes>>,
    open: Option<Open>,
    /// The ticks that the clock passed, by its newest pass.
    passed: Vec<i64>,
    /// Ticks whose row may be kept although the clock never reached them again.
    tolerated: BTreeSet<i64>,
    /// Spans that were recorded before their zone got new rules for them.
    reread: Vec<Range<i64>>,
    /// Parts of them in which a range may have been divided by the new rules, since the clock stepped back into them.
    divided: Vec<Range<i64>>,
    n_seen: usize,
}

/// The coverage that is open.
#[derive(Debug)]
struct Open {
    table: Timetable,
    ticks: TickTimes,
    /// The index of the first tick that the clock has not reached.
    next: usize,
    /// The wall-clock time at which it was opened.
    began: i64,
}

/// A violated guarantee, described, and the instant that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) kind: ViolationKind,
    pub(crate) at: Timestamp,
    pub(crate) text: String,
}

/// The kind of a violation, by which violations are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViolationKind {
    Duplicate,
    Gap,
    Other,
}

/// Follows the clock and the registry, and checks the store.
#[derive(Debug)]
pub(crate) struct Oracle {
    daemons: Vec<Expected>,
    almanac: Almanac,
    /// Events that were accepted, by the daemon they concern, and when.
    events: Vec<(usize, TriggerKey, Timestamp)>,
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
            reread: Vec::new(),
            divided: Vec::new(),
            n_seen: 0,
        });
        Self {
            daemons: daemons.collect(),
            almanac: Almanac::default(),
            events: Vec::new(),
            wall,
            violations: Vec::new(),
        }
    }

    /// Records the time of the wall clock.
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

    /// Records a registered schedule, or its removal.
    pub(crate) fn registered(&mut self, daemon: usize, table: Option<Timetable>) {
        let ticks = table.map(|table| (table, self.almanac.ticks(table)));
        let daemon = &mut self.daemons[daemon];
        daemon.open = ticks.map(|(table, ticks)| {
            daemon.coverages.push(vec![Arc::clone(&ticks)]);
            let next = ticks.partition_point(|tick| *tick <= self.wall);
            let began = self.wall;
            Open {
                table,
                ticks,
                next,
                began,
            }
        });
    }

    /// Returns the rules of a zone after the releases so far.
    pub(crate) fn rules_of(&self, zone: usize) -> SlowZone {
        self.almanac.zone(zone)
    }

    /// Records new rules of a zone, which differ from an instant on. Ticks after a cursor follow them, even if they were
    /// due before; ticks before a cursor stay.
    pub(crate) fn released(&mut self, zone: usize, rules: SlowZone, from: i64, store: &StoreModel) {
        self.almanac.release(zone, rules, from);
        let cursors = store.coverages();
        for daemon in &mut self.daemons {
            let cursor = cursors.iter().find(|open| open.daemon == daemon.key);
            if let Some(open) = daemon.open.as_ref().filter(|open| open.table.zone == zone)
                && let Some(cursor) = cursor
            {
                let ticks = self.almanac.ticks(open.table);
                daemon.read_by(ticks, from, cursor.cursor.as_second().min(self.wall));
            }
        }
    }

    /// Records an accepted event.
    pub(crate) fn told(&mut self, daemon: usize, key: TriggerKey, now: Timestamp) {
        self.events.push((daemon, key, now));
    }

    /// Requires a row for every tick that the clock has reached, when a host reports that it has recorded all.
    pub(crate) fn demand_rows(&mut self, store: &StoreModel) {
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
                self.violations.push(ViolationKind::Gap.at(last, text));
            }
        }
    }

    /// Checks all rows after the quiet days.
    pub(crate) fn judge(&mut self, store: &StoreModel) {
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
        store: &StoreModel,
        acc: &mut Vec<Violation>,
    ) {
        let mut keys = HashMap::with_capacity(activations.len());
        for activation in activations {
            for trigger in &activation.triggers {
                let name = (&activation.daemon, &trigger.key);
                if let Some(other) = keys.insert(name, &activation.id) {
                    let key = &trigger.key;
                    let text = format!("G2: {other} and {} both have {key}", activation.id);
                    acc.push(ViolationKind::Duplicate.at(activation.created_at, text));
                }
            }
            if activation.created_at.as_second() < self.wall - LAST_MOMENTS {
                judge_end(activation, acc);
            }
            if let TriggerKey::Tick(tick) = activation.triggers[0].key {
                let row = store.standing_tick(&activation.daemon, tick);
                if row.is_none_or(|row| row.activation.as_ref() != Some(&activation.id)) {
                    let text = format!("G3: no row tells of {} at {tick}", activation.id);
                    acc.push(ViolationKind::Other.at(tick, text));
                }
            }
        }
        for (daemon, key, told_at) in &self.events {
            if !keys.contains_key(&(&self.daemons[*daemon].key, key)) {
                let text = format!("G6: {key} woke nobody");
                acc.push(ViolationKind::Other.at(*told_at, text));
            }
        }
    }
}

impl ViolationKind {
    const fn at(self, at: Timestamp, text: String) -> Violation {
        Violation {
            kind: self,
            at,
            text,
        }
    }
}

/// Requires that an activation ended, with a valid reason if it was cancelled.
fn judge_end(activation: &Activation, acc: &mut Vec<Violation>) {
    let (id, state) = (&activation.id, activation.state);
    if !state.is_final() {
        let text = format!("G4: {id} is {state} in the end");
        acc.push(ViolationKind::Other.at(activation.created_at, text));
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
        acc.push(ViolationKind::Other.at(activation.created_at, text));
    }
}

impl Expected {
    fn pass(&mut self, wall: i64) {
        let Some(open) = &mut self.open else {
            return;
        };
        while let Some(tick) = open.ticks.get(open.next).filter(|tick| **tick <= wall) {
            // The clock had passed it before the coverage began, and then stepped back by too little to be noticed.
            if (open.began - UNNOTICED..=open.began).contains(tick) {
                self.tolerated.insert(*tick);
            } else {
                self.passed.push(*tick);
            }
            open.next += 1;
        }
    }

    /// Continues after the recorded ticks with another calendar, which differs from an instant on.
    fn read_by(&mut self, ticks: TickTimes, from: i64, cursor: i64) {
        if from <= cursor {
            self.reread.push(from..cursor);
        }
        while self.passed.pop_if(|last| *last > cursor).is_some() {}
        self.n_seen = self.n_seen.min(self.passed.len());
        if let Some(calendars) = self.coverages.last_mut() {
            calendars.push(Arc::clone(&ticks));
        }
        if let Some(open) = &mut self.open {
            open.next = ticks.partition_point(|tick| *tick <= cursor);
            open.ticks = ticks;
        }
    }

    fn step_back(&mut self, wall: i64) {
        while let Some(last) = self.passed.pop_if(|last| *last > wall) {
            if last <= wall + UNNOTICED {
                self.tolerated.insert(last);
            }
        }
        self.n_seen = self.n_seen.min(self.passed.len());
        let into = self.reread.iter().filter(|span| span.contains(&wall));
        self.divided.extend(into.map(|span| span.start..wall + 1));
        if let Some(open) = &mut self.open {
            let later = open.ticks.partition_point(|tick| *tick <= wall);
            open.next = open.next.min(later);
        }
    }

    /// Compares the rows that are not retracted with the ticks that the clock passed.
    fn judge_rows(&self, rows: &[&StoredTick], acc: &mut Vec<Violation>) {
        let mut recorded: Vec<(i64, TickOutcome)> = Vec::new();
        for row in rows {
            match self.ticks_of_row(row) {
                Ok(ticks) => recorded.extend(ticks.iter().map(|tick| (*tick, row.outcome))),
                Err(text) => acc.push(ViolationKind::Other.at(row.scheduled_at, text)),
            }
        }
        for pair in recorded.windows(2) {
            if pair[0].0 >= pair[1].0 {
                let text = format!("G3: {} has two rows for {}", self.key, at(pair[1].0));
                acc.push(ViolationKind::Duplicate.at(at(pair[1].0), text));
            }
        }
        let mut known = recorded.iter().peekable();
        for tick in &self.passed {
            while let Some(extra) = known.next_if(|row| row.0 < *tick) {
                self.judge_extra(*extra, acc);
            }
            if known.next_if(|row| row.0 == *tick).is_none() && !self.is_divided(*tick) {
                let text = format!("G1: {} has no row for {}", self.key, at(*tick));
                acc.push(ViolationKind::Gap.at(at(*tick), text));
            }
        }
        known.for_each(|extra| self.judge_extra(*extra, acc));
    }

    /// A row of an instant that the clock did not pass is right only if it made an activation before the clock stepped back.
    fn judge_extra(&self, (tick, outcome): (i64, TickOutcome), acc: &mut Vec<Violation>) {
        let is_known = self.tolerated.contains(&tick) || self.is_divided(tick);
        if outcome != TickOutcome::Enqueued && !is_known {
            let text = format!("G3: {} has a row {outcome} for {}", self.key, at(tick));
            acc.push(ViolationKind::Other.at(at(tick), text));
        }
    }

    fn is_divided(&self, tick: i64) -> bool {
        self.divided.iter().any(|span| span.contains(&tick))
    }

    /// Lists the instants of a row, by a calendar of its coverage.
    fn ticks_of_row(&self, row: &StoredTick) -> Result<&[i64], String> {
        let number = row.coverage.and_then(|number| usize::try_from(number).ok());
        let calendars = number.and_then(|number| self.coverages.get(number.checked_sub(1)?));
        let Some(calendars) = calendars else {
            return Err(format!("P7: {} has a row of no coverage", self.key));
        };
        let mut told = Err(String::new());
        for ticks in calendars.iter().rev() {
            told = self.ticks_in(ticks, row);
            if told.is_ok() {
                break;
            }
        }
        told
    }

    fn ticks_in<'a>(&self, ticks: &'a [i64], row: &StoredTick) -> Result<&'a [i64], String> {
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
            acc.push(ViolationKind::Other.at(row.scheduled_at, format!("{text}: {row:?}")));
        }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("the years are in range")
}
