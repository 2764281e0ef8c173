//! What happens because time passed, and when it is due.

use jiff::{SignedDuration, Timestamp};

use crate::answer::{RosterAnswer, RosterEffect};
use crate::liveness::{Liveness, liveness};
use crate::refusal::RosterRefusal;
use crate::reset::{Reset, ResetEvent, ResetState};
use crate::roster::{Roster, RosterTables};
use crate::row::{RosterRow, RowKind, WakeReason};
use crate::settings::RosterSettings;
use crate::signal::{CoordinationSignal, SignalStatus};
use crate::spawn::{PlanEvent, SpawnPlan};
use crate::work::UnitOfWork;

/// A smaller step back is the usual correction of a clock, which needs no entry in the audit log.
const MAX_STEP_BACK: SignedDuration = SignedDuration::from_secs(1);

impl UnitOfWork<'_> {
    pub(crate) fn lapse(&mut self) -> Result<RosterAnswer, RosterRefusal> {
        self.host()?;
        self.clamp_stamps();
        self.expire_claims();
        self.fail_silent_resets()?;
        self.expire_plans()?;
        self.notify_crossings();
        self.wake_due();
        let folded = self.roster().refusals.folded(self.now());
        self.append_audit(folded);
        Ok(RosterAnswer::Done)
    }

    /// After the clock stepped back, no stamp is later than now: a row would be live until the clock has caught up.
    fn clamp_stamps(&mut self) {
        let latest = self.roster().latest;
        if latest.duration_since(self.now()) <= MAX_STEP_BACK {
            return;
        }
        let reason = format!("the clock stepped back from {latest}");
        let tables = &self.roster().tables;
        let (now, settings) = (self.now(), self.settings());
        let mut is_changed = false;
        for row in tables.rows.values() {
            let mut clamped = row.clone();
            clamp_row(&mut clamped, now, settings);
            if clamped != *row {
                self.put_row(clamped);
                is_changed = true;
            }
        }
        for signal in self.roster().all_open_signals() {
            let mut clamped = signal.clone();
            if let Some(claim) = &mut clamped.claim {
                claim.lease_until = claim.lease_until.min(self.after(settings.claim_lease));
            }
            if clamped != *signal {
                self.put_signal(clamped);
                is_changed = true;
            }
        }
        for reset in tables.resets.values().filter(|reset| reset.state.is_open()) {
            let mut clamped = reset.clone();
            for stamp in [&mut clamped.spawned_at, &mut clamped.ready_at] {
                *stamp = stamp.map(|at| at.min(now));
            }
            if clamped != *reset {
                self.put_reset(clamped);
                is_changed = true;
            }
        }
        for plan in tables.plans.values() {
            if plan.created_at > now {
                let created_at = now;
                self.put_plan(SpawnPlan {
                    created_at,
                    ..plan.clone()
                });
                is_changed = true;
            }
        }
        if is_changed {
            let to = self.now().to_string();
            self.audit("clock", None, (Some(&latest.to_string()), &to), &reason);
        }
    }

    fn expire_claims(&mut self) {
        let open: Vec<_> = self
            .roster()
            .all_open_signals()
            .map(|it| it.id.clone())
            .collect();
        for id in open {
            // Read again: the lease may have been clamped.
            if let Ok(signal) = self.signal(&id)
                && lease_end(&signal).is_some_and(|until| until <= self.now())
            {
                self.expire_claim(signal);
            }
        }
    }

    fn fail_silent_resets(&mut self) -> Result<(), RosterRefusal> {
        while let Some(reset) = self.open_reset(|reset| self.is_silent(reset)) {
            self.end_reset(reset, ResetEvent::Fail, "the successor did not check in")?;
        }
        Ok(())
    }

    fn is_silent(&self, reset: &Reset) -> bool {
        reset.state == ResetState::Spawned
            && check_in_deadline(reset, self.settings()).is_some_and(|at| at <= self.now())
            && reset.successor.as_ref().is_some_and(|id| {
                let row = self.find_row(id);
                row.is_some_and(|row| row.first_checkin_at.is_none())
            })
    }

    fn expire_plans(&mut self) -> Result<(), RosterRefusal> {
        let plans: Vec<_> = self.roster().tables.plans.keys().cloned().collect();
        for id in plans {
            let mut plan = self.plan(&id)?;
            if plan.is_expired(self.now(), self.settings()) {
                self.advance_plan(&mut plan, PlanEvent::Expire, "")?;
                self.put_plan(plan);
            }
        }
        Ok(())
    }

    /// Notifies once for each crossing into stale and into dead.
    fn notify_crossings(&mut self) {
        let now_at = |row: &RosterRow| self.liveness(row).state;
        let crossed = self.rows().filter(|row| !row.is_retired());
        let crossed = crossed.filter_map(|row| {
            let state = now_at(row);
            let is_quiet = matches!(state, Liveness::Stale | Liveness::Dead);
            let notified = is_quiet.then_some(state);
            (row.notified != notified).then(|| RosterRow {
                notified,
                ..row.clone()
            })
        });
        for row in crossed.collect::<Vec<_>>() {
            if let Some(liveness) = row.notified {
                let reason = row.trouble.clone().unwrap_or_default();
                self.audit(
                    "liveness",
                    Some(row.id.clone()),
                    (None, liveness.as_str()),
                    &reason,
                );
                self.effect(RosterEffect::Notify {
                    row: row.id.clone(),
                    liveness,
                });
            }
            self.put_row(row);
        }
    }

    /// Wakes the daemons whose heartbeat is due, also those on hold.
    fn wake_due(&mut self) {
        let due = self
            .rows()
            .filter(|row| wake_at(row).is_some_and(|at| at <= self.now()));
        let due: Vec<_> = due.cloned().collect();
        for mut row in due {
            row.due_at = Some(self.after(self.settings().heartbeat));
            self.effect(RosterEffect::Wake {
                row: row.id.clone(),
                wake: WakeReason::Tick,
            });
            self.put_row(row);
        }
    }
}

/// Returns the earliest time at which something is due.
pub(crate) fn deadline(roster: &Roster, now: Timestamp) -> Option<Timestamp> {
    let settings = &roster.settings;
    let rows = roster.tables.rows.values();
    let rows = rows.filter(|row| !row.is_retired());
    let of_rows = rows.flat_map(|row| [crossing_at(row, now, settings), wake_at(row)]);
    let of_signals = roster.all_open_signals().map(lease_end);
    let resets = roster.tables.resets.values();
    let of_resets = resets
        .filter(|reset| reset.state == ResetState::Spawned)
        .map(|reset| check_in_deadline(reset, settings));
    let plans = roster.tables.plans.values();
    let of_plans = plans.map(|plan| plan.expires_at(settings));
    let all = of_rows.chain(of_signals).chain(of_resets).chain(of_plans);
    all.chain([roster.refusals.deadline()]).flatten().min()
}

/// Returns the latest stamp of any row.
pub(crate) fn latest_stamp(tables: &RosterTables) -> Option<Timestamp> {
    let rows = tables.rows.values();
    let of_rows = rows.flat_map(|row| {
        let activity = row.last_activity.map(|activity| activity.at);
        [Some(row.expected_at), row.last_checkin_at, activity]
    });
    of_rows.flatten().max()
}

/// Returns the next instant at which a row becomes stale or dead, just past the last at which it is not.
fn crossing_at(row: &RosterRow, now: Timestamp, settings: &RosterSettings) -> Option<Timestamp> {
    let report = liveness(row, now, settings);
    let last = match report.state {
        Liveness::Spawning => None,
        Liveness::Live => report.stale_at,
        Liveness::Stale if row.notified != Some(Liveness::Stale) => Some(now),
        Liveness::Stale => report.dead_at,
        Liveness::Dead if row.notified != Some(Liveness::Dead) => Some(now),
        Liveness::Dead => None,
    };
    last?.checked_add(SignedDuration::from_millis(1)).ok()
}

/// Returns when the host wakes a daemon that it started.
fn wake_at(row: &RosterRow) -> Option<Timestamp> {
    row.due_at
        .filter(|_| row.can_be_woken() && row.kind == RowKind::Standing)
}

fn lease_end(signal: &CoordinationSignal) -> Option<Timestamp> {
    let claim = signal.claim.as_ref()?;
    (signal.status == SignalStatus::Claimed).then_some(claim.lease_until)
}

fn check_in_deadline(reset: &Reset, settings: &RosterSettings) -> Option<Timestamp> {
    reset.spawned_at?.checked_add(settings.pull_after).ok()
}

fn clamp_row(row: &mut RosterRow, now: Timestamp, settings: &RosterSettings) {
    row.expected_at = row.expected_at.min(now);
    for stamp in [&mut row.first_checkin_at, &mut row.last_checkin_at] {
        *stamp = stamp.map(|at| at.min(now));
    }
    if let Some(activity) = &mut row.last_activity {
        activity.at = activity.at.min(now);
    }
    let latest_wake = now
        .checked_add(settings.heartbeat)
        .unwrap_or(Timestamp::MAX);
    row.due_at = row.due_at.map(|at| at.min(latest_wake));
}
