//! The registry of daemons and their coverages.

use std::collections::HashMap;

use daemon_engine::{Conduct, Gate};
use daemon_event::{DaemonKey, RepoName};
use daemon_store::decide::{CoverageStep, cancel_reason, coverage_step, registered};
use daemon_store::{
    DaemonRow, Modes, Registration, RegistryChange, ScheduleText, StoreError, Validity,
};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::column::{Columns as _, integer, micros, text};
use crate::failure::TxResult;
use crate::transaction::Tx;
use crate::{activation, lane, tick};

pub(crate) async fn register(tx: &Tx, registration: Registration) -> TxResult<RegistryChange> {
    let repo = &registration.repo;
    let keys: Vec<&DaemonKey> = registration.daemons.iter().map(|row| &row.key).collect();
    lock_repo(tx, repo, &keys).await?;
    let stored = daemons_of(tx, repo).await?;
    let newest = newest_seq(tx, registration.since).await?;
    let (rows, change) = registered(&stored, &registration, newest);
    // The whole repository is replaced: paths move, and two files may exchange their ids in one commit.
    tx.run("DELETE FROM daemon WHERE repo = $1", &[&repo.as_str()])
        .await?;
    for row in &rows {
        insert(tx, row).await?;
    }
    lane::refresh_repo(tx, repo.as_str()).await?;
    lane::note_removed(tx, repo.as_str(), registration.now).await?;
    follow_coverages(tx, &registration, &rows).await?;
    cancel_orphans(tx, &registration, &rows).await?;
    Ok(change)
}

/// Locks all lanes of a repository, after the missing ones of some daemons were made.
async fn lock_repo(tx: &Tx, repo: &RepoName, daemons: &[&DaemonKey]) -> TxResult<()> {
    let ids: Vec<&str> = daemons.iter().map(|key| key.id.as_str()).collect();
    tx.run(
        "INSERT INTO lane (repo, daemon) SELECT DISTINCT $1::text, d FROM unnest($2::text[]) AS d ORDER BY d \
         ON CONFLICT (repo, daemon) DO NOTHING",
        &[&repo.as_str(), &ids],
    )
    .await?;
    tx.rows(
        "SELECT pending FROM lane WHERE repo = $1 ORDER BY repo, daemon FOR UPDATE",
        &[&repo.as_str()],
    )
    .await?;
    Ok(())
}

/// Returns the newest event that was stored, or received until an instant; 0 without one.
async fn newest_seq(tx: &Tx, until: Option<Timestamp>) -> TxResult<u64> {
    let newest = tx
        .maybe_row(
            // Backwards by number, since the first fitting row ends the search near the end of the table.
            "SELECT seq FROM event WHERE $1::bigint IS NULL OR received_at <= $1 ORDER BY seq DESC LIMIT 1",
            &[&until.map(micros)],
        )
        .await?;
    newest.map_or(Ok(0), |row| row.count("seq"))
}

async fn follow_coverages(
    tx: &Tx,
    registration: &Registration,
    rows: &[DaemonRow],
) -> TxResult<()> {
    let open = tick::coverages(tx, Some(&registration.repo)).await?;
    let mut keys: Vec<&DaemonKey> = open
        .iter()
        .map(|coverage| &coverage.daemon)
        .chain(rows.iter().map(|row| &row.key))
        .collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let row = valid_row(rows, key);
        let current = open.iter().find(|coverage| coverage.daemon == *key);
        match coverage_step(current, row) {
            CoverageStep::Keep => {}
            CoverageStep::End => tick::end_coverage(tx, key, current, registration.now).await?,
            CoverageStep::Start(schedule) => {
                tick::end_coverage(tx, key, current, registration.now).await?;
                tick::start_coverage(tx, key, schedule, registration.now).await?;
            }
        }
    }
    Ok(())
}

async fn cancel_orphans(tx: &Tx, registration: &Registration, rows: &[DaemonRow]) -> TxResult<()> {
    let orphans = activation::select(
        tx,
        "a.state = 'pending' AND a.repo = $1 AND NOT EXISTS ( \
           SELECT 1 FROM daemon AS d WHERE d.repo = a.repo AND d.daemon = a.daemon AND d.valid)",
        &[&registration.repo.as_str()],
    )
    .await?;
    for mut orphan in orphans {
        let row = rows.iter().find(|row| row.key == orphan.activation.daemon);
        if let Some(reason) = cancel_reason(row) {
            orphan.activation.cancel(reason, registration.now);
            activation::update(tx, &mut orphan).await?;
        }
    }
    Ok(())
}

fn valid_row<'a>(rows: &'a [DaemonRow], key: &DaemonKey) -> Option<&'a DaemonRow> {
    rows.iter()
        .find(|row| row.key == *key && row.validity == Validity::Valid)
}

pub(crate) async fn daemons(tx: &Tx) -> TxResult<Vec<DaemonRow>> {
    rows(tx, None).await
}

pub(crate) async fn daemons_of(tx: &Tx, repo: &RepoName) -> TxResult<Vec<DaemonRow>> {
    rows(tx, Some(repo)).await
}

async fn rows(tx: &Tx, repo: Option<&RepoName>) -> TxResult<Vec<DaemonRow>> {
    let found = tx
        .rows(
            "SELECT * FROM daemon WHERE $1::text IS NULL OR repo = $1 \
             ORDER BY repo COLLATE \"C\", daemon COLLATE \"C\", path COLLATE \"C\"",
            &[&repo.map(RepoName::as_str)],
        )
        .await?;
    found.iter().map(read).collect()
}

fn read(row: &Row) -> TxResult<DaemonRow> {
    let schedule = match row.maybe_text("expression")? {
        None => None,
        Some(expression) => Some(ScheduleText {
            expression,
            zone: row.text("zone")?,
        }),
    };
    Ok(DaemonRow {
        key: row.daemon()?,
        path: row.text("path")?,
        rev: row.text("rev")?,
        commit: row.text("commit_id")?,
        purpose: row.text("purpose")?,
        validity: if row.flag("valid")? {
            Validity::Valid
        } else {
            Validity::Invalid
        },
        diagnostics: row.text("diagnostics")?,
        definition: row.text("definition")?,
        modes: Modes {
            watch: row.flag("watch")?,
            schedule: row.flag("scheduled")?,
        },
        schedule,
        gate: row.word("gate")?,
        failures: row.small("failures")?,
        since_seq: row.count("since_seq")?,
        registered_at: row.at("registered_at")?,
    })
}

async fn insert(tx: &Tx, row: &DaemonRow) -> TxResult<()> {
    let schedule = row.schedule.as_ref();
    tx.run(
        "INSERT INTO daemon (repo, daemon, path, rev, commit_id, purpose, valid, diagnostics, definition, watch, scheduled, \
         expression, zone, gate, failures, since_seq, registered_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        &[
            &row.key.repo.as_str(),
            &row.key.id.as_str(),
            &text(&row.path),
            &text(&row.rev),
            &text(&row.commit),
            &text(&row.purpose),
            &(row.validity == Validity::Valid),
            &text(&row.diagnostics),
            &text(&row.definition),
            &row.modes.watch,
            &row.modes.schedule,
            &schedule.map(|text| text.expression.as_str()),
            &schedule.map(|text| text.zone.as_str()),
            &row.gate.as_str(),
            &i64::from(row.failures),
            &integer(row.since_seq),
            &micros(row.registered_at),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn set_gate(tx: &Tx, daemon: &DaemonKey, gate: Gate) -> TxResult<()> {
    let missing = || StoreError::not_found("daemon", daemon);
    conduct(tx, daemon).await?.ok_or_else(missing)?;
    lane::lock(tx, daemon).await?;
    let conduct = conduct(tx, daemon).await?.ok_or_else(missing)?;
    set_conduct(tx, daemon, conduct.with_gate(gate)).await
}

/// The revisions of daemons that are registered and valid.
pub(crate) const REVS: &str = "SELECT repo, daemon, rev FROM daemon \
     WHERE (repo, daemon) IN (SELECT * FROM unnest($1::text[], $2::text[])) AND valid";

/// Reads the rows that [`REVS`] selects.
pub(crate) fn read_revs(rows: &[Row]) -> TxResult<HashMap<DaemonKey, String>> {
    rows.iter()
        .map(|row| Ok((row.daemon()?, row.text("rev")?)))
        .collect()
}

/// The gates and the failures of the daemons of some activations.
pub(crate) const CONDUCTS_OF: &str = "SELECT repo, daemon, gate, failures FROM daemon WHERE (repo, daemon) IN \
     (SELECT a.repo, a.daemon FROM activation AS a WHERE a.id = ANY($1)) ORDER BY path COLLATE \"C\" DESC";

/// Reads the rows that [`CONDUCTS_OF`] selects.
pub(crate) fn read_conducts(rows: &[Row]) -> TxResult<HashMap<DaemonKey, Conduct>> {
    // Of two files with one id, the first by path.
    rows.iter()
        .map(|row| {
            let conduct = Conduct {
                gate: row.word("gate")?,
                failures: row.small("failures")?,
            };
            Ok((row.daemon()?, conduct))
        })
        .collect()
}

/// Returns the gate and the failures of a registered daemon.
pub(crate) async fn conduct(tx: &Tx, daemon: &DaemonKey) -> TxResult<Option<Conduct>> {
    let rows = tx
        .rows(
            "SELECT repo, daemon, gate, failures FROM daemon WHERE repo = $1 AND daemon = $2 ORDER BY path COLLATE \"C\" DESC",
            &[&daemon.repo.as_str(), &daemon.id.as_str()],
        )
        .await?;
    Ok(read_conducts(&rows)?.remove(daemon))
}

pub(crate) async fn set_conduct(tx: &Tx, daemon: &DaemonKey, conduct: Conduct) -> TxResult<()> {
    tx.run(
        "UPDATE daemon SET gate = $3, failures = $4 WHERE repo = $1 AND daemon = $2",
        &[
            &daemon.repo.as_str(),
            &daemon.id.as_str(),
            &conduct.gate.as_str(),
            &i64::from(conduct.failures),
        ],
    )
    .await?;
    lane::refresh(tx, daemon).await
}
