//! Rows of activations.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use daemon_engine::{Activation, ActivationState, Blame, Chain, HostEpoch, RunLease, Trigger};
use daemon_event::{ActivationId, DaemonKey, Subject};
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

    fn and(self, more: Self) -> Self {
        Self {
            pending: self.pending + more.pending,
            persons: self.persons + more.persons,
            busy: self.busy + more.busy,
            leased: self.leased + more.leased,
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

/// Returns activations by id, locked with their lanes.
pub(crate) async fn find_all(
    tx: &Tx,
    ids: &[&str],
) -> TxResult<HashMap<ActivationId, StoredActivation>> {
    let found = select_locked(tx, "a.id = ANY($1)", &[&ids]).await?;
    let keyed = found
        .into_iter()
        .map(|one| (one.activation.id.clone(), one));
    Ok(keyed.collect())
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

/// Stores new activations of locked lanes in order, without their triggers.
pub(crate) async fn insert_all(tx: &Tx, new: &[Activation]) -> TxResult<()> {
    if new.is_empty() {
        return Ok(());
    }
    let of = Columnwise(new);
    let counted: Vec<Counted> = new.iter().map(Counted::of).collect();
    tx.run(
        "INSERT INTO activation (repo, daemon, id, rev, subject, state, reason, attempts, crashes_alone, host_crashes, \
         run_lease, owner, lease_until, not_before, created_at, has_person, has_tick, finished_at, root, depth) \
         SELECT k.repo, k.daemon, k.id, k.rev, k.subject, k.state, k.reason, k.attempts, 0, 0, k.run_lease, k.owner, \
         k.lease_until, k.not_before, k.created_at, k.has_person, k.has_tick, k.finished_at, k.root, k.depth \
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], \
         $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::boolean[], $15::boolean[], \
         $16::bigint[], $17::text[], $18::bigint[]) WITH ORDINALITY AS k (repo, daemon, id, rev, subject, state, reason, \
         attempts, run_lease, owner, lease_until, not_before, created_at, has_person, has_tick, finished_at, root, depth, \
         place) ORDER BY k.place",
        &[
            &of.texts(|one| one.daemon.repo.as_str()),
            &of.texts(|one| one.daemon.id.as_str()),
            &of.texts(|one| one.id.as_str()),
            &of.values(|one| text(&one.rev)),
            &of.values(|one| text(one.subject.as_ref().map_or("", Subject::as_str))),
            &of.texts(|one| one.state.as_str()),
            &of.values(|one| maybe_text(one.reason.as_deref())),
            &of.values(|one| i64::from(one.attempts)),
            &of.values(|one| integer(one.run_lease.0)),
            &of.values(|one| one.owner.map(|owner| integer(owner.0))),
            &of.values(|one| one.lease_until.map(micros)),
            &of.values(|one| micros(one.not_before)),
            &of.values(|one| micros(one.created_at)),
            &of.values(Activation::has_person),
            &of.values(Activation::has_tick),
            &of.values(|one| one.finished_at.map(micros)),
            &of.values(root),
            &of.values(|one| i64::from(one.chain.depth)),
        ],
    )
    .await?;
    count(tx, new.iter().zip(counted)).await
}

/// Writes the columns that transitions change, and what the lane counts.
pub(crate) async fn update(tx: &Tx, changed: &mut StoredActivation) -> TxResult<()> {
    update_all(tx, std::slice::from_mut(changed)).await
}

/// Writes the columns of activations that transitions change, and what their lanes count.
pub(crate) async fn update_all(tx: &Tx, changed: &mut [StoredActivation]) -> TxResult<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let of = Columnwise(&*changed);
    tx.run(
        "UPDATE activation AS a SET rev = k.rev, state = k.state, reason = k.reason, attempts = k.attempts, \
         crashes_alone = k.crashes_alone, host_crashes = k.host_crashes, run_lease = k.run_lease, owner = k.owner, \
         lease_until = k.lease_until, not_before = k.not_before, started_at = k.started_at, finished_at = k.finished_at, \
         tokens = k.tokens, cost_usd = k.cost_usd, summary = k.summary, has_person = k.has_person, has_tick = k.has_tick, \
         root = k.root, depth = k.depth, host = k.host, lease_span = k.lease_span \
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], \
         $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], \
         $16::float8[], $17::text[], $18::boolean[], $19::boolean[], $20::text[], $21::bigint[], $22::text[], \
         $23::bigint[]) AS k (repo, id, rev, state, reason, attempts, crashes_alone, host_crashes, run_lease, owner, \
         lease_until, not_before, started_at, finished_at, tokens, cost_usd, summary, has_person, has_tick, root, depth, \
         host, lease_span) WHERE a.repo = k.repo AND a.id = k.id",
        &[
            &of.texts(|one| one.activation.daemon.repo.as_str()),
            &of.texts(|one| one.activation.id.as_str()),
            &of.values(|one| text(&one.activation.rev)),
            &of.texts(|one| one.activation.state.as_str()),
            &of.values(|one| maybe_text(one.activation.reason.as_deref())),
            &of.values(|one| i64::from(one.activation.attempts)),
            &of.values(|one| i64::from(one.activation.blame.alone)),
            &of.values(|one| i64::from(one.activation.blame.in_row)),
            &of.values(|one| integer(one.activation.run_lease.0)),
            &of.values(|one| one.activation.owner.map(|owner| integer(owner.0))),
            &of.values(|one| one.activation.lease_until.map(micros)),
            &of.values(|one| micros(one.activation.not_before)),
            &of.values(|one| one.activation.started_at.map(micros)),
            &of.values(|one| one.activation.finished_at.map(micros)),
            &of.values(|one| one.activation.tokens.map(integer::<u64>)),
            &of.values(|one| one.activation.cost_usd),
            &of.values(|one| maybe_text(one.activation.summary.as_deref())),
            &of.values(|one| one.activation.has_person()),
            &of.values(|one| one.activation.has_tick()),
            &of.values(|one| root(&one.activation)),
            &of.values(|one| i64::from(one.activation.chain.depth)),
            &of.values(|one| one.host.as_deref()),
            &of.values(|one| one.lease_span),
        ],
    )
    .await?;
    let deltas = changed.iter_mut().map(|one| {
        let before = std::mem::replace(&mut one.counted, Counted::of(&one.activation));
        (&one.activation, one.counted.since(before))
    });
    count(tx, deltas.collect::<Vec<_>>().into_iter()).await
}

/// Adds to what lanes count.
async fn count<'a>(
    tx: &Tx,
    deltas: impl Iterator<Item = (&'a Activation, Counted)>,
) -> TxResult<()> {
    let mut sums: BTreeMap<&DaemonKey, Counted> = BTreeMap::new();
    for (activation, delta) in deltas {
        let sum = sums.entry(&activation.daemon).or_default();
        *sum = sum.and(delta);
    }
    sums.retain(|_, sum| *sum != Counted::default());
    if sums.is_empty() {
        return Ok(());
    }
    let of = |value: fn(&Counted) -> i64| sums.values().map(value).collect::<Vec<_>>();
    let repos: Vec<&str> = sums.keys().map(|key| key.repo.as_str()).collect();
    let daemons: Vec<&str> = sums.keys().map(|key| key.id.as_str()).collect();
    tx.run(
        "UPDATE lane AS l SET pending = l.pending + k.pending, persons = l.persons + k.persons, busy = l.busy + k.busy, \
         leased = l.leased + k.leased FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], \
         $6::bigint[]) AS k (repo, daemon, pending, persons, busy, leased) WHERE l.repo = k.repo AND l.daemon = k.daemon",
        &[
            &repos,
            &daemons,
            &of(|sum| sum.pending),
            &of(|sum| sum.persons),
            &of(|sum| sum.busy),
            &of(|sum| sum.leased),
        ],
    )
    .await?;
    Ok(())
}

/// Rows as arrays, one for each column.
struct Columnwise<'a, T>(&'a [T]);

impl<'a, T> Columnwise<'a, T> {
    fn values<V>(&self, value: impl Fn(&'a T) -> V) -> Vec<V> {
        self.0.iter().map(value).collect()
    }

    fn texts(&self, value: impl Fn(&'a T) -> &'a str) -> Vec<&'a str> {
        self.values(value)
    }
}

/// Returns the stored root: `None` for an activation that is its own root, which keeps the index of roots small.
fn root(activation: &Activation) -> Option<&str> {
    let root = &activation.chain.root;
    (*root != activation.id).then(|| root.as_str())
}
