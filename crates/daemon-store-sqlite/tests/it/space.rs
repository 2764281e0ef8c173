//! What a store takes of the disk: each payload once, and nothing for what it has forgotten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use daemon_event::{DeliveryId, Enrichment, Event, EventId, Source, read};
use daemon_store::{Events as _, Hosting as _, Identity, Matching, NewEvent};
use daemon_store_sqlite::SqliteStore;
use jiff::Timestamp;
use notify::{RecursiveMode, Watcher as _};
use rusqlite::Connection;

use crate::conformance::runtime;
use crate::crash::killed_after;

const MIB: usize = 1024 * 1024;

/// Returns the event of an opened issue with the given description.
fn issue(n: u64, text: &str) -> NewEvent {
    let payload = format!(
        "{{\"action\":\"opened\",\"issue\":{{\"number\":{n},\"title\":\"a\",\"body\":\"{text}\"}},\
         \"repository\":{{\"full_name\":\"o/r\"}},\"sender\":{{\"login\":\"ann\",\"type\":\"User\"}}}}"
    );
    let read = read(
        Source::Github,
        "issues",
        payload.as_bytes(),
        &Enrichment::default(),
    )
    .unwrap();
    let event = Event {
        id: EventId::new(n, [0; 10]),
        source: Source::Github,
        kind: "issues".to_owned(),
        action: read.action,
        subject: read.subject,
        actor: read.actor,
        repo: read.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::UNIX_EPOCH,
        delivery: format!("d-{n}").parse::<DeliveryId>().unwrap(),
        facts: read.facts,
        payload: payload.into_bytes().into(),
    };
    NewEvent {
        event,
        identities: Vec::new(),
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Done,
    }
}

fn accept(store: &SqliteStore, new: &NewEvent) {
    let accepted = runtime().block_on(store.accept(vec![new.clone()]));
    assert_eq!(accepted.unwrap().len(), 1);
}

fn length(path: &Path) -> usize {
    usize::try_from(fs::metadata(path).unwrap().len()).unwrap()
}

/// Waits until the file is short: the store cuts it in the background.
fn shrinks(path: &Path) {
    let (sender, changes) = channel();
    let mut watcher = notify::recommended_watcher(sender).unwrap();
    watcher.watch(path, RecursiveMode::NonRecursive).unwrap();
    while length(path) > 8 * MIB {
        let changed = changes.recv_timeout(Duration::from_secs(60));
        assert!(changed.is_ok(), "{} bytes are left", length(path));
    }
}

#[test]
fn a_payload_is_stored_once_and_read_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let texts = [
        "x".repeat(4 * MIB),
        "é\\n\\\"".repeat(MIB / 4),
        "y".repeat(2_000),
        "z".to_owned(),
    ];
    for (n, text) in (1..).zip(&texts) {
        let new = issue(n, text);
        accept(&store, &new);
        let stored = runtime()
            .block_on(store.event(&new.event.id))
            .unwrap()
            .unwrap();
        assert!(
            stored.event == new.event,
            "event {n} is read as it was stored"
        );
    }
    let conn = Connection::open(&path).unwrap();
    let longest_facts: i64 = conn
        .query_row("SELECT max(length(facts)) FROM payload", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(
        longest_facts < 1_000,
        "the facts take {longest_facts} bytes"
    );
}

#[test]
fn a_later_report_is_stored_once_and_forgotten_with_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let happened = |kind: &str, new: NewEvent| NewEvent {
        happenings: vec![Identity {
            key: "one".to_owned(),
            within: None,
        }],
        event: Event {
            kind: kind.to_owned(),
            ..new.event
        },
        ..new
    };
    let first = issue(1, "first");
    let long = happened("issues", issue(2, &"x".repeat(4 * MIB)));
    for new in [&happened("other", first.clone()), &long] {
        accept(&store, new);
    }
    let read = || {
        let found = runtime().block_on(store.event(&first.event.id));
        found.unwrap().unwrap()
    };
    let expected = Event {
        id: first.event.id.clone(),
        ..long.event
    };
    assert!(
        read().later_reports == [expected],
        "a report is read as it was stored"
    );
    let conn = Connection::open(&path).unwrap();
    let longest_facts = |table: &str| -> i64 {
        let sql = format!("SELECT max(length(facts)) FROM {table}");
        conn.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert!(longest_facts("report") < 1_000);
    drop(conn);
    let (past, now) = (
        Timestamp::UNIX_EPOCH,
        Timestamp::from_second(1_000).unwrap(),
    );
    runtime().block_on(store.retain(now, past, past)).unwrap();
    assert_eq!(
        (read().event.payload.len(), read().later_reports.len()),
        (0, 0)
    );
    let conn = Connection::open(&path).unwrap();
    let n_kept: i64 = conn
        .query_row(
            "SELECT (SELECT count(*) FROM report) + (SELECT count(*) FROM payload)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(n_kept, 0);
}

#[test]
fn what_a_payload_does_not_say_is_stored_however_long() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let mut new = issue(1, &"x".repeat(2_000));
    let files: Vec<String> = (0..1_000).map(|n| format!("docs/{n}.md")).collect();
    let files = files.iter().map(String::as_str);
    new.event
        .facts
        .set_texts(daemon_event::Field::ChangedFiles, files);
    accept(&store, &new);
    let stored = runtime()
        .block_on(store.event(&new.event.id))
        .unwrap()
        .unwrap();
    assert_eq!(stored.event, new.event);
}

#[test]
fn a_store_gives_back_the_space_of_what_it_forgot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    for n in 1..=40 {
        accept(&store, &issue(n, &"x".repeat(MIB)));
    }
    let (past, now) = (
        Timestamp::UNIX_EPOCH,
        Timestamp::from_second(1_000).unwrap(),
    );
    let kept = issue(41, "kept");
    runtime().block_on(store.retain(now, past, past)).unwrap();
    accept(&store, &kept);
    shrinks(&path);
    let stored = runtime()
        .block_on(store.event(&kept.event.id))
        .unwrap()
        .unwrap();
    assert_eq!(stored.event, kept.event);
    let forgotten = runtime().block_on(store.event(&EventId::new(7, [0; 10])));
    assert_eq!(forgotten.unwrap().unwrap().event.payload.len(), 0);
    drop(store);
    SqliteStore::open(&path).expect("every page is in order");
}

#[test]
fn a_store_of_an_older_version_gives_space_back_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (kept, gone) = (issue(1, "kept"), issue(2, &"x".repeat(20 * MIB)));
    let store = SqliteStore::open(&path).unwrap();
    for new in [&kept, &gone] {
        accept(&store, new);
    }
    drop(store);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA auto_vacuum = NONE; VACUUM; DELETE FROM payload WHERE seq = 2; \
         DROP INDEX activation_suspect; ALTER TABLE activation DROP COLUMN crashes_alone; DROP TABLE host_start; \
         DROP TABLE report; DROP TABLE pull_request; DROP TABLE bookmark; DROP TABLE recent_identity; \
         DROP TRIGGER activation_changed; ALTER TABLE lane DROP COLUMN leased; ALTER TABLE lane DROP COLUMN removed_at; ALTER TABLE output DROP COLUMN in_doubt_since; \
         DROP TABLE roster; DROP TABLE roster_row; DROP TABLE roster_signal; DROP TABLE roster_baton; DROP TABLE roster_reset; \
         DROP TABLE roster_plan; DROP TABLE roster_plan_check; DROP TABLE roster_credential; DROP TABLE roster_checkin; \
         DROP TABLE roster_audit; DROP TABLE roster_reply; DROP TABLE moved; DROP TABLE event_block;",
    )
    .unwrap();
    // The triggers of version 1, which a later version replaces.
    let (_, triggers) = include_str!("../../src/schema/0001.sql")
        .split_once("CREATE TRIGGER activation_made ")
        .unwrap();
    let (triggers, _) = triggers.split_once("-- `trigger`").unwrap();
    conn.execute_batch(&format!(
        "CREATE TRIGGER activation_made {triggers} PRAGMA user_version = 4;"
    ))
    .unwrap();
    conn.close().unwrap();
    assert!(length(&path) > 20 * MIB);
    let store = SqliteStore::open(&path).unwrap();
    shrinks(&path);
    let stored = runtime()
        .block_on(store.event(&kept.event.id))
        .unwrap()
        .unwrap();
    assert_eq!(stored.event, kept.event);
    for n in 3..=20 {
        accept(&store, &issue(n, &"x".repeat(MIB)));
    }
    assert!(length(&path) > 8 * MIB);
    let (past, now) = (
        Timestamp::UNIX_EPOCH,
        Timestamp::from_second(1_000).unwrap(),
    );
    runtime().block_on(store.retain(now, past, past)).unwrap();
    shrinks(&path);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the store has no supervised children; this test needs a small disk"
)]
fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear();
    command
}

/// A file system of its own in memory, of 64 MiB; `None` where this user may not mount.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = tool("mount")
            .args(["-t", "tmpfs", "-o", "size=64m,mode=700", "none"])
            .arg(folder.path())
            .output()
            .unwrap();
        if !mounted.status.success() {
            println!("skipped: no file system can be mounted: {mounted:?}");
            return None;
        }
        Some(Self(folder))
    }

    fn free(&self) -> usize {
        let status = rustix::fs::statvfs(self.0.path()).unwrap();
        usize::try_from(status.f_bavail * status.f_frsize).unwrap()
    }

    /// Fills it up to the given number of free bytes.
    fn leave(&self, bytes: usize) {
        let filler = vec![0; self.free() - bytes];
        fs::write(self.0.path().join("filler"), filler).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = tool("umount").arg("-l").arg(self.0.path()).status();
        assert!(unmounted.unwrap().success());
    }
}

/// Leaves in a folder what a host that is killed leaves of a store that holds some events, and one more in its log.
fn killed(folder: &Path, merged: &[NewEvent], new: &NewEvent) -> PathBuf {
    let made = tempfile::tempdir().unwrap();
    let path = made.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    for old in merged {
        accept(&store, old);
    }
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    // What a reader may still look at is not merged.
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM host;").unwrap();
    accept(&store, new);
    for file in ["store.db", "store.db-wal", "store.db-mark"] {
        fs::copy(made.path().join(file), folder.join(file)).unwrap();
    }
    folder.join("store.db")
}

#[test]
fn a_log_that_cannot_be_merged_for_want_of_room_is_read_and_written_as_it_is() {
    let Some(small) = Small::new() else { return };
    let first = issue(1, &"x".repeat(16 * MIB));
    let path = killed(small.0.path(), &[], &first);
    let log = small.0.path().join("store.db-wal");
    assert!(length(&path) < MIB && length(&log) > 16 * MIB);
    small.leave(4 * MIB);
    for n in 2..=4 {
        let store = SqliteStore::open(&path).expect("the store opens with its log");
        accept(&store, &issue(n, "short"));
        let stored = runtime().block_on(store.event(&first.event.id));
        assert_eq!(stored.unwrap().unwrap().event, first.event);
        drop(store);
        assert!(length(&path) < MIB && length(&log) > 16 * MIB);
        assert!(small.free() > 3 * MIB, "{} bytes are free", small.free());
    }
    let store = SqliteStore::open(&path).unwrap();
    fs::remove_file(small.0.path().join("filler")).unwrap();
    accept(&store, &issue(5, "short"));
    drop(store);
    assert!(length(&path) > 16 * MIB && !log.exists());
    let store = SqliteStore::open(&path).unwrap();
    for n in 1..=5 {
        let stored = runtime().block_on(store.event(&EventId::new(n, [0; 10])));
        assert!(stored.unwrap().is_some(), "event {n} is there");
    }
}

#[test]
fn a_log_that_a_quota_keeps_from_being_merged_is_read_and_written_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x".repeat(9 * MIB);
    let path = killed(folder.path(), &[issue(1, &text)], &issue(2, &text));
    let log = folder.path().join("store.db-wal");
    assert!(length(&path) < 10 * MIB && length(&log) < 10 * MIB);
    // No file may grow over 16 MiB, in blocks of 512 bytes: SQLite reports that as it does a quota, and there is room for
    // the log alone.
    let acknowledged = killed_after(&path, "trap '' XFSZ; ulimit -f 32768;", 40);
    assert!(length(&path) < 17 * MIB && length(&log) > 9 * MIB);
    let store = SqliteStore::open(&path).unwrap();
    assert!(length(&path) > 18 * MIB, "the log is merged");
    for n in [1, 2].into_iter().chain(acknowledged) {
        let stored = runtime().block_on(store.event(&EventId::new(n, [0; 10])));
        assert!(stored.unwrap().is_some(), "event {n} is there");
    }
}
