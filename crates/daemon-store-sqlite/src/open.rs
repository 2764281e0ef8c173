//! Opening a store: never an empty one in place of a lost one, never a damaged one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::failure::{TxError, TxResult};
use crate::log::{self, LogState};
use crate::mark::{self, LogMark};
use crate::migrate::STORE;
use crate::reader::Readers;
use crate::space;
use crate::writer::Database;

/// 3.51.3, before which a checkpoint could corrupt a database in write-ahead mode.
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long another process may keep the write lock before an operation is refused.
const BUSY: Duration = Duration::from_secs(5);
const STATEMENTS: usize = 256;
/// The operation in errors; the path follows.
pub(crate) const OPENING: &str = "open the store ";

/// Opens the connection that writes, and makes the store if it does not exist.
pub(crate) fn open(path: &Path) -> Result<Database, StoreError> {
    check_version(rusqlite::version_number())?;
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_nothing_is_left(path)?;
            create(path, |conn| {
                space::prepare(conn)?;
                STORE.migrate(conn)?;
                set_up(conn)
            })?;
        }
        Err(error) => return Err(unreachable(path, error)),
        Ok(file) => check_file(path, &file)?,
    }
    let found = complete_log(path)?;
    let context = format!("{OPENING}`{}`", path.display());
    (|| -> TxResult<Database> {
        let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        check_pages(&conn)?;
        // A database without its log is not written to: the log may be put back.
        if STORE.check_owner(&conn)? > 0 {
            found.check(&conn)?;
        }
        let mut mark = LogMark::begin(path);
        STORE.migrate(&mut conn)?;
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

/// The version of the schema of a store, compared with the one that the statements of this program need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schema {
    Current,
    /// The store has to be opened for writing once, which brings the schema up to date.
    Older,
}

/// Makes the checks of [`open`] with a reading connection, and writes nothing.
pub(crate) fn check_to_read(path: &Path, readers: &Readers) -> Result<Schema, StoreError> {
    check_version(rusqlite::version_number())?;
    match fs::metadata(path) {
        Err(error) => {
            check_nothing_is_left(path)?;
            return Err(unreachable(path, error));
        }
        Ok(file) => check_file(path, &file)?,
    }
    let found = complete_log(path)?;
    let context = format!("{OPENING}`{}`", path.display());
    let checked = readers.try_read(|conn| {
        check_pages(conn)?;
        let version = STORE.check_owner(conn)?;
        if version > 0 {
            found.check(conn)?;
        }
        let is_current = i64::try_from(version).is_ok_and(|version| version == STORE.newest());
        Ok(if is_current {
            Schema::Current
        } else {
            Schema::Older
        })
    });
    checked.map_err(|failure| in_file(path, without_index(path, failure, &context)))
}

/// Explains the failure of SQLite to make the index of the log, without which a log cannot be read.
fn without_index(path: &Path, failure: TxError, context: &str) -> StoreError {
    let code = match &failure {
        TxError::Sql(error) => error.sqlite_error_code(),
        TxError::Store(_) => None,
    };
    match code {
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            if Locking::of(path) == Locking::Locks => failure.into_error(&format!(
            "{context}: its log (`-wal`) is not merged, and reading it needs a `-shm` file that cannot be written; \
             start a host where the home can be written, or copy the home to such a place"
        )),
        _ => failure.into_error(context),
    }
}

/// Makes an empty store in memory.
pub(crate) fn open_in_memory() -> Result<Database, StoreError> {
    check_version(rusqlite::version_number())?;
    (|| -> TxResult<Database> {
        let mut conn = Connection::open_in_memory()?;
        configure(&conn)?;
        STORE.migrate(&mut conn)?;
        conn.pragma_update(None, "foreign_keys", true)?;
        conn.pragma_update(None, "temp_store", "memory")?;
        Ok(Database { conn, mark: None })
    })()
    .map_err(|failure| failure.into_error("make a store in memory"))
}

pub(crate) fn check_file(path: &Path, file: &fs::Metadata) -> Result<(), StoreError> {
    if !file.is_file() {
        return Err(damaged(path, "it is not a file"));
    }
    if file.len() == 0 {
        let problem = "it is empty; restore it from a backup, or remove it to begin anew";
        return Err(damaged(path, problem));
    }
    Ok(())
}

/// Reads the log and refuses one that has lost commits. Called before SQLite opens the file: opening it already recovers the
/// log and hides what is missing.
fn complete_log(path: &Path) -> Result<LogState, StoreError> {
    let found = LogState::read(path).map_err(|error| unreachable(path, error))?;
    match found.loss() {
        None => Ok(found),
        Some(loss) => Err(StoreError::LogDamaged {
            context: format!("`{}`: {loss}", path.display()),
        }),
    }
}

/// Refuses to make a store where one was lost, which shows by a log or a mark without it: a clean end removes both.
pub(crate) fn check_nothing_is_left(path: &Path) -> Result<(), StoreError> {
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

/// How a reading connection keeps out of the way of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locking {
    /// By the locks of SQLite, which are in a file (`-shm`) that is made if it does not exist.
    Locks,
    /// Not at all: nothing is written, but the content has to be discarded if the file changes meanwhile.
    None,
}

impl Locking {
    /// Returns what a store needs that may be open in no process: locks only if it has a log, because SQLite ignores the log
    /// without them.
    pub(crate) fn of(path: &Path) -> Self {
        let has_log = fs::metadata(log::path_of(path)).is_ok_and(|log| log.len() > 0);
        if has_log { Self::Locks } else { Self::None }
    }
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path, locking: Locking) -> Result<Connection, rusqlite::Error> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = match locking {
        Locking::Locks => connect(path, access)?,
        Locking::None => connect(&immutable(path), access | OpenFlags::SQLITE_OPEN_URI)?,
    };
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// Returns the URI with which SQLite reads a file without locks and without a log.
fn immutable(path: &Path) -> PathBuf {
    let mut uri = b"file:".to_vec();
    if path.is_absolute() {
        // An empty authority, because a path that begins with two slashes would be taken for one.
        uri.extend(b"//");
    }
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' => uri.extend(b"%25"),
            b'?' => uri.extend(b"%3f"),
            b'#' => uri.extend(b"%23"),
            byte => uri.push(*byte),
        }
    }
    uri.extend(b"?immutable=1");
    OsString::from_vec(uri).into()
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

pub(crate) fn connect(path: &Path, access: OpenFlags) -> Result<Connection, rusqlite::Error> {
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
pub(crate) fn create(
    path: &Path,
    prepare: impl FnOnce(&mut Connection) -> TxResult<()>,
) -> Result<(), StoreError> {
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
        prepare(&mut conn)?;
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

pub(crate) fn check_version(found: i32) -> Result<(), StoreError> {
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
pub(crate) fn check_pages(conn: &Connection) -> TxResult<()> {
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

/// Names the file once, and the remedy where there is only one.
pub(crate) fn in_file(path: &Path, error: StoreError) -> StoreError {
    let path = format!("`{}`", path.display());
    let named = |context: String| match context.contains(&path) {
        true => context,
        false => format!("{path}: {context}"),
    };
    match error {
        StoreError::Damaged { context, source } => {
            let remedy = "; restore it from a backup";
            let context = named(context);
            let problem = context.trim_start_matches(OPENING).trim_end_matches(remedy);
            StoreError::Damaged {
                context: format!("{problem}{remedy}"),
                source,
            }
        }
        StoreError::LogDamaged { context } => StoreError::LogDamaged {
            context: named(context),
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

pub(crate) fn unreachable(path: &Path, error: io::Error) -> StoreError {
    StoreError::Unavailable {
        context: format!("{OPENING}`{}`", path.display()),
        source: Some(Box::new(error)),
    }
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
