//! The rows of hosts, their starts, and counts.

use std::collections::HashMap;

use daemon_engine::{ActivationState, FactState, Gate, HostCrash, HostEnd, HostEpoch, OutputState};
use daemon_store::Counts;
use jiff::Timestamp;

use crate::column::{Columns as _, integer, micros};
use crate::failure::{TxError, TxResult};
use crate::transaction::Tx;
use crate::{activation, import};

/// How many starts are kept of each host. Only the starts after activations that are still leased are ever read.
const STARTS: i64 = 1_000;

pub(crate) async fn begin_epoch(tx: &Tx, previous: HostEnd, now: Timestamp) -> TxResult<HostEpoch> {
    let host = &tx.own.host;
    import::check(tx).await?;
    let present = tx
        .row(
            "SELECT (SELECT count(*) FROM activation WHERE state IN ('claimed', 'running') AND host = $1) \
             + (SELECT count(*) FROM run WHERE host = $1 AND state = 'running' AND finished_at IS NULL AND activation IS NULL \
                AND started_at >= coalesce((SELECT at FROM host_start WHERE host = $1 ORDER BY epoch DESC LIMIT 1), 0)) \
             AS present",
            &[host],
        )
        .await?
        .number("present")?;
    // Before the new epoch is stored: which activations were leased still describes the host that ended.
    clear_absent(tx, previous).await?;
    // One counter for all hosts: an epoch names one process of one host. An import that begins locks it.
    let row = tx
        .maybe_row(
            "UPDATE counter SET n = n + 1 WHERE name = 'epoch' RETURNING n",
            &[],
        )
        .await?
        .ok_or(TxError::Overtaken)?;
    let (number, epoch) = (row.number("n")?, HostEpoch(row.count("n")?));
    tx.run(
        "INSERT INTO host (name, epoch, gate, probes) VALUES ($1, $2, 'open', 0) \
         ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch",
        &[host, &number],
    )
    .await?;
    tx.run(
        "INSERT INTO host_start (epoch, host, at, after, present) VALUES ($1, $2, $3, $4, $5)",
        &[&number, host, &micros(now), &previous.as_str(), &present],
    )
    .await?;
    tx.run(
        "DELETE FROM host_start WHERE host = $1 AND epoch <= (SELECT epoch FROM host_start WHERE host = $1 \
         ORDER BY epoch DESC OFFSET $2 LIMIT 1)",
        &[host, &STARTS],
    )
    .await?;
    tx.run(
        "UPDATE output SET state = 'ambiguous', error = NULL, not_before = $2, in_doubt_since = $2 \
         WHERE state = 'sending' AND host = $1",
        &[host, &micros(now)],
    )
    .await?;
    Ok(epoch)
}

/// Updates the blame of activations that had no run under way when the host ended.
async fn clear_absent(tx: &Tx, previous: HostEnd) -> TxResult<()> {
    // A delivering one has no run either; the states are those of unfinished activations without a lease.
    let absent =
        "a.state IN ('pending', 'delivering') AND (a.host_crashes > 0 OR a.crashes_alone > 0)";
    for mut one in activation::select_locked(tx, absent, &[]).await? {
        one.activation.blame = one.activation.blame.absent_from(previous);
        activation::update(tx, &mut one).await?;
    }
    Ok(())
}

pub(crate) async fn starts_after_crashes(tx: &Tx, since: Timestamp) -> TxResult<u32> {
    tx.row(
        "SELECT count(*) AS n FROM host_start WHERE host = $1 AND at > $2 AND after <> $3",
        &[&tx.own.host, &micros(since), &HostEnd::Stopped.as_str()],
    )
    .await?
    .small("n")
}

/// Returns how the process of an epoch ended, if another began after it on its host.
pub(crate) async fn crash_of(tx: &Tx, host: &str, epoch: HostEpoch) -> TxResult<Option<HostCrash>> {
    let found = tx
        .maybe_row(
            "SELECT after, present FROM host_start WHERE host = $1 AND epoch > $2 ORDER BY epoch LIMIT 1",
            &[&host, &integer(epoch.0)],
        )
        .await?;
    found
        .map(|row| {
            Ok(HostCrash {
                end: row.word("after")?,
                present: row.small("present")?,
            })
        })
        .transpose()
}

/// Returns the newest epoch of this host, 0 before its first.
pub(crate) async fn epoch(tx: &Tx) -> TxResult<HostEpoch> {
    let found = tx
        .maybe_row("SELECT epoch FROM host WHERE name = $1", &[&tx.own.host])
        .await?;
    Ok(HostEpoch(found.map_or(Ok(0), |row| row.count("epoch"))?))
}

pub(crate) async fn gate(tx: &Tx) -> TxResult<Gate> {
    let found = tx
        .maybe_row("SELECT gate FROM host WHERE name = $1", &[&tx.own.host])
        .await?;
    found.map_or(Ok(Gate::Open), |row| row.word("gate"))
}

pub(crate) async fn set_gate(tx: &Tx, gate: Gate) -> TxResult<()> {
    tx.run(
        "INSERT INTO host (name, epoch, gate, probes) VALUES ($1, 0, $2, 0) \
         ON CONFLICT (name) DO UPDATE SET gate = excluded.gate",
        &[&tx.own.host, &gate.as_str()],
    )
    .await?;
    Ok(())
}

pub(crate) async fn probe(tx: &Tx) -> TxResult<()> {
    tx.run(
        "INSERT INTO host (name, epoch, gate, probes) VALUES ($1, 0, 'open', 1) \
         ON CONFLICT (name) DO UPDATE SET probes = host.probes + 1",
        &[&tx.own.host],
    )
    .await?;
    Ok(())
}

pub(crate) async fn counts(tx: &Tx) -> TxResult<Counts> {
    let row = tx
        .row(
            // Events are numbered from 1 without gaps and none is ever removed.
            "SELECT (SELECT n FROM counter WHERE name = 'event') AS events, \
             (SELECT count(*) FROM event WHERE due) AS unmatched",
            &[],
        )
        .await?;
    let activations = in_states(tx, "activation").await?;
    let outputs = in_states(tx, "output").await?;
    let facts = in_states(tx, "wanted").await?;
    let n = |counted: &HashMap<String, u64>, state: &str| counted.get(state).copied().unwrap_or(0);
    Ok(Counts {
        events: row.count("events")?,
        unmatched: row.count("unmatched")?,
        activations: ActivationState::ALL
            .into_iter()
            .map(|state| (state, n(&activations, state.as_str())))
            .collect(),
        outputs: OutputState::ALL
            .into_iter()
            .map(|state| (state, n(&outputs, state.as_str())))
            .collect(),
        facts: FactState::ALL
            .into_iter()
            .map(|state| (state, n(&facts, state.as_str())))
            .collect(),
    })
}

async fn in_states(tx: &Tx, table: &str) -> TxResult<HashMap<String, u64>> {
    let sql = format!("SELECT state, count(*) AS n FROM {table} GROUP BY state");
    let rows = tx.rows(&sql, &[]).await?;
    rows.iter()
        .map(|row| Ok((row.text("state")?, row.count("n")?)))
        .collect()
}
