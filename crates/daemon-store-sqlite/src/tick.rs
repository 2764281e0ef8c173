//! Coverages, their cursors, and the records of ticks.

use daemon_engine::ActivationState;
use daemon_event::{ActivationId, DaemonKey, RepoName};
use daemon_schedule::TickRow;
use daemon_store::decide::{occupies_slot, recorded_ticks};
use daemon_store::{Coverage, ScheduleText, StoredTick, TickActivations, TickCommit, TickResult};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::admission;
use crate::column::{Columns as _, integer, micros};
use crate::failure::{Outcome, damaged};
use crate::lane::{self, Lane};

/// What [`read`] needs.
pub(crate) const COLUMNS: &str = "t.number, l.repo, l.daemon, t.first, t.scheduled_at, t.count, t.outcome, \
     a.id AS activation, t.recorded_at";

/// The tables behind [`COLUMNS`].
pub(crate) const TABLES: &str = "tick AS t JOIN lane AS l ON l.id = t.lane LEFT JOIN activation AS a ON a.number = t.activation";

pub(crate) fn read(row: &Row<'_>) -> Outcome<StoredTick> {
    Ok(StoredTick {
        daemon: row.daemon()?,
        first: row.at("first")?,
        scheduled_at: row.at("scheduled_at")?,
        count: row.count("count")?,
        outcome: row.word("outcome")?,
        activation: row.maybe_word("activation")?,
        recorded_at: row.at("recorded_at")?,
    })
}

/// Returns open coverages by daemon, of one repository or of all.
pub(crate) fn coverages(conn: &Connection, repo: Option<&RepoName>) -> Outcome<Vec<Coverage>> {
    let mut find = conn.prepare_cached(
        "SELECT l.repo, l.daemon, c.number, c.expression, c.zone, c.cursor FROM coverage AS c \
         JOIN lane AS l ON l.id = c.lane WHERE c.is_open = 1 AND (?1 IS NULL OR l.repo = ?1) \
         ORDER BY l.repo, l.daemon",
    )?;
    let mut rows = find.query([repo.map(RepoName::as_str)])?;
    let mut open = Vec::new();
    while let Some(row) = rows.next()? {
        open.push(Coverage {
            daemon: row.daemon()?,
            number: row.count("number")?,
            schedule: ScheduleText {
                expression: row.text("expression")?,
                zone: row.text("zone")?,
            },
            cursor: row.at("cursor")?,
        });
    }
    Ok(open)
}

pub(crate) fn end_coverage(tx: &Connection, lane: Lane) -> Outcome<()> {
    tx.prepare_cached("UPDATE coverage SET is_open = 0 WHERE lane = ?1 AND is_open = 1")?
        .execute([lane.0])?;
    Ok(())
}

pub(crate) fn start_coverage(
    tx: &Connection,
    lane: Lane,
    schedule: &ScheduleText,
    now: Timestamp,
) -> Outcome<()> {
    tx.prepare_cached(
        "INSERT INTO coverage SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, 1 FROM coverage WHERE lane = ?1",
    )?
    .execute(params![lane.0, schedule.expression, schedule.zone, micros(now)])?;
    Ok(())
}

pub(crate) fn activations(conn: &Connection, daemon: &DaemonKey) -> Outcome<TickActivations> {
    let mut unfinished = TickActivations::default();
    let Some(lane) = lane::find(conn, daemon)? else {
        return Ok(unfinished);
    };
    let mut find = conn.prepare_cached(
        "SELECT id, state FROM activation WHERE lane = ?1 AND has_tick = 1 AND finished_at IS NULL ORDER BY number",
    )?;
    let mut rows = find.query([lane.0])?;
    while let Some(row) = rows.next()? {
        let state: ActivationState = row.word("state")?;
        let slot = if occupies_slot(state) {
            &mut unfinished.running
        } else {
            &mut unfinished.pending
        };
        if slot.is_none() {
            *slot = Some(row.word("id")?);
        }
        if unfinished.running.is_some() && unfinished.pending.is_some() {
            break;
        }
    }
    Ok(unfinished)
}

pub(crate) fn commit(tx: &Connection, commits: Vec<TickCommit>) -> Outcome<Vec<TickResult>> {
    commits
        .into_iter()
        .map(|commit| commit_one(tx, commit))
        .collect()
}

fn commit_one(tx: &Connection, commit: TickCommit) -> Outcome<TickResult> {
    let Some(lane) = lane::find(tx, &commit.daemon)? else {
        return Ok(TickResult::Elsewhere);
    };
    let moved = tx
        .prepare_cached(
            "UPDATE coverage SET cursor = ?4 WHERE lane = ?1 AND number = ?2 AND cursor = ?3 AND is_open = 1",
        )?
        .execute(params![
            lane.0,
            integer(commit.coverage),
            micros(commit.from),
            micros(commit.to)
        ])?;
    if moved == 0 {
        return Ok(TickResult::Elsewhere);
    }
    let unfinished = activations(tx, &commit.daemon)?;
    let admitted = match commit.trigger {
        None => None,
        Some(new) => {
            let key = new.trigger.key.clone();
            Some((key, admission::enqueue(tx, new)?))
        }
    };
    let trigger = admitted.as_ref().map(|(key, admission)| (key, admission));
    for (row, activation) in recorded_ticks(&commit.rows, trigger, &unfinished) {
        insert(tx, lane, &row, activation.as_ref(), commit.now)?;
    }
    Ok(TickResult::Recorded(admitted.and_then(|(_, admission)| {
        admission.activation().cloned()
    })))
}

fn insert(
    tx: &Connection,
    lane: Lane,
    row: &TickRow,
    activation: Option<&ActivationId>,
    now: Timestamp,
) -> Outcome<()> {
    let activation: Option<i64> = match activation {
        None => None,
        Some(id) => tx
            .prepare_cached("SELECT number FROM activation WHERE id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?,
    };
    tx.prepare_cached(
        "INSERT INTO tick (lane, first, scheduled_at, count, outcome, activation, recorded_at) \
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS ( \
           SELECT 1 FROM tick WHERE lane = ?1 AND scheduled_at = ?3 AND outcome <> 'retracted')",
    )?
    .execute(params![
        lane.0,
        micros(row.first),
        micros(row.scheduled_at),
        integer(row.count),
        row.outcome.as_str(),
        activation,
        micros(now),
    ])?;
    Ok(())
}

pub(crate) fn retract(tx: &Connection, now: Timestamp) -> Outcome<u64> {
    tx.execute(
        "UPDATE coverage SET cursor = ?1 WHERE cursor > ?1",
        [micros(now)],
    )?;
    let n = tx.execute(
        "UPDATE tick SET outcome = 'retracted' WHERE first > ?1 AND outcome NOT IN ('enqueued', 'retracted')",
        [micros(now)],
    )?;
    Ok(u64::try_from(n).map_err(|error| damaged("a count", error))?)
}
