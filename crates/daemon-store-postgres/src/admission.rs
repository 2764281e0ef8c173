//! Admission: triggers become activations.

use daemon_engine::{
    Activation, Admission, AdmissionState, NewTrigger, ROOT_PERIOD, Trigger, admit,
};
use daemon_event::{ActivationId, DaemonKey, Subject, TriggerKey};
use daemon_store::stored::{conditions_to_text, occasion};
use daemon_store::{Matched, StoreError};
use jiff::Timestamp;

use crate::column::{Columns as _, integer, maybe_text, micros, text};
use crate::failure::{TxError, TxResult};
use crate::identity::EventPlace;
use crate::transaction::Tx;
use crate::{activation, lane, tick, wanted};

/// Marks events as matched and admits their triggers.
pub(crate) async fn commit_matches(
    tx: &Tx,
    matched: Vec<Matched>,
    now: Timestamp,
) -> TxResult<Vec<Admission>> {
    let mut triggers = Vec::new();
    for one in matched {
        let n_later = integer(one.n_later);
        let marked = tx
            .maybe_row(
                // A report that arrived after the event was read changes the count, and the event stays due.
                "UPDATE event SET due = false WHERE id = $1 AND due AND n_reports = $2 RETURNING repo, received_at, seq",
                &[&one.event.as_str(), &n_later],
            )
            .await?;
        let Some(row) = marked else {
            let find = "SELECT 1 FROM event WHERE id = $1";
            if tx.maybe_row(find, &[&one.event.as_str()]).await?.is_none() {
                return Err(StoreError::not_found("event", &one.event).into());
            }
            continue;
        };
        wanted::want(tx, &EventPlace::read(&row)?, &one.wanted, now).await?;
        triggers.extend(one.triggers);
    }
    enqueue_all(tx, triggers).await
}

/// Admits triggers in order.
pub(crate) async fn enqueue_all(tx: &Tx, triggers: Vec<NewTrigger>) -> TxResult<Vec<Admission>> {
    if triggers.len() > 1 {
        let daemons: Vec<&DaemonKey> = triggers.iter().map(|new| &new.daemon).collect();
        lane::lock_all(tx, &daemons).await?;
    }
    let mut admissions = Vec::with_capacity(triggers.len());
    for trigger in triggers {
        admissions.push(enqueue(tx, trigger).await?);
    }
    Ok(admissions)
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
    // Also if nothing is admitted: a daemon's place in the turns begins with its first trigger, as in the twin.
    let woken = lane::woken(tx, &new.daemon).await?;
    let joinable = match woken.n_pending {
        0 => None,
        _ => joinable(tx, &new).await?,
    };
    let standing = AdmissionState {
        known: known(tx, &new.daemon, &new.trigger.key).await?,
        joinable: joinable.clone(),
        pending_of_daemon: woken.n_pending,
        // Of lanes, because counting 100,000 rows for each trigger would make intake slower as the queue grows.
        pending_in_all: tx
            .row(
                "SELECT coalesce(sum(pending), 0)::bigint AS n FROM lane WHERE pending > 0",
                &[],
            )
            .await?
            .count("n")?,
        ..of_root(tx, &new).await?
    };
    let admission = admit(&new, &standing);
    match &admission {
        Admission::Enqueued(id) => {
            put(tx, &new.daemon, &new.trigger, Some((id, 0))).await?;
            activation::insert(tx, &Activation::pending(new)).await?;
        }
        Admission::Joined(_) => {
            let id = joinable.expect("only what is joinable is joined");
            join(tx, &id, new).await?;
        }
        Admission::Ended(id, end, _) => {
            put(tx, &new.daemon, &new.trigger, Some((id, 0))).await?;
            activation::insert(tx, &Activation::ended(new, *end)).await?;
        }
        Admission::Duplicate(_) => {}
        Admission::Refused(_) => put(tx, &new.daemon, &new.trigger, None).await?,
    }
    Ok(admission)
}

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
    put(tx, &new.daemon, &new.trigger, Some((id, place))).await?;
    joined.activation.join(new.trigger, new.link);
    activation::update(tx, &mut joined).await
}

/// Stores a trigger at its place in an activation, and replaces the same one if it was refused.
async fn put(
    tx: &Tx,
    daemon: &DaemonKey,
    trigger: &Trigger,
    placed: Option<(&ActivationId, i64)>,
) -> TxResult<()> {
    let (activation, place) = placed.unzip();
    tx.run(
        "INSERT INTO wake (repo, daemon, key, conditions, asked_by, recorded_at, activation, place, occasion) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (repo, daemon, key) DO UPDATE SET \
         conditions = excluded.conditions, asked_by = excluded.asked_by, recorded_at = excluded.recorded_at, \
         activation = excluded.activation, place = excluded.place, occasion = excluded.occasion",
        &[
            &daemon.repo.as_str(),
            &daemon.id.as_str(),
            &text(&trigger.key.to_string()),
            &conditions_to_text(&trigger.conditions),
            &maybe_text(trigger.by.as_deref()),
            &micros(trigger.recorded_at),
            &activation.map(ActivationId::as_str),
            &place.unwrap_or(0),
            &trigger.occasion.as_deref().map(occasion::to_text),
        ],
    )
    .await?;
    Ok(())
}
