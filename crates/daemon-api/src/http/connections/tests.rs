use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, advance};

use super::{BUFFERED, BUFFERED_LARGE, Connection, Connections, Full, SMALL, STALLED};

fn are_closed(connections: &[&Connection]) -> Vec<bool> {
    let closed = connections.iter().map(|one| one.closed.is_cancelled());
    closed.collect()
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_replaces_the_longest_waiting_one_and_no_active_one() {
    let connections = Connections::new(3);
    let first = connections.open().await;
    let tick = Duration::from_millis(1);
    advance(tick).await;
    let second = connections.open().await;
    advance(tick).await;
    let third = connections.open().await;
    first.works();
    let fourth = connections.open().await;
    assert_eq!(
        are_closed(&[&first, &second, &third, &fourth]),
        [false, true, false, false]
    );
    advance(tick).await;
    first.waits(Instant::now());
    let fifth = connections.open().await;
    assert_eq!(
        are_closed(&[&first, &third, &fourth, &fifth]),
        [false, true, false, false]
    );
    for one in [&first, &fourth, &fifth] {
        one.works();
    }
    let all = Arc::clone(&connections);
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { all.open().await });
    tokio::task::yield_now().await;
    assert!(
        waiting.try_join_next().is_none(),
        "all places are worked for"
    );
    drop(first);
    let sixth = waiting.join_next().await.unwrap().unwrap();
    // A closed connection does not free a second place.
    drop((second, third));
    assert_eq!(connections.table().open.len(), 3);
    sixth.works();
    let all = Arc::clone(&connections);
    waiting.spawn(async move { all.open().await });
    tokio::task::yield_now().await;
    assert!(
        waiting.try_join_next().is_none(),
        "all places are worked for again"
    );
    fifth.waits(Instant::now());
    let opened = tokio::time::timeout(tick, waiting.join_next()).await;
    assert!(opened.is_ok(), "a place that waits is given away at once");
    assert!(fifth.closed.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn only_stalled_connections_are_closed_when_resources_run_out() {
    let connections = Connections::new(8);
    let stalled = connections.open().await;
    let busy = connections.open().await;
    busy.works();
    advance(STALLED).await;
    let fresh = connections.open().await;
    connections.close_stalled(8);
    assert_eq!(are_closed(&[&stalled, &busy, &fresh]), [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_a_stalled_body_is_given_to_the_next_one() {
    let connections = Connections::new(64);
    let mut large = Vec::new();
    for _ in 0..7 {
        let one = connections.open().await;
        one.hold(BUFFERED_LARGE / 7).unwrap();
        one.waits(Instant::now());
        large.push(one);
    }
    let next = connections.open().await;
    assert_eq!(next.hold(SMALL + 1), Err(Full), "nobody has stalled");
    next.hold(SMALL).unwrap();
    assert_eq!(next.hold(1), Err(Full), "it would not be small any more");
    large[0].works();
    advance(Duration::from_secs(1)).await;
    next.hold(1).unwrap();
    let closed: Vec<bool> = large.iter().map(|one| one.closed.is_cancelled()).collect();
    assert_eq!(closed, [false, true, false, false, false, false, false]);
    assert_eq!(large[1].hold(1), Err(Full), "it is closed");
    drop(large);
    next.release();
    let table = connections.table();
    assert_eq!((table.small, table.large, table.waiting.len()), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_a_body_counts_after_its_connection_has_closed() {
    let connections = Connections::new(64);
    let one = connections.open().await;
    one.hold(BUFFERED_LARGE - SMALL).unwrap();
    let kept = one.keep();
    drop(one);
    let next = connections.open().await;
    assert_eq!(next.hold(2 * SMALL), Err(Full));
    drop(kept);
    next.hold(2 * SMALL).unwrap();
    next.release();
    let table = connections.table();
    assert_eq!((table.small, table.large), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn large_bodies_leave_memory_for_small_ones() {
    let connections = Connections::new(1_024);
    let large = connections.open().await;
    large.works();
    large.hold(BUFFERED_LARGE).unwrap();
    let mut small = Vec::new();
    for _ in 0..(BUFFERED - BUFFERED_LARGE) / SMALL {
        let one = connections.open().await;
        one.hold(SMALL).unwrap();
        one.waits(Instant::now());
        small.push(one);
    }
    let next = connections.open().await;
    assert_eq!(next.hold(1), Err(Full));
    advance(Duration::from_secs(1)).await;
    next.hold(1).unwrap();
    assert!(small[0].closed.is_cancelled());
    assert!(!large.closed.is_cancelled(), "it is worked for");
}
