//! The keys that identify repetitions of events.

use std::collections::{BTreeSet, HashMap};

use daemon_store::decide::still_counts;
use daemon_store::{Identity, NewEvent};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::column::{Columns as _, micros, text};
use crate::event::columns_of;
use crate::failure::TxResult;
use crate::transaction::Tx;

/// The key of an event in its tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EventPlace {
    /// Empty for an event of no repository.
    pub(crate) repo: String,
    /// In microseconds.
    pub(crate) received_at: i64,
    pub(crate) seq: i64,
}

impl EventPlace {
    pub(crate) fn read(row: &Row) -> TxResult<Self> {
        Ok(Self {
            repo: row.text("repo")?,
            received_at: row.number("received_at")?,
            seq: row.number("seq")?,
        })
    }
}

/// What is stored of some keys.
pub(crate) const KNOWN: &str =
    "SELECT key, repo, received_at, seq, stored_at FROM identity WHERE key = ANY($1)";

/// The stored keys of some events, as they were read.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys {
    entries: HashMap<String, KeyEntry>,
    /// The keys that are not stored as they are here.
    changed: BTreeSet<String>,
}

#[derive(Debug)]
struct KeyEntry {
    place: EventPlace,
    stored_at: Timestamp,
}

impl KnownKeys {
    /// Reads what is stored of all keys of some events.
    pub(crate) async fn of(tx: &Tx, events: &[&NewEvent]) -> TxResult<Self> {
        Self::read(&tx.rows(KNOWN, &[&Self::keys(events)]).await?)
    }

    /// Returns all keys of some events.
    pub(crate) fn keys(events: &[&NewEvent]) -> Vec<String> {
        events
            .iter()
            .flat_map(|new| {
                [&new.identities, &new.counterparts, &new.happenings]
                    .into_iter()
                    .flatten()
            })
            .map(|key| text(&key.key).into_owned())
            .collect()
    }

    /// Reads the rows that [`KNOWN`] selects.
    pub(crate) fn read(rows: &[Row]) -> TxResult<Self> {
        let mut entries = HashMap::with_capacity(rows.len());
        for row in rows {
            let entry = KeyEntry {
                place: EventPlace::read(row)?,
                stored_at: row.at("stored_at")?,
            };
            entries.insert(row.text("key")?, entry);
        }
        Ok(Self {
            entries,
            changed: BTreeSet::new(),
        })
    }

    /// Returns the event that a key names, if the key still counts at an instant.
    pub(crate) fn counting(&self, key: &Identity, at: Timestamp) -> Option<&EventPlace> {
        let entry = self.entries.get(&*text(&key.key))?;
        still_counts(key, entry.stored_at, at).then_some(&entry.place)
    }

    /// Returns the event of the first of some keys that still counts.
    pub(crate) fn named(&self, keys: &[Identity], at: Timestamp) -> Option<&EventPlace> {
        keys.iter().find_map(|key| self.counting(key, at))
    }

    /// Makes keys name an event from an instant on, and no other event any more; [`write`](Self::write) stores them.
    pub(crate) fn put<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a Identity>,
        (place, at): (&EventPlace, Timestamp),
    ) {
        for key in keys {
            let key = text(&key.key).into_owned();
            let entry = KeyEntry {
                place: place.clone(),
                stored_at: at,
            };
            self.entries.insert(key.clone(), entry);
            self.changed.insert(key);
        }
    }

    /// Makes keys name an event from an instant on, except for keys that still name another.
    pub(crate) fn add<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a Identity>,
        (place, at): (&EventPlace, Timestamp),
    ) {
        for key in keys {
            if self.counting(key, at).is_none() {
                self.put(std::iter::once(key), (place, at));
            }
        }
    }

    /// Stores what was changed.
    pub(crate) async fn write(&mut self, tx: &Tx) -> TxResult<()> {
        let changed = std::mem::take(&mut self.changed);
        if changed.is_empty() {
            return Ok(());
        }
        let keys: Vec<&str> = changed.iter().map(String::as_str).collect();
        let entries: Vec<&KeyEntry> = keys.iter().map(|key| &self.entries[*key]).collect();
        let places: Vec<&EventPlace> = entries.iter().map(|entry| &entry.place).collect();
        let (repos, instants, seqs) = columns_of(&places);
        let stored: Vec<i64> = entries
            .iter()
            .map(|entry| micros(entry.stored_at))
            .collect();
        tx.run(
            "INSERT INTO identity (key, repo, received_at, seq, stored_at) \
             SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) \
             ON CONFLICT (key) DO UPDATE SET repo = excluded.repo, received_at = excluded.received_at, \
             seq = excluded.seq, stored_at = excluded.stored_at",
            &[&keys, &repos, &instants, &seqs, &stored],
        )
        .await?;
        Ok(())
    }
}

/// Deletes the keys that were stored before instants: of the bodies of webhooks, and all others.
pub(crate) async fn forget(tx: &Tx, (bodies, others): (Timestamp, Timestamp)) -> TxResult<()> {
    tx.run(
        "DELETE FROM identity WHERE stored_at < CASE WHEN key LIKE 'body:%' THEN $1::bigint ELSE $2::bigint END",
        &[&micros(bodies), &micros(others)],
    )
    .await?;
    Ok(())
}
