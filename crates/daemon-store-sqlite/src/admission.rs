//! Admission: triggers become activations.

use daemon_engine::{
    Activation, ActivationState, Admission, AdmissionState, NewTrigger, ROOT_PERIOD, Trigger, admit,
};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use daemon_store::ClaimRequest;
use daemon_store::stored::{conditions_to_text, occasion};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::activation::{self, Numbered};
use crate::claim;
use crate::column::{integer, micros};
use crate::failure::{TxResult, damaged};
use crate::hosting;
use crate::lane::{self, Lane};
use crate::tick;

pub(crate) fn enqueue(tx: &Connection, new: NewTrigger) -> TxResult<Admission> {
    enqueue_or_claim(tx, new, None)
}

/// Admits a trigger that a client names.
pub(crate) fn enqueue_or_claim(
    tx: &Connection,
    new: NewTrigger,
    at_once: Option<&mut ClaimAtOnce<'_>>,
) -> TxResult<Admission> {
    match new.trigger.key {
        TriggerKey::Tick(at) => tick::enqueue(tx, at, new),
        TriggerKey::Event(_) | TriggerKey::Person(_) => admit_trigger(tx, new, at_once),
    }
}

/// A claim of the one activation that can be claimed, if it is made.
#[derive(Debug)]
pub(crate) struct ClaimAtOnce<'r> {
    pub(crate) request: &'r ClaimRequest,
    pub(crate) claimed: Option<Activation>,
}

/// Returns the activation of a trigger that was admitted before.
pub(crate) fn triggered(
    tx: &Connection,
    daemon: &DaemonKey,
    key: &TriggerKey,
) -> TxResult<Option<ActivationId>> {
    let Some(lane) = lane::find(tx, daemon)? else {
        return Ok(None);
    };
    match key {
        TriggerKey::Tick(at) => Ok(tick::recorded_tick(tx, lane, *at)?.flatten()),
        TriggerKey::Event(_) | TriggerKey::Person(_) => known(tx, lane, key),
    }
}

/// Admits a trigger of any kind. A new activation is stored as leased if `at_once` may claim it.
pub(crate) fn admit_trigger(
    tx: &Connection,
    new: NewTrigger,
    at_once: Option<&mut ClaimAtOnce<'_>>,
) -> TxResult<Admission> {
    // Also if nothing is admitted: a daemon's place in the turns begins with its first trigger, as in the twin.
    let woken = lane::woken(tx, &new.daemon)?;
    let lane = woken.lane;
    let joinable = match woken.n_pending {
        0 => None,
        _ => joinable(tx, lane, &new)?,
    };
    let standing = AdmissionState {
        known: known(tx, lane, &new.trigger.key)?,
        joinable: joinable.as_ref().map(|waiting| waiting.1.clone()),
        pending_of_daemon: woken.n_pending,
        // From the table that SQL triggers keep: counting 100,000 rows for each trigger would make intake slower as the
        // queue grows.
        pending_in_all: hosting::tally(tx, "activation", ActivationState::Pending.as_str())?,
        ..of_root(tx, &new)?
    };
    let admission = admit(&new, &standing);
    match &admission {
        Admission::Enqueued(_) => {
            let trigger = new.trigger.clone();
            let mut made = Activation::pending(new);
            if let Some(at_once) = at_once
                && claim::lease_new(tx, woken, &mut made, at_once.request)?
            {
                at_once.claimed = Some(made.clone());
            }
            let number = activation::insert(tx, lane, &made)?;
            put(tx, lane, &trigger, Some(number), 0)?;
        }
        Admission::Joined(_) => {
            let (number, _) = joinable.expect("only what is joinable is joined");
            join(tx, lane, number, new)?;
        }
        Admission::Ended(_, end, _) => {
            let trigger = new.trigger.clone();
            let number = activation::insert(tx, lane, &Activation::ended(new, *end))?;
            put(tx, lane, &trigger, Some(number), 0)?;
        }
        Admission::Duplicate(_) => {}
        Admission::Refused(_) => put(tx, lane, &new.trigger, None, 0)?,
    }
    Ok(admission)
}

fn known(tx: &Connection, lane: Lane, key: &TriggerKey) -> TxResult<Option<ActivationId>> {
    let found: Option<String> = tx
        .prepare_cached(
            "SELECT a.id FROM wake AS w JOIN activation AS a ON a.number = w.activation \
             WHERE w.key = ?1 AND w.lane = ?2",
        )?
        .query_row(params![key.to_string(), lane.0], |row| row.get(0))
        .optional()?;
    found.map(|id| activation_id(&id)).transpose()
}

fn joinable(
    tx: &Connection,
    lane: Lane,
    new: &NewTrigger,
) -> TxResult<Option<(i64, ActivationId)>> {
    // `IS` and not `=`: no subject equals no subject here, and in SQL NULL equals nothing.
    let found: Option<(i64, String)> = tx
        .prepare_cached(
            "SELECT number, id FROM activation WHERE lane = ?1 AND subject IS ?2 AND state = 'pending' \
             ORDER BY number LIMIT 1",
        )?
        .query_row(
            params![lane.0, new.subject.as_ref().map(daemon_event::Subject::as_str)],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    found
        .map(|(number, id)| Ok((number, activation_id(&id)?)))
        .transpose()
}

/// Counts the activations of the root of a trigger's chain.
fn of_root(tx: &Connection, new: &NewTrigger) -> TxResult<AdmissionState> {
    let Some(link) = &new.link else {
        return Ok(AdmissionState::default());
    };
    let (of_root, ended_of_root): (i64, i64) = tx
        .prepare_cached(
            // Two parts, so that each of them uses its own index.
            "SELECT count(*) FILTER (WHERE state <> 'cancelled'), \
             count(*) FILTER (WHERE state = 'cancelled' AND started_at IS NULL) FROM ( \
               SELECT state, started_at FROM activation WHERE root = ?1 AND created_at > ?2 UNION ALL \
               SELECT state, started_at FROM activation WHERE id = ?1 AND root IS NULL AND created_at > ?2)",
        )?
        .query_row(
            params![
                link.chain.root.as_str(),
                micros(new.trigger.recorded_at - ROOT_PERIOD)
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
    let count = |n: i64| u64::try_from(n).map_err(|error| damaged("a count", error));
    Ok(AdmissionState {
        of_root: count(of_root)?,
        ended_of_root: count(ended_of_root)?,
        ..AdmissionState::default()
    })
}

fn activation_id(text: &str) -> TxResult<ActivationId> {
    Ok(text
        .parse()
        .map_err(|error| damaged("activation id", error))?)
}

fn join(tx: &Connection, lane: Lane, number: i64, new: NewTrigger) -> TxResult<()> {
    let mut joined: Numbered = activation::by_number(tx, number)?;
    let place = u64::try_from(joined.activation.triggers.len()).expect("a count fits");
    put(tx, lane, &new.trigger, Some(number), place)?;
    joined.activation.join(new.trigger, new.link);
    activation::update(tx, &joined)
}

/// Stores a trigger, and replaces the same one if it was refused.
fn put(
    tx: &Connection,
    lane: Lane,
    trigger: &Trigger,
    activation: Option<i64>,
    place: u64,
) -> TxResult<()> {
    let key = trigger.key.to_string();
    let conditions = conditions_to_text(&trigger.conditions);
    let occasion = trigger.occasion.as_deref().map(occasion::to_text);
    let row = params![
        key,
        lane.0,
        conditions,
        trigger.by,
        micros(trigger.recorded_at),
        activation,
        integer(place),
        occasion,
    ];
    // Two statements, because one that inserts or updates makes SQLite keep the old content of every page that it changes.
    let n_inserted = tx
        .prepare_cached(
            "INSERT OR IGNORE INTO wake (key, lane, conditions, asked_by, recorded_at, activation, place, occasion) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(row)?;
    if n_inserted == 0 {
        tx.prepare_cached(
            "UPDATE wake SET conditions = ?3, asked_by = ?4, recorded_at = ?5, activation = ?6, place = ?7, \
             occasion = ?8 WHERE key = ?1 AND lane = ?2",
        )?
        .execute(row)?;
    }
    Ok(())
}
