use daemon_store::Identity;
use jiff::Timestamp;
use rusqlite::Connection;

use super::{MOVED_AT, RecentIdentities, prepare_writer};
use crate::open::{open, open_in_memory};
use crate::{event, identity};

const PER_TRANSACTION: i64 = 500;

/// Returns a key whose place among others says nothing of its number.
fn key(n: i64) -> Identity {
    let scattered = n.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Identity {
        key: format!("id:github:{scattered:016x}"),
        within: None,
    }
}

fn put(conn: &Connection, n: i64, seq: i64) {
    let at = Timestamp::from_second(seq).unwrap();
    identity::put(conn, std::iter::once(&key(n)), (seq, at)).unwrap();
}

fn named(conn: &Connection, n: i64) -> Option<i64> {
    let keys = (&[key(n)][..], Timestamp::MAX);
    identity::named(conn, keys, |_| Ok(true)).unwrap()
}

fn transact(conn: &Connection, recent: &mut RecentIdentities, work: impl FnOnce(&Connection)) {
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    recent.begin(conn).unwrap();
    work(conn);
    recent.settle(conn).unwrap();
    conn.execute_batch("COMMIT").unwrap();
}

fn count(conn: &Connection, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    conn.query_row(&sql, [], |row| row.get(0)).unwrap()
}

/// Stores the keys `1..=n`, each for the event of its number.
fn fill(conn: &Connection, recent: &mut RecentIdentities, n: i64) {
    for first in (1..=n).step_by(usize::try_from(PER_TRANSACTION).unwrap()) {
        transact(conn, recent, |conn| {
            (first..first + PER_TRANSACTION).for_each(|n| put(conn, n, n));
        });
    }
}

#[test]
fn keys_are_found_before_while_and_after_they_are_moved() {
    let conn = open_in_memory().unwrap().conn;
    let mut recent = RecentIdentities::default();
    let mut n_moves = 0;
    for first in (1..3 * MOVED_AT).step_by(usize::try_from(PER_TRANSACTION).unwrap()) {
        let was_moving = recent.moving.is_some();
        transact(&conn, &mut recent, |conn| {
            (first..first + PER_TRANSACTION).for_each(|n| put(conn, n, n));
        });
        n_moves += u32::from(was_moving && recent.moving.is_none());
        for n in (1..first + PER_TRANSACTION).step_by(997) {
            assert_eq!(named(&conn, n), Some(n), "after {first}");
        }
        assert_eq!(named(&conn, first + PER_TRANSACTION), None);
    }
    assert_eq!(n_moves, 2);
    assert!(count(&conn, "recent_identity") < 2 * MOVED_AT);
}

#[test]
fn a_key_names_the_newest_event_wherever_its_entries_are() {
    let conn = open_in_memory().unwrap().conn;
    let mut recent = RecentIdentities::default();
    fill(&conn, &mut recent, MOVED_AT + PER_TRANSACTION);
    assert!(recent.moving.is_some());
    // Some of them are moved already.
    for n in 1..=100 {
        transact(&conn, &mut recent, |conn| put(conn, n, 1_000_000 + n));
        assert_eq!(named(&conn, n), Some(1_000_000 + n));
    }
    let mut next = 10 * MOVED_AT;
    while recent.moving.is_some() {
        transact(&conn, &mut recent, |conn| {
            (next..next + PER_TRANSACTION).for_each(|n| put(conn, n, n));
        });
        next += PER_TRANSACTION;
    }
    for n in 1..=100 {
        assert_eq!(named(&conn, n), Some(1_000_000 + n));
    }
}

#[test]
fn a_rolled_back_transaction_leaves_no_key_and_loses_none() {
    let conn = open_in_memory().unwrap().conn;
    let mut recent = RecentIdentities::default();
    fill(&conn, &mut recent, MOVED_AT + PER_TRANSACTION);
    assert!(recent.moving.is_some());
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    recent.begin(&conn).unwrap();
    let lost = 10 * MOVED_AT..10 * MOVED_AT + PER_TRANSACTION;
    lost.clone().for_each(|n| put(&conn, n, n));
    recent.settle(&conn).unwrap();
    conn.execute_batch("ROLLBACK").unwrap();
    recent.rolled_back();
    let mut next = 20 * MOVED_AT;
    loop {
        transact(&conn, &mut recent, |conn| {
            (next..next + PER_TRANSACTION).for_each(|n| put(conn, n, n));
        });
        next += PER_TRANSACTION;
        if recent.moving.is_none() {
            break;
        }
    }
    for n in lost {
        assert_eq!(named(&conn, n), None);
    }
    for n in 1..=MOVED_AT {
        assert_eq!(named(&conn, n), Some(n));
    }
}

#[test]
fn a_second_writer_finds_the_keys_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let first = open(&path).unwrap().conn;
    let second = Connection::open(&path).unwrap();
    prepare_writer(&second).unwrap();
    let (mut of_first, mut of_second) = Default::default();
    transact(&second, &mut of_second, |_| {});
    transact(&first, &mut of_first, |conn| put(conn, 1, 1));
    transact(&second, &mut of_second, |conn| {
        assert_eq!(named(conn, 1), Some(1));
        put(conn, 2, 2);
    });
    transact(&first, &mut of_first, |conn| {
        assert_eq!(named(conn, 2), Some(2));
    });
}

#[test]
fn old_keys_are_forgotten_wherever_they_are() {
    let conn = open_in_memory().unwrap().conn;
    let mut recent = RecentIdentities::default();
    let n_all = MOVED_AT + MOVED_AT / 2 + PER_TRANSACTION;
    fill(&conn, &mut recent, n_all);
    assert!(count(&conn, "identity") > 0 && count(&conn, "recent_identity") > 0);
    let before = Timestamp::from_second(n_all - 10).unwrap();
    transact(&conn, &mut recent, |conn| {
        event::forget(conn, before, before).unwrap();
    });
    for n in (1..n_all - 10).step_by(97) {
        assert_eq!(named(&conn, n), None);
    }
    assert_eq!(named(&conn, n_all - 10), Some(n_all - 10));
}
