//! Decisions that are the same in every store, as functions of the rows that a store read in its transaction.

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

/// The reason of an activation that the policy `cancel_other` cancels.
pub const SUPPLANTED: &str = "a later tick took its place";
/// The number of ended activations in a daemon's history.
pub const HISTORY: usize = 10;
/// How long the state of a daemon is kept after its file was removed.
pub const STATE_KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(30 * 24);

/// Reports whether an identity that was stored at some instant still makes an event a duplicate.
pub fn still_counts(identity: &Identity, stored_at: Timestamp, received_at: Timestamp) -> bool {
    identity
        .within
        // After a step of the clock back the difference is negative, which counts as within: the event is not new.
        .is_none_or(|within| received_at.duration_since(stored_at) <= within)
}

/// Reports whether two events have one source and one kind; such a pair reports one change only once.
pub fn is_same_report(one: &Event, other: &Event) -> bool {
    one.source == other.source && one.kind == other.kind
}

/// Returns the pull request that an event describes as a whole, and the branch it comes from; `None` for one of a fork.
///
/// Stores keep the branch after payloads are forgotten: comments and checks name a pull request only by its number.
pub fn pull_request(event: &Event) -> Option<(&Subject, Option<&str>)> {
    if event.source != Source::Github || !event.kind.starts_with("pull_request") {
        return None;
    }
    let subject = event.subject.as_ref()?;
    let head = event.facts.text(Field::Head)?;
    let is_of_a_fork = event.facts.flag(Field::Fork) == Some(true);
    Some((subject, (!is_of_a_fork).then_some(head)))
}

/// Returns the rows of a repository after a registration, and the changes.
///
/// Two files with one id are both invalid, since either could be the wrong one.
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
                    // The event that added the daemon is stored already, and must not wake it.
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
        // Two files with one id give the key twice.
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

/// The effect of a registration on the coverage of one daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageStep<'a> {
    /// The open coverage, or none, stays.
    Keep,
    /// The open coverage ends.
    End,
    /// The open coverage, if any, ends and another begins.
    Start(&'a ScheduleText),
}

/// Returns the effect on a daemon's coverage; `row` is its registered row, if it still has one.
pub fn coverage_step<'a>(open: Option<&Coverage>, row: Option<&'a DaemonRow>) -> CoverageStep<'a> {
    let schedule = row
        // The schedule of an invalid file may be well formed, but nothing of the file counts.
        .filter(|row| row.validity == Validity::Valid)
        .and_then(|row| row.schedule.as_ref());
    match (open, schedule) {
        (None, None) => CoverageStep::Keep,
        (Some(_), None) => CoverageStep::End,
        (Some(open), Some(schedule)) if open.schedule == *schedule => CoverageStep::Keep,
        (_, Some(schedule)) => CoverageStep::Start(schedule),
    }
}

/// Returns the reason for which a registration cancels a daemon's pending activations; `None` if it does not.
pub fn cancel_reason(row: Option<&DaemonRow>) -> Option<&'static str> {
    match row.map(|row| row.validity) {
        None => Some("the daemon was removed"),
        Some(Validity::Invalid) => Some("the daemon file is invalid"),
        Some(Validity::Valid) => None,
    }
}

/// A stored schedule and the zones to read it with.
// It is parsed only if a range of ticks must be divided, which is rare.
#[derive(Clone, Copy, Debug)]
pub struct Calendar<'a> {
    /// The stored expression and zone.
    pub schedule: &'a ScheduleText,
    /// The zone database, which resolves the zone names of schedules.
    pub zones: &'a dyn Zones,
}

impl<'a> Calendar<'a> {
    /// Combines a schedule with the zones of the system.
    pub const fn of_system(schedule: &'a ScheduleText) -> Self {
        Self {
            schedule,
            zones: &SystemZones,
        }
    }

    /// Parses the schedule; `None` if its expression or zone is no longer valid.
    pub fn recurrence(&self) -> Option<Schedule> {
        let zone = self.zones.zone(&self.schedule.zone)?;
        Some(Schedule::new(self.schedule.expression.parse().ok()?, zone))
    }
}

/// Returns the row for the unrecorded ticks of a coverage that ends, if there are any; `cursor` is its last
/// position.
pub fn superseded_ticks(
    calendar: Calendar<'_>,
    cursor: Timestamp,
    now: Timestamp,
) -> Option<TickRow> {
    superseded(&calendar.recurrence()?, cursor, now)
}

/// Removes recorded instants from a row; `recorded` contains the spans of rows that overlap it, oldest first.
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
        // The expression or the zone is no longer valid, so that the instants of the rest are not known.
        None => Vec::new(),
    }
}

/// Returns the trigger for the remaining rows of a commit; `None` if none of them wakes a daemon.
///
/// If the trigger's own tick is already recorded, the newest row that was to join it takes its place. Without such a row,
/// rows skipped for overlap have nothing to overlap with, unless an activation is `unfinished`: the newest of them runs.
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
        // The details describe the tick that was recorded before, not this one.
        occasion: None,
        ..new.trigger
    };
    Some(NewTrigger { trigger, ..new })
}

/// The admitted trigger of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedTick {
    /// The instant of the trigger.
    pub at: Timestamp,
    /// The result of the admission.
    pub admission: Admission,
    /// Whether the trigger made the activation or joined it.
    pub role: TickRole,
}

/// Whether a trigger made an activation or joined it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickRole {
    /// The trigger made it.
    Made,
    /// The trigger joined it.
    Joined,
}

/// Returns the rows of ticks whose trigger was admitted, each with the activation it names.
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
                // Later ticks of one commit overlap with the activation that the same commit made.
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
    /// Returns the rows for a row of the trigger: only the last tick of a range makes an activation.
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
            (Admission::Enqueued(_) | Admission::Duplicate(_), TickRole::Made)
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

/// Divides a record at `now`, to which the clock stepped back: the kept part, if any, and the retracted part.
///
/// `None` if nothing is retracted.
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
        // Wholly on one side of `now`: the calendar is not needed, and may no longer be valid.
        retracted(row, &Never, now)
    } else {
        retracted(row, &calendar?.recurrence()?, now)
    };
    gone.map(|gone| (kept, gone))
}

/// The calendar of a row that need not be divided.
struct Never;

impl Recurrence for Never {
    fn next_after(&self, _after: Timestamp) -> Option<Timestamp> {
        None
    }
}
