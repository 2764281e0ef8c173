//! Several hosts on one database.

use std::collections::BTreeSet;

use daemon_engine::{
    Activation, Admission, AttemptEnd, AttemptOutcome, ClaimRequest, HostEnd, HostEpoch, Joining,
    NewTrigger, RunLease, Trigger,
};
use daemon_event::{ActivationId, DaemonKey, TriggerKey};
use daemon_schedule::{Cancels, TickOutcome, TickRow};
use daemon_store::{
    Activations as _, DaemonRow, Daemons as _, Hosting as _, Modes, Registration, ScheduleText,
    StoreError, TickCommit, TickResult, Ticks as _, Validity,
};
use daemon_store_postgres::{LeaseClock, PostgresOptions, PostgresStore};
use jiff::{SignedDuration, Timestamp};

use crate::server::{runtime, server, with_client};

/// An instant of hosts whose clocks are years behind that of the database.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_600_000_000 + seconds).unwrap()
}

pub(crate) async fn host(address: &str, name: &str) -> (PostgresStore, HostEpoch) {
    let store = PostgresStore::open(&PostgresOptions::new(address, name))
        .await
        .unwrap();
    let epoch = store.begin_epoch(HostEnd::Stopped, at(0)).await.unwrap();
    (store, epoch)
}

pub(crate) fn daemon(id: &str) -> DaemonKey {
    DaemonKey {
        repo: "o/r".parse().unwrap(),
        id: id.parse().unwrap(),
    }
}

pub(crate) async fn register(store: &PostgresStore, ids: &[&str]) {
    let row = |id: &&str| DaemonRow {
        key: daemon(id),
        path: format!(".agents/daemons/{id}/DAEMON.md"),
        rev: "rev-1".to_owned(),
        commit: "c0ffee".to_owned(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: "[]".to_owned(),
        definition: "{}".to_owned(),
        modes: Modes::default(),
        schedule: Some(ScheduleText {
            expression: "* * * * *".to_owned(),
            zone: "UTC".to_owned(),
        }),
        gate: daemon_engine::Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: at(0),
    };
    let registration = Registration {
        repo: "o/r".parse().unwrap(),
        commit: "c0ffee".to_owned(),
        daemons: ids.iter().map(row).collect(),
        now: at(0),
        since: None,
    };
    store.register(registration).await.unwrap();
}

pub(crate) fn asked(id: &str, n: u64) -> NewTrigger {
    NewTrigger {
        daemon: daemon(id),
        rev: "rev-1".to_owned(),
        subject: None,
        trigger: Trigger {
            key: TriggerKey::Person(format!("p-{n}").into()),
            conditions: Vec::new(),
            by: None,
            occasion: None,
            recorded_at: at(0),
        },
        activation_id: ActivationId::new(n, [1; 10]),
        not_before: at(0),
        joining: Joining::Separate,
        link: None,
    }
}

/// Returns a claim whose lease lasts some seconds.
pub(crate) fn claim(owner: HostEpoch, seconds: i64) -> ClaimRequest {
    ClaimRequest {
        owner,
        now: at(1),
        lease_until: at(1) + SignedDuration::from_secs(seconds),
        host_slots: 100,
        daemon_slots: 100,
        rates: Default::default(),
        day_usd: None,
    }
}

pub(crate) fn done() -> AttemptEnd {
    AttemptEnd {
        outcome: AttemptOutcome::Done,
        at: at(2),
        jitter: 0,
        tokens: None,
        cost_usd: None,
        summary: None,
        outputs: Vec::new(),
        state: Vec::new(),
    }
}

async fn reclaimed(store: &PostgresStore, epoch: HostEpoch) -> Vec<(ActivationId, RunLease)> {
    let taken = store.reclaim(epoch, at(2)).await.unwrap();
    taken.into_iter().map(|one| (one.id, one.lease)).collect()
}

#[test]
fn the_work_of_a_paused_host_is_taken_over_and_its_late_writes_are_refused() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (paused, first) = host(&address, "paused").await;
        let (other, second) = host(&address, "other").await;
        register(&paused, &["a"]).await;
        assert!(matches!(
            paused.enqueue(asked("a", 1)).await.unwrap(),
            Admission::Enqueued(_)
        ));
        let held = paused.claim(&claim(first, 60)).await.unwrap().unwrap();
        // The start of another host, and its clock, take nothing away.
        assert_eq!(reclaimed(&other, second).await, []);
        end_leases(&address).await;
        assert_eq!(
            reclaimed(&other, second).await,
            [(held.id.clone(), held.run_lease)]
        );
        // The backoff of a host that ended is over by then.
        let later = claim(second, 60).at(at(10_000));
        let taken = other.claim(&later).await.unwrap().unwrap();
        assert_eq!(
            (taken.id.clone(), taken.run_lease, taken.owner),
            (
                held.id.clone(),
                RunLease(held.run_lease.0 + 1),
                Some(second)
            )
        );
        let lost = [
            paused
                .end_attempt(&held.id, held.run_lease, done())
                .await
                .map(drop),
            paused.put_run(run(&held), Some(held.run_lease)).await,
        ];
        assert!(
            lost.iter()
                .all(|late| matches!(late, Err(StoreError::LeaseLost))),
            "{lost:?}"
        );
        let renewed = paused
            .renew(vec![(held.id.clone(), held.run_lease)], at(1_000))
            .await;
        assert_eq!(renewed.unwrap(), [held.id]);
        other
            .end_attempt(&taken.id, taken.run_lease, done())
            .await
            .unwrap();
    });
}

/// Lets every lease end, as if the time of its length had passed.
pub(crate) async fn end_leases(address: &str) {
    with_client(address, async |client| {
        client
            .execute(
                "UPDATE activation SET lease_until = lease_until - 2 * lease_span",
                &[],
            )
            .await
            .unwrap();
    })
    .await;
}

pub(crate) fn run(activation: &Activation) -> daemon_store::RunRow {
    daemon_store::RunRow {
        id: "r-1".to_owned(),
        activation: Some(activation.id.clone()),
        daemon: Some(activation.daemon.clone()),
        attempt: 1,
        provider: "builtin".to_owned(),
        state: "running".to_owned(),
        started_at: at(1),
        finished_at: None,
        object: "{}".to_owned(),
    }
}

#[test]
fn a_lease_lasts_by_the_clock_of_the_database() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, epoch) = host(&address, "one").await;
        register(&store, &["a"]).await;
        store.enqueue(asked("a", 1)).await.unwrap();
        let held = store.claim(&claim(epoch, 3_600)).await.unwrap().unwrap();
        let left = "SELECT (lease_until - (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) / 1000000 \
                    BETWEEN 3000 AND 3600 FROM activation";
        let lasts = async || {
            with_client(&address, async |client| {
                client.query_one(left, &[]).await.unwrap().get::<_, bool>(0)
            })
            .await
        };
        assert!(lasts().await);
        end_leases(&address).await;
        assert!(!lasts().await);
        let lost = store.renew(vec![(held.id, held.run_lease)], at(5)).await;
        assert_eq!(lost.unwrap(), []);
        assert!(lasts().await);
    });
}

#[test]
fn a_host_takes_back_what_its_own_earlier_process_left_and_nothing_of_others() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (one, first) = host(&address, "one").await;
        let (two, second) = host(&address, "two").await;
        register(&one, &["a", "b"]).await;
        one.enqueue(asked("a", 1)).await.unwrap();
        two.enqueue(asked("b", 2)).await.unwrap();
        let of_one = one.claim(&claim(first, 60)).await.unwrap().unwrap();
        let of_two = two.claim(&claim(second, 60)).await.unwrap().unwrap();
        drop(one);
        let (one, third) = host(&address, "one").await;
        assert_eq!([first, second, third], [1, 2, 3].map(HostEpoch));
        assert_eq!(
            reclaimed(&one, third).await,
            [(of_one.id, of_one.run_lease)]
        );
        two.end_attempt(&of_two.id, of_two.run_lease, done())
            .await
            .unwrap();
        assert_eq!(two.epoch().await.unwrap(), second);
    });
}

#[test]
fn many_hosts_claim_each_activation_once() {
    const HOSTS: u64 = 4;
    const ACTIVATIONS: u64 = 48;
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let daemons = ["a", "b", "c", "d"];
        let (first, _) = host(&address, "first").await;
        register(&first, &daemons).await;
        for n in 0..ACTIVATIONS {
            let id = daemons[usize::try_from(n).unwrap() % daemons.len()];
            first.enqueue(asked(id, n + 1)).await.unwrap();
        }
        let mut claims = tokio::task::JoinSet::new();
        for n in 0..HOSTS {
            let (store, epoch) = host(&address, &format!("host-{n}")).await;
            let store = std::sync::Arc::new(store);
            for _ in 0..3 {
                let store = std::sync::Arc::clone(&store);
                claims.spawn(async move {
                    let mut claimed = Vec::new();
                    // Activations without a subject of one daemon run one at a time, so that each ends before the next claim.
                    while let Some(one) = store.claim(&claim(epoch, 60)).await.unwrap() {
                        store
                            .end_attempt(&one.id, one.run_lease, done())
                            .await
                            .unwrap();
                        claimed.push(one.id);
                    }
                    claimed
                });
            }
        }
        let claimed = claims.join_all().await.concat();
        let distinct: BTreeSet<_> = claimed.iter().collect();
        let left = first.counts().await.unwrap().activations;
        let left: u64 = left
            .into_iter()
            .filter(|(state, _)| !state.is_final())
            .map(|(_, n)| n)
            .sum();
        // A claim that finds every subject taken gives up, so that the last ones may be left; none is claimed twice.
        assert_eq!(
            (claimed.len(), u64::try_from(distinct.len()).unwrap() + left),
            (distinct.len(), ACTIVATIONS)
        );
    });
}

#[test]
fn many_hosts_record_each_tick_once() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (first, _) = host(&address, "first").await;
        register(&first, &["a"]).await;
        let coverage = first.coverages().await.unwrap().remove(0);
        let mut commits = tokio::task::JoinSet::new();
        for n in 0..6u64 {
            let (store, _) = host(&address, &format!("host-{n}")).await;
            let due = at(60 - 1_600_000_000 % 60);
            let commit = TickCommit {
                daemon: daemon("a"),
                coverage: coverage.number,
                from: coverage.cursor,
                to: due,
                rows: vec![TickRow::one(due, TickOutcome::Enqueued)],
                trigger: Some(NewTrigger {
                    trigger: Trigger {
                        key: TriggerKey::Tick(due),
                        ..asked("a", n).trigger
                    },
                    ..asked("a", n + 1)
                }),
                cancels: Cancels::Nothing,
                now: due,
            };
            commits.spawn(async move { store.commit_ticks(vec![commit]).await.unwrap() });
        }
        let results = commits.join_all().await.concat();
        let recorded = |result: &&TickResult| matches!(result, TickResult::Recorded(_));
        assert_eq!(results.iter().filter(recorded).count(), 1, "{results:?}");
        let counts = first.counts().await.unwrap();
        let n_activations: u64 = counts.activations.iter().map(|(_, n)| n).sum();
        assert_eq!(n_activations, 1);
    });
}

#[test]
fn the_slots_of_a_host_hold_for_claims_that_run_at_once() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let options = PostgresOptions {
            lease_clock: LeaseClock::Caller,
            ..PostgresOptions::new(server.database().await, "one")
        };
        let store = std::sync::Arc::new(PostgresStore::open(&options).await.unwrap());
        let ids: Vec<String> = (0..12).map(|n| format!("d{n}")).collect();
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        register(&store, &names).await;
        for (n, id) in (1u64..).zip(&names) {
            store.enqueue(asked(id, n)).await.unwrap();
        }
        let request = ClaimRequest {
            host_slots: 5,
            ..claim(HostEpoch(1), 60)
        };
        let mut claims = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let (store, request) = (std::sync::Arc::clone(&store), request.clone());
            claims.spawn(async move { store.claim(&request).await.unwrap() });
        }
        let claimed = claims.join_all().await.into_iter().flatten().count();
        assert_eq!(claimed, 5);
    });
}
