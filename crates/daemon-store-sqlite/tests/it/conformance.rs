//! The contract that every store keeps.

use std::path::Path;
use std::thread;

use daemon_store::conformance::{CASES, Case, compare};
use daemon_store::memory::MemoryStore;
use daemon_store_sqlite::SqliteStore;
use tokio::runtime::{Builder, Runtime};

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .build()
        .expect("a runtime of one thread")
}

/// Runs every case on a store of its own, each on a thread of its own, so that all failing cases are named and not only
/// the first.
fn failing(make: impl Fn(&Path) -> SqliteStore + Sync) -> Vec<&'static str> {
    let has_failed = |case: &&Case| {
        thread::scope(|scope| {
            let runs = scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                runtime().block_on(case.run(&make(folder.path())));
            });
            runs.join().is_err()
        })
    };
    CASES
        .iter()
        .filter(has_failed)
        .map(|case| case.name)
        .collect()
}

fn in_file(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder.join("store.db")).unwrap()
}

fn in_memory(_: &Path) -> SqliteStore {
    SqliteStore::in_memory().unwrap()
}

#[test]
fn sqlite_does_what_every_store_must_do() {
    assert_eq!(failing(in_file), [""; 0]);
}

#[test]
fn sqlite_in_memory_does_what_every_store_must_do() {
    assert_eq!(failing(in_memory), [""; 0]);
}

#[test]
fn sqlite_agrees_with_the_twin_over_random_operations() {
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let store = in_file(folder.path());
        runtime().block_on(compare(&MemoryStore::new(), &store, seed, 250));
    }
}
