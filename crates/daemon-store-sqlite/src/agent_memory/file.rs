//! The file of a memory, open.

use std::path::Path;
use std::{fs, io};

use daemon_store::StoreError;
use daemon_store::agent_memory::{
    COLUMN_WEIGHTS, MemoryEntry, Remembered, StoredEntry, indexed_columns,
};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

use super::frequencies::Frequencies;
use crate::column::{Columns as _, micros};
use crate::failure::{TxResult, damaged};
use crate::migrate::MEMORY;
use crate::open::{
    OPENING, check_file, check_nothing_is_left, check_version, connect, create, in_file,
    unreachable,
};

/// The page cache of a file, as the negated number of KiB that SQLite expects. There is a file for each agent.
const CACHE_KIB: i64 = -2_048;

/// An open file.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    conn: Connection,
    pub(crate) frequencies: Frequencies,
}

impl MemoryFile {
    /// Opens the file, and makes it if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        check_version(rusqlite::version_number())?;
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                check_nothing_is_left(path)?;
                create(path, |conn| {
                    MEMORY.migrate(conn)?;
                    set_up(conn)
                })?;
            }
            Err(error) => return Err(unreachable(path, error)),
            Ok(file) => check_file(path, &file)?,
        }
        let context = format!("{OPENING}`{}`", path.display());
        (|| -> TxResult<Self> {
            let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            MEMORY.migrate(&mut conn)?;
            set_up(&conn)?;
            Ok(Self {
                frequencies: Frequencies::load(&conn)?,
                conn,
            })
        })()
        .map_err(|failure| in_file(path, failure.into_error(&context)))
    }

    /// Keeps an entry in place of the one with its kind and name.
    pub(crate) fn remember(&mut self, entry: &MemoryEntry, at: Timestamp) -> TxResult<Remembered> {
        let tx = self.conn.transaction()?;
        let replaced = remove(&tx, entry.kind(), entry.name())?;
        let aliases = serde_json::to_string(entry.aliases())
            .map_err(|error| damaged("the aliases of an entry", error))?;
        tx.prepare_cached(
            "INSERT INTO entry (kind, name, content, aliases, at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            entry.kind(),
            entry.name(),
            entry.content(),
            aliases,
            micros(at)
        ])?;
        let [name, aliases, content] = indexed_columns(entry).map(|words| words.join(" "));
        tx.prepare_cached(
            "INSERT INTO word (rowid, name, aliases, content) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![tx.last_insert_rowid(), name, aliases, content])?;
        tx.commit()?;
        // After the commit, so that a failed one leaves them as they were.
        self.frequencies.add(entry);
        Ok(match replaced {
            None => Remembered::Added,
            Some(replaced) => {
                self.frequencies.remove(&replaced);
                Remembered::Replaced
            }
        })
    }

    /// Removes an entry; returns whether there was one.
    pub(crate) fn forget(&mut self, kind: &str, name: &str) -> TxResult<bool> {
        let tx = self.conn.transaction()?;
        let removed = remove(&tx, kind, name)?;
        tx.commit()?;
        if let Some(entry) = &removed {
            self.frequencies.remove(entry);
        }
        Ok(removed.is_some())
    }

    /// Returns the entries that match best.
    pub(crate) fn ranked(&self, words: &[String], limit: usize) -> TxResult<Vec<StoredEntry>> {
        let [name, aliases, content] = COLUMN_WEIGHTS;
        // The inner query sorts numbers, not contents.
        let sql = format!(
            "SELECT e.* FROM \
               (SELECT rowid AS number, bm25(word, {name:?}, {aliases:?}, {content:?}) AS score FROM word \
                WHERE word MATCH ?1 ORDER BY score, rowid DESC LIMIT ?2) AS best \
             JOIN entry AS e ON e.number = best.number ORDER BY best.score, e.number DESC"
        );
        self.select(&sql, params![any_of(words), limit_of(limit)])
    }

    /// Returns the newest entries with one of the words, or of all.
    pub(crate) fn newest(&self, words: &[String], limit: usize) -> TxResult<Vec<StoredEntry>> {
        if words.is_empty() {
            let sql = "SELECT * FROM entry ORDER BY number DESC LIMIT ?1";
            return self.select(sql, params![limit_of(limit)]);
        }
        let sql = "SELECT e.* FROM \
               (SELECT rowid AS number FROM word WHERE word MATCH ?1 ORDER BY rowid DESC LIMIT ?2) AS best \
             JOIN entry AS e ON e.number = best.number ORDER BY e.number DESC";
        self.select(sql, params![any_of(words), limit_of(limit)])
    }

    fn select(&self, sql: &str, params: impl rusqlite::Params) -> TxResult<Vec<StoredEntry>> {
        let mut find = self.conn.prepare_cached(sql)?;
        let mut rows = find.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(StoredEntry {
                entry: entry_of(row)?,
                at: row.at("at")?,
            });
        }
        Ok(found)
    }
}

fn set_up(conn: &Connection) -> TxResult<()> {
    conn.pragma_update(None, "journal_mode", "wal")?;
    // Each commit is synced before it returns.
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "temp_store", "memory")?;
    conn.pragma_update(None, "cache_size", CACHE_KIB)?;
    Ok(())
}

/// Removes an entry with its words, and returns it.
fn remove(tx: &Connection, kind: &str, name: &str) -> TxResult<Option<MemoryEntry>> {
    let mut find =
        tx.prepare_cached("DELETE FROM entry WHERE kind = ?1 AND name = ?2 RETURNING *")?;
    let found = find
        .query_row([kind, name], |row| Ok((row.get("number"), entry_of(row))))
        .optional()?;
    let Some((number, entry)) = found else {
        return Ok(None);
    };
    let number: i64 = number?;
    tx.prepare_cached("DELETE FROM word WHERE rowid = ?1")?
        .execute([number])?;
    entry.map(Some)
}

fn entry_of(row: &Row<'_>) -> TxResult<MemoryEntry> {
    let aliases: Vec<String> = serde_json::from_str(&row.text("aliases")?)
        .map_err(|error| damaged("the aliases of an entry", error))?;
    let (kind, name, content) = (row.text("kind")?, row.text("name")?, row.text("content")?);
    MemoryEntry::new(&kind, &name, &content, &aliases)
        .map_err(|problem| damaged("an entry", problem).into())
}

/// Returns the query for entries with at least one of the words, each quoted.
fn any_of(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("\"{word}\""));
    quoted.collect::<Vec<_>>().join(" OR ")
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
