//! The outbox.

use std::collections::HashMap;

use daemon_engine::{DeliveryEnd, Output, OutputKey, OutputState, Settlement};
use daemon_event::ActivationId;
use daemon_store::{MAX_PAGE, OutputPlace, StoreError};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::column::{Columns as _, maybe_text, micros, text};
use crate::failure::TxResult;
use crate::transaction::{Tx, Value};
use crate::{activation, attempt};

/// The columns that [`read`] reads of `output AS o`.
pub(crate) const COLUMNS: &str = "o.number, o.key, o.activation, o.repo, o.daemon, o.ordinal, o.surface, o.target, o.content, \
     o.revision, o.state, o.remote_id, o.url, o.attempts, o.not_before, o.created_at, o.delivered_at, o.in_doubt_since, o.error";

pub(crate) fn read(row: &Row) -> TxResult<Output> {
    Ok(Output {
        key: row.word("key")?,
        activation: row.word("activation")?,
        daemon: row.daemon()?,
        ordinal: row.small("ordinal")?,
        surface: row.text("surface")?,
        target: row.text("target")?,
        content: row.text("content")?,
        revision: row.maybe_text("revision")?,
        state: row.word("state")?,
        remote_id: row.maybe_text("remote_id")?,
        url: row.maybe_text("url")?,
        attempts: row.small("attempts")?,
        not_before: row.at("not_before")?,
        created_at: row.at("created_at")?,
        delivered_at: row.maybe_at("delivered_at")?,
        in_doubt_since: row.maybe_at("in_doubt_since")?,
        error: row.maybe_text("error")?,
    })
}

async fn select(tx: &Tx, condition: &str, values: &[Value<'_>]) -> TxResult<Vec<Output>> {
    let sql = format!("SELECT {COLUMNS} FROM output AS o WHERE {condition}");
    let rows = tx.rows(&sql, values).await?;
    rows.iter().map(read).collect()
}

/// Returns an output, locked.
async fn find(tx: &Tx, key: &OutputKey) -> TxResult<Option<Output>> {
    let found = select(tx, "o.key = $1 FOR UPDATE OF o", &[&key.as_str()]).await?;
    Ok(found.into_iter().next())
}

async fn get(tx: &Tx, key: &OutputKey) -> TxResult<Output> {
    Ok(find(tx, key)
        .await?
        .ok_or_else(|| StoreError::not_found("output", key))?)
}

/// Stores an output of an attempt, unless the same output is stored and does not give way.
pub(crate) async fn propose(tx: &Tx, new: &Output) -> TxResult<()> {
    let known = find(tx, &new.key).await?;
    if known.as_ref().is_some_and(|known| !known.gives_way()) {
        return Ok(());
    }
    // Not one statement: an insert that conflicts would take a number, and numbers order listings.
    let sql = match known {
        Some(_) => {
            "UPDATE output SET content = $8, revision = $9, state = $10, attempts = 0, not_before = $11, created_at = $12, \
             error = $13, remote_id = NULL, url = NULL, delivered_at = NULL, in_doubt_since = NULL \
             WHERE repo = $1 AND key = $2 AND daemon = $3 AND activation = $4 AND ordinal = $5 AND surface = $6 AND target = $7"
        }
        None => {
            "INSERT INTO output (repo, key, daemon, activation, ordinal, surface, target, content, revision, state, attempts, \
             not_before, created_at, error) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12, $13)"
        }
    };
    tx.run(
        sql,
        &[
            &new.daemon.repo.as_str(),
            &new.key.as_str(),
            &new.daemon.id.as_str(),
            &new.activation.as_str(),
            &i64::from(new.ordinal),
            &text(&new.surface),
            &text(&new.target),
            &text(&new.content),
            &maybe_text(new.revision.as_deref()),
            &new.state.as_str(),
            &micros(new.not_before),
            &micros(new.created_at),
            &maybe_text(new.error.as_deref()),
        ],
    )
    .await?;
    Ok(())
}

async fn update(tx: &Tx, now: &Output) -> TxResult<()> {
    tx.run(
        "UPDATE output SET state = $3, remote_id = $4, url = $5, attempts = $6, not_before = $7, delivered_at = $8, \
         error = $9, in_doubt_since = $10, revision = $11, host = CASE WHEN $3 = 'sending' THEN $12 ELSE host END \
         WHERE repo = $1 AND key = $2",
        &[
            &now.daemon.repo.as_str(),
            &now.key.as_str(),
            &now.state.as_str(),
            &maybe_text(now.remote_id.as_deref()),
            &maybe_text(now.url.as_deref()),
            &i64::from(now.attempts),
            &micros(now.not_before),
            &now.delivered_at.map(micros),
            &maybe_text(now.error.as_deref()),
            &now.in_doubt_since.map(micros),
            &maybe_text(now.revision.as_deref()),
            &tx.own.host,
        ],
    )
    .await?;
    Ok(())
}

/// Returns the states of an activation's outputs.
async fn states_of(tx: &Tx, activation: &ActivationId) -> TxResult<Vec<OutputState>> {
    let id = activation.as_str();
    let mut states = states_of_all(tx, &[id]).await?;
    Ok(states.remove(id).unwrap_or_default())
}

/// Returns the states of the outputs of activations.
pub(crate) async fn states_of_all(
    tx: &Tx,
    activations: &[&str],
) -> TxResult<HashMap<String, Vec<OutputState>>> {
    read_states(&tx.rows(STATES, &[&activations]).await?)
}

/// The states of the outputs of activations.
pub(crate) const STATES: &str = "SELECT activation, state FROM output WHERE activation = ANY($1)";

/// Reads the rows that [`STATES`] selects, by activation.
pub(crate) fn read_states(rows: &[Row]) -> TxResult<HashMap<String, Vec<OutputState>>> {
    let mut states: HashMap<String, Vec<OutputState>> = HashMap::new();
    for row in rows {
        let of = states.entry(row.text("activation")?).or_default();
        of.push(row.word("state")?);
    }
    Ok(states)
}

/// Refuses the planned outputs of a cancelled activation.
pub(crate) async fn withdraw(tx: &Tx, activation: &ActivationId) -> TxResult<()> {
    let planned = "o.activation = $1 AND o.state = 'planned' ORDER BY o.number FOR UPDATE OF o";
    for mut output in select(tx, planned, &[&activation.as_str()]).await? {
        output.withdraw();
        update(tx, &output).await?;
    }
    Ok(())
}

/// Makes every unsettled output due.
pub(crate) async fn hasten(tx: &Tx, now: Timestamp) -> TxResult<()> {
    let waiting = "o.state IN ('planned', 'ambiguous', 'sending') AND o.not_before > $1 ORDER BY o.number FOR UPDATE OF o";
    for mut output in select(tx, waiting, &[&micros(now)]).await? {
        if output.hasten(now) {
            update(tx, &output).await?;
        }
    }
    Ok(())
}

pub(crate) async fn due(tx: &Tx, now: Timestamp, limit: u32) -> TxResult<Vec<Output>> {
    select(
        tx,
        // Not `sending`: it may be on its way at this moment, and becomes `ambiguous` with the next epoch of its host.
        "(o.repo, o.key) IN (SELECT d.repo, d.key FROM (SELECT repo, key, \
           row_number() OVER (PARTITION BY surface, repo ORDER BY number) AS place FROM output \
           WHERE state IN ('planned', 'ambiguous') AND not_before <= $1) AS d WHERE d.place <= $2) ORDER BY o.number",
        &[&micros(now), &i64::from(limit)],
    )
    .await
}

pub(crate) async fn next_at(tx: &Tx, now: Timestamp) -> TxResult<Option<Timestamp>> {
    tx.row(
        "SELECT min(not_before) AS at FROM output WHERE state IN ('planned', 'ambiguous') AND not_before > $1",
        &[&micros(now)],
    )
    .await?
    .maybe_at("at")
}

pub(crate) async fn begin_send(tx: &Tx, key: &OutputKey) -> TxResult<()> {
    let mut output = get(tx, key).await?;
    if output.state != OutputState::Planned {
        return Err(StoreError::conflict("output", key, output.state.as_str()).into());
    }
    output.begin_send();
    update(tx, &output).await
}

pub(crate) async fn settle(tx: &Tx, key: &OutputKey, settlement: Settlement) -> TxResult<Output> {
    let owner = tx
        .maybe_row(
            "SELECT activation FROM output WHERE key = $1",
            &[&key.as_str()],
        )
        .await?
        .ok_or_else(|| StoreError::not_found("output", key))?
        .word("activation")?;
    // The activation first, in the order of a cancellation, which locks its outputs after it.
    let mut owner = activation::get(tx, &owner).await?;
    let mut output = get(tx, key).await?;
    if output.state.is_settled() {
        return Err(StoreError::conflict("output", key, output.state.as_str()).into());
    }
    // A host that was taken for gone may come back with the end of its own send: what it knows of a try is nothing about the try of
    // another host, which a retry would send a second time.
    if output.state == OutputState::Sending && !is_sent_here(tx, key).await? {
        return Err(StoreError::conflict("output", key, "sent by another host").into());
    }
    let at = settlement.at;
    output.settle(settlement, owner.activation.state);
    update(tx, &output).await?;
    let states = states_of(tx, &owner.activation.id).await?;
    if owner.activation.close_delivery(states, at) == DeliveryEnd::Closed {
        activation::update(tx, &mut owner).await?;
        attempt::ended(tx, owner).await?;
    }
    Ok(output)
}

/// Reports whether this host is the one that sends an output.
async fn is_sent_here(tx: &Tx, key: &OutputKey) -> TxResult<bool> {
    let row = tx
        .row(
            "SELECT coalesce(host = $2, true) AS here FROM output WHERE key = $1",
            &[&key.as_str(), &tx.own.host],
        )
        .await?;
    row.flag("here")
}

pub(crate) async fn one(tx: &Tx, key: &OutputKey) -> TxResult<Option<Output>> {
    let found = select(tx, "o.key = $1", &[&key.as_str()]).await?;
    Ok(found.into_iter().next())
}

pub(crate) async fn of(tx: &Tx, activation: &ActivationId) -> TxResult<Vec<Output>> {
    let of = "o.activation = $1 ORDER BY o.ordinal, o.number";
    select(tx, of, &[&activation.as_str()]).await
}

pub(crate) async fn at(tx: &Tx, surface: &str, place: &OutputPlace) -> TxResult<Vec<Output>> {
    let (column, value) = match place {
        OutputPlace::RemoteId(id) => ("remote_id", id),
        OutputPlace::Target(target) => ("target", target),
        OutputPlace::Revision(revision) => ("revision", revision),
    };
    let condition = format!("o.surface = $1 AND o.{column} = $2 ORDER BY o.number DESC");
    let mut found = select(tx, &condition, &[&text(surface), &text(value)]).await?;
    found.retain(Output::may_be_there);
    found.truncate(usize::try_from(MAX_PAGE).expect("a page is small"));
    Ok(found)
}
