//! The tick loop: due ticks are recorded, with the activations they make, in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use daemon_cron::Zone;
use daemon_engine::{Joining, NewTrigger, Trigger};
use daemon_event::{DaemonKey, TriggerKey};
use daemon_schedule::{Passage, Plan, Policy, Scheduler, TickOutcome, TickRow, Unfinished};
use daemon_store::{Coverage, StoreError, TickCommit, TickResult};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Inner;
use crate::config::{self, Config};
use crate::random;

/// How many due daemons one transaction records.
const BATCH: usize = 500;
/// How often the clock is looked at, so that a step of it is noticed.
const GLANCE: Duration = Duration::from_secs(1);
/// How long the loop waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The subject by which ticks of one daemon are told from its events.
const SUBJECT: &str = "schedule";

/// A daemon and the number of its coverage.
type Key = (DaemonKey, u64);

/// A key with ticks to record, detached from the scheduler.
struct Overdue {
    key: Key,
    schedule: daemon_cron::Schedule,
    from: Timestamp,
    after: Timestamp,
    to: Timestamp,
}

/// Records ticks until told to stop.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut scheduler = Scheduler::new();
    let mut is_stale = true;
    while !inner.stop.is_cancelled() {
        let pause = match round(&inner, &mut scheduler, is_stale).await {
            Ok(()) => {
                is_stale = false;
                until_deadline(&scheduler)
            }
            Err(error) => {
                inner.trouble("ticks cannot be recorded; they will be", &error);
                is_stale = true;
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = inner.stop.cancelled() => {}
            () = inner.signals.ticks.notified() => is_stale = true,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn until_deadline(scheduler: &Scheduler<Key>) -> Duration {
    match scheduler.deadline() {
        Some(deadline) => deadline
            .duration_since(random::now())
            .try_into()
            .unwrap_or(Duration::ZERO)
            .min(GLANCE),
        None => GLANCE,
    }
}

async fn round(
    inner: &Inner,
    scheduler: &mut Scheduler<Key>,
    is_stale: bool,
) -> Result<(), StoreError> {
    if is_stale {
        reload(scheduler, inner.store.coverages().await?);
    }
    let now = random::now();
    let mut overdue = Vec::new();
    let passage = scheduler.advance(now, |due| {
        overdue.push(Overdue {
            key: due.key.clone(),
            schedule: due.schedule.clone(),
            from: due.from,
            after: due.after,
            to: due.to,
        });
    });
    if passage == Passage::SteppedBack {
        let retracted = inner.store.retract(now).await?;
        tracing::warn!(retracted, "the clock stepped back");
        reload(scheduler, inner.store.coverages().await?);
        return Ok(());
    }
    for batch in overdue.chunks(BATCH) {
        record(inner, scheduler, batch, now).await?;
    }
    Ok(())
}

/// Makes the scheduler hold exactly the open coverages.
fn reload(scheduler: &mut Scheduler<Key>, coverages: Vec<Coverage>) {
    *scheduler = Scheduler::new();
    let mut zones: BTreeMap<String, Option<Zone>> = BTreeMap::new();
    for coverage in coverages {
        let name = coverage.schedule.zone;
        let zone = zones
            .entry(name.clone())
            .or_insert_with(|| TimeZone::get(&name).ok().map(Zone::new));
        match (coverage.schedule.expression.parse(), zone) {
            (Ok(expr), Some(zone)) => scheduler.insert(
                (coverage.daemon, coverage.number),
                expr,
                zone,
                coverage.cursor,
            ),
            _ => {
                tracing::error!(daemon = %coverage.daemon, zone = name, "a stored schedule cannot be read");
            }
        }
    }
}

async fn record(
    inner: &Inner,
    scheduler: &mut Scheduler<Key>,
    batch: &[Overdue],
    now: Timestamp,
) -> Result<(), StoreError> {
    let config = inner.config();
    let mut commits = Vec::new();
    let mut owners = Vec::new();
    for due in batch {
        let unfinished = unfinished(inner, &due.key.0).await?;
        let plan = policy(&config, &due.key.0).plan(&due.schedule, due.after, now, unfinished);
        for commit in commits_of(inner, &config, due, plan, now) {
            owners.push(&due.key);
            commits.push(commit);
        }
    }
    crate::failpoint::hit("T1");
    let results = inner.store.commit_ticks(commits.clone()).await?;
    crate::failpoint::hit("T4");
    let mut is_claimable = false;
    for ((commit, key), result) in commits.iter().zip(owners).zip(results) {
        match result {
            TickResult::Recorded(activation) => {
                is_claimable |= activation.is_some();
                note(commit);
            }
            // Somebody else recorded it: take up where they are.
            TickResult::Elsewhere => scheduler.set_cursor(key, commit.to),
        }
    }
    if is_claimable {
        inner.signals.claims.notify_one();
    }
    Ok(())
}

async fn unfinished(inner: &Inner, daemon: &DaemonKey) -> Result<Unfinished, StoreError> {
    let known = inner.store.tick_activations(daemon).await?;
    Ok(Unfinished {
        running: u64::from(known.running.is_some()),
        pending: u64::from(known.pending.is_some()),
    })
}

/// Splits a plan so that each commit makes at most one activation, each beginning where the one before ends.
fn commits_of(
    inner: &Inner,
    config: &Config,
    due: &Overdue,
    plan: Plan,
    now: Timestamp,
) -> Vec<TickCommit> {
    let mut commits = Vec::new();
    let mut from = due.from;
    let mut rows: Vec<TickRow> = Vec::new();
    let enqueued = plan
        .rows
        .iter()
        .filter(|row| row.outcome == TickOutcome::Enqueued)
        .count();
    for row in plan.rows {
        rows.push(row);
        if row.outcome == TickOutcome::Enqueued {
            let trigger = trigger(inner, config, due, row.scheduled_at, now, Joining::Separate);
            let to = if commits.len() + 1 == enqueued {
                due.to
            } else {
                row.scheduled_at
            };
            commits.push(commit(
                due,
                from,
                to,
                std::mem::take(&mut rows),
                trigger,
                now,
            ));
            from = to;
        }
    }
    // Rows behind the last enqueued one belong to its commit, whose cursor is already at the end.
    match commits.last_mut() {
        Some(last) => last.rows.append(&mut rows),
        None => {
            let joined = plan.triggers.last();
            let trigger =
                joined.and_then(|at| trigger(inner, config, due, *at, now, Joining::Coalesce));
            commits.push(commit(due, from, due.to, rows, trigger, now));
        }
    }
    commits
}

fn commit(
    due: &Overdue,
    from: Timestamp,
    to: Timestamp,
    rows: Vec<TickRow>,
    trigger: Option<NewTrigger>,
    now: Timestamp,
) -> TickCommit {
    TickCommit {
        daemon: due.key.0.clone(),
        coverage: due.key.1,
        from,
        to,
        rows,
        trigger,
        now,
    }
}

fn trigger(
    inner: &Inner,
    config: &Config,
    due: &Overdue,
    at: Timestamp,
    now: Timestamp,
    joining: Joining,
) -> Option<NewTrigger> {
    let key = &due.key.0;
    let registry = inner.registry.get();
    let rev = registry.find_key(key)?.row.rev.clone();
    let spread = config
        .policy
        .daemon
        .get(key.id.as_str())
        .and_then(|policy| policy.jitter)
        .unwrap_or(config.schedule.jitter);
    let jitter = daemon_schedule::jitter(key.to_string().as_bytes(), spread.unsigned());
    Some(NewTrigger {
        daemon: key.clone(),
        rev,
        subject: Some(SUBJECT.parse().expect("it is a subject")),
        trigger: Trigger {
            key: TriggerKey::Tick(at),
            conditions: Vec::new(),
            by: None,
            recorded_at: now,
        },
        activation_id: random::activation_id(now),
        not_before: now + jitter,
        joining,
    })
}

fn policy(config: &Config, key: &DaemonKey) -> Policy {
    let own = config.policy.daemon.get(key.id.as_str());
    let general = &config.schedule;
    Policy {
        misfire: match own.and_then(|own| own.misfire).unwrap_or(general.misfire) {
            config::Misfire::Coalesce => daemon_schedule::Misfire::Coalesce,
            config::Misfire::Skip => daemon_schedule::Misfire::Skip,
            config::Misfire::CatchUp => daemon_schedule::Misfire::CatchUp,
        },
        window: own
            .and_then(|own| own.window)
            .unwrap_or(general.window)
            .unsigned(),
        overlap: match own.and_then(|own| own.overlap).unwrap_or(general.overlap) {
            config::Overlap::BufferOne => daemon_schedule::Overlap::BufferOne,
            config::Overlap::Skip => daemon_schedule::Overlap::Skip,
            config::Overlap::BufferAll => daemon_schedule::Overlap::BufferAll,
            config::Overlap::CancelOther => daemon_schedule::Overlap::CancelOther,
        },
    }
}

/// Counts what was recorded, and warns of what was missed.
fn note(commit: &TickCommit) {
    for row in &commit.rows {
        metrics::counter!("daemon_ticks_total", "outcome" => row.outcome.as_str())
            .increment(row.count);
        if matches!(
            row.outcome,
            TickOutcome::MissedWindow | TickOutcome::Refused
        ) {
            tracing::warn!(
                daemon = %commit.daemon, first = %row.first, last = %row.scheduled_at, count = row.count,
                outcome = row.outcome.as_str(), "ticks did not run"
            );
        }
    }
}
