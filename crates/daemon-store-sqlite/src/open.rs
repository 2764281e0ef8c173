//! Opening a store: never an empty one in place of a lost one, never a damaged one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::failure::{TxResult, sql_error};
use crate::log::{self, LogState};
use crate::mark::{self, LogMark};
use crate::writer::Database;
use crate::{migrate, space};

/// 3.51.3, before which a checkpoint could corrupt a database in write-ahead mode.
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long another process may keep the write lock before an operation is refused.
const BUSY: Duration = Duration::from_secs(5);
const STATEMENTS: usize = 256;

/// Opens the connection that writes, and makes the store if it does not exist.
pub(crate) fn open(path: &Path) -> Result<Database, StoreError> {
    check_version(rusqlite::version_number())?;
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_nothing_is_left(path)?;
            create(path)?;
        }
        Err(error) => return Err(unreachable(path, error)),
        Ok(file) if !file.is_file() => return Err(damaged(path, "it is not a file")),
        Ok(file) if file.len() == 0 => {
            return Err(damaged(
                path,
                "it is empty; restore it from a backup, or remove it to begin anew",
            ));
        }
        Ok(_) => {}
    }
    // Before SQLite opens the file: opening it already recovers the log and hides what is missing.
    let found = LogState::read(path).map_err(|error| unreachable(path, error))?;
    if let Some(loss) = found.loss() {
        let context = format!("`{}`: {loss}", path.display());
        return Err(StoreError::LogDamaged { context });
    }
    let context = format!("open the store `{}`", path.display());
    (|| -> TxResult<Database> {
        let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        check_pages(&conn)?;
        // A database without its log is not written to: the log may be put back.
        if migrate::check_owner(&conn)? > 0 {
            found.check(&conn)?;
        }
        let mut mark = LogMark::begin(path);
        migrate::migrate(&mut conn)?;
        set_up(&conn)?;
        if log::merge(&conn, &mut mark)? {
            space::convert(&conn, &mut mark)?;
        }
        Ok(Database {
            conn,
            mark: Some(mark),
        })
    })()
    .map_err(|failure| in_file(path, failure.into_error(&context)))
}

/// Makes an empty store in memory.
pub(crate) fn open_in_memory() -> Result<Database, StoreError> {
    check_version(rusqlite::version_number())?;
    (|| -> TxResult<Database> {
        let mut conn = Connection::open_in_memory()?;
        configure(&conn)?;
        migrate::migrate(&mut conn)?;
        conn.pragma_update(None, "foreign_keys", true)?;
        conn.pragma_update(None, "temp_store", "memory")?;
        Ok(Database { conn, mark: None })
    })()
    .map_err(|failure| failure.into_error("make a store in memory"))
}

/// Refuses to make a store where one was lost, which shows by a log or a mark without it: a clean end removes both.
fn check_nothing_is_left(path: &Path) -> Result<(), StoreError> {
    if log::path_of(path).exists() {
        let problem = "its write-ahead log is there and it is not; restore both from a backup";
        return Err(damaged(path, problem));
    }
    if mark::path_of(path).exists() {
        let problem = "it was in use, as its mark (`-mark`) says, and is gone; restore it from a backup, or remove the mark to begin anew";
        return Err(damaged(path, problem));
    }
    Ok(())
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, rusqlite::Error> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// Returns the size of a connection's page cache, as the negated number of KiB that SQLite expects.
// Readers get a small one: the next read seldom needs the same pages, and the kernel caches those once for all readers.
fn cache_kib(access: OpenFlags) -> i64 {
    if access.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) {
        -2_048
    } else {
        -16_384
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, rusqlite::Error> {
    let conn = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY)?;
    configure(&conn)?;
    conn.pragma_update(None, "cache_size", cache_kib(access))?;
    Ok(conn)
}

/// Prepares a connection for the statements of the store.
fn configure(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this promise, SQLite plans a statement again whenever some of its parameters change.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn set_up(conn: &Connection) -> TxResult<()> {
    conn.pragma_update(None, "journal_mode", "wal")?;
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    // Savepoints keep the old pages there; in files that would cost as many writes as the log.
    conn.pragma_update(None, "temp_store", "memory")?;
    // The log is merged by this crate, see `log`.
    conn.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(())
}

/// Makes a store under another name and renames it when it is complete, so that no crash leaves an empty file.
fn create(path: &Path) -> Result<(), StoreError> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let file_error = |error| unreachable(path, error);
    // A kill during an earlier creation can leave these; nothing in them was ever acknowledged.
    for leftover in [new.clone(), log::path_of(&new), journal_of(&new)] {
        match fs::remove_file(&leftover) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(file_error(error)),
            Err(_) | Ok(()) => {}
        }
    }
    create_private(&new).map_err(file_error)?;
    let context = format!("make the store `{}`", path.display());
    (|| -> TxResult<()> {
        let mut conn = connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        space::prepare(&conn)?;
        migrate::migrate(&mut conn)?;
        set_up(&conn)?;
        conn.close().map_err(|(_, error)| error)?;
        Ok(())
    })()
    .map_err(|failure| failure.into_error(&context))?;
    // Synced before the rename, and the directory after it, or a power failure could leave the name on an empty file.
    File::open(&new)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&new, path))
        .map_err(file_error)?;
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    };
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(file_error)
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

fn journal_of(path: &Path) -> PathBuf {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    journal.into()
}

fn check_version(found: i32) -> Result<(), StoreError> {
    if found >= OLDEST_SQLITE {
        return Ok(());
    }
    Err(StoreError::Unavailable {
        context: format!(
            "SQLite {}.{}.{} is older than 3.51.3, which the store needs",
            found / 1_000_000,
            found / 1_000 % 1_000,
            found % 1_000
        ),
        source: None,
    })
}

/// Reads every page once, which finds torn and changed ones.
fn check_pages(conn: &Connection) -> TxResult<()> {
    let verdict: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(StoreError::Damaged {
        context: verdict,
        source: None,
    }
    .into())
}

/// Names the file, and the remedy where there is only one.
fn in_file(path: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged { context, source } => StoreError::Damaged {
            context: format!("`{}`: {context}; restore it from a backup", path.display()).replace(
                "; restore it from a backup; restore it from a backup",
                "; restore it from a backup",
            ),
            source,
        },
        StoreError::LogDamaged { context } => StoreError::LogDamaged {
            context: format!("`{}`: {context}", path.display()),
        },
        other => other,
    }
}

fn damaged(path: &Path, what: &str) -> StoreError {
    StoreError::Damaged {
        context: format!("`{}`: {what}", path.display()),
        source: None,
    }
}

fn unreachable(path: &Path, error: io::Error) -> StoreError {
    StoreError::Unavailable {
        context: format!("open the store `{}`", path.display()),
        source: Some(Box::new(error)),
    }
}

/// Turns an error of a reading connection into what callers see.
pub(crate) fn read_error(error: rusqlite::Error) -> StoreError {
    sql_error("open the store for reading", error)
}

#[cfg(test)]
mod tests {
    use super::check_version;

    #[test]
    fn an_old_sqlite_is_refused() {
        assert!(check_version(3_051_003).is_ok());
        let error = check_version(3_051_002).unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to reach the store: SQLite 3.51.2 is older than 3.51.3, which the store needs"
        );
    }
}
