//! The registry of daemons and their coverages.

use daemon_engine::{Conduct, Gate};
use daemon_event::{DaemonKey, RepoName};
use daemon_store::decide::{CoverageStep, cancel_reason, coverage_step, registered};
use daemon_store::{
    Coverage, DaemonRow, Modes, Registration, RegistryChange, ScheduleText, StoreError, Validity,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::activation;
use crate::column::{Columns as _, integer, micros};
use crate::failpoint;
use crate::failure::{TxResult, damaged};
use crate::lane::{self, Lane};
use crate::tick;

pub(crate) fn register(tx: &Connection, registration: Registration) -> TxResult<RegistryChange> {
    failpoint::hit("D3");
    let repo = &registration.repo;
    let stored = daemons_of(tx, repo)?;
    let newest = newest_seq(tx, registration.since)?;
    let (rows, change) = registered(&stored, &registration, newest);
    // The whole repository is replaced: paths move, and two files may exchange their ids in one commit.
    tx.prepare_cached("DELETE FROM daemon WHERE repo = ?1")?
        .execute([repo.as_str()])?;
    for row in &rows {
        insert(tx, row)?;
        lane::of(tx, &row.key)?;
    }
    lane::refresh_repo(tx, repo.as_str())?;
    lane::note_removed(tx, repo.as_str(), registration.now)?;
    follow_coverages(tx, &registration, &rows)?;
    cancel_orphans(tx, &registration, &rows)?;
    Ok(change)
}

/// Returns the newest event that was stored, or received until an instant; 0 without one.
fn newest_seq(tx: &Connection, until: Option<Timestamp>) -> TxResult<u64> {
    let newest: Option<i64> = tx
        .prepare_cached(
            // Backwards by number, since the first fitting row ends the search near the end of the table.
            "SELECT seq FROM event WHERE ?1 IS NULL OR received_at <= ?1 ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([until.map(micros)], |row| row.get(0))
        .optional()?;
    let newest = u64::try_from(newest.unwrap_or(0));
    Ok(newest.map_err(|error| damaged("column `seq`", error))?)
}

fn follow_coverages(
    tx: &Connection,
    registration: &Registration,
    rows: &[DaemonRow],
) -> TxResult<()> {
    let open = tick::coverages(tx, Some(&registration.repo))?;
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
        let lane = lane::of(tx, key)?;
        match coverage_step(current, row) {
            CoverageStep::Keep => {}
            CoverageStep::End => tick::end_coverage(tx, lane, current, registration.now)?,
            CoverageStep::Start(schedule) => {
                tick::end_coverage(tx, lane, current, registration.now)?;
                tick::start_coverage(tx, lane, schedule, registration.now)?;
            }
        }
    }
    Ok(())
}

fn cancel_orphans(
    tx: &Connection,
    registration: &Registration,
    rows: &[DaemonRow],
) -> TxResult<()> {
    let orphans = activation::select(
        tx,
        "a.state = 'pending' AND l.repo = :repo AND NOT EXISTS ( \
           SELECT 1 FROM daemon AS d WHERE d.repo = l.repo AND d.daemon = l.daemon AND d.valid = 1)",
        &[(":repo", &registration.repo.as_str())],
    )?;
    for mut orphan in orphans {
        let row = rows.iter().find(|row| row.key == orphan.activation.daemon);
        if let Some(reason) = cancel_reason(row) {
            orphan.activation.cancel(reason, registration.now);
            activation::update(tx, &orphan)?;
        }
    }
    Ok(())
}

fn valid_row<'a>(rows: &'a [DaemonRow], key: &DaemonKey) -> Option<&'a DaemonRow> {
    rows.iter()
        .find(|row| row.key == *key && row.validity == Validity::Valid)
}

pub(crate) fn daemons(conn: &Connection) -> TxResult<Vec<DaemonRow>> {
    rows(conn, "WHERE ?1 IS NULL", None)
}

pub(crate) fn daemons_of(conn: &Connection, repo: &RepoName) -> TxResult<Vec<DaemonRow>> {
    rows(conn, "WHERE repo = ?1", Some(repo))
}

fn rows(conn: &Connection, condition: &str, repo: Option<&RepoName>) -> TxResult<Vec<DaemonRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT * FROM daemon {condition} ORDER BY repo, daemon, path"
    ))?;
    let mut found = find.query([repo.map(RepoName::as_str)])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(read(row)?);
    }
    Ok(rows)
}

fn read(row: &Row<'_>) -> TxResult<DaemonRow> {
    let schedule = match row.get::<_, Option<String>>("expression")? {
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
        validity: if row.get("valid")? {
            Validity::Valid
        } else {
            Validity::Invalid
        },
        diagnostics: row.text("diagnostics")?,
        definition: row.text("definition")?,
        modes: Modes {
            watch: row.get("watch")?,
            schedule: row.get("scheduled")?,
        },
        schedule,
        gate: row.word("gate")?,
        failures: row.small("failures")?,
        since_seq: row.count("since_seq")?,
        registered_at: row.at("registered_at")?,
    })
}

fn insert(tx: &Connection, row: &DaemonRow) -> TxResult<()> {
    tx.prepare_cached(
        "INSERT INTO daemon VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        row.key.repo.as_str(),
        row.key.id.as_str(),
        row.path,
        row.rev,
        row.commit,
        row.purpose,
        row.validity == Validity::Valid,
        row.diagnostics,
        row.definition,
        row.modes.watch,
        row.modes.schedule,
        row.schedule.as_ref().map(|text| text.expression.as_str()),
        row.schedule.as_ref().map(|text| text.zone.as_str()),
        row.gate.as_str(),
        row.failures,
        integer(row.since_seq),
        micros(row.registered_at),
    ])?;
    Ok(())
}

pub(crate) fn set_gate(tx: &Connection, daemon: &DaemonKey, gate: Gate) -> TxResult<()> {
    let conduct = conduct(tx, daemon)?.ok_or_else(|| StoreError::not_found("daemon", daemon))?;
    let lane = lane::of(tx, daemon)?;
    set_conduct(tx, daemon, lane, conduct.with_gate(gate))
}

/// Returns the gate and the failures of a registered daemon.
pub(crate) fn conduct(conn: &Connection, daemon: &DaemonKey) -> TxResult<Option<Conduct>> {
    let found: Option<(String, u32)> = conn
        .prepare_cached(
            "SELECT gate, failures FROM daemon WHERE repo = ?1 AND daemon = ?2 ORDER BY path LIMIT 1",
        )?
        .query_row(params![daemon.repo.as_str(), daemon.id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((gate, failures)) = found else {
        return Ok(None);
    };
    Ok(Some(Conduct {
        gate: gate
            .parse()
            .map_err(|error| damaged("the gate of a daemon", error))?,
        failures,
    }))
}

pub(crate) fn set_conduct(
    tx: &Connection,
    daemon: &DaemonKey,
    lane: Lane,
    conduct: Conduct,
) -> TxResult<()> {
    tx.prepare_cached(
        "UPDATE daemon SET gate = ?3, failures = ?4 WHERE repo = ?1 AND daemon = ?2",
    )?
    .execute(params![
        daemon.repo.as_str(),
        daemon.id.as_str(),
        conduct.gate.as_str(),
        conduct.failures
    ])?;
    lane::refresh(tx, lane)
}

pub(crate) fn coverages(conn: &Connection) -> TxResult<Vec<Coverage>> {
    tick::coverages(conn, None)
}
