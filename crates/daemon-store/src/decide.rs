//! Decisions that every store makes alike, as functions of what it read in its transaction.

use std::collections::BTreeMap;

use daemon_cron::Schedule;
use daemon_engine::{Admission, Conduct, NewTrigger, Trigger};
use daemon_event::{ActivationId, DaemonKey, Event, Field, Source, Subject, TriggerKey};
use daemon_schedule::{Recurrence, TickOutcome, TickRow, retracted, superseded, unrecorded};
use jiff::Timestamp;

use crate::rows::{
    Coverage, DaemonRow, Identity, Registration, RegistryChange, ScheduleText, StoredTick,
    TickActivations, Validity,
};
use crate::zones::{SystemZones, Zones};

/// Why `cancel_other` ends an activation.
pub const SUPPLANTED: &str = "a later tick took its place";
/// How many ended activations a daemon's history shows.
pub const HISTORY: usize = 10;

/// Reports whether an identity that was stored at some instant still makes an event a duplicate.
pub fn still_counts(identity: &Identity, stored_at: Timestamp, received_at: Timestamp) -> bool {
    identity
        .within
        .is_none_or(|within| received_at.duration_since(stored_at) <= within)
}

/// Reports whether two events are of one source and one kind, which reports a happening once.
pub fn is_same_report(one: &Event, other: &Event) -> bool {
    one.source == other.source && one.kind == other.kind
}

/// Returns the pull request that an event describes as a whole, and the branch it comes from; `None` for one of a fork.
///
/// The branch is kept for good: comments and checks name a pull request by its number alone.
pub fn pull_request(event: &Event) -> Option<(&Subject, Option<&str>)> {
    if event.source != Source::Github || !event.kind.starts_with("pull_request") {
        return None;
    }
    let subject = event.subject.as_ref()?;
    let head = event.facts.text(Field::Head)?;
    let is_of_a_fork = event.facts.flag(Field::Fork) == Some(true);
    Some((subject, (!is_of_a_fork).then_some(head)))
}

/// Works out the rows of a repository after a registration, and what changed.
///
/// Two files that claim one id are both invalid: neither may wake in the other's name.
pub fn registered(
    stored: &[DaemonRow],
    registration: &Registration,
    newest_seq: u64,
) -> (Vec<DaemonRow>, RegistryChange) {
    let known: BTreeMap<&DaemonKey, &DaemonRow> =
        stored.iter().map(|row| (&row.key, row)).collect();
    let mut claims: BTreeMap<&DaemonKey, usize> = BTreeMap::new();
    for row in &registration.daemons {
        *claims.entry(&row.key).or_default() += 1;
    }
    let mut change = RegistryChange::default();
    let mut rows: Vec<DaemonRow> = registration
        .daemons
        .iter()
        .map(|read| {
            let mut row = read.clone();
            if claims[&read.key] > 1 {
                row.validity = Validity::Invalid;
            }
            match known.get(&read.key) {
                Some(before) => keep_standing(&mut row, before),
                None => {
                    row.gate = Conduct::NEW.gate;
                    row.failures = Conduct::NEW.failures;
                    row.since_seq = newest_seq;
                    row.registered_at = registration.now;
                }
            }
            match known.get(&read.key) {
                None => change.added.push(read.key.clone()),
                Some(before) if before.rev != read.rev => change.modified.push(read.key.clone()),
                Some(_) => {}
            }
            row
        })
        .collect();
    change.removed = known
        .keys()
        .filter(|key| !claims.contains_key(**key))
        .map(|key| (*key).clone())
        .collect();
    for keys in [&mut change.added, &mut change.modified] {
        keys.sort();
        keys.dedup();
    }
    rows.sort_by(|a, b| (&a.key, &a.path).cmp(&(&b.key, &b.path)));
    (rows, change)
}

fn keep_standing(row: &mut DaemonRow, before: &DaemonRow) {
    let conduct = Conduct {
        gate: before.gate,
        failures: before.failures,
    };
    let conduct = if before.rev == row.rev {
        conduct
    } else {
        conduct.after_edit()
    };
    row.gate = conduct.gate;
    row.failures = conduct.failures;
    row.since_seq = before.since_seq;
    row.registered_at = before.registered_at;
}

/// What a registration makes of the coverage of one daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageStep<'a> {
    /// Nothing.
    Keep,
    /// The open one ends.
    End,
    /// The open one, if any, ends and another begins.
    Start(&'a ScheduleText),
}

/// Works out what becomes of a daemon's coverage; `row` is its registered row, if it still has one.
pub fn coverage_step<'a>(open: Option<&Coverage>, row: Option<&'a DaemonRow>) -> CoverageStep<'a> {
    let schedule = row
        .filter(|row| row.validity == Validity::Valid)
        .and_then(|row| row.schedule.as_ref());
    match (open, schedule) {
        (None, None) => CoverageStep::Keep,
        (Some(_), None) => CoverageStep::End,
        (Some(open), Some(schedule)) if open.schedule == *schedule => CoverageStep::Keep,
        (_, Some(schedule)) => CoverageStep::Start(schedule),
    }
}

/// Why a registration cancels what waits.
pub fn cancel_reason(row: Option<&DaemonRow>) -> Option<&'static str> {
    match row.map(|row| row.validity) {
        None => Some("the daemon was removed"),
        Some(Validity::Invalid) => Some("the daemon file is invalid"),
        Some(Validity::Valid) => None,
    }
}

/// A stored schedule and the zones to read it with; it is read where a range of ticks is to be divided, and not before.
#[derive(Clone, Copy, Debug)]
pub struct Calendar<'a> {
    /// What is stored.
    pub schedule: &'a ScheduleText,
    /// What its zone's name means.
    pub zones: &'a dyn Zones,
}

impl<'a> Calendar<'a> {
    /// Joins a schedule and the zones of the system.
    pub const fn of_system(schedule: &'a ScheduleText) -> Self {
        Self {
            schedule,
            zones: &SystemZones,
        }
    }

    /// Reads the schedule; `None` where its expression or zone cannot be read any more.
    pub fn recurrence(&self) -> Option<Schedule> {
        let zone = self.zones.zone(&self.schedule.zone)?;
        Some(Schedule::new(self.schedule.expression.parse().ok()?, zone))
    }
}

/// Works out the row of the ticks that the end of a coverage finds unrecorded, if there are any; `cursor` is where it
/// ended.
pub fn superseded_ticks(
    calendar: Calendar<'_>,
    cursor: Timestamp,
    now: Timestamp,
) -> Option<TickRow> {
    superseded(&calendar.recurrence()?, cursor, now)
}

/// Cuts what is recorded already off a row; `recorded` are the spans of the rows that meet it, oldest first.
pub fn unrecorded_ticks(
    row: TickRow,
    calendar: Calendar<'_>,
    recorded: &[(Timestamp, Timestamp)],
) -> Vec<TickRow> {
    if recorded.is_empty() {
        return vec![row];
    }
    match calendar.recurrence() {
        Some(schedule) => unrecorded(row, &schedule, recorded.iter().copied()),
        None => Vec::new(),
    }
}

/// Works out the trigger of the rows that are left of a commit; `None` if none of them wakes a daemon.
///
/// Where the trigger's own tick is recorded already, the newest of those that were to join it stands for it. Without any,
/// what was to give way to it has nothing to give way to unless something is `unfinished`: then its newest tick is to run.
pub fn trigger_among(
    new: NewTrigger,
    rows: &mut Vec<TickRow>,
    calendar: Calendar<'_>,
    unfinished: &TickActivations,
) -> Option<NewTrigger> {
    let wakes =
        |row: &&TickRow| matches!(row.outcome, TickOutcome::Enqueued | TickOutcome::Coalesced);
    let TriggerKey::Tick(at) = new.trigger.key else {
        return Some(new);
    };
    if rows
        .iter()
        .any(|row| row.first <= at && at <= row.scheduled_at)
    {
        return Some(new);
    }
    if !rows.iter().any(|row| wakes(&row)) && unfinished.is_empty() {
        let skipped = |row: &TickRow| row.outcome == TickOutcome::SkippedOverlap;
        let place = rows.iter().rposition(skipped)?;
        let last = rows[place].scheduled_at;
        let mut parts = unrecorded_ticks(rows[place], calendar, &[(last, last)]);
        parts.push(TickRow::one(last, TickOutcome::Enqueued));
        rows.splice(place..=place, parts);
    }
    let newest = rows.iter().rfind(wakes)?.scheduled_at;
    let trigger = Trigger {
        key: TriggerKey::Tick(newest),
        occasion: None,
        ..new.trigger
    };
    Some(NewTrigger { trigger, ..new })
}

/// A tick's trigger as it was admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedTick {
    /// The instant of the trigger.
    pub at: Timestamp,
    /// What became of it.
    pub admission: Admission,
    /// Whether the activation it names was made by it.
    pub role: Role,
}

/// Whether an activation was made by a trigger or joined by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the first of its triggers.
    Made,
    /// It is a later one.
    Joined,
}

/// Works out what is recorded of ticks once their trigger was admitted, and which activation each row names.
pub fn recorded_ticks(
    rows: &[TickRow],
    calendar: Calendar<'_>,
    admitted: Option<&AdmittedTick>,
    unfinished: &TickActivations,
) -> Vec<(TickRow, Option<ActivationId>)> {
    let mut recorded = Vec::with_capacity(rows.len());
    for row in rows {
        match (row.outcome, admitted) {
            (TickOutcome::Enqueued | TickOutcome::Coalesced, Some(admitted)) => {
                let activation = admitted.admission.activation();
                let parts = admitted.parts_of(row, calendar).into_iter();
                recorded.extend(parts.map(|part| (part, activation.cloned())));
            }
            (TickOutcome::SkippedOverlap, _) => {
                let running = unfinished.running.first();
                // What the same commit made is what later ticks of it give way to.
                let made = admitted.and_then(|admitted| admitted.admission.activation());
                let activation = running.or(unfinished.pending.first()).or(made);
                recorded.push((*row, activation.cloned()));
            }
            _ => recorded.push((*row, None)),
        }
    }
    recorded
}

impl AdmittedTick {
    /// Says what became of a row that the trigger stands for: of a range, only its last tick makes an activation.
    fn parts_of(&self, row: &TickRow, calendar: Calendar<'_>) -> Vec<TickRow> {
        let outcome = self.outcome_of(row);
        if outcome != TickOutcome::Enqueued || row.count == 1 {
            return vec![TickRow { outcome, ..*row }];
        }
        let joined = TickRow {
            outcome: TickOutcome::Coalesced,
            ..*row
        };
        let own = (row.scheduled_at, row.scheduled_at);
        let mut parts = unrecorded_ticks(joined, calendar, &[own]);
        parts.push(TickRow::one(row.scheduled_at, outcome));
        parts
    }

    fn outcome_of(&self, row: &TickRow) -> TickOutcome {
        match (&self.admission, self.role) {
            // A tick continues no chain, so that none ends with it.
            (Admission::Refused(_) | Admission::Ended(..), _) => TickOutcome::Refused,
            (Admission::Enqueued(_) | Admission::Duplicate(_), Role::Made)
                if self.at == row.scheduled_at =>
            {
                TickOutcome::Enqueued
            }
            (Admission::Enqueued(_) | Admission::Duplicate(_) | Admission::Joined(_), _) => {
                TickOutcome::Coalesced
            }
        }
    }
}

/// Works out what a step of the clock back to `now` leaves of a record and what it retracts, each if there is any.
///
/// `None` where nothing of it is retracted.
pub fn retraction(
    tick: &StoredTick,
    calendar: Option<Calendar<'_>>,
    now: Timestamp,
) -> Option<(Option<TickRow>, TickRow)> {
    if tick.outcome == TickOutcome::Retracted {
        return None;
    }
    let row = TickRow {
        first: tick.first,
        scheduled_at: tick.scheduled_at,
        count: tick.count,
        outcome: tick.outcome,
    };
    let (kept, gone) = if tick.first > now || tick.scheduled_at <= now {
        retracted(row, &Never, now)
    } else {
        retracted(row, &calendar?.recurrence()?, now)
    };
    gone.map(|gone| (kept, gone))
}

/// Stands for the calendar of a row that need not be divided.
struct Never;

impl Recurrence for Never {
    fn next_after(&self, _after: Timestamp) -> Option<Timestamp> {
        None
    }
}
