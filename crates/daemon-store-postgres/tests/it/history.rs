//! The history of workers of several hosts.

use daemon_store::Store;
use daemon_store::conformance::history;
use daemon_store_postgres::{LeaseClock, PostgresOptions, PostgresStore};

use crate::server::{runtime, server};

#[test]
fn the_workers_of_two_hosts_hold_no_lease_twice_and_write_nothing_late() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let mut hosts = Vec::new();
        for name in ["one", "two"] {
            let options = PostgresOptions {
                lease_clock: LeaseClock::Caller,
                ..PostgresOptions::new(&address, name)
            };
            hosts.push(PostgresStore::open(&options).await.unwrap());
        }
        let hosts: Vec<&dyn Store> = hosts.iter().map(|host| host as &dyn Store).collect();
        assert_eq!(history(&hosts, 4, 10_000).await, [""; 0]);
    });
}
