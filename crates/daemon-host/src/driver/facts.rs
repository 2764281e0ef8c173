//! The loop of wanted facts: it reads them from local git, else from the APIs of services, and matches their events again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_engine::{
    Fact, FactError, FactErrorKind, FactOrigin, FactState, NewTrigger, RetryAfter, WantedFact,
};
use daemon_event::{
    DaemonKey, Enrichment, Event, EventId, Field, FieldValue, Need, Source, enriched, label_names,
};
use daemon_records::error::chain;
use daemon_store::decide::is_same_report;
use daemon_store::{EventRow, FoundFact, MAX_PAGE, Query, StoreError, TriedFact};
use jiff::Timestamp;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::failures::Failures;
use super::matching::{self, Matcher};
use crate::facts::changed_files;

/// The maximum number of events whose facts are fetched at the same time.
const PLACES: usize = 8;
/// How many pages of the newest events are searched for the name of a label.
const LABEL_PAGES: usize = 4;
/// How long the loop sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(30);
/// The shortest sleep of the loop, also after a failure of the store.
const BRIEF: Duration = Duration::from_secs(1);

/// The services that refuse requests, each with the end of the refusal.
#[derive(Debug, Default)]
pub(crate) struct ServiceDelays {
    until: Mutex<BTreeMap<Source, Timestamp>>,
}

impl ServiceDelays {
    fn end(&self, source: Source, now: Timestamp) -> Option<Timestamp> {
        let until = self.until.lock().expect("no holder panics");
        until.get(&source).copied().filter(|until| *until > now)
    }

    fn note(&self, source: Source, patience: RetryAfter, now: Timestamp) {
        let mut until = self.until.lock().expect("no holder panics");
        until.insert(source, patience.end(now));
    }
}

/// Fetches wanted facts; clones share the state.
#[derive(Clone)]
pub(crate) struct FactFinder {
    pub(super) matcher: Matcher,
    pub(super) failures: Arc<Failures>,
    pub(super) stop: CancellationToken,
    pub(super) delays: Arc<ServiceDelays>,
}

/// Finds wanted facts until the host stops.
pub(super) async fn run(finder: FactFinder) {
    let mut tasks = JoinSet::new();
    let mut busy: HashMap<Id, EventId> = HashMap::new();
    while !finder.stop.is_cancelled() {
        let pause = match take_due(&finder, (&mut tasks, &mut busy)).await {
            Ok(pause) => pause,
            Err(error) => {
                finder
                    .failures
                    .store_failed("facts cannot reach the store", &error);
                BRIEF
            }
        };
        tokio::select! {
            () = finder.stop.cancelled() => {}
            () = finder.matcher.signals.facts.notified() => {}
            Some(ended) = tasks.join_next_with_id() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => {
                        tracing::error!(%error, "finding a fact panicked");
                        error.id()
                    }
                };
                busy.remove(&id);
            }
            () = tokio::time::sleep(pause) => {}
        }
    }
    // Requests in progress are repeated by the next host.
    tasks.shutdown().await;
}

/// Starts to fetch the due facts, and returns the time until the next one is due.
async fn take_due(
    finder: &FactFinder,
    (tasks, busy): (&mut JoinSet<()>, &mut HashMap<Id, EventId>),
) -> Result<Duration, StoreError> {
    let now = finder.matcher.clock.now();
    // Twice the places, because the facts that are being fetched are still listed as due.
    let limit = u32::try_from(2 * PLACES).expect("a few");
    let due = finder.matcher.store.due_facts(now, limit).await?;
    for row in due {
        if tasks.len() >= PLACES {
            break;
        }
        if busy.values().any(|id| *id == row.event.id) {
            continue;
        }
        let id = row.event.id.clone();
        let finder = finder.clone();
        let task = tasks.spawn(async move {
            if let Err(error) = attend(&finder, row, now).await {
                finder
                    .failures
                    .store_failed("a fact could not be stored", &error);
            }
        });
        busy.insert(task.id(), id);
    }
    Ok(match finder.matcher.store.next_fact_at().await? {
        Some(at) => at
            .duration_since(finder.matcher.clock.now())
            .try_into()
            .unwrap_or(BRIEF)
            .clamp(BRIEF, IDLE),
        None => IDLE,
    })
}

/// Tries every due fact of one event, one after the other.
///
/// # Errors
/// If the store fails; what was not stored is tried again.
pub(crate) async fn attend(
    finder: &FactFinder,
    mut row: EventRow,
    now: Timestamp,
) -> Result<(), StoreError> {
    let is_due = |fact: &&WantedFact| fact.state == FactState::Waiting && fact.not_before <= now;
    let due: Vec<Need> = row
        .wanted
        .iter()
        .filter(is_due)
        .map(|fact| fact.need)
        .collect();
    for need in due {
        let Some(fact) = row.wanted.iter().find(|fact| fact.need == need) else {
            continue;
        };
        let fact = fact.clone();
        let Some(tried) = try_one(finder, (&row, fact), now).await? else {
            return Ok(());
        };
        settle(finder, tried, now).await?;
        // The next fact is matched together with the facts that were stored so far.
        match finder.matcher.store.event(&row.event.id).await? {
            Some(again) => row = again,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// The result of one try, with the daemons that waited for it.
struct Tried {
    row: EventRow,
    fact: WantedFact,
    event: Option<Event>,
    waiting: BTreeSet<DaemonKey>,
}

/// Tries one fact; `None` if the host stops meanwhile.
async fn try_one(
    finder: &FactFinder,
    (row, fact): (&EventRow, WantedFact),
    now: Timestamp,
) -> Result<Option<Tried>, StoreError> {
    let tried = |fact, event, waiting| Tried {
        row: row.clone(),
        fact,
        event,
        waiting,
    };
    // Checked again at each try: the daemons may have changed, or another fact has woken them.
    let waiting = waiting(finder, row, fact.need);
    if waiting.is_empty() {
        let over = fact.given_up("no condition needs it any more");
        return Ok(Some(tried(over, None, waiting)));
    }
    let report = lacking(finder, row, fact.need).unwrap_or_else(|| row.event.clone());
    let fetched = tokio::select! {
        () = finder.stop.cancelled() => return Ok(None),
        fetched = fetch(finder, (&report, fact.need), now) => fetched,
    };
    let read = match &fetched {
        Ok(found) => enriched(&report, &found.found),
        Err(error) => return Ok(Some(tried(fact.after_try(Err(error), now), None, waiting))),
    };
    Ok(Some(match read {
        Ok(event) => tried(fact.after_try(fetched.as_ref(), now), Some(event), waiting),
        Err(error) => {
            let why = format!("the payload cannot be read again: {error}");
            tried(fact.given_up(&why), None, waiting)
        }
    }))
}

/// Returns the daemons that an event has not woken and that need a fact of it.
fn waiting(finder: &FactFinder, row: &EventRow, need: Need) -> BTreeSet<DaemonKey> {
    let registry = finder.matcher.registrations.registry.get();
    let lacking = row.reports();
    let lacking = lacking
        .iter()
        .flat_map(|report| registry.missing_facts(report));
    let lacking = lacking.filter(|(_, needs)| needs.contains(&need));
    let keys = lacking.map(|(daemon, _)| daemon.row.key.clone());
    keys.filter(|key| row.triggers.iter().all(|known| known.daemon != *key))
        .collect()
}

/// Returns the report of an event whose conditions need a fact.
fn lacking(finder: &FactFinder, row: &EventRow, need: Need) -> Option<Event> {
    let registry = finder.matcher.registrations.registry.get();
    let needs = |report: &Event| {
        let mut lacking = registry.missing_facts(report).into_iter();
        lacking.any(|(_, needs)| needs.contains(&need))
    };
    row.reports().into_iter().find(needs)
}

/// Reads a fact from local git, else from the API of its service, unless that refuses requests.
async fn fetch(
    finder: &FactFinder,
    (event, need): (&Event, Need),
    now: Timestamp,
) -> Result<Fact, FactError> {
    let missed = match local(finder, event, need).await {
        Ok(fact) => return Ok(fact),
        Err(missed) => missed,
    };
    // No API is called for it: only other events contain the name, and one may still arrive.
    if need == Need::LabelName {
        let message = missed.unwrap_or_else(|| "no event names the label".to_owned());
        return Err(FactError::new(FactErrorKind::Retryable, message));
    }
    let with_miss = |error: FactError| match missed {
        Some(missed) => error.after(missed),
        None => error,
    };
    // The service limits the host and not one event, so the delay applies to all events of the source.
    if let Some(until) = finder.delays.end(event.source, now) {
        let message = format!(
            "the API of {} accepts no requests until {until}",
            event.source
        );
        let kind = FactErrorKind::Limited(RetryAfter::Until(until));
        return Err(with_miss(FactError::new(kind, message)));
    }
    let facts = Arc::clone(&finder.matcher.registrations.runtime.get().parts.facts);
    let fetched = facts.fetch(&need, event).await;
    if let Err(error) = &fetched
        && let FactErrorKind::Limited(patience) = error.kind
    {
        finder.delays.note(event.source, patience, now);
    }
    let secrets = &finder.matcher.registrations.secrets;
    fetched.map_err(|error| {
        let error = with_miss(error);
        FactError::new(error.kind, secrets.removed_from(&error.message))
    })
}

/// Reads a fact from local git; an error is the reason if local git could have had it.
async fn local(finder: &FactFinder, event: &Event, need: Need) -> Result<Fact, Option<String>> {
    let watched = match (&event.repo, need) {
        (Some(repo), Need::ChangedFiles) => finder
            .matcher
            .registrations
            .runtime
            .repo(repo)
            .ok_or(None)?,
        (_, Need::LabelName) => return named_labels(finder, event).await.map_err(Some),
        (_, Need::ChangedFiles | Need::PullRequests | Need::ChannelName) => return Err(None),
    };
    let event = event.clone();
    let looked =
        tokio::task::spawn_blocking(move || changed_files(&watched.repository, &event)).await;
    match looked {
        Ok(Ok(fact)) => Ok(fact),
        Ok(Err(missed)) => Err(Some(chain(&missed))),
        Err(error) => Err(Some(format!("reading local git panicked: {error}"))),
    }
}

/// Finds the names of removed labels in other stored events.
async fn named_labels(finder: &FactFinder, event: &Event) -> Result<Fact, String> {
    let ids = event.facts.get(Field::LabelRemovedId);
    let mut unknown: BTreeSet<&str> = ids.into_iter().flat_map(FieldValue::texts).collect();
    let mut names = BTreeMap::new();
    let mut query = Query {
        limit: MAX_PAGE,
        ..Query::default()
    };
    for _ in 0..LABEL_PAGES {
        let page = finder
            .matcher
            .store
            .events(&query)
            .await
            .map_err(|error| chain(&error))?;
        for row in page
            .rows
            .iter()
            .filter(|row| row.event.source == event.source)
        {
            // Listed events have no payload, which contains the names.
            let whole = finder.matcher.store.event(&row.event.id).await;
            let Some(whole) = whole.map_err(|error| chain(&error))? else {
                continue;
            };
            for (id, name) in label_names(&whole.event.payload) {
                if unknown.remove(id.as_str()) {
                    names.insert(id, name);
                }
            }
        }
        if unknown.is_empty() {
            let found = Enrichment {
                label_names: Some(names),
                ..Enrichment::default()
            };
            return Ok(Fact {
                found,
                origin: FactOrigin::Events,
                note: None,
            });
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let ids: Vec<&str> = unknown.into_iter().collect();
    Err(format!(
        "no stored event names the label {}",
        ids.join(", ")
    ))
}

/// Stores the result of a try together with the activations that it causes.
async fn settle(finder: &FactFinder, tried: Tried, now: Timestamp) -> Result<(), StoreError> {
    let Tried {
        row,
        fact,
        event,
        waiting,
    } = tried;
    let (need, state) = (fact.need, fact.state);
    let note = fact.note.clone().unwrap_or_default();
    // A registration changes what events meet; it waits until this is stored.
    let registering = finder.matcher.registrations.hold().await;
    let found = match event {
        Some(event) => Some(found(finder, &row, event, &waiting).await?),
        None => None,
    };
    let stored = TriedFact {
        event: row.event.id.clone(),
        fact,
        found,
    };
    let admissions = finder.matcher.store.settle_fact(stored, now).await?;
    matching::notice(&admissions);
    drop(registering);
    metrics::counter!("daemon_facts_tried_total", "state" => state.as_str()).increment(1);
    let (event, state) = (&row.event.id, state.as_str());
    tracing::info!(%event, %need, state, note, woke = admissions.len(), "a fact was tried");
    if !admissions.is_empty() {
        finder.matcher.signals.claims.notify_one();
    }
    // The next try may be due before the loop would wake up.
    finder.matcher.signals.facts.notify_one();
    Ok(())
}

/// Matches an event again, for the daemons that waited for the fact.
async fn found(
    finder: &FactFinder,
    row: &EventRow,
    event: Event,
    waiting: &BTreeSet<DaemonKey>,
) -> Result<FoundFact, StoreError> {
    let mut row = row.clone();
    let mut later_reports = row.later_reports.iter_mut();
    match later_reports.find(|report| is_same_report(report, &event)) {
        Some(report) => {
            row.event.facts.complete(&event.facts);
            *report = event;
        }
        None => row.event = event,
    }
    let decision = matching::decide(&finder.matcher, &row, |key| waiting.contains(key)).await?;
    let triggers: Vec<NewTrigger> = decision.triggers;
    Ok(FoundFact {
        facts: row.event.facts,
        triggers,
        wanted: decision.wanted,
    })
}

#[cfg(test)]
pub(super) mod tests;
