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
use tokio_postgres::Row;

use crate::column::{Columns as _, integer, micros, text};
use crate::failure::TxResult;
use crate::store::LeaseDeadline;
use crate::transaction::Tx;
use crate::{activation, admission, attempt, lane, output};

/// The columns that [`read`] reads of `tick AS t`.
pub(crate) const COLUMNS: &str = "t.number, t.repo, t.daemon, t.first, t.scheduled_at, t.count, t.outcome, t.activation, \
     t.recorded_at, t.coverage";

pub(crate) fn read(row: &Row) -> TxResult<StoredTick> {
    Ok(StoredTick {
        daemon: row.daemon()?,
        coverage: row.maybe_count("coverage")?,
        first: row.at("first")?,
        scheduled_at: row.at("scheduled_at")?,
        count: row.count("count")?,
        outcome: row.word("outcome")?,
        activation: row.maybe_word("activation")?,
        recorded_at: row.at("recorded_at")?,
    })
}

/// Returns every open coverage by daemon.
pub(crate) async fn all_coverages(tx: &Tx) -> TxResult<Vec<Coverage>> {
    coverages(tx, None).await
}

/// Returns open coverages by daemon, of one repository or of all.
pub(crate) async fn coverages(tx: &Tx, repo: Option<&RepoName>) -> TxResult<Vec<Coverage>> {
    let rows = tx
        .rows(
            "SELECT repo, daemon, number, expression, zone, cursor FROM coverage \
             WHERE is_open AND ($1::text IS NULL OR repo = $1) ORDER BY repo COLLATE \"C\", daemon COLLATE \"C\"",
            &[&repo.map(RepoName::as_str)],
        )
        .await?;
    rows.iter().map(read_coverage).collect()
}

fn read_coverage(row: &Row) -> TxResult<Coverage> {
    Ok(Coverage {
        daemon: row.daemon()?,
        number: row.count("number")?,
        schedule: ScheduleText {
            expression: row.text("expression")?,
            zone: row.text("zone")?,
        },
        cursor: row.at("cursor")?,
    })
}

/// Ends the open coverage of a locked daemon and records its unrecorded ticks.
pub(crate) async fn end_coverage(
    tx: &Tx,
    daemon: &DaemonKey,
    open: Option<&Coverage>,
    now: Timestamp,
) -> TxResult<()> {
    tx.run(
        "UPDATE coverage SET is_open = false WHERE repo = $1 AND daemon = $2 AND is_open",
        &[&daemon.repo.as_str(), &daemon.id.as_str()],
    )
    .await?;
    if let Some(ended) = open {
        let calendar = Calendar::of_system(&ended.schedule);
        let row = superseded_ticks(calendar, ended.cursor, now);
        let rows: Vec<TickRow> = row.into_iter().collect();
        for row in unrecorded(tx, daemon, &ended.schedule, &rows).await? {
            let recorded = Recorded {
                coverage: Some(ended.number),
                activation: None,
                now,
            };
            insert(tx, daemon, &row, &recorded).await?;
        }
    }
    Ok(())
}

/// Gives a key that no registration contains a schedule, or takes it away.
pub(crate) async fn cover(
    tx: &Tx,
    daemon: DaemonKey,
    schedule: Option<ScheduleText>,
    now: Timestamp,
) -> TxResult<()> {
    let open = open_coverage(tx, &daemon).await?;
    if open.as_ref().map(|coverage| &coverage.schedule) == schedule.as_ref() {
        return Ok(());
    }
    lane::lock(tx, &daemon).await?;
    let open = open_coverage(tx, &daemon).await?;
    end_coverage(tx, &daemon, open.as_ref(), now).await?;
    match schedule {
        Some(schedule) => start_coverage(tx, &daemon, &schedule, now).await,
        None => Ok(()),
    }
}

pub(crate) async fn start_coverage(
    tx: &Tx,
    daemon: &DaemonKey,
    schedule: &ScheduleText,
    now: Timestamp,
) -> TxResult<()> {
    tx.run(
        "INSERT INTO coverage (repo, daemon, number, expression, zone, cursor, is_open) \
         SELECT $1::text, $2::text, coalesce(max(number), 0) + 1, $3::text, $4::text, $5::bigint, true FROM coverage \
         WHERE repo = $1 AND daemon = $2",
        &[
            &daemon.repo.as_str(),
            &daemon.id.as_str(),
            &text(&schedule.expression),
            &text(&schedule.zone),
            &micros(now),
        ],
    )
    .await?;
    Ok(())
}

async fn open_coverage(tx: &Tx, daemon: &DaemonKey) -> TxResult<Option<Coverage>> {
    let row = tx
        .maybe_row(
            "SELECT repo, daemon, number, expression, zone, cursor FROM coverage WHERE repo = $1 AND daemon = $2 AND is_open",
            &[&daemon.repo.as_str(), &daemon.id.as_str()],
        )
        .await?;
    row.as_ref().map(read_coverage).transpose()
}

pub(crate) async fn activations(tx: &Tx, daemons: &[DaemonKey]) -> TxResult<Vec<TickActivations>> {
    let mut acc = Vec::with_capacity(daemons.len());
    for daemon in daemons {
        acc.push(activations_of(tx, daemon).await?);
    }
    Ok(acc)
}

async fn activations_of(tx: &Tx, daemon: &DaemonKey) -> TxResult<TickActivations> {
    let mut unfinished = TickActivations::default();
    let rows = tx
        .rows(
            "SELECT id, state FROM activation WHERE repo = $1 AND daemon = $2 AND has_tick AND finished_at IS NULL \
             ORDER BY number",
            &[&daemon.repo.as_str(), &daemon.id.as_str()],
        )
        .await?;
    for row in &rows {
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

pub(crate) async fn commit(tx: &Tx, commits: Vec<TickCommit>) -> TxResult<Vec<TickResult>> {
    let daemons: Vec<&DaemonKey> = commits.iter().map(|commit| &commit.daemon).collect();
    lane::lock_all(tx, &daemons).await?;
    let mut results = Vec::with_capacity(commits.len());
    for commit in commits {
        results.push(commit_one(tx, commit).await?);
    }
    Ok(results)
}

async fn commit_one(tx: &Tx, commit: TickCommit) -> TxResult<TickResult> {
    let daemon = &commit.daemon;
    let open = open_coverage(tx, daemon).await?;
    let Some(open) = open.filter(|open| open.number == commit.coverage) else {
        return Ok(TickResult::Elsewhere { cursor: None });
    };
    // The cursor is compared in the statement that moves it, so that of two hosts one is faster.
    let n_moved = tx
        .run(
            "UPDATE coverage SET cursor = $5 WHERE repo = $1 AND daemon = $2 AND number = $3 AND cursor = $4 AND is_open",
            &[
                &daemon.repo.as_str(),
                &daemon.id.as_str(),
                &integer(commit.coverage),
                &micros(commit.from),
                &micros(commit.to),
            ],
        )
        .await?;
    if n_moved == 0 {
        let cursor = Some(open.cursor);
        return Ok(TickResult::Elsewhere { cursor });
    }
    let schedule = &open.schedule;
    let mut rows = unrecorded(tx, daemon, schedule, &commit.rows).await?;
    let calendar = Calendar::of_system(schedule);
    let unfinished = activations_of(tx, daemon).await?;
    if commit.cancels == Cancels::Running {
        cancel_leased(tx, &unfinished.running, commit.now).await?;
    }
    let trigger = commit
        .trigger
        .and_then(|new| trigger_among(new, &mut rows, calendar, &unfinished));
    let admitted = match trigger {
        None => None,
        Some(new) => admit(tx, new).await?,
    };
    for (row, activation) in recorded_ticks(&rows, calendar, admitted.as_ref(), &unfinished) {
        let recorded = Recorded {
            coverage: Some(commit.coverage),
            activation: activation.as_ref(),
            now: commit.now,
        };
        insert(tx, daemon, &row, &recorded).await?;
    }
    Ok(TickResult::Recorded(admitted.and_then(|admitted| {
        admitted.admission.activation().cloned()
    })))
}

/// Admits a tick that a person requested, and records it.
pub(crate) async fn enqueue(tx: &Tx, at: Timestamp, new: NewTrigger) -> TxResult<Admission> {
    let daemon = new.daemon.clone();
    lane::lock(tx, &daemon).await?;
    let recorded = recorded_tick(tx, &daemon, at).await?;
    if let Some(Some(known)) = recorded {
        return Ok(Admission::Duplicate(known));
    }
    let now = new.trigger.recorded_at;
    let admitted = admit(tx, new).await?.expect("it is a tick's");
    let open = open_coverage(tx, &daemon).await?;
    if let Some(open) = open.filter(|_| recorded.is_none()) {
        let row = TickRow::one(at, TickOutcome::Enqueued);
        let unfinished = TickActivations::default();
        let calendar = Calendar::of_system(&open.schedule);
        for (row, id) in recorded_ticks(&[row], calendar, Some(&admitted), &unfinished) {
            let recorded = Recorded {
                coverage: Some(open.number),
                activation: id.as_ref(),
                now,
            };
            insert(tx, &daemon, &row, &recorded).await?;
        }
    }
    Ok(admitted.admission)
}

async fn admit(tx: &Tx, new: NewTrigger) -> TxResult<Option<AdmittedTick>> {
    let (key, daemon) = (new.trigger.key.clone(), new.daemon.clone());
    let TriggerKey::Tick(at) = key else {
        return Ok(None);
    };
    let admission = admission::admit_trigger(tx, new).await?;
    let placed = tx
        .maybe_row(
            "SELECT place FROM wake WHERE repo = $1 AND daemon = $2 AND key = $3",
            &[&daemon.repo.as_str(), &daemon.id.as_str(), &key.to_string()],
        )
        .await?;
    let role = match placed.map(|row| row.number("place")).transpose()? {
        Some(0) => TickRole::Made,
        _ => TickRole::Joined,
    };
    Ok(Some(AdmittedTick {
        at,
        admission,
        role,
    }))
}

async fn cancel_leased(tx: &Tx, running: &[ActivationId], now: Timestamp) -> TxResult<()> {
    for id in running {
        if activation::get(tx, id).await?.activation.state.is_leased() {
            attempt::cancel(tx, id, SUPPLANTED, now).await?;
        }
    }
    Ok(())
}

/// Removes recorded instants from rows.
async fn unrecorded(
    tx: &Tx,
    daemon: &DaemonKey,
    schedule: &ScheduleText,
    rows: &[TickRow],
) -> TxResult<Vec<TickRow>> {
    let mut left = Vec::with_capacity(rows.len());
    for row in rows {
        let found = tx
            .rows(
                "SELECT first, scheduled_at FROM tick WHERE repo = $1 AND daemon = $2 AND scheduled_at >= $3 \
                 AND first <= $4 AND outcome <> 'retracted' ORDER BY scheduled_at",
                &[
                    &daemon.repo.as_str(),
                    &daemon.id.as_str(),
                    &micros(row.first),
                    &micros(row.scheduled_at),
                ],
            )
            .await?;
        let recorded = found
            .iter()
            .map(|row| Ok((row.at("first")?, row.at("scheduled_at")?)))
            .collect::<TxResult<Vec<_>>>()?;
        left.extend(unrecorded_ticks(
            *row,
            Calendar::of_system(schedule),
            &recorded,
        ));
    }
    Ok(left)
}

/// Returns the activation of the row that records an instant, if there is such a row.
pub(crate) async fn recorded_tick(
    tx: &Tx,
    daemon: &DaemonKey,
    at: Timestamp,
) -> TxResult<Option<Option<ActivationId>>> {
    let found = tx
        .maybe_row(
            "SELECT activation FROM tick WHERE repo = $1 AND daemon = $2 AND scheduled_at >= $3 AND first <= $3 \
             AND outcome <> 'retracted' ORDER BY scheduled_at LIMIT 1",
            &[&daemon.repo.as_str(), &daemon.id.as_str(), &micros(at)],
        )
        .await?;
    found.map(|row| row.maybe_word("activation")).transpose()
}

/// What is stored with a row of ticks.
struct Recorded<'a> {
    coverage: Option<u64>,
    activation: Option<&'a ActivationId>,
    now: Timestamp,
}

async fn insert(
    tx: &Tx,
    daemon: &DaemonKey,
    row: &TickRow,
    recorded: &Recorded<'_>,
) -> TxResult<()> {
    tx.run(
        "INSERT INTO tick (repo, daemon, first, scheduled_at, count, outcome, activation, recorded_at, coverage) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        &[
            &daemon.repo.as_str(),
            &daemon.id.as_str(),
            &micros(row.first),
            &micros(row.scheduled_at),
            &integer(row.count),
            &row.outcome.as_str(),
            &recorded.activation.map(ActivationId::as_str),
            &micros(recorded.now),
            &recorded.coverage.map(integer::<u64>),
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn retract(tx: &Tx, now: Timestamp) -> TxResult<u64> {
    // A lease that the clock of the database decides over does not step back with that of the host.
    let has_own_leases = matches!(tx.lease_deadline(now), LeaseDeadline::At(_));
    let ahead = activation::select_locked(
        tx,
        "a.finished_at IS NULL AND (a.state = 'pending' AND a.not_before > $1 OR $2 AND a.lease_until > $1)",
        &[&micros(now), &has_own_leases],
    )
    .await?;
    for mut one in ahead {
        if one.activation.step_back(now) == SteppedBack::Changed {
            activation::update(tx, &mut one).await?;
        }
    }
    tx.run(
        "UPDATE coverage SET cursor = $1 WHERE cursor > $1",
        &[&micros(now)],
    )
    .await?;
    output::hasten(tx, now).await?;
    let mut n_retracted = 0;
    for (number, tick, schedule) in later_ticks(tx, now).await? {
        let calendar = schedule.as_ref().map(Calendar::of_system);
        if let Some((kept, gone)) = retraction(&tick, calendar, now) {
            divide(tx, number, &tick, (kept, gone)).await?;
            n_retracted += 1;
        }
    }
    Ok(n_retracted)
}

/// A row that ends after an instant, with its number and its calendar.
type LaterTick = (i64, StoredTick, Option<ScheduleText>);

async fn later_ticks(tx: &Tx, now: Timestamp) -> TxResult<Vec<LaterTick>> {
    let sql = format!(
        "SELECT {COLUMNS}, c.expression, c.zone FROM tick AS t LEFT JOIN coverage AS c \
         ON c.repo = t.repo AND c.daemon = t.daemon AND c.number = t.coverage \
         WHERE t.scheduled_at > $1 AND t.outcome NOT IN ('enqueued', 'retracted') ORDER BY t.number"
    );
    let rows = tx.rows(&sql, &[&micros(now)]).await?;
    rows.iter()
        .map(|row| {
            let schedule = match row.maybe_text("expression")? {
                None => None,
                Some(expression) => Some(ScheduleText {
                    expression,
                    zone: row.text("zone")?,
                }),
            };
            Ok((row.number("number")?, read(row)?, schedule))
        })
        .collect()
}

async fn divide(
    tx: &Tx,
    number: i64,
    tick: &StoredTick,
    (kept, gone): (Option<TickRow>, TickRow),
) -> TxResult<()> {
    let row = kept.unwrap_or(gone);
    tx.run(
        "UPDATE tick SET first = $5, scheduled_at = $6, count = $7, outcome = $8 \
         WHERE repo = $1 AND daemon = $2 AND scheduled_at = $3 AND number = $4",
        &[
            &tick.daemon.repo.as_str(),
            &tick.daemon.id.as_str(),
            &micros(tick.scheduled_at),
            &number,
            &micros(row.first),
            &micros(row.scheduled_at),
            &integer(row.count),
            &row.outcome.as_str(),
        ],
    )
    .await?;
    if kept.is_some() {
        let recorded = Recorded {
            coverage: tick.coverage,
            activation: tick.activation.as_ref(),
            now: tick.recorded_at,
        };
        insert(tx, &tick.daemon, &gone, &recorded).await?;
    }
    Ok(())
}
