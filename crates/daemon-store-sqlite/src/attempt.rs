//! Attempts: runs, leases, ends, and the operations that take activations back.

use daemon_engine::{
    Activation, AttemptEnd, Conduct, Departure, Gate, HostEpoch, Output, OutputState,
    PENDING_EXPIRY, RunLease, end_attempt as decide_end, reclaim as decide_reclaim,
};
use daemon_event::ActivationId;
use daemon_store::{Ended, Reclaimed, RunRow, StoreError};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::activation::{self, Numbered};
use crate::column::micros;
use crate::failure::TxResult;
use crate::{hosting, memory, output, registry, run};

pub(crate) fn start_run(
    tx: &Connection,
    id: &ActivationId,
    lease: RunLease,
    row: RunRow,
    now: Timestamp,
) -> TxResult<()> {
    let mut held = activation::held(tx, id, lease)?;
    held.activation.begin_run(now);
    activation::update(tx, &held)?;
    run::put(tx, &row)
}

pub(crate) fn put_run(tx: &Connection, row: RunRow, lease: Option<RunLease>) -> TxResult<()> {
    if let Some(id) = &row.activation {
        activation::held(tx, id, lease.ok_or(StoreError::LeaseLost)?)?;
    }
    run::put(tx, &row)
}

pub(crate) fn renew(
    tx: &Connection,
    leases: Vec<(ActivationId, RunLease)>,
    until: Timestamp,
) -> TxResult<Vec<ActivationId>> {
    // One UPDATE that checks the lease itself: a host renews all its leases every ten seconds and needs none of the rows.
    let mut extend = tx.prepare_cached(
        "UPDATE activation SET lease_until = ?3 WHERE id = ?1 AND run_lease = ?2 AND state IN ('claimed', 'running')",
    )?;
    let mut lost = Vec::new();
    for (id, lease) in leases {
        let n = extend.execute((id.as_str(), crate::column::integer(lease.0), micros(until)))?;
        if n == 0 {
            lost.push(id);
        }
    }
    Ok(lost)
}

pub(crate) fn end_attempt(
    tx: &Connection,
    id: &ActivationId,
    lease: RunLease,
    end: AttemptEnd,
) -> TxResult<Ended> {
    let mut held = activation::held(tx, id, lease)?;
    if end.keeps_results() {
        // First, because only a change of state can be refused. The writer would take the outputs back, the twin has
        // none.
        memory::change(tx, held.lane, &end.state)?;
        for new in &end.outputs {
            output::propose(
                tx,
                &held,
                &Output::new(new.clone(), &held.activation, end.at),
            )?;
        }
    }
    let unsettled = output::states_of(tx, held.number)?
        .into_iter()
        .filter(|state| !OutputState::is_settled(*state))
        .count();
    let next = decide_end(&held.activation, &end, unsettled);
    held.activation.finish(&end, next);
    activation::update(tx, &held)?;
    if end.counts_for_gate() {
        return ended(tx, held);
    }
    let conduct = registry::conduct(tx, &held.activation.daemon)?;
    Ok(Ended {
        activation: held.activation,
        gate: conduct.map_or(Gate::Open, |conduct| conduct.gate),
    })
}

/// Makes pending activations due; others are passed over.
pub(crate) fn hasten(tx: &Connection, ids: &[ActivationId], now: Timestamp) -> TxResult<()> {
    for id in ids {
        let Some(mut found) = activation::find(tx, id)? else {
            continue;
        };
        if found.activation.hasten(now) {
            activation::update(tx, &found)?;
        }
    }
    Ok(())
}

/// Updates the daemon's failures and gate for the activation's new state.
pub(crate) fn ended(tx: &Connection, ended: Numbered) -> TxResult<Ended> {
    let activation = ended.activation;
    let gate = match registry::conduct(tx, &activation.daemon)? {
        None => Gate::Open,
        Some(before) => {
            let conduct: Conduct = before.after(activation.state);
            // Most ends change nothing, and an update would also recompute whether the lane is ready.
            if conduct != before {
                registry::set_conduct(tx, &activation.daemon, ended.lane, conduct)?;
            }
            conduct.gate
        }
    };
    Ok(Ended { activation, gate })
}

// The condition names `delivering` and excludes it again: SQLite uses the partial index `activation_busy` only for its own
// words.
const LEASED: &str = "(a.state = 'claimed' OR a.state = 'running' OR a.state = 'delivering') AND a.state <> 'delivering' \
     AND (a.owner IS NULL OR a.owner < :epoch OR a.lease_until IS NULL OR a.lease_until <= :now) ORDER BY a.number";

fn taken_back(conn: &Connection, epoch: HostEpoch, now: Timestamp) -> TxResult<Vec<Numbered>> {
    let epoch = crate::column::integer(epoch.0);
    activation::select(conn, LEASED, &[(":epoch", &epoch), (":now", &micros(now))])
}

pub(crate) fn reclaim(
    tx: &Connection,
    epoch: HostEpoch,
    now: Timestamp,
) -> TxResult<Vec<Reclaimed>> {
    let mut reclaimed = Vec::new();
    for mut one in taken_back(tx, epoch, now)? {
        let departure = Departure::of(one.activation.owner, epoch, |owner| {
            hosting::crash_of(tx, owner)
        })?;
        let taken = decide_reclaim(&one.activation, departure, now);
        let is_poison = taken.is_poison();
        one.activation.take_back(taken, now);
        activation::update(tx, &one)?;
        run::close(tx, one.number, "unknown", now)?;
        let activation = if is_poison {
            one.activation
        } else {
            ended(tx, one)?.activation
        };
        reclaimed.push(Reclaimed {
            id: activation.id,
            lease: activation.run_lease,
            state: activation.state,
        });
    }
    Ok(reclaimed)
}

pub(crate) fn reclaimable(
    conn: &Connection,
    epoch: HostEpoch,
    now: Timestamp,
) -> TxResult<Vec<Activation>> {
    let found = taken_back(conn, epoch, now)?;
    Ok(found.into_iter().map(|one| one.activation).collect())
}

pub(crate) fn expire(tx: &Connection, now: Timestamp) -> TxResult<u64> {
    let ready_since = micros(now - PENDING_EXPIRY);
    // The query selects by the index of waiting times, and the engine decides, so that the rule of expiry has one home.
    let waiting = activation::select(
        tx,
        "a.state = 'pending' AND a.not_before <= :since",
        &[(":since", &ready_since)],
    )?;
    let mut n_expired = 0;
    for mut one in waiting {
        if one.activation.is_expired(now) {
            one.activation.cancel("expired", now);
            activation::update(tx, &one)?;
            n_expired += 1;
        }
    }
    Ok(n_expired)
}

pub(crate) fn cancel(
    tx: &Connection,
    id: &ActivationId,
    reason: &str,
    now: Timestamp,
) -> TxResult<Ended> {
    let mut found = activation::get(tx, id)?;
    if found.activation.state.is_final() {
        let state = found.activation.state;
        return Err(StoreError::conflict("activation", id, state).into());
    }
    found.activation.cancel(reason, now);
    activation::update(tx, &found)?;
    run::close(tx, found.number, "cancelled", now)?;
    output::withdraw(tx, found.number)?;
    ended(tx, found)
}

pub(crate) fn retry(tx: &Connection, id: &ActivationId, now: Timestamp) -> TxResult<Activation> {
    let mut found = activation::get(tx, id)?;
    if !found.activation.is_revivable() {
        let state = found.activation.state;
        return Err(StoreError::conflict("activation", id, state).into());
    }
    found.activation.revive(now);
    activation::update(tx, &found)?;
    Ok(found.activation)
}
