use std::cell::RefCell;

use daemon_store::Identity;
use jiff::Timestamp;
use rusqlite::Connection;

use super::{RecentIdentities, WriteTx};
use crate::open::{open, open_in_memory};
use crate::{event, identity};

const PER_TRANSACTION: i64 = 500;
const MOVED_AT: i64 = 16_384;

/// Returns a key whose place among others says nothing of its number.
fn key(n: i64) -> Identity {
    let scattered = n.unsigned_abs().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Identity {
        key: format!("id:github:{scattered:016x}"),
        within: None,
    }
}

/// A connection that writes.
struct Written {
    conn: Connection,
    recent: RefCell<RecentIdentities>,
}

impl Written {
    fn new(conn: Connection) -> Self {
        Self {
            conn,
            recent: RefCell::default(),
        }
    }

    fn tx(&self) -> WriteTx<'_> {
        WriteTx {
            conn: &self.conn,
            recent: &self.recent,
        }
    }

    fn put(&self, n: i64, seq: i64) {
        let at = Timestamp::from_second(seq).unwrap();
        identity::put(&self.tx(), std::iter::once(&key(n)), (seq, at)).unwrap();
    }

    /// Returns the event of a key, after comparing what the writer and a reader find.
    fn named(&self, n: i64) -> Option<i64> {
        let keys = (&[key(n)][..], Timestamp::MAX);
        let found = identity::named(&self.tx(), keys, |_| Ok(true)).unwrap();
        let read = identity::named(&self.conn, keys, |_| Ok(true)).unwrap();
        assert_eq!(found, read, "key {n}");
        found
    }

    fn begin(&self) {
        self.conn.execute_batch("BEGIN IMMEDIATE").unwrap();
        self.recent.borrow_mut().begin(&self.conn).unwrap();
    }

    fn settle(&self) {
        self.recent.borrow_mut().settle(&self.conn).unwrap();
    }

    fn transact(&self, work: impl FnOnce()) {
        self.begin();
        work();
        self.settle();
        self.conn.execute_batch("COMMIT").unwrap();
    }

    /// Stores keys in one transaction, each for the event of its number.
    fn put_some(&self, first: i64) {
        self.transact(|| (first..first + PER_TRANSACTION).for_each(|n| self.put(n, n)));
    }

    /// Stores the keys `1..=n`, each for the event of its number.
    fn fill(&self, n: i64) {
        for first in (1..=n).step_by(usize::try_from(PER_TRANSACTION).unwrap()) {
            self.put_some(first);
        }
    }

    fn is_moving(&self) -> bool {
        self.recent.borrow().moving.is_some()
    }

    /// Stores other keys until a move has ended.
    fn end_move(&self, first: i64) {
        let mut next = first;
        while self.is_moving() {
            self.put_some(next);
            next += PER_TRANSACTION;
        }
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.conn.query_row(&sql, [], |row| row.get(0)).unwrap()
    }
}

fn in_memory() -> Written {
    Written::new(open_in_memory().unwrap().conn)
}

#[test]
fn keys_are_found_before_while_and_after_they_are_moved() {
    let store = in_memory();
    let mut n_moves = 0;
    for first in (1..3 * MOVED_AT).step_by(usize::try_from(PER_TRANSACTION).unwrap()) {
        let was_moving = store.is_moving();
        store.put_some(first);
        n_moves += u32::from(was_moving && !store.is_moving());
        for n in (1..first + PER_TRANSACTION).step_by(997) {
            assert_eq!(store.named(n), Some(n), "after {first}");
        }
        assert_eq!(store.named(first + PER_TRANSACTION), None);
    }
    assert_eq!(n_moves, 2);
    assert!(store.count("recent_identity") < 2 * MOVED_AT);
}

#[test]
fn a_key_names_the_newest_event_wherever_its_entries_are() {
    let store = in_memory();
    store.fill(MOVED_AT + PER_TRANSACTION);
    assert!(store.is_moving());
    // Some of them are moved already.
    for n in 1..=100 {
        store.transact(|| store.put(n, 1_000_000 + n));
        assert_eq!(store.named(n), Some(1_000_000 + n));
    }
    store.end_move(10 * MOVED_AT);
    for n in 1..=100 {
        assert_eq!(store.named(n), Some(1_000_000 + n));
    }
}

#[test]
fn a_rolled_back_transaction_leaves_no_key_and_loses_none() {
    let store = in_memory();
    store.fill(MOVED_AT + PER_TRANSACTION);
    assert!(store.is_moving());
    store.begin();
    let lost = 10 * MOVED_AT..10 * MOVED_AT + PER_TRANSACTION;
    lost.clone().for_each(|n| store.put(n, n));
    store.settle();
    store.conn.execute_batch("ROLLBACK").unwrap();
    store.recent.borrow_mut().rolled_back();
    store.put_some(20 * MOVED_AT);
    store.end_move(21 * MOVED_AT);
    for n in lost {
        assert_eq!(store.named(n), None);
    }
    for n in 1..=MOVED_AT {
        assert_eq!(store.named(n), Some(n));
    }
}

#[test]
fn a_second_writer_finds_the_keys_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let first = Written::new(open(&path).unwrap().conn);
    let second = Written::new(Connection::open(&path).unwrap());
    second.transact(|| {});
    first.transact(|| first.put(1, 1));
    second.transact(|| {
        assert_eq!(second.named(1), Some(1));
        second.put(2, 2);
    });
    first.transact(|| assert_eq!(first.named(2), Some(2)));
}

#[test]
fn old_keys_are_forgotten_wherever_they_are() {
    let store = in_memory();
    let n_all = MOVED_AT + MOVED_AT / 2 + PER_TRANSACTION;
    store.fill(n_all);
    assert!(store.count("identity") > 0 && store.count("recent_identity") > 0);
    let before = Timestamp::from_second(n_all - 10).unwrap();
    store.transact(|| event::forget(&store.tx(), before, before).unwrap());
    for n in (1..n_all - 10).step_by(97) {
        assert_eq!(store.named(n), None);
    }
    assert_eq!(store.named(n_all - 10), Some(n_all - 10));
}

#[test]
fn keys_of_bodies_are_forgotten_at_an_instant_of_their_own() {
    let store = in_memory();
    let of_body = Identity {
        key: "body:github:1".to_owned(),
        within: None,
    };
    let at = |second| Timestamp::from_second(second).unwrap();
    store.transact(|| {
        store.put(1, 100);
        identity::put(&store.tx(), std::iter::once(&of_body), (100, at(100))).unwrap();
    });
    let body = || {
        let keys = (std::slice::from_ref(&of_body), Timestamp::MAX);
        let found = identity::named(&store.tx(), keys, |_| Ok(true)).unwrap();
        let read = identity::named(&store.conn, keys, |_| Ok(true)).unwrap();
        assert_eq!(found, read);
        found
    };
    store.transact(|| event::forget(&store.tx(), at(50), at(101)).unwrap());
    assert_eq!((store.named(1), body()), (Some(100), None));
    store.transact(|| event::forget(&store.tx(), at(101), at(50)).unwrap());
    assert_eq!(store.named(1), None);
}
