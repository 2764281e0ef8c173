use daemon_engine::Gate;
use daemon_event::DaemonKey;
use daemon_schedule::{Cancels, TickOutcome, TickRow};
use daemon_store::memory::MemoryStore;
use daemon_store::{
    DaemonRow, Daemons as _, Modes, Registration, ScheduleText, TickCommit, Ticks as _,
};
use jiff::SignedDuration;

use super::*;

fn daemon() -> DaemonRow {
    DaemonRow {
        key: DaemonKey {
            repo: "o/r".parse().expect("a name"),
            id: "nightly".parse().expect("an id"),
        },
        path: String::new(),
        rev: String::new(),
        commit: String::new(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: String::new(),
        definition: String::new(),
        modes: Modes::default(),
        schedule: Some(ScheduleText {
            expression: "0 3 * * *".to_owned(),
            zone: "UTC".to_owned(),
        }),
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: Timestamp::UNIX_EPOCH,
    }
}

#[tokio::test]
async fn ticks_that_did_not_run_are_warned_of_for_a_day() {
    let day = SignedDuration::from_hours(24);
    let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
    let start = now - day * 10;
    let store = MemoryStore::new();
    let daemons = vec![daemon()];
    let registration = Registration {
        repo: daemons[0].key.repo.clone(),
        commit: String::new(),
        daemons,
        now: start,
        since: None,
    };
    store.register(registration).await.unwrap();
    assert_eq!(
        ticks_check(&store, now).await,
        Check::ok("ticks", "no tick was missed within a day")
    );
    let missed = TickRow {
        first: "2026-11-11T03:00:00Z".parse().unwrap(),
        scheduled_at: "2026-11-18T03:00:00Z".parse().unwrap(),
        count: 8,
        outcome: TickOutcome::MissedWindow,
    };
    let commit = TickCommit {
        daemon: daemon().key,
        coverage: 1,
        from: start,
        to: now,
        rows: vec![missed],
        trigger: None,
        cancels: Cancels::Nothing,
        now,
    };
    store.commit_ticks(vec![commit]).await.unwrap();
    let warned = Check::warn(
        "ticks",
        "8 did not run, the newest of `o/r:nightly` at 2026-11-18T03:00:00Z",
        "daemon-run ticks --state missed_window",
    );
    assert_eq!(ticks_check(&store, now + day / 2).await, warned);
    assert_eq!(
        ticks_check(&store, now + day).await,
        Check::ok("ticks", "no tick was missed within a day")
    );
}

#[test]
fn a_clock_before_the_build_is_wrong() {
    let built = crate::built_at();
    assert_eq!(clock(built), Ok(()));
    let earlier = built - SignedDuration::from_secs(1);
    assert_eq!(
        clock(earlier),
        Err(format!("it shows {earlier}, before this program was built"))
    );
}
