//! Lanes: what a claim must know of each daemon, and the lock of its activations.

use daemon_event::DaemonKey;

use crate::column::Columns as _;
use crate::failure::{TxError, TxResult};
use crate::transaction::Tx;

/// A lane that a trigger wakes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WokenLane {
    pub(crate) n_pending: u64,
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
pub(crate) async fn lock_all(tx: &Tx, daemons: &[&DaemonKey]) -> TxResult<()> {
    let repos: Vec<&str> = daemons.iter().map(|key| key.repo.as_str()).collect();
    let ids: Vec<&str> = daemons.iter().map(|key| key.id.as_str()).collect();
    tx.rows(
        "SELECT l.pending FROM lane AS l JOIN unnest($1::text[], $2::text[]) AS k (repo, daemon) USING (repo, daemon) \
         ORDER BY l.repo, l.daemon FOR UPDATE OF l",
        &[&repos, &ids],
    )
    .await?;
    Ok(())
}

/// Locks the lane of a daemon, and moves it to the end of the turns if it was never woken.
pub(crate) async fn woken(tx: &Tx, daemon: &DaemonKey) -> TxResult<WokenLane> {
    let (repo, id) = (daemon.repo.as_str(), daemon.id.as_str());
    let find = "SELECT pending, turn FROM lane WHERE repo = $1 AND daemon = $2 FOR UPDATE";
    let row = match tx.maybe_row(find, &[&repo, &id]).await? {
        Some(row) => row,
        None => {
            make(tx, daemon).await?;
            let made = tx.maybe_row(find, &[&repo, &id]).await?;
            made.ok_or(TxError::Overtaken)?
        }
    };
    if row.maybe_count("turn")?.is_none() {
        tx.run(
            "UPDATE lane SET turn = nextval('lane_turn') WHERE repo = $1 AND daemon = $2",
            &[&repo, &id],
        )
        .await?;
    }
    Ok(WokenLane {
        n_pending: row.count("pending")?,
    })
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

/// Updates which lanes of a repository are ready.
pub(crate) async fn refresh_repo(tx: &Tx, repo: &str) -> TxResult<()> {
    tx.run(ready!(), &[&repo]).await?;
    Ok(())
}
