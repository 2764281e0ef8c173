//! Rows of activations.

use std::sync::Arc;

use daemon_engine::{Activation, ActivationState, Blame, Chain, HostEpoch, RunLease, Trigger};
use daemon_event::{ActivationId, DaemonKey, Subject};
use daemon_store::StoreError;
use daemon_store::stored::{conditions_from_text, occasion};
use jiff::Timestamp;
use rusqlite::{Connection, Row, ToSql, params};

use crate::column::{Columns as _, integer, micros};
use crate::failure::TxResult;
use crate::lane::Lane;

/// An activation with its row number and its lane.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) number: i64,
    pub(crate) lane: Lane,
    pub(crate) activation: Activation,
    /// The stored start.
    started_at: Option<Timestamp>,
}

/// The columns that [`read`] reads, of the tables [`TABLES`].
// In the order in which it reads them: a search by name for each of them takes longer than all the rest.
pub(crate) const COLUMNS: &str = "a.number, a.lane, a.id, a.root, a.depth, l.repo, l.daemon, a.rev, a.subject, a.state, \
     a.reason, a.attempts, a.crashes_alone, a.host_crashes, a.run_lease, a.owner, a.lease_until, a.not_before, \
     a.created_at, a.started_at, a.finished_at, a.tokens, a.cost_usd, a.summary";

/// The tables of [`COLUMNS`].
pub(crate) const TABLES: &str = "activation AS a JOIN lane AS l ON l.id = a.lane";

/// Reads a row and its triggers.
pub(crate) fn read(conn: &Connection, row: &Row<'_>) -> TxResult<Numbered> {
    let mut places = 0_usize..;
    let mut next = || places.next().expect("it has no end");
    let number = row.get(next())?;
    let lane = Lane(row.get(next())?);
    let id: ActivationId = row.word(next())?;
    let activation = Activation {
        chain: Chain {
            root: row.maybe_word(next())?.unwrap_or_else(|| id.clone()),
            depth: row.small(next())?,
        },
        id,
        daemon: DaemonKey {
            repo: row.word(next())?,
            id: row.word(next())?,
        },
        rev: row.text(next())?,
        subject: row.maybe_word(next())?,
        triggers: triggers(conn, number)?,
        state: row.word(next())?,
        reason: row.get(next())?,
        attempts: row.small(next())?,
        blame: Blame {
            alone: row.small(next())?,
            in_row: row.small(next())?,
        },
        run_lease: RunLease(row.count(next())?),
        owner: row.maybe_count(next())?.map(HostEpoch),
        lease_until: row.maybe_at(next())?,
        not_before: row.at(next())?,
        created_at: row.at(next())?,
        started_at: row.maybe_at(next())?,
        finished_at: row.maybe_at(next())?,
        tokens: row.maybe_count(next())?,
        cost_usd: row.get(next())?,
        summary: row.get(next())?,
    };
    Ok(Numbered {
        number,
        lane,
        started_at: activation.started_at,
        activation,
    })
}

fn triggers(conn: &Connection, number: i64) -> TxResult<Vec<Trigger>> {
    let mut find = conn.prepare_cached(
        "SELECT key, conditions, asked_by, recorded_at, occasion FROM wake WHERE activation = ?1 ORDER BY place",
    )?;
    let mut rows = find.query([number])?;
    let mut triggers = Vec::new();
    while let Some(row) = rows.next()? {
        triggers.push(Trigger {
            key: row.word(0)?,
            conditions: conditions_from_text(&row.text(1)?)?,
            by: row.get(2)?,
            recorded_at: row.at(3)?,
            occasion: match row.get::<_, Option<String>>(4)? {
                None => None,
                Some(text) => Some(Arc::new(occasion::from_text(&text)?)),
            },
        });
    }
    Ok(triggers)
}

/// Reads the activations that a condition on `a` and `l` selects, in the given order.
pub(crate) fn select(
    conn: &Connection,
    condition: &str,
    values: &[(&str, &dyn ToSql)],
) -> TxResult<Vec<Numbered>> {
    let mut find =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE {condition}"))?;
    let mut rows = find.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(conn, row)?);
    }
    Ok(found)
}

pub(crate) fn find(conn: &Connection, id: &ActivationId) -> TxResult<Option<Numbered>> {
    let found = select(conn, "a.id = :id", &[(":id", &id.as_str())])?;
    Ok(found.into_iter().next())
}

/// Returns an activation without its row number.
pub(crate) fn one(conn: &Connection, id: &ActivationId) -> TxResult<Option<Activation>> {
    Ok(find(conn, id)?.map(|found| found.activation))
}

/// Returns an activation; `NotFound` if it does not exist.
pub(crate) fn get(conn: &Connection, id: &ActivationId) -> TxResult<Numbered> {
    Ok(find(conn, id)?.ok_or_else(|| StoreError::not_found("activation", id))?)
}

/// Returns an activation; `LeaseLost` unless the lease is held.
pub(crate) fn held(conn: &Connection, id: &ActivationId, lease: RunLease) -> TxResult<Numbered> {
    Ok(find(conn, id)?
        .filter(|found| found.activation.is_held_under(lease))
        .ok_or(StoreError::LeaseLost)?)
}

pub(crate) fn by_number(conn: &Connection, number: i64) -> TxResult<Numbered> {
    let found = select(conn, "a.number = :number", &[(":number", &number)])?;
    Ok(found
        .into_iter()
        .next()
        .ok_or_else(|| StoreError::not_found("activation", number))?)
}

/// Stores a new activation, without its triggers.
pub(crate) fn insert(tx: &Connection, lane: Lane, new: &Activation) -> TxResult<i64> {
    tx.prepare_cached(
        "INSERT INTO activation (id, lane, rev, subject, state, reason, attempts, host_crashes, run_lease, owner, \
         lease_until, not_before, created_at, has_person, has_tick, finished_at, root, depth) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        new.id.as_str(),
        lane.0,
        new.rev,
        new.subject.as_ref().map(Subject::as_str),
        new.state.as_str(),
        new.reason,
        new.attempts,
        integer(new.run_lease.0),
        new.owner.map(|owner| integer(owner.0)),
        new.lease_until.map(micros),
        micros(new.not_before),
        micros(new.created_at),
        new.has_person(),
        new.has_tick(),
        new.finished_at.map(micros),
        root(new),
        new.chain.depth,
    ])?;
    // Numbers order queues and listings. Ids cannot, because those of one millisecond are random.
    let number = tx.last_insert_rowid();
    count(tx, lane, new)?;
    Ok(number)
}

/// Counts a new activation. Changes of it are counted by a trigger.
fn count(tx: &Connection, lane: Lane, new: &Activation) -> TxResult<()> {
    tx.prepare_cached("UPDATE tally SET n = n + 1 WHERE kind = 'activation' AND state = ?1")?
        .execute([new.state.as_str()])?;
    match new.state {
        ActivationState::Pending => tx
            .prepare_cached(
                "UPDATE lane SET pending = pending + 1, persons = persons + ?2 WHERE id = ?1",
            )?
            .execute(params![lane.0, new.has_person()])?,
        ActivationState::Claimed => tx
            .prepare_cached("UPDATE lane SET busy = busy + 1, leased = leased + 1 WHERE id = ?1")?
            .execute([lane.0])?,
        _ended => 0,
    };
    Ok(())
}

// `OR FAIL`: the writer takes the whole operation back if a statement fails. Otherwise SQLite would keep the old content of
// every page that the statement and its trigger change.
macro_rules! update_of {
    ($further:literal) => {
        concat!(
            "UPDATE OR FAIL activation SET rev = ?2, state = ?3, reason = ?4, attempts = ?5, host_crashes = ?6, ",
            "run_lease = ?7, owner = ?8, lease_until = ?9, not_before = ?10, finished_at = ?12, tokens = ?13, ",
            "cost_usd = ?14, summary = ?15, has_person = ?16, has_tick = ?17, root = ?18, depth = ?19",
            $further,
            ", crashes_alone = ?20 WHERE number = ?1"
        )
    };
}

/// Writes the columns that transitions change.
pub(crate) fn update(tx: &Connection, changed: &Numbered) -> TxResult<()> {
    let now = &changed.activation;
    // A statement that names a column writes its indexes, even if the value stays. The two of the start are in every row.
    let statement = if now.started_at == changed.started_at {
        update_of!("")
    } else {
        update_of!(", started_at = ?11")
    };
    tx.prepare_cached(statement)?.execute(params![
        changed.number,
        now.rev,
        now.state.as_str(),
        now.reason,
        now.attempts,
        now.blame.in_row,
        integer(now.run_lease.0),
        now.owner.map(|owner| integer(owner.0)),
        now.lease_until.map(micros),
        micros(now.not_before),
        now.started_at.map(micros),
        now.finished_at.map(micros),
        now.tokens.map(integer),
        now.cost_usd,
        now.summary,
        now.has_person(),
        now.has_tick(),
        root(now),
        now.chain.depth,
        now.blame.alone,
    ])?;
    Ok(())
}

/// Returns the stored root: `None` for an activation that is its own root.
fn root(activation: &Activation) -> Option<&str> {
    let root = &activation.chain.root;
    // NULL for most rows keeps the partial index `activation_of_root` small.
    (*root != activation.id).then(|| root.as_str())
}
