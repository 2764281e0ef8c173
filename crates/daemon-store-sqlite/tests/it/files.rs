//! Files that are not, or no longer, a store: refused with a remedy, and left as they were.

use std::fs;
use std::path::{Path, PathBuf};

use daemon_engine::{HostEnd, HostEpoch};
use daemon_store::{Hosting as _, StoreError};
use daemon_store_sqlite::SqliteStore;
use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::conformance::runtime;

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Makes a store with some epochs begun.
fn made(n_epochs: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    runtime().block_on(async {
        for _ in 0..n_epochs {
            store
                .begin_epoch(HostEnd::Stopped, Timestamp::UNIX_EPOCH)
                .await
                .unwrap();
        }
    });
    drop(store);
    (folder, path)
}

fn epoch(path: &Path) -> HostEpoch {
    let store = SqliteStore::open(path).unwrap();
    runtime().block_on(store.epoch()).unwrap()
}

/// Checks that a file is refused with a message, and not touched.
fn check_refused(path: &Path, expected: &str) {
    let before = fs::read(path).ok();
    let error = SqliteStore::open(path).expect_err("the file is refused");
    let message = error.to_string();
    assert!(message.contains(expected), "{message}");
    assert_eq!(fs::read(path).ok(), before, "{expected}");
}

#[test]
fn a_store_is_whole_after_closing_and_alone_in_its_folder() {
    let (folder, path) = made(3);
    assert_eq!(epoch(&path), HostEpoch(3));
    let files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files, ["store.db"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_a_store() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, path) = made(0);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_empty_file_is_refused() {
    let (_folder, path) = made(1);
    fs::write(&path, b"").unwrap();
    check_refused(&path, "it is empty; restore it from a backup");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let (_folder, path) = made(1);
    fs::write(&path, b"dear diary, ".repeat(1000)).unwrap();
    check_refused(&path, "restore it from a backup");
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(other);
    check_refused(&path, "it belongs to another program");
}

#[test]
fn a_newer_version_is_refused() {
    let (_folder, path) = made(1);
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error:?}"
    );
}

#[test]
fn a_truncated_file_is_refused() {
    let (_folder, path) = made(1);
    let whole = fs::read(&path).unwrap();
    for part in [100, 4096, whole.len() / 2, whole.len() - 4096] {
        fs::write(&path, &whole[..part]).unwrap();
        check_refused(&path, "restore it from a backup");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(epoch(&path), HostEpoch(1));
}

#[test]
fn a_flipped_page_is_refused() {
    let (_folder, path) = made(1);
    let whole = fs::read(&path).unwrap();
    for page in 1..8 {
        let mut flipped = whole.clone();
        for byte in &mut flipped[page * 4096..page * 4096 + 64] {
            *byte ^= 0xFF;
        }
        fs::write(&path, &flipped).unwrap();
        check_refused(&path, "restore it from a backup");
    }
}

/// Copies a store as a crash would leave it: with a log that was never merged.
fn crashed() -> (TempDir, PathBuf) {
    let (folder, path) = made(1);
    let store = SqliteStore::open(&path).unwrap();
    runtime()
        .block_on(store.begin_epoch(HostEnd::Stopped, Timestamp::UNIX_EPOCH))
        .unwrap();
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    for file in ["-wal", "-mark"] {
        fs::copy(beside(&path, file), beside(&copy, file)).unwrap();
    }
    drop(store);
    (folder, copy)
}

#[test]
fn what_a_crash_left_is_read_from_the_log() {
    let (_folder, path) = crashed();
    assert_eq!(epoch(&path), HostEpoch(2));
}

#[test]
fn a_missing_log_is_noticed() {
    let (_folder, path) = crashed();
    fs::remove_file(beside(&path, "-wal")).unwrap();
    let error = SqliteStore::open(&path).expect_err("the log is missing");
    let message = error.to_string();
    assert!(
        message.contains("its write-ahead log (`-wal`) is missing"),
        "{message}"
    );
}

#[test]
fn another_program_may_look_inside_after_a_crash() {
    let (_folder, path) = crashed();
    let other = Connection::open(&path).unwrap();
    let n: i64 = other
        .query_row("SELECT epoch FROM host", [], |row| row.get(0))
        .unwrap();
    assert_eq!(n, 2);
    drop(other);
    assert!(!beside(&path, "-wal").exists(), "it merged the log");
    assert_eq!(epoch(&path), HostEpoch(2));
}

#[test]
fn a_log_without_its_store_is_not_begun_anew() {
    let (_folder, path) = crashed();
    fs::remove_file(&path).unwrap();
    check_refused(&path, "its write-ahead log is there and it is not");
    assert!(!path.exists());
}

#[test]
fn a_mark_without_its_store_is_not_begun_anew() {
    let (_folder, path) = crashed();
    fs::remove_file(&path).unwrap();
    fs::remove_file(beside(&path, "-wal")).unwrap();
    check_refused(
        &path,
        "it was in use, as its mark (`-mark`) says, and is gone",
    );
    assert!(!path.exists());
    fs::remove_file(beside(&path, "-mark")).unwrap();
    assert_eq!(
        epoch(&path),
        HostEpoch(0),
        "asked for, a store is begun anew"
    );
}

#[test]
fn a_half_made_store_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(beside(&path, ".new"), b"half").unwrap();
    fs::write(beside(&path, ".new-journal"), b"half").unwrap();
    assert_eq!(epoch(&path), HostEpoch(0));
}

#[test]
fn a_store_that_cannot_be_reached_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no/such/folder/store.db");
    let error = SqliteStore::open(&nowhere).unwrap_err();
    let message = error.to_string();
    assert!(
        matches!(error, StoreError::Unavailable { .. })
            && message.contains("no/such/folder/store.db"),
        "{message}"
    );
    let error = SqliteStore::open(folder.path()).unwrap_err();
    assert!(
        matches!(&error, StoreError::Damaged { context, .. } if context.ends_with("it is not a file")),
        "{error:?}"
    );
}

/// Returns the epoch that a store which is open for reading only has, and checks that reading changed no file.
fn epoch_read(path: &Path) -> HostEpoch {
    let folder = path.parent().unwrap();
    let before = listed(folder);
    let store = SqliteStore::open_to_read(path).unwrap();
    let epoch = runtime().block_on(store.epoch()).unwrap();
    drop(store);
    assert_eq!(listed(folder), before);
    epoch
}

/// Returns the names and contents of a directory, without the index of the log, which readers with locks write.
fn listed(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| !path.to_string_lossy().ends_with("-shm"));
    let mut found: Vec<_> = paths
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_store_is_read_without_a_write_whether_or_not_its_log_is_merged() {
    let (_folder, path) = made(3);
    assert_eq!(epoch_read(&path), HostEpoch(3));
    assert!(!beside(&path, "-shm").exists());
    let (_folder, path) = crashed();
    assert!(fs::metadata(beside(&path, "-wal")).unwrap().len() > 0);
    assert_eq!(epoch_read(&path), epoch(&path));
}

#[test]
fn a_store_with_a_path_that_is_special_in_a_uri_is_read() {
    let (folder, path) = made(2);
    let odd = folder.path().join("50%25 #1?x=y");
    fs::create_dir(&odd).unwrap();
    let moved = odd.join("store.db");
    fs::rename(path, &moved).unwrap();
    assert_eq!(epoch_read(&moved), HostEpoch(2));
}

#[test]
fn a_store_open_for_reading_sees_what_another_process_commits_and_writes_nothing() {
    let (_folder, path) = made(1);
    let reading = SqliteStore::open_to_read(&path).unwrap();
    let seen = || runtime().block_on(reading.epoch()).unwrap();
    assert_eq!(seen(), HostEpoch(1));
    let writing = SqliteStore::open(&path).unwrap();
    let begin = |store: &SqliteStore| {
        runtime().block_on(store.begin_epoch(HostEnd::Stopped, Timestamp::UNIX_EPOCH))
    };
    assert_eq!(begin(&writing).unwrap(), HostEpoch(2));
    assert_eq!(seen(), HostEpoch(2));
    drop(writing);
    assert_eq!(seen(), HostEpoch(2));
    let refused = begin(&reading).expect_err("it is not open for writing");
    assert_eq!(
        refused.to_string(),
        "failed to reach the store: begin an epoch: the store is open for reading only"
    );
}

#[test]
fn reading_refuses_what_writing_refuses_and_makes_no_store() {
    let (folder, path) = made(1);
    let message = |path: &Path| {
        let error = SqliteStore::open_to_read(path).expect_err("the file is refused");
        error.to_string()
    };
    let missing = folder.path().join("missing.db");
    let expected = format!(
        "failed to reach the store: open the store `{}`",
        missing.display()
    );
    assert_eq!(message(&missing), expected);
    assert!(!missing.exists());
    fs::write(&path, b"text").unwrap();
    let expected = format!(
        "the store is damaged: `{}`; restore it from a backup",
        path.display()
    );
    assert_eq!(message(&path), expected);
}

#[test]
fn a_log_that_cannot_be_read_without_its_index_is_explained() {
    let (_folder, path) = crashed();
    // A link in its place, which SQLite does not follow: permissions do not bind a test that runs as root.
    std::os::unix::fs::symlink("nowhere", beside(&path, "-shm")).unwrap();
    let error = SqliteStore::open_to_read(&path).expect_err("the index cannot be made");
    let expected = format!(
        "failed to reach the store: open the store `{}`: its log (`-wal`) is not merged, and reading it needs a `-shm` file \
         that cannot be written; start a host where the home can be written, or copy the home to such a place",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}
