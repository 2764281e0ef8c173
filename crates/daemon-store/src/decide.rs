//! Decisions that every store makes alike, as functions of what it read in its transaction.

use std::collections::BTreeMap;

use daemon_engine::{ActivationState, Admission, Conduct};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use daemon_schedule::{TickOutcome, TickRow};
use jiff::{SignedDuration, Timestamp};

use crate::rows::{
    Coverage, DaemonRow, Identity, Registration, RegistryChange, ScheduleText, TickActivations,
    Validity,
};

/// How many ended activations a daemon's history shows.
pub const HISTORY: usize = 10;
/// How far back rates look.
pub const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How far back the counters of a day reach.
pub const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Reports whether an identity that was stored at some instant still makes an event a duplicate.
pub fn still_counts(identity: &Identity, stored_at: Timestamp, received_at: Timestamp) -> bool {
    identity
        .within
        .is_none_or(|within| received_at.duration_since(stored_at) <= within)
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

/// Works out what is recorded of ticks once their trigger was admitted, and which activation each row names.
pub fn recorded_ticks(
    rows: &[TickRow],
    trigger: Option<(&TriggerKey, &Admission)>,
    unfinished: &TickActivations,
) -> Vec<(TickRow, Option<ActivationId>)> {
    rows.iter()
        .map(|row| {
            let mut row = *row;
            let activation = match row.outcome {
                TickOutcome::Enqueued | TickOutcome::Coalesced => {
                    let Some((key, admission)) = trigger else {
                        return (row, None);
                    };
                    row.outcome = admitted_outcome(&row, key, admission);
                    admission.activation().cloned()
                }
                TickOutcome::SkippedOverlap => {
                    unfinished.running.clone().or(unfinished.pending.clone())
                }
                TickOutcome::SkippedQuiet
                | TickOutcome::MissedWindow
                | TickOutcome::Superseded
                | TickOutcome::Refused
                | TickOutcome::Retracted => None,
            };
            (row, activation)
        })
        .collect()
}

fn admitted_outcome(row: &TickRow, key: &TriggerKey, admission: &Admission) -> TickOutcome {
    let is_the_trigger = *key == TriggerKey::Tick(row.scheduled_at);
    match admission {
        Admission::Enqueued(_) | Admission::Duplicate(_) if is_the_trigger => TickOutcome::Enqueued,
        Admission::Enqueued(_) | Admission::Duplicate(_) => TickOutcome::Coalesced,
        Admission::Joined(_) => TickOutcome::Coalesced,
        Admission::Refused(_) => TickOutcome::Refused,
    }
}

/// Reports whether a step of the clock back to `now` retracts a recorded range.
///
/// A range that began before `now` stays: which of its instants are later is not known here, and none of them made an
/// activation.
pub fn is_retracted(first: Timestamp, outcome: TickOutcome, now: Timestamp) -> bool {
    first > now && !matches!(outcome, TickOutcome::Enqueued | TickOutcome::Retracted)
}

/// Reports whether an activation occupies a slot.
pub fn occupies_slot(state: ActivationState) -> bool {
    state.is_leased() || state == ActivationState::Delivering
}
