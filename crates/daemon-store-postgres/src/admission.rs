//! Admission: triggers become activations.

use std::collections::HashMap;

use daemon_engine::{
    Activation, Admission, AdmissionState, Joining, NewTrigger, ROOT_PERIOD, Trigger, admit,
};
use daemon_event::{ActivationId, DaemonKey, Subject, TriggerKey};
use daemon_store::stored::{conditions_to_text, occasion};
use daemon_store::{Matched, StoreError};
use futures_util::future::try_join;
use jiff::Timestamp;

use crate::column::{Columns as _, integer, maybe_text, micros, text};
use crate::failure::{TxError, TxResult};
use crate::identity::EventPlace;
use crate::lane::WokenLane;
use crate::transaction::Tx;
use crate::{activation, lane, tick, wanted};

/// Marks events as matched and admits their triggers.
pub(crate) async fn commit_matches(
    tx: &Tx,
    matched: Vec<Matched>,
    now: Timestamp,
) -> TxResult<Vec<Admission>> {
    Ok(match_all(tx, matched, now).await?.concat())
}

/// Marks events as matched and admits their triggers, and returns the admissions of each.
pub(crate) async fn match_all(
    tx: &Tx,
    matched: Vec<Matched>,
    now: Timestamp,
) -> TxResult<Vec<Vec<Admission>>> {
    if matched.is_empty() {
        return Ok(Vec::new());
    }
    // Lanes before events.
    let all = matched.iter().flat_map(|one| &one.triggers);
    let admitting = Admitting::of(tx, &all.collect::<Vec<_>>()).await?;
    let places = mark(tx, &matched).await?;
    let mut triggers = Vec::new();
    let mut numbers = Vec::with_capacity(matched.len());
    for (one, place) in matched.into_iter().zip(places) {
        let Some(place) = place else {
            numbers.push(0);
            continue;
        };
        wanted::want(tx, &place, &one.wanted, now).await?;
        numbers.push(one.triggers.len());
        triggers.extend(one.triggers);
    }
    let mut admissions = admitting.admit_all(triggers).await?.into_iter();
    let of = |n| admissions.by_ref().take(n).collect();
    Ok(numbers.into_iter().map(of).collect())
}

/// Marks events as matched; `None` for each that is not due, or no longer as it was read.
async fn mark(tx: &Tx, matched: &[Matched]) -> TxResult<Vec<Option<EventPlace>>> {
    let ids: Vec<&str> = matched.iter().map(|one| one.event.as_str()).collect();
    let n_later: Vec<i64> = matched.iter().map(|one| integer(one.n_later)).collect();
    let rows = tx
        .rows(
            // A report that arrived after the event was read changes the count, and the event stays due.
            "UPDATE event AS e SET due = false FROM unnest($1::text[], $2::bigint[]) AS k (id, n_later) \
             WHERE e.id = k.id AND e.due AND e.n_reports = k.n_later RETURNING e.id, k.n_later, e.repo, e.received_at, e.seq",
            &[&ids, &n_later],
        )
        .await?;
    let mut marked: HashMap<(String, i64), EventPlace> = HashMap::with_capacity(rows.len());
    for row in &rows {
        let read = (row.text("id")?, row.number("n_later")?);
        marked.insert(read, EventPlace::read(row)?);
    }
    let mut places = Vec::with_capacity(matched.len());
    for one in matched {
        // Of several who matched one event as it is now, the first.
        let place = marked.remove(&(one.event.to_string(), integer(one.n_later)));
        let find = "SELECT 1 FROM event WHERE id = $1";
        if place.is_none() && tx.maybe_row(find, &[&one.event.as_str()]).await?.is_none() {
            return Err(StoreError::not_found("event", &one.event).into());
        }
        places.push(place);
    }
    Ok(places)
}

/// Admits triggers in order.
pub(crate) async fn enqueue_all(tx: &Tx, triggers: Vec<NewTrigger>) -> TxResult<Vec<Admission>> {
    let admitting = Admitting::of(tx, &triggers.iter().collect::<Vec<_>>()).await?;
    admitting.admit_all(triggers).await
}

/// Admits a trigger that a client names.
pub(crate) async fn enqueue(tx: &Tx, new: NewTrigger) -> TxResult<Admission> {
    match new.trigger.key {
        TriggerKey::Tick(at) => tick::enqueue(tx, at, new).await,
        TriggerKey::Event(_) | TriggerKey::Person(_) => admit_trigger(tx, new).await,
    }
}

/// Returns the activation of a trigger that was admitted before.
pub(crate) async fn triggered(
    tx: &Tx,
    daemon: &DaemonKey,
    key: &TriggerKey,
) -> TxResult<Option<ActivationId>> {
    match key {
        TriggerKey::Tick(at) => Ok(tick::recorded_tick(tx, daemon, *at).await?.flatten()),
        TriggerKey::Event(_) | TriggerKey::Person(_) => known(tx, daemon, key).await,
    }
}

/// Admits a trigger of any kind.
pub(crate) async fn admit_trigger(tx: &Tx, new: NewTrigger) -> TxResult<Admission> {
    let mut admitting = Admitting::of(tx, &[&new]).await?;
    admitting.wake(std::slice::from_ref(&new)).await?;
    let admission = admitting.admit(new).await?;
    admitting.write().await?;
    Ok(admission)
}

/// Triggers on their way in.
struct Admitting<'t> {
    tx: &'t Tx,
    /// The locked lanes.
    lanes: HashMap<DaemonKey, WokenLane>,
    /// How many activations of each daemon are pending.
    pending: HashMap<DaemonKey, u64>,
    pending_in_all: u64,
    /// The activations of the triggers that were admitted before.
    known: HashMap<(DaemonKey, String), ActivationId>,
    /// New activations that are not written yet.
    made: Vec<Activation>,
    /// Triggers that are not written yet, each with its place in an activation.
    wakes: Vec<Wake>,
}

/// A trigger as it is stored.
struct Wake {
    daemon: DaemonKey,
    trigger: Trigger,
    /// `None` for one that was refused.
    placed: Option<(ActivationId, i64)>,
}

impl<'t> Admitting<'t> {
    /// Locks the lanes of triggers and reads what is to be known of them.
    async fn of(tx: &'t Tx, triggers: &[&NewTrigger]) -> TxResult<Self> {
        let mut admitting = Self {
            tx,
            lanes: HashMap::new(),
            pending: HashMap::new(),
            pending_in_all: 0,
            known: HashMap::new(),
            made: Vec::new(),
            wakes: Vec::new(),
        };
        if triggers.is_empty() {
            return Ok(admitting);
        }
        let repos: Vec<&str> = triggers
            .iter()
            .map(|new| new.daemon.repo.as_str())
            .collect();
        let daemons: Vec<&str> = triggers.iter().map(|new| new.daemon.id.as_str()).collect();
        let keys: Vec<String> = triggers
            .iter()
            .map(|new| new.trigger.key.to_string())
            .collect();
        let stored: Vec<_> = keys.iter().map(|key| text(key)).collect();
        let [lanes, waiting, known] = tx
            .rows_of_first([
                (lane::LOCKED, &[&repos, &daemons]),
                (WAITING, &[]),
                (KNOWN, &[&repos, &daemons, &stored]),
            ])
            .await?;
        admitting.lanes = lane::read(&lanes)?;
        admitting.pending_in_all = waiting.first().map_or(Ok(0), |row| row.count("n"))?;
        for row in &known {
            let place: usize = row.narrow("place")?;
            let key = (triggers[place - 1].daemon.clone(), keys[place - 1].clone());
            admitting.known.insert(key, row.word("activation")?);
        }
        Ok(admitting)
    }

    /// Wakes the lanes of triggers, also if nothing is admitted: a daemon's place in the turns begins with its first trigger, as in the
    /// twin.
    async fn wake(&mut self, triggers: &[NewTrigger]) -> TxResult<()> {
        let daemons: Vec<&DaemonKey> = triggers.iter().map(|new| &new.daemon).collect();
        self.pending = lane::wake_all(self.tx, &daemons, &mut self.lanes).await?;
        Ok(())
    }

    /// Admits triggers in order.
    async fn admit_all(mut self, triggers: Vec<NewTrigger>) -> TxResult<Vec<Admission>> {
        self.wake(&triggers).await?;
        let mut admissions = Vec::with_capacity(triggers.len());
        for new in triggers {
            admissions.push(match new.trigger.key {
                TriggerKey::Tick(at) => {
                    self.write().await?;
                    let daemon = new.daemon.clone();
                    let admission = tick::enqueue(self.tx, at, new).await?;
                    self.admitted_elsewhere(&daemon, &admission);
                    admission
                }
                TriggerKey::Event(_) | TriggerKey::Person(_) => self.admit(new).await?,
            });
        }
        self.write().await?;
        Ok(admissions)
    }

    async fn admit(&mut self, new: NewTrigger) -> TxResult<Admission> {
        let key = (new.daemon.clone(), new.trigger.key.to_string());
        let n_pending = self.pending.get(&new.daemon).copied().unwrap_or_default();
        let joinable = match (n_pending, new.joining) {
            (0, _) | (_, Joining::Separate) => None,
            (_, Joining::Coalesce) => {
                self.write().await?;
                joinable(self.tx, &new).await?
            }
        };
        if new.link.is_some() {
            self.write().await?;
        }
        let standing = AdmissionState {
            known: self.known.get(&key).cloned(),
            joinable,
            pending_of_daemon: n_pending,
            pending_in_all: self.pending_in_all,
            ..of_root(self.tx, &new).await?
        };
        let admission = admit(&new, &standing);
        if let Some(id) = admission.activation() {
            self.known.insert(key, id.clone());
        }
        match &admission {
            Admission::Enqueued(id) => {
                self.put(&new, Some((id.clone(), 0)));
                self.made.push(Activation::pending(new.clone()));
                self.count(&new.daemon);
            }
            Admission::Joined(id) => join(self.tx, id, new).await?,
            Admission::Ended(id, end, _) => {
                self.put(&new, Some((id.clone(), 0)));
                self.made.push(Activation::ended(new, *end));
            }
            Admission::Duplicate(_) => {}
            Admission::Refused(_) => {
                // The same trigger may be refused twice.
                self.write().await?;
                self.put(&new, None);
            }
        }
        Ok(admission)
    }

    fn put(&mut self, new: &NewTrigger, placed: Option<(ActivationId, i64)>) {
        self.wakes.push(Wake {
            daemon: new.daemon.clone(),
            trigger: new.trigger.clone(),
            placed,
        });
    }

    fn count(&mut self, daemon: &DaemonKey) {
        *self.pending.entry(daemon.clone()).or_default() += 1;
        self.pending_in_all += 1;
    }

    fn admitted_elsewhere(&mut self, daemon: &DaemonKey, admission: &Admission) {
        if matches!(admission, Admission::Enqueued(_)) {
            self.count(daemon);
        }
    }

    /// Writes what is new.
    async fn write(&mut self) -> TxResult<()> {
        let (wakes, made) = (
            std::mem::take(&mut self.wakes),
            std::mem::take(&mut self.made),
        );
        // Neither reads what the other writes.
        try_join(put(self.tx, &wakes), activation::insert_all(self.tx, &made)).await?;
        Ok(())
    }
}

/// How many activations are pending in all. Of lanes, because counting 100,000 rows for each trigger would make intake slower as the
/// queue grows.
const WAITING: &str = "SELECT coalesce(sum(pending), 0)::bigint AS n FROM lane WHERE pending > 0";

/// The activations of triggers that were admitted before.
const KNOWN: &str = "SELECT k.place, w.activation FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY \
     AS k (repo, daemon, key, place) JOIN wake AS w USING (repo, daemon, key) WHERE w.activation IS NOT NULL";

async fn known(tx: &Tx, daemon: &DaemonKey, key: &TriggerKey) -> TxResult<Option<ActivationId>> {
    let found = tx
        .maybe_row(
            "SELECT activation FROM wake WHERE repo = $1 AND daemon = $2 AND key = $3",
            &[
                &daemon.repo.as_str(),
                &daemon.id.as_str(),
                &text(&key.to_string()),
            ],
        )
        .await?;
    found.map_or(Ok(None), |row| row.maybe_word("activation"))
}

async fn joinable(tx: &Tx, new: &NewTrigger) -> TxResult<Option<ActivationId>> {
    let found = tx
        .maybe_row(
            "SELECT id FROM activation WHERE repo = $1 AND daemon = $2 AND subject = $3 AND state = 'pending' \
             ORDER BY number LIMIT 1",
            &[
                &new.daemon.repo.as_str(),
                &new.daemon.id.as_str(),
                &text(new.subject.as_ref().map_or("", Subject::as_str)),
            ],
        )
        .await?;
    found.map(|row| row.word("id")).transpose()
}

/// Counts the activations of the root of a trigger's chain.
async fn of_root(tx: &Tx, new: &NewTrigger) -> TxResult<AdmissionState> {
    let Some(link) = &new.link else {
        return Ok(AdmissionState::default());
    };
    let since = micros(new.trigger.recorded_at - ROOT_PERIOD);
    let row = tx
        .row(
            // Two parts, so that each of them uses its own index.
            "SELECT count(*) FILTER (WHERE state <> 'cancelled') AS n, \
             count(*) FILTER (WHERE state = 'cancelled' AND started_at IS NULL) AS n_ended FROM ( \
               SELECT state, started_at FROM activation WHERE root = $1 AND created_at > $2 UNION ALL \
               SELECT state, started_at FROM activation WHERE id = $1 AND root IS NULL AND created_at > $2) AS of_root",
            &[&link.chain.root.as_str(), &since],
        )
        .await?;
    Ok(AdmissionState {
        of_root: row.count("n")?,
        ended_of_root: row.count("n_ended")?,
        ..AdmissionState::default()
    })
}

async fn join(tx: &Tx, id: &ActivationId, new: NewTrigger) -> TxResult<()> {
    let mut joined = activation::find(tx, id).await?.ok_or(TxError::Overtaken)?;
    let place = integer(joined.activation.triggers.len());
    let wake = Wake {
        daemon: new.daemon,
        trigger: new.trigger.clone(),
        placed: Some((id.clone(), place)),
    };
    put(tx, &[wake]).await?;
    joined.activation.join(new.trigger, new.link);
    activation::update(tx, &mut joined).await
}

/// Stores triggers in order, and replaces those that were refused.
async fn put(tx: &Tx, wakes: &[Wake]) -> TxResult<()> {
    if wakes.is_empty() {
        return Ok(());
    }
    let keys: Vec<String> = wakes
        .iter()
        .map(|one| one.trigger.key.to_string())
        .collect();
    let ids = wakes
        .iter()
        .map(|one| one.placed.as_ref().map(|(id, _)| id.as_str()));
    let places = wakes
        .iter()
        .map(|one| one.placed.as_ref().map_or(0, |(_, place)| *place));
    let triggers = || wakes.iter().map(|one| &one.trigger);
    tx.run(
        "INSERT INTO wake (repo, daemon, key, conditions, asked_by, recorded_at, activation, place, occasion) \
         SELECT k.repo, k.daemon, k.key, k.conditions, k.asked_by, k.recorded_at, k.activation, k.place, k.occasion \
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], \
         $9::text[]) WITH ORDINALITY AS k (repo, daemon, key, conditions, asked_by, recorded_at, activation, place, \
         occasion, n) ORDER BY k.n ON CONFLICT (repo, daemon, key) DO UPDATE SET \
         conditions = excluded.conditions, asked_by = excluded.asked_by, recorded_at = excluded.recorded_at, \
         activation = excluded.activation, place = excluded.place, occasion = excluded.occasion",
        &[
            &wakes.iter().map(|one| one.daemon.repo.as_str()).collect::<Vec<_>>(),
            &wakes.iter().map(|one| one.daemon.id.as_str()).collect::<Vec<_>>(),
            &keys.iter().map(|key| text(key)).collect::<Vec<_>>(),
            &triggers().map(|one| conditions_to_text(&one.conditions)).collect::<Vec<_>>(),
            &triggers().map(|one| maybe_text(one.by.as_deref())).collect::<Vec<_>>(),
            &triggers().map(|one| micros(one.recorded_at)).collect::<Vec<_>>(),
            &ids.collect::<Vec<_>>(),
            &places.collect::<Vec<_>>(),
            &triggers().map(|one| one.occasion.as_deref().map(occasion::to_text)).collect::<Vec<_>>(),
        ],
    )
    .await?;
    Ok(())
}
