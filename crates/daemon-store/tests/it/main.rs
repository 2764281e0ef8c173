//! The twin under the conformance suite, and what follows from its rules in virtual time.

mod chains;
mod ticker;

use std::thread;

use daemon_store::Canary;
use daemon_store::conformance::{self, CASES, MEMORY_CASES};
use daemon_store::memory::{MemoryStore, MemoryTwin};
use tokio::runtime::Builder;

#[test]
fn the_twin_does_what_every_store_must_do() {
    // One thread for each case, so that every failing case is named and not only the first.
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|case| {
            let runs = thread::spawn(|| {
                let runtime = Builder::new_current_thread().build().unwrap();
                runtime.block_on(case.run(&MemoryStore::new()));
            });
            runs.join().is_err()
        })
        .map(|case| case.name)
        .collect();
    assert_eq!(failed, [""; 0]);
}

#[tokio::test]
async fn a_store_without_the_fence_is_noticed_by_the_history_of_its_workers() {
    let store = MemoryStore::new();
    assert_eq!(conformance::history(&[&store], 4, 2_000).await, [""; 0]);
    let unfenced = MemoryStore::new();
    unfenced.plant(Canary::FenceOff);
    let found = conformance::history(&[&unfenced], 4, 2_000).await;
    let n_stale = found
        .iter()
        .filter(|one| one.starts_with("accepted a stale write"))
        .count();
    assert!(n_stale > 0, "{found:?}");
}

#[tokio::test]
async fn the_twin_agrees_with_itself_over_random_operations() {
    for seed in 0..20 {
        conformance::compare(&MemoryStore::new(), &MemoryStore::new(), seed, 300).await;
    }
}

#[tokio::test]
async fn the_twin_of_a_memory_does_what_every_memory_must_do() {
    for case in MEMORY_CASES {
        case.run(&MemoryTwin::new()).await;
    }
}
