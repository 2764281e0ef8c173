//! The contract that every store keeps.

use std::thread;

use daemon_store::conformance::{CASES, Case, compare};
use daemon_store::memory::MemoryStore;

use crate::server::{runtime, server};

#[test]
fn postgres_does_what_every_store_must_do() {
    let Some(server) = server() else {
        return;
    };
    // Each case on a thread of its own, so that all failing cases are named and not only the first.
    let has_failed = |case: &&Case| {
        thread::scope(|scope| {
            let runs = scope.spawn(|| {
                runtime().block_on(async {
                    let store = server.store().await;
                    case.run(&store).await;
                });
            });
            runs.join().is_err()
        })
    };
    let failing: Vec<&str> = CASES
        .iter()
        .filter(has_failed)
        .map(|case| case.name)
        .collect();
    assert_eq!(failing, [""; 0]);
}

#[test]
fn postgres_agrees_with_the_twin_over_random_operations() {
    let Some(server) = server() else {
        return;
    };
    for seed in 0..12 {
        runtime().block_on(async {
            let store = server.store().await;
            compare(&MemoryStore::new(), &store, seed, 250).await;
        });
    }
}
