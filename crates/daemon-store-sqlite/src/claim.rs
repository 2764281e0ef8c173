//! Claims: the lanes in turn, and the oldest ready activation of each.
//!
//! When an activation is ready is decided by `daemon_engine::obstacle`; the queries here repeat that rule in the terms of
//! indexes, and the conformance suite compares both.

use std::collections::BTreeSet;

use daemon_engine::{Activation, DAY, Gate, RATE_PERIOD};
use daemon_event::{ActivationId, Subject};
use daemon_store::{ClaimRequest, Rates};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, named_params, params};

use crate::activation::{self, Numbered};
use crate::column::{instant, micros};
use crate::failure::TxResult;
use crate::hosting;
use crate::lane::{self, Lane, WokenLane};

/// The SQL condition that the rate of its subject lets an activation, `a` by default, begin at `:now`: fewer than `:subject_rate`
/// of the same subject began after `:hour_ago`.
macro_rules! is_within_subject_rate {
    () => {
        is_within_subject_rate!("a.lane", "a.subject", "a.has_tick")
    };
    ($lane:literal, $subject:literal, $has_tick:literal) => {
        concat!(
            "(:subject_rate IS NULL OR ",
            $subject,
            " IS NULL OR ",
            $has_tick,
            " OR :subject_rate > ( ",
            "SELECT count(*) FROM activation AS c WHERE c.lane = ",
            $lane,
            " AND c.subject IS ",
            $subject,
            " AND c.started_at > :hour_ago AND c.started_at <= :now))"
        )
    };
}

/// Whether an activation that may have crashed a host can be leased: only one at a time can.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suspects {
    MayStart,
    Wait,
}

impl Suspects {
    fn of(tx: &Connection) -> TxResult<Self> {
        Ok(if hosting::suspect_is_leased(tx)? {
            Self::Wait
        } else {
            Self::MayStart
        })
    }
}

pub(crate) fn claim(tx: &Connection, request: &ClaimRequest) -> TxResult<Option<Activation>> {
    if !host_may_start(tx, request)? {
        return Ok(None);
    }
    let suspects = Suspects::of(tx)?;
    // Requests of persons come first. If no lane has a ready one, the second query need not look at `has_person` again.
    for (persons, lanes) in [
        (
            1,
            // The words of the partial indexes `lane_persons` and `lane_pending`, which are ordered by `turn`.
            "SELECT id, busy FROM lane WHERE ready = 1 AND persons > 0 AND leased < ?1 ORDER BY turn",
        ),
        (
            0,
            "SELECT id, busy FROM lane WHERE ready = 1 AND pending > 0 AND leased < ?1 ORDER BY turn",
        ),
    ] {
        let mut in_turn = tx.prepare_cached(lanes)?;
        let mut rows = in_turn.query([request.daemon_slots])?;
        while let Some(row) = rows.next()? {
            let (lane, busy): (i64, i64) = (row.get(0)?, row.get(1)?);
            if !is_within_daemon_rate(tx, lane, request.rates, request.now)? {
                continue;
            }
            if let Some(number) = oldest_ready(tx, lane, [persons, busy], suspects, request)? {
                // The lease changes `lane`, which the open cursor still reads.
                drop(rows);
                drop(in_turn);
                return lease_stored(tx, number, request).map(Some);
            }
        }
    }
    Ok(None)
}

pub(crate) fn claim_one(
    tx: &Connection,
    id: &ActivationId,
    request: &ClaimRequest,
) -> TxResult<Option<Activation>> {
    if !host_may_start(tx, request)? {
        return Ok(None);
    }
    let found: Option<(i64, i64)> = tx
        .prepare_cached(
            concat!(
                "SELECT a.number, a.lane FROM activation AS a JOIN lane AS l ON l.id = a.lane WHERE a.id = :id \
                 AND a.state = 'pending' AND a.not_before <= :now \
                 AND (:suspects OR NOT (a.host_crashes > 0 OR a.crashes_alone > 0)) \
                 AND l.ready = 1 AND l.leased < :slots AND NOT EXISTS ( \
                   SELECT 1 FROM activation AS b WHERE b.lane = a.lane AND b.subject IS a.subject \
                   AND (b.state = 'claimed' OR b.state = 'running' OR b.state = 'delivering')) AND ",
                is_within_subject_rate!()
            ),
        )?
        .query_row(
            named_params! {
                ":id": id.as_str(),
                ":now": micros(request.now),
                ":slots": request.daemon_slots,
                ":subject_rate": request.rates.subject,
                ":hour_ago": micros(request.now - RATE_PERIOD),
                ":suspects": Suspects::of(tx)? == Suspects::MayStart,
            },
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match found {
        Some((number, lane)) if is_within_daemon_rate(tx, lane, request.rates, request.now)? => {
            lease_stored(tx, number, request).map(Some)
        }
        Some(_) | None => Ok(None),
    }
}

fn host_may_start(tx: &Connection, request: &ClaimRequest) -> TxResult<bool> {
    let is_open_and_has_slots: bool = tx
        .prepare_cached(
            "SELECT gate = ?1 AND ?2 > (SELECT total(n) FROM tally \
             WHERE kind = 'activation' AND (state = 'claimed' OR state = 'running')) FROM host",
        )?
        .query_row(params![Gate::Open.as_str(), request.host_slots], |row| {
            row.get(0)
        })?;
    if !is_open_and_has_slots {
        return Ok(false);
    }
    if !is_within_host_rate(tx, request.rates, request.now)? {
        return Ok(false);
    }
    // Last, since it adds up a day of rows; the checks before it read single rows or an index.
    if let Some(limit) = request.day_usd {
        let spent: f64 = tx
            .prepare_cached("SELECT total(cost_usd) FROM activation WHERE started_at > ?1")?
            .query_row([micros(request.now - DAY)], |row| row.get(0))?;
        return Ok(spent < limit);
    }
    Ok(true)
}

fn is_within_host_rate(tx: &Connection, rates: Rates, now: Timestamp) -> TxResult<bool> {
    let Some(limit) = rates.host else {
        return Ok(true);
    };
    let began: u32 = tx
        .prepare_cached(
            "SELECT count(*) FROM activation WHERE started_at > ?1 AND started_at <= ?2",
        )?
        .query_row([micros(now - RATE_PERIOD), micros(now)], |row| row.get(0))?;
    Ok(began < limit)
}

/// Reports whether the rate of one daemon lets it begin another activation.
fn is_within_daemon_rate(
    tx: &Connection,
    lane: i64,
    rates: Rates,
    now: Timestamp,
) -> TxResult<bool> {
    let Some(limit) = rates.daemon else {
        return Ok(true);
    };
    let began: u32 = tx
        .prepare_cached("SELECT count(*) FROM activation WHERE lane = ?1 AND started_at > ?2 AND started_at <= ?3")?
        .query_row(params![lane, micros(now - RATE_PERIOD), micros(now)], |row| row.get(0))?;
    Ok(began < limit)
}

/// Returns which of some activations are kept from beginning by rates.
pub(crate) fn over_rate(
    tx: &Connection,
    ids: &[ActivationId],
    rates: Rates,
    now: Timestamp,
) -> TxResult<BTreeSet<ActivationId>> {
    let is_within_host_rate = is_within_host_rate(tx, rates, now)?;
    let mut over = BTreeSet::new();
    for id in ids {
        if let Some(is_within) = is_within_own_rates(tx, id, rates, now)?
            && !(is_within && is_within_host_rate)
        {
            over.insert(id.clone());
        }
    }
    Ok(over)
}

/// Reports whether the rates of its daemon and its subject let an activation begin; `None` if there is no such activation.
fn is_within_own_rates(
    tx: &Connection,
    id: &ActivationId,
    rates: Rates,
    now: Timestamp,
) -> TxResult<Option<bool>> {
    let found: Option<(i64, bool)> = tx
        .prepare_cached(concat!(
            "SELECT a.lane, ",
            is_within_subject_rate!(),
            " FROM activation AS a WHERE a.id = :id"
        ))?
        .query_row(
            named_params! {
                ":id": id.as_str(),
                ":subject_rate": rates.subject,
                ":hour_ago": micros(now - RATE_PERIOD),
                ":now": micros(now),
            },
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((lane, is_within_subject_rate)) = found else {
        return Ok(None);
    };
    let is_within = is_within_subject_rate && is_within_daemon_rate(tx, lane, rates, now)?;
    Ok(Some(is_within))
}

/// Returns which of some activations have not ended.
pub(crate) fn unfinished_among(
    tx: &Connection,
    ids: &[ActivationId],
) -> TxResult<BTreeSet<ActivationId>> {
    let mut unfinished =
        tx.prepare_cached("SELECT 1 FROM activation WHERE id = ?1 AND finished_at IS NULL")?;
    let mut found = BTreeSet::new();
    for id in ids {
        if unfinished.exists([id.as_str()])? {
            found.insert(id.clone());
        }
    }
    Ok(found)
}

fn oldest_ready(
    tx: &Connection,
    lane: i64,
    [persons, busy]: [i64; 2],
    suspects: Suspects,
    request: &ClaimRequest,
) -> TxResult<Option<i64>> {
    // A lane may have a thousand activations that are not due yet: one look at the earliest saves a look at each.
    let is_time = tx
        .prepare_cached(
            "SELECT 1 FROM activation WHERE lane = ?1 AND state = 'pending' AND not_before <= ?2 LIMIT 1",
        )?
        .exists(params![lane, micros(request.now)])?;
    if !is_time {
        return Ok(None);
    }
    // The index of the queue has the rows in the wanted order. SQLite would choose that of the waiting times, and sort them.
    // With no activation of the lane leased or delivering (`busy` = 0) no subject is blocked, which saves the inner query in the usual case.
    let found = tx
        .prepare_cached(
            concat!(
                "SELECT a.number FROM activation AS a INDEXED BY activation_queue WHERE a.lane = :lane AND a.state = 'pending' \
                 AND a.has_person = :persons AND a.not_before <= :now \
                 AND (:suspects OR NOT (a.host_crashes > 0 OR a.crashes_alone > 0)) AND (:busy = 0 OR NOT EXISTS ( \
                   SELECT 1 FROM activation AS b WHERE b.lane = a.lane AND b.subject IS a.subject \
                   AND (b.state = 'claimed' OR b.state = 'running' OR b.state = 'delivering'))) AND ",
                is_within_subject_rate!(),
                " ORDER BY a.number LIMIT 1"
            ),
        )?
        .query_row(
            named_params! {
                ":lane": lane,
                ":persons": persons,
                ":now": micros(request.now),
                ":busy": busy,
                ":subject_rate": request.rates.subject,
                ":hour_ago": micros(request.now - RATE_PERIOD),
                ":suspects": suspects == Suspects::MayStart,
            },
            |row| row.get(0),
        )
        .optional()?;
    Ok(found)
}

/// Leases an activation that is not stored yet, if nothing else is pending and it may start; returns whether it is leased.
///
/// Returns `false` also where only the queries of [`claim`] can decide.
pub(crate) fn lease_new(
    tx: &Connection,
    woken: WokenLane,
    new: &mut Activation,
    request: &ClaimRequest,
) -> TxResult<bool> {
    let may_start = woken.is_free
        && request.daemon_slots > 0
        && new.is_due(request.now)
        && host_may_start(tx, request)?
        && is_within_daemon_rate(tx, woken.lane.0, request.rates, request.now)?
        && is_within_subject_rate(tx, woken.lane, new, request)?;
    if may_start {
        lease(tx, new, request)?;
        lane::next_turn(tx, woken.lane)?;
    }
    Ok(may_start)
}

fn is_within_subject_rate(
    tx: &Connection,
    lane: Lane,
    new: &Activation,
    request: &ClaimRequest,
) -> TxResult<bool> {
    if request.rates.subject.is_none() {
        return Ok(true);
    }
    let is_within = tx
        .prepare_cached(concat!(
            "SELECT ",
            is_within_subject_rate!(":lane", ":subject", ":has_tick")
        ))?
        .query_row(
            named_params! {
                ":lane": lane.0,
                ":subject": new.subject.as_ref().map(Subject::as_str),
                ":has_tick": new.has_tick(),
                ":subject_rate": request.rates.subject,
                ":hour_ago": micros(request.now - RATE_PERIOD),
                ":now": micros(request.now),
            },
            |row| row.get(0),
        )?;
    Ok(is_within)
}

fn lease_stored(tx: &Connection, number: i64, request: &ClaimRequest) -> TxResult<Activation> {
    let mut claimed: Numbered = activation::by_number(tx, number)?;
    lease(tx, &mut claimed.activation, request)?;
    activation::update(tx, &claimed)?;
    lane::next_turn(tx, claimed.lane)?;
    Ok(claimed.activation)
}

/// Leases an activation for the revision that its daemon has now.
fn lease(tx: &Connection, claimed: &mut Activation, request: &ClaimRequest) -> TxResult<()> {
    let daemon = &claimed.daemon;
    let rev: String = tx
        .prepare_cached("SELECT rev FROM daemon WHERE repo = ?1 AND daemon = ?2 AND valid = 1")?
        .query_row(params![daemon.repo.as_str(), daemon.id.as_str()], |row| {
            row.get(0)
        })?;
    claimed.lease(request.owner, request.lease_until, &rev);
    Ok(())
}

pub(crate) fn next_claim_at(conn: &Connection, now: Timestamp) -> TxResult<Option<Timestamp>> {
    // Only the time counts here. Gates and slots change by events, which wake the dispatcher.
    let earliest: Option<i64> = conn
        .prepare_cached(
            "SELECT min(not_before) FROM activation WHERE state = 'pending' AND not_before > ?1",
        )?
        .query_row([micros(now)], |row| row.get(0))?;
    earliest
        .map(|micros| instant("not_before", micros))
        .transpose()
}
