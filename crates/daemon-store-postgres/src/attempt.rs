//! Attempts: runs, leases, ends, and the operations that take activations back.

use async_trait::async_trait;
use daemon_engine::{
    Activation, AttemptEnd, Conduct, Departure, Gate, HostEpoch, Output, PENDING_EXPIRY, RunLease,
    end_attempt as decide_end, reclaim as decide_reclaim,
};
use daemon_event::ActivationId;
use daemon_store::{Ended, Reclaimed, RunRow, StoreError};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::activation::{self, StoredActivation, Turns};
use crate::column::{Columns as _, integer, micros};
use crate::failure::{TxError, TxResult};
use crate::group::Grouped;
use crate::store::LeaseDeadline;
use crate::transaction::Tx;
use crate::{hosting, memory, output, registry, run};

pub(crate) async fn start_run(
    tx: &Tx,
    id: &ActivationId,
    lease: RunLease,
    row: RunRow,
    now: Timestamp,
) -> TxResult<()> {
    let mut held = activation::held(tx, id, lease).await?;
    held.activation.begin_run(now);
    activation::update(tx, &mut held).await?;
    run::put(tx, &row).await
}

pub(crate) async fn put_run(tx: &Tx, row: RunRow, lease: Option<RunLease>) -> TxResult<()> {
    if let Some(id) = &row.activation {
        activation::held(tx, id, lease.ok_or(StoreError::LeaseLost)?).await?;
    }
    run::put(tx, &row).await
}

pub(crate) async fn renew(
    tx: &Tx,
    leases: Vec<(ActivationId, RunLease)>,
    until: Timestamp,
) -> TxResult<Vec<ActivationId>> {
    let ids: Vec<&str> = leases.iter().map(|(id, _)| id.as_str()).collect();
    let numbers: Vec<i64> = leases.iter().map(|(_, lease)| integer(lease.0)).collect();
    // One statement that checks the leases itself: a host renews all its leases every ten seconds and needs none of the rows.
    let extend = match tx.lease_deadline(until) {
        LeaseDeadline::At(until) => {
            tx.rows(
                "UPDATE activation AS a SET lease_until = $3 \
                 FROM unnest($1::text[], $2::bigint[]) AS k (id, run_lease) \
                 WHERE a.id = k.id AND a.run_lease = k.run_lease AND a.state IN ('claimed', 'running') RETURNING a.id",
                &[&ids, &numbers, &until],
            )
            .await?
        }
        LeaseDeadline::OfDatabase => {
            tx.rows(
                "UPDATE activation AS a \
                 SET lease_until = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + a.lease_span \
                 FROM unnest($1::text[], $2::bigint[]) AS k (id, run_lease) \
                 WHERE a.id = k.id AND a.run_lease = k.run_lease AND a.state IN ('claimed', 'running') RETURNING a.id",
                &[&ids, &numbers],
            )
            .await?
        }
    };
    let renewed = extend
        .iter()
        .map(|row| row.word("id"))
        .collect::<TxResult<Vec<ActivationId>>>()?;
    let ids = leases.into_iter().map(|(id, _)| id);
    Ok(ids.filter(|id| !renewed.contains(id)).collect())
}

/// The end of an attempt, under its lease.
#[derive(Clone, Debug)]
pub(crate) struct EndOf {
    pub(crate) id: ActivationId,
    pub(crate) lease: RunLease,
    pub(crate) end: AttemptEnd,
}

/// Ends attempts for many callers.
#[derive(Debug)]
pub(crate) struct Ending;

#[async_trait]
impl Grouped for Ending {
    type Input = EndOf;
    type Output = Ended;

    const CONTEXT: &'static str = "end an attempt";

    async fn run(tx: &Tx, inputs: &[EndOf]) -> TxResult<Vec<Result<Ended, StoreError>>> {
        let ids: Vec<&str> = inputs.iter().map(|one| one.id.as_str()).collect();
        let more = [output::STATES, registry::CONDUCTS_OF];
        let (mut found, [states, conducts]) = activation::find_all_with(tx, &ids, more).await?;
        let mut held = Vec::new();
        let mut are_held = Vec::new();
        for one in inputs {
            let holds = |of: &StoredActivation| of.activation.is_held_under(one.lease);
            // Only what is ended is taken: the group may also have a late end under a lease that was lost before.
            let is_held = found.get(&one.id).is_some_and(holds);
            are_held.push(is_held);
            if is_held && let Some(of) = found.remove(&one.id) {
                held.push((of, one.end.clone()));
            }
        }
        let mut ended = end_all(tx, held, (&states, &conducts)).await?.into_iter();
        let results = are_held.into_iter().map(|is_held| match is_held {
            true => ended.next().ok_or(StoreError::LeaseLost),
            false => Err(StoreError::LeaseLost),
        });
        Ok(results.collect())
    }
}

/// Ends attempts whose leases are held, from the rows of their outputs before and of their daemons.
async fn end_all(
    tx: &Tx,
    held: Vec<(StoredActivation, AttemptEnd)>,
    (states, conducts): (&[Row], &[Row]),
) -> TxResult<Vec<Ended>> {
    for (held, end) in held.iter().filter(|(_, end)| end.keeps_results()) {
        memory::change(tx, &held.activation.daemon, &end.state).await?;
        for new in &end.outputs {
            output::propose(tx, &Output::new(new.clone(), &held.activation, end.at)).await?;
        }
    }
    let states = match held.iter().all(|(_, end)| end.outputs.is_empty()) {
        true => output::read_states(states)?,
        false => {
            let ids = held.iter().map(|(held, _)| held.activation.id.as_str());
            output::states_of_all(tx, &ids.collect::<Vec<_>>()).await?
        }
    };
    let mut conducts = registry::read_conducts(conducts)?;
    let (mut held, ends): (Vec<StoredActivation>, Vec<AttemptEnd>) = held.into_iter().unzip();
    for (one, end) in held.iter_mut().zip(&ends) {
        let states = states.get(one.activation.id.as_str()).into_iter().flatten();
        let unsettled = states.filter(|state| !state.is_settled()).count();
        let next = decide_end(&one.activation, end, unsettled);
        one.activation.finish(end, next);
    }
    activation::update_all(tx, &mut held, Turns::Kept).await?;
    let mut ended = Vec::with_capacity(held.len());
    for (one, end) in held.iter().zip(&ends) {
        let conduct = conducts.get_mut(&one.activation.daemon);
        let gate = match conduct {
            None => Gate::Open,
            Some(conduct) if end.counts_for_gate() => {
                count_for_gate(tx, &one.activation, conduct).await?
            }
            Some(conduct) => conduct.gate,
        };
        ended.push(Ended {
            activation: one.activation.clone(),
            gate,
        });
    }
    Ok(ended)
}

/// Makes pending activations due; others are passed over.
pub(crate) async fn hasten(tx: &Tx, ids: &[ActivationId], now: Timestamp) -> TxResult<()> {
    for id in ids {
        if let Some(mut found) = activation::find(tx, id).await?
            && found.activation.hasten(now)
        {
            activation::update(tx, &mut found).await?;
        }
    }
    Ok(())
}

/// Updates the daemon's failures and gate for the activation's new state.
pub(crate) async fn ended(tx: &Tx, ended: StoredActivation) -> TxResult<Ended> {
    let activation = ended.activation;
    let gate = match registry::conduct(tx, &activation.daemon).await? {
        None => Gate::Open,
        Some(mut conduct) => count_for_gate(tx, &activation, &mut conduct).await?,
    };
    Ok(Ended { activation, gate })
}

async fn count_for_gate(tx: &Tx, activation: &Activation, conduct: &mut Conduct) -> TxResult<Gate> {
    let before = *conduct;
    *conduct = before.after(activation.state);
    // Most ends change nothing, and an update would also recompute whether the lane is ready.
    if *conduct != before {
        registry::set_conduct(tx, &activation.daemon, *conduct).await?;
    }
    Ok(conduct.gate)
}

// Of other hosts only what has an expired lease: this host's epochs say nothing about theirs.
const TAKEN_BACK: &str = "a.state IN ('claimed', 'running') AND (a.owner IS NULL OR a.lease_until IS NULL \
     OR a.lease_until <= $3 OR (a.owner < $1 AND a.host = $2))";

pub(crate) async fn reclaim(tx: &Tx, epoch: HostEpoch, now: Timestamp) -> TxResult<Vec<Reclaimed>> {
    let lease_now = tx.lease_now(now).await?;
    let values: [crate::transaction::Value<'_>; 3] = [&integer(epoch.0), &tx.own.host, &lease_now];
    let mut reclaimed = Vec::new();
    for mut one in activation::select_locked(tx, TAKEN_BACK, &values).await? {
        let owner = one.activation.owner;
        let crash = match (owner, &one.host) {
            (Some(owner), Some(host)) => hosting::crash_of(tx, host, owner).await?,
            _ => None,
        };
        let departure = Departure::of(owner, epoch, |_| Ok::<_, TxError>(crash))?;
        let taken = decide_reclaim(&one.activation, departure, now);
        let is_poison = taken.is_poison();
        one.activation.take_back(taken, now);
        activation::update(tx, &mut one).await?;
        run::close(tx, &one.activation.id, "unknown", now).await?;
        let activation = if is_poison {
            one.activation
        } else {
            ended(tx, one).await?.activation
        };
        reclaimed.push(Reclaimed {
            id: activation.id,
            lease: activation.run_lease,
            state: activation.state,
        });
    }
    Ok(reclaimed)
}

pub(crate) async fn reclaimable(
    tx: &Tx,
    epoch: HostEpoch,
    now: Timestamp,
) -> TxResult<Vec<Activation>> {
    let lease_now = tx.lease_now(now).await?;
    let condition = format!("{TAKEN_BACK} ORDER BY a.number");
    let found = activation::select(
        tx,
        &condition,
        &[&integer(epoch.0), &tx.own.host, &lease_now],
    )
    .await?;
    Ok(found.into_iter().map(|one| one.activation).collect())
}

pub(crate) async fn expire(tx: &Tx, now: Timestamp) -> TxResult<u64> {
    // The query selects by the index of waiting times, and the engine decides, so that the rule of expiry has one home.
    let waiting = activation::select_locked(
        tx,
        "a.state = 'pending' AND a.not_before <= $1",
        &[&micros(now - PENDING_EXPIRY)],
    )
    .await?;
    let mut n_expired = 0;
    for mut one in waiting {
        if one.activation.is_expired(now) {
            one.activation.cancel("expired", now);
            activation::update(tx, &mut one).await?;
            n_expired += 1;
        }
    }
    Ok(n_expired)
}

pub(crate) async fn cancel(
    tx: &Tx,
    id: &ActivationId,
    reason: &str,
    now: Timestamp,
) -> TxResult<Ended> {
    let mut found = activation::get(tx, id).await?;
    if found.activation.state.is_final() {
        let state = found.activation.state;
        return Err(StoreError::conflict("activation", id, state).into());
    }
    found.activation.cancel(reason, now);
    activation::update(tx, &mut found).await?;
    run::close(tx, id, "cancelled", now).await?;
    output::withdraw(tx, id).await?;
    ended(tx, found).await
}

pub(crate) async fn retry(tx: &Tx, id: &ActivationId, now: Timestamp) -> TxResult<Activation> {
    let mut found = activation::get(tx, id).await?;
    if !found.activation.is_revivable() {
        let state = found.activation.state;
        return Err(StoreError::conflict("activation", id, state).into());
    }
    found.activation.revive(now);
    activation::update(tx, &mut found).await?;
    Ok(found.activation)
}
