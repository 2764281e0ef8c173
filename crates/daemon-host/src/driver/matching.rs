//! Matches stored events with conditions. Their activations are committed together with the mark that they were matched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_dispatch::{Concern, HostEvent, MatchedBatch};
use daemon_engine::{Activation, Admission, Joining, NewTrigger, Notice, Trigger};
use daemon_event::{DaemonKey, Event, Need, Subject, TriggerKey};
use daemon_records::clock::Clock;
use daemon_records::random;
use daemon_registry::Registered;
use daemon_store::{ClaimRequest, EventRow, Matched, Matching, Store, StoreError};

use super::backlog::Backlog;
use super::dispatch::Driver;
use super::origin;
use super::registrations::Registrations;
use super::repository_states::Unread;
use super::signals::Signals;

/// How many events one transaction matches.
const BATCH: u32 = 256;

/// The events that wait for the first reading of their repository, and how often that changed.
#[derive(Debug, Default)]
pub(super) struct RepositoryView {
    unread: Unread,
    number: u64,
}

/// The state that matching uses; clones share it.
#[derive(Clone)]
pub(crate) struct Matcher {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) registrations: Registrations,
    pub(crate) backlog: Arc<Backlog>,
    pub(super) signals: Arc<Signals>,
}

impl Matcher {
    pub(super) fn new(registrations: &Registrations, signals: &Arc<Signals>) -> Self {
        Self {
            store: Arc::clone(&registrations.store),
            clock: Arc::clone(&registrations.clock),
            registrations: registrations.clone(),
            backlog: Arc::new(Backlog::new(signals)),
            signals: Arc::clone(signals),
        }
    }
}

/// A claim that is made with the admissions.
#[derive(Clone, Copy)]
pub(super) struct Lease<'a> {
    pub(super) request: &'a ClaimRequest,
    /// Held while ticks are recorded.
    pub(super) recording: &'a tokio::sync::Mutex<()>,
}

/// The result of a round.
pub(super) struct Round {
    pub(super) batch: MatchedBatch,
    pub(super) claimed: Option<Activation>,
}

/// Matches all waiting events, except those whose repository no host ever read, which continue to wait.
///
/// # Errors
/// If the store fails; what was not committed is matched again.
pub(crate) async fn match_waiting(driver: &mut Driver) -> Result<(), StoreError> {
    driver.handle(HostEvent::Nudged(Concern::Matching));
    driver.until_quiet().await
}

/// Matches one batch of the events after `after`, a position in the view with that number.
///
/// # Errors
/// If the store fails.
pub(super) async fn round(
    matcher: &Matcher,
    view: &mut RepositoryView,
    after: u64,
    number: u64,
    lease: Option<Lease<'_>>,
) -> Result<Round, StoreError> {
    // A registration changes what events meet; it waits for the batch.
    let registering = matcher.registrations.hold().await;
    let unread = matcher
        .registrations
        .states
        .unmatchable(matcher.clock.now());
    if unread != view.unread {
        view.unread = unread;
        view.number += 1;
    }
    // With other unread repositories, events that were passed over may be due: reading begins again at the first one.
    let after = if number == view.number { after } else { 0 };
    match_again(matcher, &view.unread, after).await?;
    let waiting = matcher.store.unmatched(after, BATCH).await?;
    let mut batch = MatchedBatch {
        view: view.number,
        last: waiting.last().map(|row| row.seq),
        n_read: count(waiting.len()),
        ..MatchedBatch::default()
    };
    let mut claimed = None;
    if batch.last.is_some() {
        let done = match_batch(matcher, &view.unread, waiting, lease).await?;
        (batch.n_matched, batch.n_admitted, claimed) =
            (done.n_matched, done.n_admitted, done.claimed);
    }
    drop(registering);
    matcher.backlog.subtract(batch.n_matched);
    Ok(Round { batch, claimed })
}

/// Matches the events that became due again after they were passed over, one at a time: there are few.
async fn match_again(matcher: &Matcher, unread: &Unread, passed: u64) -> Result<(), StoreError> {
    for id in matcher.backlog.take_due_again() {
        let is_passed = |row: &EventRow| row.matching == Matching::Due && row.seq <= passed;
        if passed > 0
            && let Some(row) = matcher.store.event(&id).await?.filter(is_passed)
        {
            let done = match_batch(matcher, unread, vec![row], None).await?;
            if done.n_admitted > 0 {
                matcher.signals.claims.notify_one();
            }
        }
    }
    Ok(())
}

/// What was committed about a batch.
struct Committed {
    n_matched: u64,
    n_admitted: usize,
    claimed: Option<Activation>,
}

/// Matches events, except those that wait for their repository.
async fn match_batch(
    matcher: &Matcher,
    unread: &Unread,
    mut waiting: Vec<EventRow>,
    lease: Option<Lease<'_>>,
) -> Result<Committed, StoreError> {
    waiting.retain(|row| !unread.concerns(&row.event));
    let mut matched = Vec::with_capacity(waiting.len());
    let mut n_wanted = 0;
    for row in &waiting {
        let decision = decide(matcher, row, |_| true).await?;
        n_wanted += decision.wanted.len();
        matched.push(Matched {
            // A report that is stored meanwhile has not been matched; the store finds it by this number.
            n_later: row.later_reports.len(),
            event: row.event.id.clone(),
            triggers: decision.triggers,
            wanted: decision.wanted,
        });
    }
    daemon_records::failpoint::hit("M1");
    let (admissions, claimed) = commit(matcher, matched, lease).await?;
    notice(&admissions);
    daemon_records::failpoint::hit("M3");
    if n_wanted > 0 {
        matcher.signals.facts.notify_one();
    }
    let n_matched = count(waiting.len());
    metrics::counter!("daemon_events_matched_total").increment(n_matched);
    Ok(Committed {
        n_matched,
        n_admitted: admissions.len(),
        claimed,
    })
}

async fn commit(
    matcher: &Matcher,
    matched: Vec<Matched>,
    lease: Option<Lease<'_>>,
) -> Result<(Vec<Admission>, Option<Activation>), StoreError> {
    if matched.is_empty() {
        return Ok((Vec::new(), None));
    }
    let (store, now) = (&matcher.store, matcher.clock.now());
    // What is claimed while ticks are recorded would take the processor from them.
    if let Some(lease) = lease
        && lease.recording.try_lock().is_ok()
    {
        let (admissions, claimed) = store
            .match_and_claim(&lease.request.at(now), matched)
            .await?;
        if claimed.is_some() {
            daemon_records::failpoint::hit("R1");
        }
        return Ok((admissions, claimed));
    }
    Ok((store.commit_matches(matched, now).await?, None))
}

fn count(n: usize) -> u64 {
    u64::try_from(n).expect("a count fits")
}

/// Logs the chains that were ended, once for each root.
pub(crate) fn notice(admissions: &[Admission]) {
    for admission in admissions {
        if let Admission::Ended(activation, end, Notice::Due) = admission {
            let why = end.reason();
            tracing::warn!(%activation, why, "a chain of daemons ends; `daemon-run retry` begins a new one");
        }
    }
}

/// The conditions of one daemon that an event meets.
#[derive(Debug, Default)]
struct Woken {
    conditions: BTreeSet<u32>,
    /// The subject of the first report that meets one of them.
    subject: Option<Subject>,
}

/// Returns the daemons that the reports of an event wake.
fn woken_by(matcher: &Matcher, reports: &[Event]) -> BTreeMap<DaemonKey, Woken> {
    let mut woken: BTreeMap<DaemonKey, Woken> = BTreeMap::new();
    for report in reports {
        for (key, conditions) in matcher.registrations.registry.matches(report) {
            let by_report = woken.entry(key).or_insert_with(|| Woken {
                subject: report.subject.clone(),
                ..Woken::default()
            });
            by_report.conditions.extend(conditions);
        }
    }
    woken
}

/// The result of matching an event: the daemons that it wakes, and the facts that the others need.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub(crate) triggers: Vec<NewTrigger>,
    pub(crate) wanted: Vec<Need>,
}

/// Decides about an event with its current facts, for the daemons that `is_asked` selects.
///
/// The caller has the registration lock.
pub(crate) async fn decide(
    matcher: &Matcher,
    row: &EventRow,
    is_asked: impl Fn(&DaemonKey) -> bool,
) -> Result<Decision, StoreError> {
    let (seq, event) = (row.seq, &row.event);
    let reports = row.reports();
    let registry = matcher.registrations.registry.get();
    let woken = woken_by(matcher, &reports);
    let mut lacking: Vec<_> = reports
        .iter()
        .flat_map(|report| registry.missing_facts(report))
        .collect();
    // A daemon that wakes in any case needs no further fact, so none is requested for it.
    lacking.retain(|(daemon, _)| !woken.contains_key(&daemon.row.key));
    if woken.is_empty() && lacking.is_empty() {
        return Ok(Decision::default());
    }
    let config = matcher.registrations.runtime.config();
    let origin = origin::of(&*matcher.store, &reports, config.limits.chain_depth).await?;
    let may_wake = |daemon: &Registered| {
        let key = &daemon.row.key;
        let is_own = origin.as_ref().is_some_and(|origin| origin.is_own(key));
        if is_own {
            tracing::info!(daemon = %key, event = %event.id, "a daemon's own output does not wake it");
        }
        let is_own = is_own && !daemon_records::failpoint::is_planted("no-self-filter");
        // Events up to `since_seq` are older than the daemon: the push that adds a daemon does not wake it.
        daemon.is_valid() && seq > daemon.row.since_seq && is_asked(key) && !is_own
    };
    let now = matcher.clock.now();
    let woken = woken.into_iter().filter_map(|(key, woken)| {
        let daemon = registry.find_key(&key).filter(|daemon| may_wake(daemon))?;
        let settle = config.own(&key, |policy| policy.settle);
        Some(NewTrigger {
            rev: daemon.row.rev.clone(),
            subject: woken.subject,
            trigger: Trigger {
                key: TriggerKey::Event(event.id.clone()),
                conditions: woken.conditions.into_iter().collect(),
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
