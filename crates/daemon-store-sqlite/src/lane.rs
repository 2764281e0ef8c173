//! Lanes: a number for each daemon, its turn, and whether its gate lets it start.

use daemon_event::DaemonKey;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::column::{Columns as _, micros};
use crate::failure::TxResult;

/// The number of a daemon, registered or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane(pub(crate) i64);

/// Returns the lane of a daemon, if it was ever seen.
pub(crate) fn find(tx: &Connection, daemon: &DaemonKey) -> TxResult<Option<Lane>> {
    let found = tx
        .prepare_cached("SELECT id FROM lane WHERE repo = ?1 AND daemon = ?2")?
        .query_row(params![daemon.repo.as_str(), daemon.id.as_str()], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.map(Lane))
}

/// Returns every daemon that was ever seen.
pub(crate) fn daemons(conn: &Connection) -> TxResult<Vec<DaemonKey>> {
    let mut find = conn.prepare_cached("SELECT repo, daemon FROM lane ORDER BY repo, daemon")?;
    let mut found = find.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = found.next()? {
        keys.push(row.daemon()?);
    }
    Ok(keys)
}

/// Returns the lane of a daemon, and makes it if it does not exist.
pub(crate) fn of(tx: &Connection, daemon: &DaemonKey) -> TxResult<Lane> {
    if let Some(lane) = find(tx, daemon)? {
        return Ok(lane);
    }
    tx.prepare_cached("INSERT INTO lane (repo, daemon) VALUES (?1, ?2)")?
        .execute(params![daemon.repo.as_str(), daemon.id.as_str()])?;
    let lane = Lane(tx.last_insert_rowid());
    refresh(tx, lane)?;
    Ok(lane)
}

/// Notes which daemons of a repository have no file any more, and since when.
pub(crate) fn note_removed(tx: &Connection, repo: &str, now: Timestamp) -> TxResult<()> {
    tx.prepare_cached(
        "UPDATE lane SET removed_at = CASE WHEN removed_at IS NULL THEN ?2 END WHERE repo = ?1 AND \
         (removed_at IS NULL) <> EXISTS (SELECT 1 FROM daemon AS d WHERE d.repo = lane.repo AND d.daemon = lane.daemon)",
    )?
    .execute(params![repo, micros(now)])?;
    Ok(())
}

/// Moves a lane to the end of the turns.
pub(crate) fn next_turn(tx: &Connection, lane: Lane) -> TxResult<()> {
    tx.prepare_cached("UPDATE host SET turns = turns + 1")?
        .execute([])?;
    tx.prepare_cached("UPDATE lane SET turn = (SELECT turns FROM host) WHERE id = ?1")?
        .execute([lane.0])?;
    Ok(())
}

/// A lane that a trigger wakes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WokenLane {
    pub(crate) lane: Lane,
    pub(crate) n_pending: u64,
    /// The daemon is registered and valid, its gate is open, and none of its activations is leased or delivers.
    pub(crate) is_free: bool,
}

/// Returns the lane of a daemon. Moves it to the end of the turns if it was never woken.
pub(crate) fn woken(tx: &Connection, daemon: &DaemonKey) -> TxResult<WokenLane> {
    let found = {
        let mut find = tx.prepare_cached(
            "SELECT id, pending, ready = 1 AND busy = 0, turn IS NOT NULL FROM lane WHERE repo = ?1 AND daemon = ?2",
        )?;
        let mut rows = find.query(params![daemon.repo.as_str(), daemon.id.as_str()])?;
        match rows.next()? {
            Some(row) => {
                let woken = WokenLane {
                    lane: Lane(row.get(0)?),
                    n_pending: row.count(1)?,
                    is_free: row.get(2)?,
                };
                Some((woken, row.get(3)?))
            }
            None => None,
        }
    };
    let (woken, is_placed) = match found {
        Some(found) => found,
        None => {
            let new = WokenLane {
                lane: of(tx, daemon)?,
                n_pending: 0,
                is_free: false,
            };
            (new, false)
        }
    };
    if !is_placed {
        next_turn(tx, woken.lane)?;
    }
    Ok(woken)
}

// Stored as a column, so that a claim reads one row per daemon and joins nothing.
const READY: &str = "EXISTS (SELECT 1 FROM daemon AS d WHERE d.repo = lane.repo AND d.daemon = lane.daemon \
                     AND d.valid = 1 AND d.gate = 'open')";

/// Updates whether a lane is ready.
pub(crate) fn refresh(tx: &Connection, lane: Lane) -> TxResult<()> {
    tx.prepare_cached(&format!("UPDATE lane SET ready = {READY} WHERE id = ?1"))?
        .execute([lane.0])?;
    Ok(())
}

/// Updates which lanes of a repository are ready.
pub(crate) fn refresh_repo(tx: &Connection, repo: &str) -> TxResult<()> {
    tx.prepare_cached(&format!("UPDATE lane SET ready = {READY} WHERE repo = ?1"))?
        .execute([repo])?;
    Ok(())
}
