//! Rows of activations.

use std::collections::HashMap;
use std::sync::Arc;

use daemon_engine::{Activation, ActivationState, Blame, Chain, HostEpoch, RunLease, Trigger};
use daemon_event::{ActivationId, Subject};
use daemon_store::StoreError;
use daemon_store::stored::{conditions_from_text, occasion};
use tokio_postgres::Row;

use crate::column::{Columns as _, integer, maybe_text, micros, text};
use crate::failure::TxResult;
use crate::transaction::{Tx, Value};

/// An activation as it is stored.
#[derive(Debug)]
pub(crate) struct StoredActivation {
    pub(crate) activation: Activation,
    /// The host that claimed it last.
    pub(crate) host: Option<String>,
    /// How long a renewal of its lease lasts, in microseconds.
    pub(crate) lease_span: Option<i64>,
    /// What its lane counts it as.
    counted: Counted,
}

/// What the columns of a lane count an activation as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    pending: i64,
    persons: i64,
    busy: i64,
    leased: i64,
}

impl Counted {
    fn of(activation: &Activation) -> Self {
        let is_pending = activation.state == ActivationState::Pending;
        Self {
            pending: is_pending.into(),
            persons: (is_pending && activation.has_person()).into(),
            busy: activation.state.blocks_subject().into(),
            leased: activation.state.is_leased().into(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            pending: self.pending - before.pending,
            persons: self.persons - before.persons,
            busy: self.busy - before.busy,
            leased: self.leased - before.leased,
        }
    }
}

/// The columns that [`read_all`] reads of `activation AS a`.
pub(crate) const COLUMNS: &str = "a.repo, a.daemon, a.id, a.number, a.root, a.depth, a.rev, a.subject, a.state, a.reason, \
     a.attempts, a.crashes_alone, a.host_crashes, a.run_lease, a.host, a.owner, a.lease_until, a.not_before, a.created_at, \
     a.started_at, a.finished_at, a.tokens, a.cost_usd, a.summary, a.lease_span";

/// Reads rows and their triggers.
pub(crate) async fn read_all(tx: &Tx, rows: &[Row]) -> TxResult<Vec<StoredActivation>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = rows.iter().map(read).collect::<TxResult<Vec<_>>>()?;
    let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
    let mut triggers = triggers(tx, &ids).await?;
    for one in &mut found {
        one.triggers = triggers.remove(one.id.as_str()).unwrap_or_default();
    }
    found
        .into_iter()
        .zip(rows)
        .map(|(activation, row)| {
            Ok(StoredActivation {
                host: row.maybe_text("host")?,
                lease_span: row.try_get("lease_span")?,
                counted: Counted::of(&activation),
                activation,
            })
        })
        .collect()
}

fn read(row: &Row) -> TxResult<Activation> {
    let id: ActivationId = row.word("id")?;
    Ok(Activation {
        chain: Chain {
            root: row.maybe_word("root")?.unwrap_or_else(|| id.clone()),
            depth: row.small("depth")?,
        },
        id,
        daemon: row.daemon()?,
        rev: row.text("rev")?,
        subject: row.maybe_word("subject")?,
        triggers: Vec::new(),
        state: row.word("state")?,
        reason: row.maybe_text("reason")?,
        attempts: row.small("attempts")?,
        blame: Blame {
            alone: row.small("crashes_alone")?,
            in_row: row.small("host_crashes")?,
        },
        run_lease: RunLease(row.count("run_lease")?),
        owner: row.maybe_count("owner")?.map(HostEpoch),
        lease_until: row.maybe_at("lease_until")?,
        not_before: row.at("not_before")?,
        created_at: row.at("created_at")?,
        started_at: row.maybe_at("started_at")?,
        finished_at: row.maybe_at("finished_at")?,
        tokens: row.maybe_count("tokens")?,
        cost_usd: row.maybe_amount("cost_usd")?,
        summary: row.maybe_text("summary")?,
    })
}

async fn triggers(tx: &Tx, ids: &[&str]) -> TxResult<HashMap<String, Vec<Trigger>>> {
    let rows = tx
        .rows(
            "SELECT activation, key, conditions, asked_by, recorded_at, occasion FROM wake \
             WHERE activation = ANY($1) ORDER BY activation, place",
            &[&ids],
        )
        .await?;
    let mut triggers: HashMap<String, Vec<Trigger>> = HashMap::new();
    for row in &rows {
        triggers
            .entry(row.text("activation")?)
            .or_default()
            .push(Trigger {
                key: row.word("key")?,
                conditions: conditions_from_text(&row.text("conditions")?)?,
                by: row.maybe_text("asked_by")?,
                recorded_at: row.at("recorded_at")?,
                occasion: match row.maybe_text("occasion")? {
                    None => None,
                    Some(text) => Some(Arc::new(occasion::from_text(&text)?)),
                },
            });
    }
    Ok(triggers)
}

/// Reads the activations that a condition on `a` selects, in the given order.
pub(crate) async fn select(
    tx: &Tx,
    condition: &str,
    values: &[Value<'_>],
) -> TxResult<Vec<StoredActivation>> {
    let sql = format!("SELECT {COLUMNS} FROM activation AS a WHERE {condition}");
    read_all(tx, &tx.rows(&sql, values).await?).await
}

/// Reads the activations that a condition on `a` selects and locks them and their lanes, which the condition is then asked again of.
pub(crate) async fn select_locked(
    tx: &Tx,
    condition: &str,
    values: &[Value<'_>],
) -> TxResult<Vec<StoredActivation>> {
    let lanes = format!(
        "SELECT l.pending FROM lane AS l WHERE (l.repo, l.daemon) IN (SELECT a.repo, a.daemon FROM activation AS a \
         WHERE {condition}) ORDER BY l.repo, l.daemon FOR UPDATE OF l"
    );
    if tx.rows(&lanes, values).await?.is_empty() {
        return Ok(Vec::new());
    }
    let condition = format!("{condition} ORDER BY a.number FOR UPDATE OF a");
    select(tx, &condition, values).await
}

/// Returns an activation without a lock.
pub(crate) async fn one(tx: &Tx, id: &ActivationId) -> TxResult<Option<Activation>> {
    let found = select(tx, "a.id = $1", &[&id.as_str()]).await?;
    Ok(found.into_iter().next().map(|found| found.activation))
}

/// Returns an activation, locked with its lane.
pub(crate) async fn find(tx: &Tx, id: &ActivationId) -> TxResult<Option<StoredActivation>> {
    let found = select_locked(tx, "a.id = $1", &[&id.as_str()]).await?;
    Ok(found.into_iter().next())
}

/// Returns an activation, locked with its lane; `NotFound` if it does not exist.
pub(crate) async fn get(tx: &Tx, id: &ActivationId) -> TxResult<StoredActivation> {
    let found = find(tx, id).await?;
    Ok(found.ok_or_else(|| StoreError::not_found("activation", id))?)
}

/// Returns an activation, locked with its lane; `LeaseLost` unless the lease is held.
pub(crate) async fn held(
    tx: &Tx,
    id: &ActivationId,
    lease: RunLease,
) -> TxResult<StoredActivation> {
    let found = find(tx, id).await?;
    Ok(found
        .filter(|found| found.activation.is_held_under(lease))
        .ok_or(StoreError::LeaseLost)?)
}

/// Stores a new activation of a locked lane, without its triggers.
pub(crate) async fn insert(tx: &Tx, new: &Activation) -> TxResult<()> {
    let counted = Counted::of(new);
    tx.run(
        "WITH made AS (INSERT INTO activation (repo, daemon, id, rev, subject, state, reason, attempts, crashes_alone, \
         host_crashes, run_lease, owner, lease_until, not_before, created_at, has_person, has_tick, finished_at, root, depth) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)) \
         UPDATE lane SET pending = pending + $19, persons = persons + $20, busy = busy + $21, leased = leased + $22 \
         WHERE repo = $1 AND daemon = $2",
        &[
            &new.daemon.repo.as_str(),
            &new.daemon.id.as_str(),
            &new.id.as_str(),
            &text(&new.rev),
            &text(new.subject.as_ref().map_or("", Subject::as_str)),
            &new.state.as_str(),
            &maybe_text(new.reason.as_deref()),
            &i64::from(new.attempts),
            &integer(new.run_lease.0),
            &new.owner.map(|owner| integer(owner.0)),
            &new.lease_until.map(micros),
            &micros(new.not_before),
            &micros(new.created_at),
            &new.has_person(),
            &new.has_tick(),
            &new.finished_at.map(micros),
            &root(new),
            &i64::from(new.chain.depth),
            &counted.pending,
            &counted.persons,
            &counted.busy,
            &counted.leased,
        ],
    )
    .await?;
    Ok(())
}

/// Writes the columns that transitions change, and what the lane counts.
pub(crate) async fn update(tx: &Tx, changed: &mut StoredActivation) -> TxResult<()> {
    let now = &changed.activation;
    let counted = Counted::of(now);
    let delta = counted.since(changed.counted);
    tx.run(
        "WITH changed AS (UPDATE activation SET rev = $3, state = $4, reason = $5, attempts = $6, crashes_alone = $7, \
         host_crashes = $8, run_lease = $9, owner = $10, lease_until = $11, not_before = $12, started_at = $13, \
         finished_at = $14, tokens = $15, cost_usd = $16, summary = $17, has_person = $18, has_tick = $19, root = $20, \
         depth = $21, host = $22, lease_span = $27 WHERE repo = $1 AND id = $2 RETURNING repo, daemon) \
         UPDATE lane AS l SET pending = pending + $23, persons = persons + $24, busy = busy + $25, leased = leased + $26 \
         FROM changed AS c WHERE l.repo = c.repo AND l.daemon = c.daemon",
        &[
            &now.daemon.repo.as_str(),
            &now.id.as_str(),
            &text(&now.rev),
            &now.state.as_str(),
            &maybe_text(now.reason.as_deref()),
            &i64::from(now.attempts),
            &i64::from(now.blame.alone),
            &i64::from(now.blame.in_row),
            &integer(now.run_lease.0),
            &now.owner.map(|owner| integer(owner.0)),
            &now.lease_until.map(micros),
            &micros(now.not_before),
            &now.started_at.map(micros),
            &now.finished_at.map(micros),
            &now.tokens.map(integer::<u64>),
            &now.cost_usd,
            &maybe_text(now.summary.as_deref()),
            &now.has_person(),
            &now.has_tick(),
            &root(now),
            &i64::from(now.chain.depth),
            &changed.host,
            &delta.pending,
            &delta.persons,
            &delta.busy,
            &delta.leased,
            &changed.lease_span,
        ],
    )
    .await?;
    changed.counted = counted;
    Ok(())
}

/// Returns the stored root: `None` for an activation that is its own root, which keeps the index of roots small.
fn root(activation: &Activation) -> Option<&str> {
    let root = &activation.chain.root;
    (*root != activation.id).then(|| root.as_str())
}
