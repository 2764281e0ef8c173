//! The write-ahead log: merged by this crate, and noticed if it is missing.
//!
//! SQLite opens a file whose log was deleted without an error, in the state of the last merge. So that a store never starts
//! from an old state, the file records that it has a log: `host.merged` is 0 in the file after each merge, and the first
//! commit in the new log sets it to 1. A merge of the log, by us or by another program, writes that 1 into the file; it is
//! still 0 only if the log was lost.
//!
//! Nor does SQLite report that a log lost its end: it uses the part it can read. [`LogState`] reads the log before SQLite
//! does, and compares it with a mark, a small file next to the store with the length of the log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use daemon_store::StoreError;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::failure::{TxResult, is_for_want_of_room};
use crate::mark::{self, LogMark, LogPosition, MarkContent};
use crate::space;
use crate::wal::{self, Damage, Survey, Tail};

/// How many pages the log may have before it is merged: 8 MiB. A log that has reached its length is only overwritten,
/// and syncs of it cost a fraction of those of a growing file, so it should reach it soon.
const MERGE_AT: u64 = 2_000;
/// The size of a page if the header of a database cannot be read.
const USUAL_PAGE: usize = 4_096;

/// Returns the path of the log of a database.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// Merges the whole log into the file and marks the file as waiting for a new one; returns whether there was room for it.
pub(crate) fn merge(conn: &Connection, mark: &mut LogMark) -> TxResult<bool> {
    merge_by(conn, "PRAGMA wal_checkpoint(TRUNCATE)", mark)
}

/// Marks the length of the log, and merges it if it is long.
///
/// Pages that readers still use stay in the log until the next merge. The log file keeps its length and is written again from
/// its beginning, because a sync is cheaper if no file grows.
pub(crate) fn merge_if_long(conn: &Connection, mark: &mut LogMark) -> TxResult<()> {
    if mark.committed(|| n_frames(conn))? < MERGE_AT {
        return Ok(());
    }
    merge_some(conn, mark)?;
    Ok(())
}

/// Merges the pages that no reader uses.
pub(crate) fn merge_some(conn: &Connection, mark: &mut LogMark) -> TxResult<bool> {
    merge_by(conn, "PRAGMA wal_checkpoint(PASSIVE)", mark)
}

/// Returns how many frames the log holds.
fn n_frames(conn: &Connection) -> TxResult<u64> {
    let n: i64 = conn
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| row.get(1))?;
    // -1 says that there is no log.
    Ok(u64::try_from(n).unwrap_or(0))
}

/// Merges the log if the disk has room for the pages that the file does not have yet. Otherwise the log stays, and the
/// store is complete with it.
fn merge_by(conn: &Connection, checkpoint: &str, mark: &mut LogMark) -> TxResult<bool> {
    let is_merged = space::can_merge(conn, mark.database())? && try_merge(conn, checkpoint, mark)?;
    // Where there is no room, closing the connection must not merge either: it would fill the disk.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !is_merged)?;
    mark.committed(|| n_frames(conn))?;
    Ok(is_merged)
}

/// Returns `false` if the disk had no room although [`space::can_merge`] found some, as with a quota.
fn try_merge(conn: &Connection, checkpoint: &str, mark: &LogMark) -> TxResult<bool> {
    mark.merging();
    // The order is the mechanism: 0 goes to the file with the merge, and 1 is the first commit of the new log.
    let is_begun = unless_full(conn.execute("UPDATE host SET merged = 0", []))?;
    let is_merged = is_begun && unless_full(conn.query_row(checkpoint, [], |_| Ok(())))?;
    let is_noted = unless_full(conn.execute("UPDATE host SET merged = 1", []))?;
    Ok(is_merged && is_noted)
}

fn unless_full<T>(done: Result<T, rusqlite::Error>) -> TxResult<bool> {
    match done {
        Ok(_) => Ok(true),
        Err(error) if is_for_want_of_room(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The state of a log before its database is opened.
#[derive(Debug)]
pub(crate) struct LogState {
    survey: Survey,
    is_there: bool,
    marked: Option<MarkContent>,
}

impl LogState {
    /// Reads the log of a database and its mark.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn read(database: &Path) -> io::Result<Self> {
        let log = path_of(database);
        // The mark first: a host that is serving writes both, and its log is never behind the mark.
        let mut marked = MarkContent::read(database);
        let survey = wal::survey(&log, page_size(database)?)?;
        let is_there = log.exists();
        if !is_there {
            // A host that ends removes the log and then the mark.
            marked = MarkContent::read(database);
        }
        Ok(Self {
            survey,
            is_there,
            marked,
        })
    }

    /// Reports whether the log has no commit that can be read.
    pub(crate) fn is_blank(&self) -> bool {
        self.survey.commits == 0
    }

    /// Returns the length of what can be read of the log.
    pub(crate) fn good_bytes(&self) -> u64 {
        self.survey.good_bytes
    }

    /// Describes the lost commits of the log, if any are lost.
    pub(crate) fn loss(&self) -> Option<String> {
        let commits = self.survey.commits;
        if let Some(damage) = self.survey.damage.filter(|damage| self.is_sure(damage)) {
            return Some(format!(
                "its write-ahead log is damaged at byte {}: {commits} commits can be read, {} behind it cannot",
                damage.at, damage.commits
            ));
        }
        match self.marked.as_ref()?.at {
            // The newest commit may have been torn.
            LogPosition::At(salts, commit)
                if Some(salts) == self.survey.salts && self.survey.frames < commit.before =>
            {
                let (frames, n) = (self.survey.frames, commit.frames);
                Some(format!(
                    "its write-ahead log ends after {commits} commits in {frames} frames and held at least {n}: what was \
                     committed in the last {} is lost",
                    n - frames
                ))
            }
            LogPosition::At(..) | LogPosition::Merging => None,
        }
    }

    /// Reports whether frames after a wrong one can only be damage: without a power failure since the last commit, all
    /// writes are in the file in their order.
    fn is_sure(&self, damage: &Damage) -> bool {
        // After a power failure the pages of the last transaction may be there in any order, so that a single commit proves
        // nothing.
        damage.tail == Tail::More || self.is_same_boot()
    }

    /// Reports whether the mark was written since the machine started.
    fn is_same_boot(&self) -> bool {
        let is_now = |marked: &MarkContent| !marked.boot.is_empty() && marked.boot == mark::boot();
        self.marked.as_ref().is_some_and(is_now)
    }

    /// Refuses a database whose log is missing.
    ///
    /// # Errors
    /// `LogDamaged` if the database was not merged and the mark does not say that it was about to be.
    pub(crate) fn check(&self, conn: &Connection) -> TxResult<()> {
        let is_merged: bool = conn.query_row("SELECT merged FROM host", [], |row| row.get(0))?;
        let is_excused = match self.marked.as_ref().map(|marked| marked.at) {
            Some(LogPosition::Merging) => true,
            // After a power failure there may be an older mark and a restarted log without a commit.
            Some(LogPosition::At(salts, _)) => {
                self.survey.salts == Some(salts) || (self.is_there && !self.is_same_boot())
            }
            None => self.is_there,
        };
        if is_merged || self.survey.commits > 0 || is_excused {
            return Ok(());
        }
        Err(StoreError::LogDamaged {
            context: MISSING.to_owned(),
        }
        .into())
    }
}

/// The error text for a missing log.
const MISSING: &str =
    "its write-ahead log (`-wal`) is missing; put it back, or restore both from a backup";

/// Reads the size of a page from the header of a database, for a log whose own header is spoilt.
fn page_size(database: &Path) -> io::Result<usize> {
    let mut header = [0; 18];
    let n_read = File::open(database)?.read_at(&mut header, 0)?;
    let [.., high, low] = header;
    Ok(match u16::from_be_bytes([high, low]) {
        _ if n_read < header.len() => USUAL_PAGE,
        1 => 65_536,
        size if size.is_power_of_two() && size >= 512 => usize::from(size),
        _ => USUAL_PAGE,
    })
}
