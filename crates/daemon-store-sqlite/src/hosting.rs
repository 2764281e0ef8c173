//! The host's own row, and counts.

use daemon_engine::{ActivationState, FactState, Gate, HostEpoch, OutputState};
use daemon_store::Counts;
use rusqlite::{Connection, OptionalExtension as _};

use crate::column::Columns as _;
use crate::failure::{Outcome, damaged};

pub(crate) fn begin_epoch(tx: &Connection) -> Outcome<HostEpoch> {
    tx.execute("UPDATE host SET epoch = epoch + 1", [])?;
    tx.execute(
        "UPDATE output SET state = 'ambiguous' WHERE state = 'sending'",
        [],
    )?;
    epoch(tx)
}

pub(crate) fn epoch(conn: &Connection) -> Outcome<HostEpoch> {
    let mut find = conn.prepare_cached("SELECT epoch FROM host")?;
    let mut rows = find.query([])?;
    match rows.next()? {
        Some(row) => Ok(HostEpoch(row.count("epoch")?)),
        None => Err(rusqlite::Error::QueryReturnedNoRows.into()),
    }
}

pub(crate) fn gate(conn: &Connection) -> Outcome<Gate> {
    let word: String = conn
        .prepare_cached("SELECT gate FROM host")?
        .query_row([], |row| row.get(0))?;
    Ok(word
        .parse()
        .map_err(|error| damaged("the gate of the host", error))?)
}

pub(crate) fn set_gate(tx: &Connection, gate: Gate) -> Outcome<()> {
    tx.execute("UPDATE host SET gate = ?1", [gate.as_str()])?;
    Ok(())
}

pub(crate) fn probe(tx: &Connection) -> Outcome<()> {
    tx.execute("UPDATE host SET probes = probes + 1", [])?;
    Ok(())
}

/// Returns how many rows of a kind are in a state.
pub(crate) fn tally(conn: &Connection, kind: &str, state: &str) -> Outcome<u64> {
    let n: Option<i64> = conn
        .prepare_cached("SELECT n FROM tally WHERE kind = ?1 AND state = ?2")?
        .query_row([kind, state], |row| row.get(0))
        .optional()?;
    Ok(u64::try_from(n.unwrap_or(0)).map_err(|error| damaged("table `tally`", error))?)
}

pub(crate) fn counts(conn: &Connection) -> Outcome<Counts> {
    let number = |sql: &str| -> Outcome<u64> {
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
