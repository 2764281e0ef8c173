//! Hints that there may be work.

use std::time::Duration;

use daemon_store::{Activations as _, Hosting as _};
use daemon_store_postgres::Wakeup;

use crate::faults::end_sessions;
use crate::hosts::{asked, host, register};
use crate::server::{runtime, server};

/// Longer than a test lasts that is woken.
const LONG: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(1);

#[test]
fn work_that_one_host_stores_wakes_all_of_them() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, _) = host(&address, "one").await;
        let (two, _) = host(&address, "two").await;
        register(&one, &["a"]).await;
        let (mut of_one, mut of_two) = (one.wakeups(LONG), two.wakeups(LONG));
        // Both listen once they have been woken.
        assert_eq!(of_one.next().await, Wakeup::Notified);
        two.enqueue(asked("a", 1)).await.unwrap();
        assert_eq!(of_two.next().await, Wakeup::Notified);
        one.enqueue(asked("a", 2)).await.unwrap();
        let woken = tokio::join!(of_one.next(), of_two.next());
        assert_eq!(woken, (Wakeup::Notified, Wakeup::Notified));
    });
}

#[test]
fn a_host_that_waits_for_work_is_woken_by_another_host() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, _) = host(&address, "one").await;
        let (two, _) = host(&address, "two").await;
        assert!(one.is_shared() && two.is_shared());
        register(&one, &["a"]).await;
        // What it stored itself wakes it, too, and both listen from then on.
        one.wait_for_work().await;
        two.enqueue(asked("a", 1)).await.unwrap();
        two.wait_for_work().await;
        one.enqueue(asked("a", 2)).await.unwrap();
        tokio::join!(one.wait_for_work(), two.wait_for_work());
    });
}

#[test]
fn polling_needs_no_notification() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, _) = host(&address, "one").await;
        let mut wakeups = one.wakeups(SOON);
        assert_eq!(wakeups.next().await, Wakeup::Polled);
    });
}

#[test]
fn a_listener_whose_connection_ended_listens_again() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, _) = host(&address, "one").await;
        register(&one, &["a"]).await;
        let mut wakeups = one.wakeups(LONG);
        assert_eq!(wakeups.next().await, Wakeup::Notified);
        end_sessions(&address).await;
        one.enqueue(asked("a", 1)).await.unwrap();
        assert_eq!(wakeups.next().await, Wakeup::Notified);
        one.enqueue(asked("a", 2)).await.unwrap();
        assert_eq!(wakeups.next().await, Wakeup::Notified);
    });
}
