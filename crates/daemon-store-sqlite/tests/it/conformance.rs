//! The contract that every store keeps.

use std::thread;

use daemon_store::conformance::{CASES, compare};
use daemon_store::memory::MemoryStore;
use daemon_store_sqlite::SqliteStore;
use tokio::runtime::{Builder, Runtime};

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .build()
        .expect("a runtime of one thread")
}

#[test]
fn sqlite_does_what_every_store_must_do() {
    // One thread a case, so that every failing case is told and not only the first.
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|case| {
            let runs = thread::spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
                runtime().block_on(case.run(&store));
            });
            runs.join().is_err()
        })
        .map(|case| case.name)
        .collect();
    assert_eq!(failed, [""; 0]);
}

#[test]
fn sqlite_agrees_with_the_twin_over_random_operations() {
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
        runtime().block_on(compare(&MemoryStore::new(), &store, seed, 250));
    }
}
