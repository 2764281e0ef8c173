//! The index of run folders.

use daemon_event::{ActivationId, DaemonKey};
use daemon_store::{RunEnd, RunRow};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::column::{Columns as _, micros, text};
use crate::failure::TxResult;
use crate::lane;
use crate::transaction::Tx;

/// The columns that [`read`] reads of `run AS r`.
pub(crate) const COLUMNS: &str = "r.number, r.id, r.activation, r.repo, r.daemon, r.attempt, r.provider, r.state, \
     r.started_at, r.finished_at, r.object";

pub(crate) fn read(row: &Row) -> TxResult<RunRow> {
    let daemon: Option<DaemonKey> = match row.text("daemon")?.as_str() {
        "" => None,
        _ => Some(row.daemon()?),
    };
    Ok(RunRow {
        id: row.text("id")?,
        activation: row.maybe_word("activation")?,
        daemon,
        attempt: row.small("attempt")?,
        provider: row.text("provider")?,
        state: row.text("state")?,
        started_at: row.at("started_at")?,
        finished_at: row.maybe_at("finished_at")?,
        object: row.text("object")?,
    })
}

pub(crate) async fn put(tx: &Tx, run: &RunRow) -> TxResult<()> {
    if let Some(daemon) = &run.daemon {
        lane::lock(tx, daemon).await?;
    }
    let (repo, daemon) = run
        .daemon
        .as_ref()
        .map_or(("", ""), |key| (key.repo.as_str(), key.id.as_str()));
    let activation = run.activation.as_ref().map(ActivationId::as_str);
    let object = text(&run.object);
    let attempt = i64::from(run.attempt);
    let (started_at, finished_at) = (micros(run.started_at), run.finished_at.map(micros));
    // Updated first: an insert that conflicts would take a number, and numbers order listings.
    let n_updated = tx
        .run(
            "UPDATE run SET repo = $2, daemon = $3, activation = $4, attempt = $5, provider = $6, state = $7, \
             started_at = $8, finished_at = $9, object = $10 WHERE id = $1",
            &[
                &run.id, &repo, &daemon, &activation, &attempt, &run.provider, &run.state,
                &started_at, &finished_at, &object,
            ],
        )
        .await?;
    if n_updated == 0 {
        tx.run(
            "INSERT INTO run (id, repo, daemon, activation, attempt, provider, state, started_at, finished_at, object, host) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            &[
                &run.id, &repo, &daemon, &activation, &attempt, &run.provider, &run.state,
                &started_at, &finished_at, &object, &tx.own.host,
            ],
        )
        .await?;
    }
    Ok(())
}

/// Stores how a run ended.
pub(crate) async fn end(tx: &Tx, id: &str, end: RunEnd) -> TxResult<()> {
    tx.run(
        "UPDATE run SET state = $2, finished_at = $3, object = $4 WHERE id = $1",
        &[
            &id,
            &end.state,
            &micros(end.finished_at),
            &text(&end.object),
        ],
    )
    .await?;
    Ok(())
}

/// Forgets a run that has ended.
pub(crate) async fn forget(tx: &Tx, id: &str) -> TxResult<()> {
    tx.run(
        "DELETE FROM run WHERE id = $1 AND finished_at IS NOT NULL",
        &[&id],
    )
    .await?;
    Ok(())
}

/// Ends the runs of an activation whose lease was taken back or cancelled, since no attempt can write them any more.
pub(crate) async fn close(
    tx: &Tx,
    activation: &ActivationId,
    state: &str,
    now: Timestamp,
) -> TxResult<()> {
    tx.run(
        "UPDATE run SET state = $2, finished_at = $3 WHERE activation = $1 AND state = 'running'",
        &[&activation.as_str(), &state, &micros(now)],
    )
    .await?;
    Ok(())
}

pub(crate) async fn find(tx: &Tx, id: &str) -> TxResult<Option<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM run AS r WHERE r.id = $1");
    let row = tx.maybe_row(&sql, &[&id]).await?;
    row.as_ref().map(read).transpose()
}

pub(crate) async fn of(tx: &Tx, activation: &ActivationId) -> TxResult<Vec<RunRow>> {
    let sql = format!("SELECT {COLUMNS} FROM run AS r WHERE r.activation = $1 ORDER BY r.number");
    let rows = tx.rows(&sql, &[&activation.as_str()]).await?;
    rows.iter().map(read).collect()
}
