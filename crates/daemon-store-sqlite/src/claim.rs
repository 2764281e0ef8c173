//! Claims: lanes in turn, the oldest ready activation of each.

use daemon_engine::{Activation, ActivationState, Gate};
use daemon_event::ActivationId;
use daemon_store::ClaimRequest;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::activation::{self, Numbered};
use crate::column::{instant, micros};
use crate::failure::Outcome;
use crate::hosting;
use crate::lane;

pub(crate) fn claim(tx: &Connection, request: &ClaimRequest) -> Outcome<Option<Activation>> {
    if !host_may_start(tx, request)? {
        return Ok(None);
    }
    // Asked for by a person first; where none of those is ready, no ready one is a person's.
    for (persons, lanes) in [
        (
            1,
            "SELECT id, busy FROM lane WHERE ready = 1 AND persons > 0 AND busy < ?1 ORDER BY turn",
        ),
        (
            0,
            "SELECT id, busy FROM lane WHERE ready = 1 AND pending > 0 AND busy < ?1 ORDER BY turn",
        ),
    ] {
        let mut in_turn = tx.prepare_cached(lanes)?;
        let mut rows = in_turn.query([request.daemon_slots])?;
        while let Some(row) = rows.next()? {
            let (lane, busy): (i64, i64) = (row.get(0)?, row.get(1)?);
            if let Some(number) = oldest_ready(tx, lane, persons, busy, request.now)? {
                drop(rows);
                drop(in_turn);
                return lease(tx, number, request).map(Some);
            }
        }
    }
    Ok(None)
}

pub(crate) fn claim_one(
    tx: &Connection,
    id: &ActivationId,
    request: &ClaimRequest,
) -> Outcome<Option<Activation>> {
    if !host_may_start(tx, request)? {
        return Ok(None);
    }
    let found: Option<i64> = tx
        .prepare_cached(
            "SELECT a.number FROM activation AS a JOIN lane AS l ON l.id = a.lane WHERE a.id = ?1 \
             AND a.state = 'pending' AND a.not_before <= ?2 AND l.ready = 1 AND l.busy < ?3 AND NOT EXISTS ( \
               SELECT 1 FROM activation AS b WHERE b.lane = a.lane AND b.subject IS a.subject \
               AND b.state IN ('claimed', 'running', 'delivering'))",
        )?
        .query_row(
            params![id.as_str(), micros(request.now), request.daemon_slots],
            |row| row.get(0),
        )
        .optional()?;
    found.map(|number| lease(tx, number, request)).transpose()
}

fn host_may_start(tx: &Connection, request: &ClaimRequest) -> Outcome<bool> {
    if hosting::gate(tx)? != Gate::Open {
        return Ok(false);
    }
    let mut n_busy = 0;
    for state in ActivationState::ALL {
        if daemon_store::decide::occupies_slot(state) {
            n_busy += hosting::tally(tx, "activation", state.as_str())?;
        }
    }
    Ok(n_busy < u64::from(request.host_slots))
}

fn oldest_ready(
    tx: &Connection,
    lane: i64,
    persons: i64,
    busy: i64,
    now: Timestamp,
) -> Outcome<Option<i64>> {
    // A lane may hold a thousand that all wait for their time: one look at the earliest saves looking at each.
    let is_time = tx
        .prepare_cached(
            "SELECT 1 FROM activation WHERE lane = ?1 AND state = 'pending' AND not_before <= ?2 LIMIT 1",
        )?
        .exists(params![lane, micros(now)])?;
    if !is_time {
        return Ok(None);
    }
    let found = tx
        .prepare_cached(
            "SELECT a.number FROM activation AS a WHERE a.lane = ?1 AND a.state = 'pending' AND a.has_person = ?2 \
             AND a.not_before <= ?3 AND (?4 = 0 OR NOT EXISTS ( \
               SELECT 1 FROM activation AS b WHERE b.lane = ?1 AND b.subject IS a.subject \
               AND b.state IN ('claimed', 'running', 'delivering'))) \
             ORDER BY a.number LIMIT 1",
        )?
        .query_row(params![lane, persons, micros(now), busy], |row| row.get(0))
        .optional()?;
    Ok(found)
}

fn lease(tx: &Connection, number: i64, request: &ClaimRequest) -> Outcome<Activation> {
    let mut claimed: Numbered = activation::by_number(tx, number)?;
    let daemon = &claimed.activation.daemon;
    let rev: String = tx
        .prepare_cached("SELECT rev FROM daemon WHERE repo = ?1 AND daemon = ?2 AND valid = 1")?
        .query_row(params![daemon.repo.as_str(), daemon.id.as_str()], |row| {
            row.get(0)
        })?;
    claimed
        .activation
        .lease(request.owner, request.lease_until, &rev);
    activation::update(tx, &claimed)?;
    lane::next_turn(tx, claimed.lane)?;
    Ok(claimed.activation)
}

pub(crate) fn next_claim_at(conn: &Connection, now: Timestamp) -> Outcome<Option<Timestamp>> {
    let earliest: Option<i64> = conn
        .prepare_cached(
            "SELECT min(not_before) FROM activation WHERE state = 'pending' AND not_before > ?1",
        )?
        .query_row([micros(now)], |row| row.get(0))?;
    earliest
        .map(|micros| instant("not_before", micros))
        .transpose()
}
