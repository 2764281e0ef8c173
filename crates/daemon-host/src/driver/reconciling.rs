//! The loop that compares services with the webhooks that came, and stores what these did not bring.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_engine::{Comparison, FactErrorKind, MissedEvent, ReconcilePlace, Reconciler};
use daemon_event::{Enrichment, Event, RepoName, Source};
use daemon_records::random;
use daemon_store::{Accepted, Bookmark, Freshness, NewEvent, StoreError};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::failures::Failures;
use super::gaps::SharedGaps;
use super::matching::Matcher;
use super::origin;
use crate::disk::Space;
use crate::home::Home;

/// How often the host stores that it accepts webhooks.
const ALIVE: Duration = Duration::from_secs(60);
/// The pause before a comparison because of a refused webhook, which ends when the sender sees the host accept again.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);
/// How long the webhook of a change is waited for before a comparison makes its event.
const GRACE: Duration = Duration::from_secs(30);
/// The age at which an unchanged cursor is stored again.
const RENEWAL: SignedDuration = SignedDuration::from_hours(1);
/// The age from which a cursor says nothing about the present: its repository was not watched.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How the last comparison of a place ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceState {
    /// When the last complete comparison began; `None` without one.
    pub(crate) compared: Option<Timestamp>,
    /// Why the last one was not complete.
    pub(crate) problem: Option<String>,
    /// What limits the comparison.
    pub(crate) note: Option<String>,
    /// How many deliveries were asked for again since the host started.
    pub(crate) n_asked: usize,
    /// How many events were made since the host started.
    pub(crate) n_made: usize,
}

/// The states of all places, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceStates(Arc<Mutex<BTreeMap<String, PlaceState>>>);

impl PlaceStates {
    /// Returns the states by the names of the places.
    pub(crate) fn all(&self) -> BTreeMap<String, PlaceState> {
        self.0.lock().expect("no holder panics").clone()
    }

    fn change(&self, place: &ReconcilePlace, change: impl FnOnce(&mut PlaceState)) {
        let mut states = self.0.lock().expect("no holder panics");
        change(states.entry(place.name.clone()).or_default());
    }
}

/// Compares services; clones share the state.
#[derive(Clone)]
pub(crate) struct Comparer {
    pub(super) home: Home,
    pub(super) matcher: Matcher,
    pub(super) failures: Arc<Failures>,
    pub(super) gaps: SharedGaps,
    pub(super) states: PlaceStates,
    pub(super) stop: CancellationToken,
}

/// A comparison whose events are not stored yet.
struct Compared {
    place: ReconcilePlace,
    source: Source,
    began: Timestamp,
    /// Whether there is more to find, so that the gap stays.
    is_partial: bool,
    /// The time since the comparison before.
    since_last: SignedDuration,
    /// `None` if nothing is to be stored.
    cursor: Option<String>,
    missed: Vec<MissedEvent>,
}

/// Compares at the start, at each interval and after a refused webhook, until the host stops.
pub(super) async fn run(comparer: Comparer) {
    let clock = Arc::clone(&comparer.matcher.clock);
    let mut due = tokio::time::Instant::now();
    note_absence(&comparer, clock.now()).await;
    while !comparer.stop.is_cancelled() {
        note_alive(&comparer).await;
        let interval = comparer.interval();
        if due <= tokio::time::Instant::now() {
            due = tokio::time::Instant::now() + interval;
            if let Err(error) = round(&comparer, interval).await {
                let what = "a comparison could not be stored";
                comparer.failures.store_failed(what, &error);
            }
        }
        tokio::select! {
            () = comparer.stop.cancelled() => {}
            () = comparer.gaps.noted.notified() => {
                due = due.min(tokio::time::Instant::now() + AFTER_REFUSAL.min(interval));
            }
            () = tokio::time::sleep_until(due) => {}
            () = tokio::time::sleep(ALIVE) => {}
        }
    }
    // The stop itself is not recorded: the gap of the next start begins with the last time that was stored.
    if comparer.gaps.has_unstored() {
        note_alive(&comparer).await;
    }
}

async fn note_absence(comparer: &Comparer, now: Timestamp) {
    let runtime = comparer.matcher.registrations.runtime.get();
    let sources = runtime.config.sources.secrets();
    let sources = sources.into_iter().map(|(source, _)| source);
    let store = &*comparer.matcher.store;
    if let Err(error) = comparer.gaps.note_absence(store, sources, now).await {
        let what = "the time without a host could not be read";
        comparer.failures.store_failed(what, &error);
    }
}

async fn note_alive(comparer: &Comparer) {
    let now = comparer.matcher.clock.now();
    let stored = comparer.gaps.store(&*comparer.matcher.store, now).await;
    if let Err(error) = stored {
        let what = "gaps of webhooks could not be stored";
        comparer.failures.store_failed(what, &error);
    }
}

/// Compares every place once.
///
/// # Errors
/// If the store fails; what was not stored is found again.
async fn round(comparer: &Comparer, interval: Duration) -> Result<(), StoreError> {
    let runtime = comparer.matcher.registrations.runtime.get();
    // Also before anything is sent there: another host may write with the same account.
    for surface in runtime.parts.surfaces.values() {
        let (store, clock) = (&*comparer.matcher.store, &comparer.matcher.clock);
        tokio::select! {
            () = comparer.stop.cancelled() => return Ok(()),
            noted = origin::note_account(store, &**surface, &**clock) => noted?,
        }
    }
    for reconciler in &runtime.parts.reconcilers {
        let began = comparer.matcher.clock.now();
        let mut waiting = Vec::new();
        let mut is_complete = true;
        for place in reconciler.places() {
            let compared = compare(comparer, &**reconciler, place).await?;
            is_complete &= compared.as_ref().is_some_and(|one| !one.is_partial);
            match compared {
                Some(compared) if compared.missed.is_empty() => {
                    is_complete &= accept(comparer, compared).await?;
                }
                Some(compared) => waiting.push(compared),
                None => {}
            }
            if comparer.stop.is_cancelled() {
                return Ok(());
            }
        }
        if !waiting.is_empty() {
            // A webhook says more than the objects, so it is preferred if it is only late.
            tokio::select! {
                () = comparer.stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(GRACE.min(interval / 10)) => {}
            }
        }
        for compared in waiting {
            is_complete &= accept(comparer, compared).await?;
        }
        if is_complete {
            let store = &*comparer.matcher.store;
            comparer
                .gaps
                .close(store, reconciler.source(), began)
                .await?;
        }
    }
    Ok(())
}

/// Compares one place; `None` if it could not be compared completely.
async fn compare(
    comparer: &Comparer,
    reconciler: &dyn Reconciler,
    place: ReconcilePlace,
) -> Result<Option<Compared>, StoreError> {
    let began = comparer.matcher.clock.now();
    let stored = comparer.matcher.store.bookmarks(&place.name).await?;
    let stored = stored.into_iter().find(|one| one.name == place.name);
    // The clock may have stepped back; then the age is negative, and the cursor counts.
    let stored = stored.filter(|one| began.duration_since(one.at) <= MAX_AGE);
    let cursor = stored.as_ref().map(|one| one.text.as_str());
    let compared = tokio::select! {
        () = comparer.stop.cancelled() => return Ok(None),
        compared = reconciler.compare(&place, cursor) => compared,
    };
    let compared = match compared {
        Ok(compared) => compared,
        Err(error) => {
            let secrets = &comparer.matcher.registrations.secrets;
            let (problem, repo) = (secrets.removed_from(&error.message), place.repo.as_ref());
            let repo = repo.map(RepoName::to_string);
            if error.kind == FactErrorKind::Final {
                tracing::warn!(
                    place = place.name,
                    repo,
                    problem,
                    "a comparison was refused"
                );
            } else {
                tracing::info!(place = place.name, repo, problem, "a comparison failed");
            }
            let change = |state: &mut PlaceState| state.problem = Some(problem);
            comparer.states.change(&place, change);
            return Ok(None);
        }
    };
    note(comparer, &place, (began, &compared));
    let since_last = stored.as_ref().map(|one| began.duration_since(one.at));
    let is_old = since_last.is_none_or(|since| since >= RENEWAL);
    let unchanged = stored.map(|one| one.text).filter(|_| is_old);
    Ok(Some(Compared {
        place,
        source: reconciler.source(),
        began,
        is_partial: compared.is_partial,
        since_last: since_last.unwrap_or(SignedDuration::ZERO),
        cursor: compared.cursor.or(unchanged),
        missed: compared.missed,
    }))
}

fn note(comparer: &Comparer, place: &ReconcilePlace, (at, compared): (Timestamp, &Comparison)) {
    if compared.n_asked > 0 {
        let (n, place) = (compared.n_asked, &place.name);
        tracing::info!(place, n, "failed deliveries were asked for again");
        metrics::counter!("daemon_deliveries_asked_total").increment(n as u64);
    }
    comparer.states.change(place, |state| {
        state.compared = Some(at);
        state.problem = None;
        state.note.clone_from(&compared.note);
        state.n_asked += compared.n_asked;
    });
}

/// Stores the events of a comparison together with its cursor; returns false if there is no space for them.
async fn accept(comparer: &Comparer, compared: Compared) -> Result<bool, StoreError> {
    let Some(cursor) = compared.cursor else {
        return Ok(true);
    };
    let root = comparer.home.root();
    // Refused like a webhook. The cursor stays, so that the next comparison finds the same.
    if let Some(why) = Space::of(root).refusal(root) {
        let problem = format!("the disk: {why}");
        comparer
            .states
            .change(&compared.place, |state| state.problem = Some(problem));
        return Ok(false);
    }
    let now = comparer.matcher.clock.now();
    let since = compared.since_last + now.duration_since(compared.began);
    let events = compared.missed.into_iter();
    let about = (compared.source, compared.place.repo.as_ref());
    let events = events.filter_map(|missed| new_event(about, missed, (since, now)));
    let bookmark = Bookmark {
        name: compared.place.name.clone(),
        text: cursor,
        // When the objects were read, and not when they are stored: what happens in between belongs to the next comparison.
        at: compared.began,
    };
    daemon_records::failpoint::hit("C1");
    let store = &comparer.matcher.store;
    let accepted = store
        .accept_marked(vec![bookmark], events.collect())
        .await?;
    daemon_records::failpoint::hit("C2");
    daemon_api::intake::count("reconciled", &accepted);
    comparer.matcher.backlog.add(&accepted);
    let is_new = |one: &&Accepted| one.freshness != Freshness::Duplicate;
    let n_new = accepted.iter().filter(is_new).count();
    if n_new > 0 {
        let place = &compared.place.name;
        tracing::info!(place, n_new, "a comparison found what no webhook brought");
    }
    comparer
        .states
        .change(&compared.place, |state| state.n_made += n_new);
    Ok(true)
}

fn new_event(
    (source, repo): (Source, Option<&RepoName>),
    missed: MissedEvent,
    (since, now): (SignedDuration, Timestamp),
) -> Option<NewEvent> {
    let reading = daemon_event::read(source, missed.kind, &missed.body, &Enrichment::default());
    let reading = match reading {
        Ok(reading) => reading,
        Err(error) => {
            tracing::error!(delivery = %missed.delivery, %error, "a missed event could not be read");
            return None;
        }
    };
    let event = Event {
        id: random::event_id(now),
        source,
        kind: missed.kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        // A renamed repository is compared under its watched name.
        repo: repo.cloned().or(reading.repo),
        time: reading.time.unwrap_or(now),
        received_at: now,
        delivery: missed.delivery,
        facts: reading.facts,
        payload: missed.body.into(),
    };
    Some(daemon_api::intake::reconciled(event, since))
}

impl Comparer {
    fn interval(&self) -> Duration {
        let config = self.matcher.registrations.runtime.config();
        config.sources.reconcile_interval().unsigned()
    }
}
