//! Rows of activations.

use std::collections::HashMap;
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
    let ids = rows
        .iter()
        .map(|row| row.text("id"))
        .collect::<TxResult<Vec<_>>>()?;
    read_with(rows, &tx.rows(TRIGGERS, &[&ids]).await?)
}

/// Reads rows, and their triggers from the rows that [`TRIGGERS`] selects.
pub(crate) fn read_with(rows: &[Row], triggers: &[Row]) -> TxResult<Vec<StoredActivation>> {
    let mut found = rows.iter().map(read).collect::<TxResult<Vec<_>>>()?;
    let mut triggers = read_triggers(triggers)?;
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

/// The triggers of some activations, by id, in order.
pub(crate) const TRIGGERS: &str = "SELECT activation, key, conditions, asked_by, recorded_at, occasion FROM wake \
     WHERE activation = ANY($1) ORDER BY activation, place";

fn read_triggers(rows: &[Row]) -> TxResult<HashMap<String, Vec<Trigger>>> {
    let mut triggers: HashMap<String, Vec<Trigger>> = HashMap::new();
    for row in rows {
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
    let (lanes, found) = locking(condition);
    if tx.rows(&lanes, values).await?.is_empty() {
        return Ok(Vec::new());
    }
    read_all(tx, &tx.rows(&found, values).await?).await
}

/// Returns the statements that lock the lanes of the activations that a condition selects, and that read and lock those.
fn locking(condition: &str) -> (String, String) {
    let lanes = format!(
        "SELECT l.pending FROM lane AS l WHERE (l.repo, l.daemon) IN (SELECT a.repo, a.daemon FROM activation AS a \
         WHERE {condition}) ORDER BY l.repo, l.daemon FOR UPDATE OF l"
    );
    let found = format!(
        "SELECT {COLUMNS} FROM activation AS a WHERE {condition} ORDER BY a.number FOR UPDATE OF a"
    );
    (lanes, found)
}

/// Returns an activation without a lock.
pub(crate) async fn one(tx: &Tx, id: &ActivationId) -> TxResult<Option<Activation>> {
    let found = select(tx, "a.id = $1", &[&id.as_str()]).await?;
    Ok(found.into_iter().next().map(|found| found.activation))
}

/// Returns an activation, locked with its lane.
pub(crate) async fn find(tx: &Tx, id: &ActivationId) -> TxResult<Option<StoredActivation>> {
    Ok(find_all(tx, &[id.as_str()]).await?.remove(id))
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
    let (lanes, found) = locking("a.id = ANY($1)");
    let values: [Value<'_>; 1] = [&ids];
    let [_, rows, triggers] = tx
        .rows_of_each([(&lanes, &values), (&found, &values), (TRIGGERS, &values)])
        .await?;
    keyed(&rows, &triggers)
}

/// As [`find_all`], with the rows of two further statements about the ids.
pub(crate) async fn find_all_with(
    tx: &Tx,
    ids: &[&str],
    [first, second]: [&str; 2],
) -> TxResult<(HashMap<ActivationId, StoredActivation>, [Vec<Row>; 2])> {
    let (lanes, found) = locking("a.id = ANY($1)");
    let values: [Value<'_>; 1] = [&ids];
    let [_, rows, triggers, first, second] = tx
        .rows_of_first([
            (&lanes, &values),
            (&found, &values),
            (TRIGGERS, &values),
            (first, &values),
            (second, &values),
        ])
        .await?;
    Ok((keyed(&rows, &triggers)?, [first, second]))
}

fn keyed(rows: &[Row], triggers: &[Row]) -> TxResult<HashMap<ActivationId, StoredActivation>> {
    let found = read_with(rows, triggers)?.into_iter();
    Ok(found.map(|one| (one.activation.id.clone(), one)).collect())
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

/// Stores new activations in order.
const INSERT: &str = "INSERT INTO activation (repo, daemon, id, rev, subject, state, reason, attempts, crashes_alone, host_crashes, \
     run_lease, owner, lease_until, not_before, created_at, has_person, has_tick, finished_at, root, depth) \
     SELECT k.repo, k.daemon, k.id, k.rev, k.subject, k.state, k.reason, k.attempts, 0, 0, k.run_lease, k.owner, \
     k.lease_until, k.not_before, k.created_at, k.has_person, k.has_tick, k.finished_at, k.root, k.depth \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], \
     $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::boolean[], $15::boolean[], \
     $16::bigint[], $17::text[], $18::bigint[]) WITH ORDINALITY AS k (repo, daemon, id, rev, subject, state, reason, \
     attempts, run_lease, owner, lease_until, not_before, created_at, has_person, has_tick, finished_at, root, depth, \
     place) ORDER BY k.place";

/// Writes the columns that transitions change.
// By the id alone: a plan that is made while the table is empty may otherwise take an index that only begins with the repository.
const UPDATE: &str = "UPDATE activation AS a SET rev = k.rev, state = k.state, reason = k.reason, attempts = k.attempts, \
     crashes_alone = k.crashes_alone, host_crashes = k.host_crashes, run_lease = k.run_lease, owner = k.owner, \
     lease_until = k.lease_until, not_before = k.not_before, started_at = k.started_at, finished_at = k.finished_at, \
     tokens = k.tokens, cost_usd = k.cost_usd, summary = k.summary, has_person = k.has_person, has_tick = k.has_tick, \
     root = k.root, depth = k.depth, host = k.host, lease_span = k.lease_span \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], \
     $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], \
     $15::float8[], $16::text[], $17::boolean[], $18::boolean[], $19::text[], $20::bigint[], $21::text[], \
     $22::bigint[]) AS k (id, rev, state, reason, attempts, crashes_alone, host_crashes, run_lease, owner, \
     lease_until, not_before, started_at, finished_at, tokens, cost_usd, summary, has_person, has_tick, root, depth, \
     host, lease_span) WHERE a.id = k.id";

/// Adds to what lanes count.
const COUNT: &str = "UPDATE lane AS l SET pending = l.pending + k.pending, persons = l.persons + k.persons, \
     busy = l.busy + k.busy, leased = l.leased + k.leased FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], \
     $5::bigint[], $6::bigint[]) AS k (repo, daemon, pending, persons, busy, leased) \
     WHERE l.repo = k.repo AND l.daemon = k.daemon";

/// Adds to what lanes count, and moves them to the end of the turns, in order.
const COUNT_AND_MOVE: &str = "UPDATE lane AS l SET pending = l.pending + k.pending, persons = l.persons + k.persons, \
     busy = l.busy + k.busy, leased = l.leased + k.leased, turn = k.turn FROM (SELECT u.*, nextval('lane_turn') AS turn \
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) WITH ORDINALITY \
       AS u (repo, daemon, pending, persons, busy, leased, place) ORDER BY u.place) AS k \
     WHERE l.repo = k.repo AND l.daemon = k.daemon";

/// Stores new activations of locked lanes in order, without their triggers.
pub(crate) async fn insert_all(tx: &Tx, new: &[Activation]) -> TxResult<()> {
    if new.is_empty() {
        return Ok(());
    }
    let of = Columnwise(new);
    let values: [Value<'_>; 18] = [
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
    ];
    let sums = LaneSums::of(new.iter().map(|one| (&one.daemon, Counted::of(one))));
    tx.rows_of_each([(INSERT, &values), (COUNT, &sums.values())])
        .await?;
    Ok(())
}

/// Whether lanes keep their places in the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    Kept,
    /// The lanes of the changed activations go to the end, in order.
    MovedToEnd,
}

/// Writes the columns that transitions change, and what the lane counts.
pub(crate) async fn update(tx: &Tx, changed: &mut StoredActivation) -> TxResult<()> {
    update_all(tx, std::slice::from_mut(changed), Turns::Kept).await
}

/// Writes the columns of activations that transitions change, what their lanes count, and their turns.
pub(crate) async fn update_all(
    tx: &Tx,
    changed: &mut [StoredActivation],
    turns: Turns,
) -> TxResult<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let of = Columnwise(&*changed);
    let values: [Value<'_>; 22] = [
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
    ];
    let counted: Vec<Counted> = of.values(|one| Counted::of(&one.activation));
    let deltas = changed.iter().zip(&counted);
    let sums =
        LaneSums::of(deltas.map(|(one, now)| (&one.activation.daemon, now.since(one.counted))));
    let count = match turns {
        Turns::Kept => COUNT,
        Turns::MovedToEnd => COUNT_AND_MOVE,
    };
    tx.rows_of_each([(UPDATE, &values), (count, &sums.values())])
        .await?;
    for (one, counted) in changed.iter_mut().zip(counted) {
        one.counted = counted;
    }
    Ok(())
}

/// What is added to the counts of lanes: an array for each column.
struct LaneSums<'a> {
    repos: Vec<&'a str>,
    daemons: Vec<&'a str>,
    pending: Vec<i64>,
    persons: Vec<i64>,
    busy: Vec<i64>,
    leased: Vec<i64>,
}

impl<'a> LaneSums<'a> {
    /// Adds up what changes each lane, without those that do not change, in the order in which lanes come first.
    fn of(deltas: impl Iterator<Item = (&'a DaemonKey, Counted)>) -> Self {
        let mut places: HashMap<&DaemonKey, usize> = HashMap::new();
        let mut sums: Vec<(&DaemonKey, Counted)> = Vec::new();
        for (daemon, delta) in deltas {
            let place = *places.entry(daemon).or_insert(sums.len());
            match sums.get_mut(place) {
                Some((_, sum)) => *sum = sum.and(delta),
                None => sums.push((daemon, delta)),
            }
        }
        sums.retain(|(_, sum)| *sum != Counted::default());
        let of = |value: fn(&Counted) -> i64| sums.iter().map(|(_, sum)| value(sum)).collect();
        Self {
            repos: sums.iter().map(|(key, _)| key.repo.as_str()).collect(),
            daemons: sums.iter().map(|(key, _)| key.id.as_str()).collect(),
            pending: of(|sum| sum.pending),
            persons: of(|sum| sum.persons),
            busy: of(|sum| sum.busy),
            leased: of(|sum| sum.leased),
        }
    }

    fn values(&self) -> [Value<'_>; 6] {
        [
            &self.repos,
            &self.daemons,
            &self.pending,
            &self.persons,
            &self.busy,
            &self.leased,
        ]
    }
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
