//! The row of the host, its starts, and counts.

use daemon_engine::{ActivationState, FactState, Gate, HostCrash, HostEnd, HostEpoch, OutputState};
use daemon_store::Counts;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::activation;
use crate::column::{Columns as _, integer, micros};
use crate::failure::{TxResult, damaged};

/// How many starts are kept. Only the starts after activations that are still leased are ever read.
const STARTS: u32 = 1_000;
/// The condition for activations that may have crashed a host.
// It has the exact words of the index `activation_suspect`: SQLite uses a partial index only for the same condition.
pub(crate) const SUSPECT: &str = "(host_crashes > 0 OR crashes_alone > 0)";

pub(crate) fn begin_epoch(
    tx: &Connection,
    previous: HostEnd,
    now: Timestamp,
) -> TxResult<HostEpoch> {
    let present: u32 = tx.query_row(
        "SELECT (SELECT count(*) FROM activation WHERE state IN ('claimed', 'running')) \
         + (SELECT count(*) FROM run WHERE state = 'running' AND finished_at IS NULL AND activation IS NULL \
            AND started_at >= coalesce((SELECT at FROM host_start ORDER BY epoch DESC LIMIT 1), 0))",
        [],
        |row| row.get(0),
    )?;
    // Before the new epoch is stored: which activations were leased still describes the host that ended.
    clear_absent(tx, previous)?;
    tx.execute("UPDATE host SET epoch = epoch + 1", [])?;
    tx.execute(
        "INSERT INTO host_start SELECT epoch, ?1, ?2, ?3 FROM host",
        params![micros(now), previous.as_str(), present],
    )?;
    tx.execute(
        "DELETE FROM host_start WHERE epoch <= (SELECT epoch FROM host) - ?1",
        [STARTS],
    )?;
    tx.execute(
        "UPDATE output SET state = 'ambiguous', error = NULL, not_before = ?1, in_doubt_since = ?1 WHERE state = 'sending'",
        [micros(now)],
    )?;
    epoch(tx)
}

/// Updates the blame of activations that had no run under way when the host ended.
fn clear_absent(tx: &Connection, previous: HostEnd) -> TxResult<()> {
    // A delivering one has no run either; the states are those of unfinished activations without a lease.
    let condition = format!("a.state IN ('pending', 'delivering') AND {SUSPECT}");
    for mut one in activation::select(tx, &condition, &[])? {
        one.activation.blame = one.activation.blame.absent_from(previous);
        activation::update(tx, &one)?;
    }
    Ok(())
}

pub(crate) fn starts_after_crashes(conn: &Connection, since: Timestamp) -> TxResult<u32> {
    let n = conn
        .prepare_cached("SELECT count(*) FROM host_start WHERE at > ?1 AND after <> ?2")?
        .query_row(params![micros(since), HostEnd::Stopped.as_str()], |row| {
            row.get(0)
        })?;
    Ok(n)
}

/// Returns how the host of an epoch ended, if another began after it.
pub(crate) fn crash_of(conn: &Connection, epoch: HostEpoch) -> TxResult<Option<HostCrash>> {
    let found: Option<(String, u32)> = conn
        .prepare_cached("SELECT after, present FROM host_start WHERE epoch = ?1 + 1")?
        .query_row([integer(epoch.0)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((word, present)) = found else {
        return Ok(None);
    };
    let end = word
        .parse()
        .map_err(|error| damaged("table `host_start`", error))?;
    Ok(Some(HostCrash { end, present }))
}

/// Reports whether an activation that may have crashed a host is leased.
pub(crate) fn suspect_is_leased(conn: &Connection) -> TxResult<bool> {
    // All rows of the index, which are few and usually none; a search for two states would build a table of them first.
    let sql = format!(
        "SELECT 1 FROM activation INDEXED BY activation_suspect \
         WHERE (+state = 'claimed' OR +state = 'running') AND {SUSPECT}"
    );
    Ok(conn.prepare_cached(&sql)?.exists([])?)
}

pub(crate) fn epoch(conn: &Connection) -> TxResult<HostEpoch> {
    let mut find = conn.prepare_cached("SELECT epoch FROM host")?;
    let mut rows = find.query([])?;
    match rows.next()? {
        Some(row) => Ok(HostEpoch(row.count("epoch")?)),
        None => Err(rusqlite::Error::QueryReturnedNoRows.into()),
    }
}

pub(crate) fn gate(conn: &Connection) -> TxResult<Gate> {
    let word: String = conn
        .prepare_cached("SELECT gate FROM host")?
        .query_row([], |row| row.get(0))?;
    Ok(word
        .parse()
        .map_err(|error| damaged("the gate of the host", error))?)
}

pub(crate) fn set_gate(tx: &Connection, gate: Gate) -> TxResult<()> {
    tx.execute("UPDATE host SET gate = ?1", [gate.as_str()])?;
    Ok(())
}

pub(crate) fn probe(tx: &Connection) -> TxResult<()> {
    tx.execute("UPDATE host SET probes = probes + 1", [])?;
    Ok(())
}

/// Returns how many rows of a kind are in a state.
pub(crate) fn tally(conn: &Connection, kind: &str, state: &str) -> TxResult<u64> {
    // Triggers make the row of a state when it is first entered.
    let n: Option<i64> = conn
        .prepare_cached("SELECT n FROM tally WHERE kind = ?1 AND state = ?2")?
        .query_row([kind, state], |row| row.get(0))
        .optional()?;
    Ok(u64::try_from(n.unwrap_or(0)).map_err(|error| damaged("table `tally`", error))?)
}

pub(crate) fn counts(conn: &Connection) -> TxResult<Counts> {
    let number = |sql: &str| -> TxResult<u64> {
        let n: i64 = conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(n).map_err(|error| damaged("a count", error))?)
    };
    let mut counts = Counts {
        // Events are numbered from 1 without gaps and none is ever removed.
        events: number("SELECT coalesce(max(seq), 0) FROM event")?,
        unmatched: number("SELECT count(*) FROM event WHERE due = 1")?,
        ..Counts::default()
    };
    for state in ActivationState::ALL {
        let n = tally(conn, "activation", state.as_str())?;
        counts.activations.push((state, n));
    }
    for state in OutputState::ALL {
        let n = tally(conn, "output", state.as_str())?;
        counts.outputs.push((state, n));
    }
    for state in FactState::ALL {
        let n = tally(conn, "fact", state.as_str())?;
        counts.facts.push((state, n));
    }
    Ok(counts)
}
