//! Lanes: what a claim must know of each daemon, and the lock of its activations.

use std::collections::HashMap;

use daemon_event::DaemonKey;
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::column::{Columns as _, micros};
use crate::failure::{TxError, TxResult};
use crate::transaction::Tx;

/// A locked lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WokenLane {
    n_pending: u64,
    /// Whether it has a place among those that wait.
    has_turn: bool,
}

/// Returns every daemon that was ever seen.
pub(crate) async fn daemons(tx: &Tx) -> TxResult<Vec<DaemonKey>> {
    let rows = tx
        .rows(
            "SELECT repo, daemon FROM lane ORDER BY repo COLLATE \"C\", daemon COLLATE \"C\"",
            &[],
        )
        .await?;
    rows.iter().map(crate::column::Columns::daemon).collect()
}

/// Makes the lane of a daemon if it does not exist, and locks it.
pub(crate) async fn lock(tx: &Tx, daemon: &DaemonKey) -> TxResult<()> {
    let (repo, id) = (daemon.repo.as_str(), daemon.id.as_str());
    let find = "SELECT pending FROM lane WHERE repo = $1 AND daemon = $2 FOR UPDATE";
    if tx.maybe_row(find, &[&repo, &id]).await?.is_some() {
        return Ok(());
    }
    make(tx, daemon).await?;
    match tx.maybe_row(find, &[&repo, &id]).await? {
        Some(_) => Ok(()),
        None => Err(TxError::Overtaken),
    }
}

async fn make(tx: &Tx, daemon: &DaemonKey) -> TxResult<()> {
    let (repo, id) = (daemon.repo.as_str(), daemon.id.as_str());
    let n = tx
        .run(
            "INSERT INTO lane (repo, daemon) VALUES ($1, $2) ON CONFLICT (repo, daemon) DO NOTHING",
            &[&repo, &id],
        )
        .await?;
    if n > 0 {
        refresh(tx, daemon).await?;
    }
    Ok(())
}

/// Locks the lanes of some daemons that have one, in the order in which every transaction locks them.
pub(crate) const LOCKED: &str = "SELECT l.repo, l.daemon, l.pending, l.turn FROM lane AS l \
     WHERE (l.repo, l.daemon) IN (SELECT * FROM unnest($1::text[], $2::text[])) \
     ORDER BY l.repo, l.daemon FOR UPDATE OF l";

/// Locks the lanes of some daemons that have one.
pub(crate) async fn lock_all(tx: &Tx, daemons: &[&DaemonKey]) -> TxResult<()> {
    let repos: Vec<&str> = daemons.iter().map(|key| key.repo.as_str()).collect();
    let ids: Vec<&str> = daemons.iter().map(|key| key.id.as_str()).collect();
    tx.rows(LOCKED, &[&repos, &ids]).await?;
    Ok(())
}

/// Reads the rows that [`LOCKED`] selects.
pub(crate) fn read(rows: &[Row]) -> TxResult<HashMap<DaemonKey, WokenLane>> {
    let read = |row: &Row| {
        let lane = WokenLane {
            n_pending: row.count("pending")?,
            has_turn: row.maybe_count("turn")?.is_some(),
        };
        Ok((row.daemon()?, lane))
    };
    rows.iter().map(read).collect()
}

/// Makes the lanes of some daemons that do not exist, and moves each that was never woken to the end of the turns. The others are locked.
///
/// Returns how many activations of each are pending.
pub(crate) async fn wake_all(
    tx: &Tx,
    daemons: &[&DaemonKey],
    found: &mut HashMap<DaemonKey, WokenLane>,
) -> TxResult<HashMap<DaemonKey, u64>> {
    for daemon in daemons {
        if found.contains_key(*daemon) {
            continue;
        }
        make(tx, daemon).await?;
        let (repos, ids) = (vec![daemon.repo.as_str()], vec![daemon.id.as_str()]);
        found.extend(read(&tx.rows(LOCKED, &[&repos, &ids]).await?)?);
    }
    let mut pending = HashMap::with_capacity(found.len());
    for daemon in daemons {
        let lane = found.get(*daemon).ok_or(TxError::Overtaken)?;
        // In the order of the triggers.
        if pending.insert((*daemon).clone(), lane.n_pending).is_none() && !lane.has_turn {
            move_to_end(tx, &[daemon]).await?;
        }
    }
    Ok(pending)
}

/// Moves lanes to the end of the turns, in order.
async fn move_to_end(tx: &Tx, daemons: &[&DaemonKey]) -> TxResult<()> {
    let repos: Vec<&str> = daemons.iter().map(|key| key.repo.as_str()).collect();
    let ids: Vec<&str> = daemons.iter().map(|key| key.id.as_str()).collect();
    tx.run(
        "UPDATE lane AS l SET turn = k.turn FROM (SELECT u.repo, u.daemon, nextval('lane_turn') AS turn \
           FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (repo, daemon, place) ORDER BY u.place) AS k \
         WHERE l.repo = k.repo AND l.daemon = k.daemon",
        &[&repos, &ids],
    )
    .await?;
    Ok(())
}

// Stored as a column, so that a claim reads one row per daemon and joins nothing.
macro_rules! ready {
    () => {
        "UPDATE lane SET ready = EXISTS (SELECT 1 FROM daemon AS d WHERE d.repo = lane.repo AND d.daemon = lane.daemon \
         AND d.valid AND d.gate = 'open') WHERE repo = $1"
    };
}

/// Updates whether a lane is ready.
pub(crate) async fn refresh(tx: &Tx, daemon: &DaemonKey) -> TxResult<()> {
    tx.run(
        concat!(ready!(), " AND daemon = $2"),
        &[&daemon.repo.as_str(), &daemon.id.as_str()],
    )
    .await?;
    Ok(())
}

/// Notes which daemons of a repository have no file any more, and since when.
pub(crate) async fn note_removed(tx: &Tx, repo: &str, now: Timestamp) -> TxResult<()> {
    tx.run(
        "UPDATE lane SET removed_at = CASE WHEN removed_at IS NULL THEN $2::bigint END WHERE repo = $1 AND \
         (removed_at IS NULL) <> EXISTS (SELECT 1 FROM daemon AS d WHERE d.repo = lane.repo AND d.daemon = lane.daemon)",
        &[&repo, &micros(now)],
    )
    .await?;
    Ok(())
}

/// Updates which lanes of a repository are ready.
pub(crate) async fn refresh_repo(tx: &Tx, repo: &str) -> TxResult<()> {
    tx.run(ready!(), &[&repo]).await?;
    Ok(())
}
