//! Facts that are missing in payloads: wanted until they are found or given up.

use std::collections::HashMap;

use daemon_engine::{Admission, FactOrigin, FactState, WantedFact};
use daemon_event::{EventFacts, Need};
use daemon_store::stored::facts;
use daemon_store::{EventRow, FoundFact, StoreError, TriedFact};
use jiff::Timestamp;

use crate::admission;
use crate::column::{Columns as _, maybe_text, micros};
use crate::event::{columns_of, read_some};
use crate::failure::TxResult;
use crate::identity::EventPlace;
use crate::transaction::Tx;

/// Stores the needs of an event, except for those that are stored.
pub(crate) async fn want(
    tx: &Tx,
    place: &EventPlace,
    needs: &[Need],
    now: Timestamp,
) -> TxResult<()> {
    for need in needs {
        tx.run(
            // A fact that was given up is not wanted again by another condition; its answer would be the same.
            "INSERT INTO wanted (repo, received_at, seq, need, state, tries, asked_at, not_before) \
             VALUES ($1, $2, $3, $4, $5, 0, $6, $6) ON CONFLICT (repo, seq, need) DO NOTHING",
            &[
                &place.repo,
                &place.received_at,
                &place.seq,
                &need.as_str(),
                &FactState::Waiting.as_str(),
                &micros(now),
            ],
        )
        .await?;
    }
    Ok(())
}

/// Returns the needs of some events in all states, by number of the event, in the order of the names.
pub(crate) async fn of_events(
    tx: &Tx,
    places: &[EventPlace],
) -> TxResult<HashMap<i64, Vec<WantedFact>>> {
    let (repos, _, seqs) = columns_of(places);
    let rows = tx
        .rows(
            "SELECT w.* FROM unnest($1::text[], $2::bigint[]) AS k (repo, seq) JOIN wanted AS w USING (repo, seq) \
             ORDER BY w.need COLLATE \"C\"",
            &[&repos, &seqs],
        )
        .await?;
    let mut wanted: HashMap<i64, Vec<WantedFact>> = HashMap::new();
    for row in &rows {
        wanted
            .entry(row.number("seq")?)
            .or_default()
            .push(WantedFact {
                need: row.word("need")?,
                state: row.word("state")?,
                tries: row.small("tries")?,
                asked_at: row.at("asked_at")?,
                not_before: row.at("not_before")?,
                origin: row.maybe_word("origin")?,
                note: row.maybe_text("note")?,
            });
    }
    Ok(wanted)
}

pub(crate) async fn due(tx: &Tx, now: Timestamp, limit: u32) -> TxResult<Vec<EventRow>> {
    let chosen = "SELECT repo, received_at, seq, row_number() OVER (ORDER BY min(not_before), seq) AS place \
         FROM wanted WHERE state = 'waiting' AND not_before <= $1 GROUP BY repo, received_at, seq \
         ORDER BY min(not_before), seq LIMIT $2";
    read_some(tx, chosen, &[&micros(now), &i64::from(limit)]).await
}

pub(crate) async fn next_at(tx: &Tx) -> TxResult<Option<Timestamp>> {
    tx.row(
        "SELECT min(not_before) AS at FROM wanted WHERE state = 'waiting'",
        &[],
    )
    .await?
    .maybe_at("at")
}

pub(crate) async fn settle(tx: &Tx, tried: TriedFact, now: Timestamp) -> TxResult<Vec<Admission>> {
    let fact = &tried.fact;
    let found = tx
        .maybe_row(
            "SELECT w.repo, w.received_at, w.seq, w.state FROM event AS e JOIN wanted AS w USING (repo, received_at, seq) \
             WHERE e.id = $1 AND w.need = $2 FOR UPDATE OF w",
            &[&tried.event.as_str(), &fact.need.as_str()],
        )
        .await?;
    let Some(row) = found else {
        return Err(StoreError::not_found("wanted fact", &tried.event).into());
    };
    if row.word::<FactState>("state")? != FactState::Waiting {
        return Ok(Vec::new());
    }
    let place = EventPlace::read(&row)?;
    tx.run(
        "UPDATE wanted SET state = $4, tries = $5, asked_at = $6, not_before = $7, origin = $8, note = $9 \
         WHERE repo = $1 AND seq = $2 AND need = $3",
        &[
            &place.repo,
            &place.seq,
            &fact.need.as_str(),
            &fact.state.as_str(),
            &i64::from(fact.tries),
            &micros(fact.asked_at),
            &micros(fact.not_before),
            &fact.origin.map(FactOrigin::as_str),
            &maybe_text(fact.note.as_deref()),
        ],
    )
    .await?;
    match tried.found {
        Some(found) => put_found(tx, &place, found, now).await,
        None => Ok(Vec::new()),
    }
}

async fn put_found(
    tx: &Tx,
    place: &EventPlace,
    found: FoundFact,
    now: Timestamp,
) -> TxResult<Vec<Admission>> {
    let said = match facts::has_long(&found.facts) {
        true => payload_facts(tx, place).await?,
        false => EventFacts::default(),
    };
    let text = facts::to_text(&found.facts, || TxResult::Ok(said))?;
    tx.run(
        "UPDATE payload SET facts = $4 WHERE repo = $1 AND received_at = $2 AND seq = $3",
        &[&place.repo, &place.received_at, &place.seq, &text],
    )
    .await?;
    want(tx, place, &found.wanted, now).await?;
    admission::enqueue_all(tx, found.triggers).await
}

/// Reads the facts that the payload of an event contains.
async fn payload_facts(tx: &Tx, place: &EventPlace) -> TxResult<EventFacts> {
    let row = tx
        .maybe_row(
            "SELECT e.source, e.kind, p.body FROM event AS e JOIN payload AS p USING (repo, received_at, seq) \
             WHERE e.repo = $1 AND e.received_at = $2 AND e.seq = $3",
            &[&place.repo, &place.received_at, &place.seq],
        )
        .await?;
    row.map_or(Ok(EventFacts::default()), |row| {
        let body: &[u8] = row.try_get("body")?;
        Ok(facts::of_payload(
            row.word("source")?,
            &row.text("kind")?,
            body,
        ))
    })
}
