//! The match loop: stored events meet conditions, and what they wake is committed with the mark that they were matched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use daemon_engine::{Admission, Joining, NewTrigger, Notice, Trigger};
use daemon_event::{DaemonKey, Event, Need, TriggerKey};
use daemon_store::{EventRow, Matched, StoreError};

use super::sight::Unread;
use super::{Inner, origin};
use crate::random;
use crate::registry::Registered;

/// How many events one transaction matches.
const BATCH: u32 = 256;
/// How long the loop sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(5);

/// Matches until told to stop.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut passed = Passed::default();
    while !inner.stop.is_cancelled() {
        if let Err(error) = match_waiting(&inner, &mut passed).await {
            inner.trouble("matching cannot reach the store", &error);
        }
        tokio::select! {
            () = inner.stop.cancelled() => {}
            () = inner.signals.matches.notified() => {}
            () = tokio::time::sleep(IDLE) => {}
        }
    }
}

/// How far the events that wait for the first reading of their repository were passed over; an event before that may become due
/// again, by another report of it.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    until: u64,
    unread: Unread,
}

/// Matches everything that waits, but for events whose repository no host ever read; those wait on.
///
/// # Errors
/// If the store fails; what was not committed is matched again.
pub(crate) async fn match_waiting(inner: &Inner, passed: &mut Passed) -> Result<(), StoreError> {
    loop {
        // A registration changes what events meet; it waits for the batch.
        let registering = inner.registering.read().await;
        let unread = inner.events_wait_for(random::now());
        if inner.signals.again.swap(false, Ordering::AcqRel) || unread != passed.unread {
            *passed = Passed { until: 0, unread };
        }
        let mut waiting = inner.store.unmatched(passed.until, BATCH).await?;
        let Some(last) = waiting.last().map(|row| row.seq) else {
            inner.set_backlog(0);
            return Ok(());
        };
        waiting.retain(|row| !passed.unread.concerns(&row.event));
        let mut matched = Vec::with_capacity(waiting.len());
        let mut n_wanted = 0;
        for row in &waiting {
            let decision = decide(inner, row, |_| true).await?;
            n_wanted += decision.wanted.len();
            matched.push(Matched {
                n_later: row.later_reports.len(),
                event: row.event.id.clone(),
                triggers: decision.triggers,
                wanted: decision.wanted,
            });
        }
        crate::failpoint::hit("M1");
        let admissions = match matched.is_empty() {
            true => Vec::new(),
            false => inner.store.commit_matches(matched, random::now()).await?,
        };
        notice(&admissions);
        crate::failpoint::hit("M3");
        drop(registering);
        if passed.unread != Unread::default() {
            passed.until = last;
        }
        inner.set_backlog(
            inner
                .backlog()
                .saturating_sub(u64::try_from(waiting.len()).expect("a batch is small")),
        );
        if !admissions.is_empty() {
            inner.signals.claims.notify_one();
        }
        if n_wanted > 0 {
            inner.signals.facts.notify_one();
        }
        metrics::counter!("daemon_events_matched_total")
            .increment(u64::try_from(waiting.len()).unwrap_or(0));
    }
}

/// Tells a person of the chains that ended, once for each root.
pub(crate) fn notice(admissions: &[Admission]) {
    for admission in admissions {
        if let Admission::Ended(activation, end, Notice::Due) = admission {
            let why = end.reason();
            tracing::warn!(%activation, why, "a chain of daemons ends; `daemon-run retry` begins a new one");
        }
    }
}

/// Names the daemons that the reports of an event wake, each with the conditions that one of them meets.
fn woken_by(inner: &Inner, reports: &[Event]) -> BTreeMap<DaemonKey, Vec<u32>> {
    let mut woken: BTreeMap<DaemonKey, BTreeSet<u32>> = BTreeMap::new();
    for (key, conditions) in reports.iter().flat_map(|one| inner.registry.matches(one)) {
        woken.entry(key).or_default().extend(conditions);
    }
    woken
        .into_iter()
        .map(|(key, conditions)| (key, conditions.into_iter().collect()))
        .collect()
}

/// What is to be done about an event: whom it wakes, and what must be known to decide the rest.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) triggers: Vec<NewTrigger>,
    pub(crate) wanted: Vec<Need>,
}

/// Decides about an event as it is known now, for the daemons that are asked about.
///
/// The caller holds the registration still.
pub(crate) async fn decide(
    inner: &Inner,
    row: &EventRow,
    is_asked: impl Fn(&DaemonKey) -> bool,
) -> Result<Decision, StoreError> {
    let (seq, event) = (row.seq, &row.event);
    let reports = row.reports();
    let registry = inner.registry.get();
    let woken = woken_by(inner, &reports);
    let mut lacking: Vec<_> = reports
        .iter()
        .flat_map(|report| registry.lacking(report))
        .collect();
    lacking.retain(|(daemon, _)| !woken.contains_key(&daemon.row.key));
    if woken.is_empty() && lacking.is_empty() {
        return Ok(Decision::default());
    }
    let config = inner.config();
    let origin = origin::of(inner, &reports, config.limits.chain_depth).await?;
    let may_wake = |daemon: &Registered| {
        let key = &daemon.row.key;
        let is_own = origin.as_ref().is_some_and(|origin| origin.is_own(key));
        if is_own {
            tracing::info!(daemon = %key, event = %event.id, "a daemon's own output does not wake it");
        }
        daemon.is_valid() && seq > daemon.row.since_seq && is_asked(key) && !is_own
    };
    let now = random::now();
    let woken = woken.into_iter().filter_map(|(key, conditions)| {
        let daemon = registry.find_key(&key).filter(|daemon| may_wake(daemon))?;
        let settle = config.own(&key, |policy| policy.settle);
        Some(NewTrigger {
            rev: daemon.row.rev.clone(),
            subject: event.subject.clone(),
            trigger: Trigger {
                key: TriggerKey::Event(event.id.clone()),
                conditions,
                by: None,
                occasion: None,
                recorded_at: now,
            },
            activation_id: random::activation_id(now),
            not_before: settle.map_or(now, |settle| now + settle.signed()),
            joining: Joining::Coalesce,
            link: origin.as_ref().map(|origin| origin.link.clone()),
            daemon: key,
        })
    });
    let lacking = lacking.iter().filter(|(daemon, _)| may_wake(daemon));
    let wanted: BTreeSet<Need> = lacking.flat_map(|(_, needs)| needs).copied().collect();
    Ok(Decision {
        triggers: woken.collect(),
        wanted: wanted.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests;
