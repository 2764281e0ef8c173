//! The state of daemons: values, history and counters.

use std::collections::BTreeMap;

use daemon_engine::{DAY, DaemonState, PastActivation, StateChange, apply};
use daemon_event::DaemonKey;
use daemon_store::StoreError;
use daemon_store::decide::HISTORY;
use jiff::Timestamp;

use crate::column::{Columns as _, micros, text};
use crate::failure::TxResult;
use crate::transaction::Tx;

/// Applies the changes of an attempt.
pub(crate) async fn change(tx: &Tx, daemon: &DaemonKey, changes: &[StateChange]) -> TxResult<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut next = values(tx, daemon).await?;
    apply(&mut next, changes).map_err(StoreError::from)?;
    let (repo, id) = (daemon.repo.as_str(), daemon.id.as_str());
    // Only the changed keys are written: a daemon may keep 500.
    for change in changes {
        let (StateChange::Set { key, .. } | StateChange::Remove { key }) = change;
        match next.get(key) {
            Some(json) => {
                tx.run(
                    "INSERT INTO memory (repo, daemon, key, json) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (repo, daemon, key) DO UPDATE SET json = excluded.json",
                    &[&repo, &id, &text(key), &text(json)],
                )
                .await?
            }
            None => {
                tx.run(
                    "DELETE FROM memory WHERE repo = $1 AND daemon = $2 AND key = $3",
                    &[&repo, &id, &text(key)],
                )
                .await?
            }
        };
    }
    Ok(())
}

/// Deletes the state of daemons that were removed before an instant. A host of an earlier schema does not note that a daemon
/// returned, so its row counts, too.
pub(crate) async fn forget(tx: &Tx, before: Timestamp) -> TxResult<()> {
    tx.run(
        "DELETE FROM memory AS m USING lane AS l WHERE l.repo = m.repo AND l.daemon = m.daemon AND l.removed_at < $1 \
         AND NOT EXISTS (SELECT 1 FROM daemon AS d WHERE d.repo = m.repo AND d.daemon = m.daemon)",
        &[&micros(before)],
    )
    .await?;
    Ok(())
}

async fn values(tx: &Tx, daemon: &DaemonKey) -> TxResult<BTreeMap<String, String>> {
    let rows = tx
        .rows(
            "SELECT key, json FROM memory WHERE repo = $1 AND daemon = $2",
            &[&daemon.repo.as_str(), &daemon.id.as_str()],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.text("key")?, row.text("json")?)))
        .collect()
}

pub(crate) async fn state(tx: &Tx, daemon: &DaemonKey, now: Timestamp) -> TxResult<DaemonState> {
    let row = tx
        .row(
            "SELECT (SELECT count(*) FROM activation WHERE repo = $1 AND daemon = $2 AND finished_at > $3) AS activations, \
             (SELECT count(*) FROM output WHERE repo = $1 AND daemon = $2 AND state = 'confirmed' AND delivered_at > $3) \
             AS outputs",
            &[
                &daemon.repo.as_str(),
                &daemon.id.as_str(),
                &micros(now - DAY),
            ],
        )
        .await?;
    Ok(DaemonState {
        values: values(tx, daemon).await?,
        history: history(tx, daemon).await?,
        activations_today: row.count("activations")?,
        outputs_today: row.count("outputs")?,
    })
}

async fn history(tx: &Tx, daemon: &DaemonKey) -> TxResult<Vec<PastActivation>> {
    let rows = tx
        .rows(
            "SELECT a.id, a.state, a.finished_at, a.summary, \
               (SELECT key FROM wake AS w WHERE w.activation = a.id ORDER BY w.place LIMIT 1) AS key \
             FROM activation AS a WHERE a.repo = $1 AND a.daemon = $2 AND a.finished_at IS NOT NULL \
             ORDER BY a.finished_at DESC, a.number DESC LIMIT $3",
            &[
                &daemon.repo.as_str(),
                &daemon.id.as_str(),
                &i64::try_from(HISTORY).expect("a short history"),
            ],
        )
        .await?;
    rows.iter()
        .map(|row| {
            Ok(PastActivation {
                id: row.word("id")?,
                state: row.word("state")?,
                trigger: row.text("key")?,
                finished_at: row.at("finished_at")?,
                summary: row.maybe_text("summary")?,
            })
        })
        .collect()
}
