//! Coverages, their cursors, and the records of ticks.

use daemon_engine::{ActivationState, Admission, NewTrigger, SteppedBack};
use daemon_event::{ActivationId, DaemonKey, RepoName, TriggerKey};
use daemon_schedule::{Cancels, TickOutcome, TickRow};
use daemon_store::decide::{
    AdmittedTick, Calendar, SUPPLANTED, TickRole, recorded_ticks, retraction, superseded_ticks,
    trigger_among, unrecorded_ticks,
};
use daemon_store::{Coverage, ScheduleText, StoredTick, TickActivations, TickCommit, TickResult};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::activation;
use crate::admission;
use crate::attempt;
use crate::column::{Columns as _, integer, micros};
use crate::failpoint;
use crate::failure::{TxResult, damaged};
use crate::lane::{self, Lane};
use crate::output;

/// The columns that [`read`] reads.
pub(crate) const COLUMNS: &str = "t.number, l.repo, l.daemon, t.first, t.scheduled_at, t.count, t.outcome, \
     a.id AS activation, t.recorded_at, t.coverage";

/// The tables of [`COLUMNS`].
pub(crate) const TABLES: &str = "tick AS t JOIN lane AS l ON l.id = t.lane LEFT JOIN activation AS a ON a.number = t.activation";

pub(crate) fn read(row: &Row<'_>) -> TxResult<StoredTick> {
    Ok(StoredTick {
        daemon: row.daemon()?,
        coverage: match row.get::<_, Option<i64>>("coverage")? {
            None => None,
            Some(_) => Some(row.count("coverage")?),
        },
        first: row.at("first")?,
        scheduled_at: row.at("scheduled_at")?,
        count: row.count("count")?,
        outcome: row.word("outcome")?,
        activation: row.maybe_word("activation")?,
        recorded_at: row.at("recorded_at")?,
    })
}

/// Returns open coverages by daemon, of one repository or of all.
pub(crate) fn coverages(conn: &Connection, repo: Option<&RepoName>) -> TxResult<Vec<Coverage>> {
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
            schedule: schedule_text(row)?,
            cursor: row.at("cursor")?,
        });
    }
    Ok(open)
}

/// Ends the open coverage of a lane and records its unrecorded ticks.
pub(crate) fn end_coverage(
    tx: &Connection,
    lane: Lane,
    open: Option<&Coverage>,
    now: Timestamp,
) -> TxResult<()> {
    tx.prepare_cached("UPDATE coverage SET is_open = 0 WHERE lane = ?1 AND is_open = 1")?
        .execute([lane.0])?;
    if let Some(ended) = open {
        let calendar = Calendar::of_system(&ended.schedule);
        let row = superseded_ticks(calendar, ended.cursor, now);
        let rows: Vec<TickRow> = row.into_iter().collect();
        for row in unrecorded(tx, lane, &ended.schedule, &rows)? {
            insert(tx, lane, Some(ended.number), &row, None, now)?;
        }
    }
    Ok(())
}

/// Gives a key that no registration contains a schedule, or takes it away.
pub(crate) fn cover(
    tx: &Connection,
    daemon: DaemonKey,
    schedule: Option<ScheduleText>,
    now: Timestamp,
) -> TxResult<()> {
    let open = coverages(tx, Some(&daemon.repo))?;
    let open = open.iter().find(|coverage| coverage.daemon == daemon);
    if open.map(|coverage| &coverage.schedule) == schedule.as_ref() {
        return Ok(());
    }
    let lane = lane::of(tx, &daemon)?;
    end_coverage(tx, lane, open, now)?;
    match schedule {
        Some(schedule) => start_coverage(tx, lane, &schedule, now),
        None => Ok(()),
    }
}

pub(crate) fn start_coverage(
    tx: &Connection,
    lane: Lane,
    schedule: &ScheduleText,
    now: Timestamp,
) -> TxResult<()> {
    tx.prepare_cached(
        "INSERT INTO coverage SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, 1 FROM coverage WHERE lane = ?1",
    )?
    .execute(params![lane.0, schedule.expression, schedule.zone, micros(now)])?;
    Ok(())
}

pub(crate) fn activations(
    conn: &Connection,
    daemons: &[DaemonKey],
) -> TxResult<Vec<TickActivations>> {
    let mut acc = Vec::with_capacity(daemons.len());
    for daemon in daemons {
        acc.push(match lane::find(conn, daemon)? {
            Some(lane) => activations_of(conn, lane)?,
            None => TickActivations::default(),
        });
    }
    Ok(acc)
}

fn activations_of(conn: &Connection, lane: Lane) -> TxResult<TickActivations> {
    let mut unfinished = TickActivations::default();
    let mut find = conn.prepare_cached(
        "SELECT id, state FROM activation WHERE lane = ?1 AND has_tick = 1 AND finished_at IS NULL ORDER BY number",
    )?;
    let mut rows = find.query([lane.0])?;
    while let Some(row) = rows.next()? {
        let state: ActivationState = row.word("state")?;
        let slot = if state.blocks_subject() {
            &mut unfinished.running
        } else {
            &mut unfinished.pending
        };
        slot.push(row.word("id")?);
    }
    Ok(unfinished)
}

pub(crate) fn commit(tx: &Connection, commits: Vec<TickCommit>) -> TxResult<Vec<TickResult>> {
    failpoint::hit("T2");
    let results = commits
        .into_iter()
        .map(|commit| commit_one(tx, commit))
        .collect();
    failpoint::hit("T3");
    results
}

fn commit_one(tx: &Connection, commit: TickCommit) -> TxResult<TickResult> {
    let Some(lane) = lane::find(tx, &commit.daemon)? else {
        return Ok(TickResult::Elsewhere { cursor: None });
    };
    let Some((cursor, schedule)) = open_coverage(tx, lane, commit.coverage)? else {
        return Ok(TickResult::Elsewhere { cursor: None });
    };
    if cursor != commit.from {
        let cursor = Some(cursor);
        return Ok(TickResult::Elsewhere { cursor });
    }
    tx.prepare_cached("UPDATE coverage SET cursor = ?3 WHERE lane = ?1 AND number = ?2")?
        .execute(params![lane.0, integer(commit.coverage), micros(commit.to)])?;
    let mut rows = unrecorded(tx, lane, &schedule, &commit.rows)?;
    let calendar = Calendar::of_system(&schedule);
    let unfinished = activations_of(tx, lane)?;
    if commit.cancels == Cancels::Running {
        cancel_leased(tx, &unfinished.running, commit.now)?;
    }
    let trigger = commit
        .trigger
        .and_then(|new| trigger_among(new, &mut rows, calendar, &unfinished));
    let admitted = match trigger {
        None => None,
        Some(new) => admit(tx, lane, new)?,
    };
    for (row, activation) in recorded_ticks(&rows, calendar, admitted.as_ref(), &unfinished) {
        insert(
            tx,
            lane,
            Some(commit.coverage),
            &row,
            activation.as_ref(),
            commit.now,
        )?;
    }
    Ok(TickResult::Recorded(admitted.and_then(|admitted| {
        admitted.admission.activation().cloned()
    })))
}

fn open_coverage(
    tx: &Connection,
    lane: Lane,
    number: u64,
) -> TxResult<Option<(Timestamp, ScheduleText)>> {
    let mut find = tx.prepare_cached(
        "SELECT cursor, expression, zone FROM coverage WHERE lane = ?1 AND number = ?2 AND is_open = 1",
    )?;
    let mut rows = find.query(params![lane.0, integer(number)])?;
    match rows.next()? {
        None => Ok(None),
        Some(row) => Ok(Some((row.at("cursor")?, schedule_text(row)?))),
    }
}

fn schedule_text(row: &Row<'_>) -> TxResult<ScheduleText> {
    Ok(ScheduleText {
        expression: row.text("expression")?,
        zone: row.text("zone")?,
    })
}

/// Admits a tick that a person requested, and records it.
pub(crate) fn enqueue(tx: &Connection, at: Timestamp, new: NewTrigger) -> TxResult<Admission> {
    let lane = lane::of(tx, &new.daemon)?;
    let recorded = recorded_tick(tx, lane, at)?;
    if let Some(Some(known)) = recorded {
        return Ok(Admission::Duplicate(known));
    }
    let now = new.trigger.recorded_at;
    let admitted = admit(tx, lane, new)?.expect("it is a tick's");
    let open: Option<(i64, String, String)> = tx
        .prepare_cached(
            "SELECT number, expression, zone FROM coverage WHERE lane = ?1 AND is_open = 1",
        )?
        .query_row([lane.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    if let Some((number, expression, zone)) = open.filter(|_| recorded.is_none()) {
        let number = u64::try_from(number).map_err(|error| damaged("a count", error))?;
        let schedule = ScheduleText { expression, zone };
        let row = TickRow::one(at, TickOutcome::Enqueued);
        let unfinished = TickActivations::default();
        let calendar = Calendar::of_system(&schedule);
        for (row, id) in recorded_ticks(&[row], calendar, Some(&admitted), &unfinished) {
            insert(tx, lane, Some(number), &row, id.as_ref(), now)?;
        }
    }
    Ok(admitted.admission)
}

fn admit(tx: &Connection, lane: Lane, new: NewTrigger) -> TxResult<Option<AdmittedTick>> {
    let key = new.trigger.key.clone();
    let TriggerKey::Tick(at) = key else {
        return Ok(None);
    };
    let admission = admission::admit_trigger(tx, new, None)?;
    let place: Option<i64> = tx
        .prepare_cached("SELECT place FROM wake WHERE key = ?1 AND lane = ?2")?
        .query_row(params![key.to_string(), lane.0], |row| row.get(0))
        .optional()?;
    let role = match place {
        Some(0) => TickRole::Made,
        _ => TickRole::Joined,
    };
    Ok(Some(AdmittedTick {
        at,
        admission,
        role,
    }))
}

fn cancel_leased(tx: &Connection, running: &[ActivationId], now: Timestamp) -> TxResult<()> {
    for id in running {
        if activation::get(tx, id)?.activation.state.is_leased() {
            attempt::cancel(tx, id, SUPPLANTED, now)?;
        }
    }
    Ok(())
}

/// Removes recorded instants from rows.
fn unrecorded(
    tx: &Connection,
    lane: Lane,
    schedule: &ScheduleText,
    rows: &[TickRow],
) -> TxResult<Vec<TickRow>> {
    let mut find = tx.prepare_cached(
        "SELECT first, scheduled_at FROM tick WHERE lane = ?1 AND scheduled_at >= ?2 AND first <= ?3          AND outcome <> 'retracted' ORDER BY scheduled_at",
    )?;
    let mut left = Vec::with_capacity(rows.len());
    for row in rows {
        let mut found = find.query(params![lane.0, micros(row.first), micros(row.scheduled_at)])?;
        let mut recorded = Vec::new();
        while let Some(row) = found.next()? {
            recorded.push((row.at("first")?, row.at("scheduled_at")?));
        }
        left.extend(unrecorded_ticks(
            *row,
            Calendar::of_system(schedule),
            &recorded,
        ));
    }
    Ok(left)
}

/// Returns the activation of the row that records an instant, if there is such a row.
pub(crate) fn recorded_tick(
    conn: &Connection,
    lane: Lane,
    at: Timestamp,
) -> TxResult<Option<Option<ActivationId>>> {
    let mut find = conn.prepare_cached(
        "SELECT a.id FROM tick AS t LEFT JOIN activation AS a ON a.number = t.activation          WHERE t.lane = ?1 AND t.scheduled_at >= ?2 AND t.first <= ?2 AND t.outcome <> 'retracted'          ORDER BY t.scheduled_at LIMIT 1",
    )?;
    let mut rows = find.query(params![lane.0, micros(at)])?;
    match rows.next()? {
        None => Ok(None),
        Some(row) => Ok(Some(row.maybe_word("id")?)),
    }
}

fn insert(
    tx: &Connection,
    lane: Lane,
    coverage: Option<u64>,
    row: &TickRow,
    activation: Option<&ActivationId>,
    now: Timestamp,
) -> TxResult<()> {
    let activation: Option<i64> = match activation {
        None => None,
        Some(id) => tx
            .prepare_cached("SELECT number FROM activation WHERE id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?,
    };
    tx.prepare_cached(
        "INSERT INTO tick (lane, first, scheduled_at, count, outcome, activation, recorded_at, coverage)          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        lane.0,
        micros(row.first),
        micros(row.scheduled_at),
        integer(row.count),
        row.outcome.as_str(),
        activation,
        micros(now),
        coverage.map(integer),
    ])?;
    Ok(())
}

pub(crate) fn retract(tx: &Connection, now: Timestamp) -> TxResult<u64> {
    tx.execute(
        "UPDATE coverage SET cursor = ?1 WHERE cursor > ?1",
        [micros(now)],
    )?;
    let ahead = activation::select(
        tx,
        "a.finished_at IS NULL AND (a.state = 'pending' AND a.not_before > :now OR a.lease_until > :now)",
        &[(":now", &micros(now))],
    )?;
    for mut one in ahead {
        if one.activation.step_back(now) == SteppedBack::Changed {
            activation::update(tx, &one)?;
        }
    }
    output::hasten(tx, now)?;
    let mut n_retracted = 0;
    for (number, tick, schedule) in later_ticks(tx, now)? {
        if let Some((kept, gone)) =
            retraction(&tick, schedule.as_ref().map(Calendar::of_system), now)
        {
            divide(tx, number, &tick, kept, gone)?;
            n_retracted += 1;
        }
    }
    Ok(n_retracted)
}

/// A row that ends after an instant, with its number and its calendar.
type LaterTick = (i64, StoredTick, Option<ScheduleText>);

fn later_ticks(tx: &Connection, now: Timestamp) -> TxResult<Vec<LaterTick>> {
    let mut find = tx.prepare_cached(&format!(
        "SELECT {COLUMNS}, c.expression, c.zone FROM {TABLES}          LEFT JOIN coverage AS c ON c.lane = t.lane AND c.number = t.coverage          WHERE t.scheduled_at > ?1 AND t.outcome NOT IN ('enqueued', 'retracted') ORDER BY t.number"
    ))?;
    let mut rows = find.query([micros(now)])?;
    let mut later = Vec::new();
    while let Some(row) = rows.next()? {
        let schedule = match row.get::<_, Option<String>>("expression")? {
            None => None,
            Some(_) => Some(schedule_text(row)?),
        };
        later.push((row.get("number")?, read(row)?, schedule));
    }
    Ok(later)
}

fn divide(
    tx: &Connection,
    number: i64,
    tick: &StoredTick,
    kept: Option<TickRow>,
    gone: TickRow,
) -> TxResult<()> {
    let row = kept.unwrap_or(gone);
    tx.prepare_cached(
        "UPDATE tick SET first = ?2, scheduled_at = ?3, count = ?4, outcome = ?5 WHERE number = ?1",
    )?
    .execute(params![
        number,
        micros(row.first),
        micros(row.scheduled_at),
        integer(row.count),
        row.outcome.as_str(),
    ])?;
    if kept.is_some() {
        let lane = lane::of(tx, &tick.daemon)?;
        let activation = tick.activation.as_ref();
        insert(tx, lane, tick.coverage, &gone, activation, tick.recorded_at)?;
    }
    Ok(())
}
