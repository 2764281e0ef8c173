//! Daemons that wake each other, in virtual time: their chains end.

use std::collections::BTreeMap;

use daemon_engine::{
    Activation, ActivationState, AttemptEnd, AttemptOutcome, Gate, HostEpoch, Joining, Link,
    MAX_PER_ROOT, NewTrigger, Trigger,
};
use daemon_event::{ActivationId, DaemonKey, EventId, TriggerKey};
use daemon_store::memory::StoreModel;
use daemon_store::{ClaimRequest, DaemonRow, Modes, Registration, Validity};
use jiff::{SignedDuration, Timestamp};

const DAY: i64 = 24 * 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + seconds).expect("the year is in range")
}

fn daemon(id: &str) -> DaemonKey {
    DaemonKey {
        repo: "o/r".parse().expect("a valid name"),
        id: id.parse().expect("a valid id"),
    }
}

fn row(id: &str) -> DaemonRow {
    DaemonRow {
        key: daemon(id),
        path: format!(".agents/daemons/{id}/DAEMON.md"),
        rev: "rev-1".to_owned(),
        commit: "c0ffee".to_owned(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: "[]".to_owned(),
        definition: "{}".to_owned(),
        modes: Modes::default(),
        schedule: None,
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: at(0),
    }
}

/// Wakes a daemon by the `n`th event, which is about a subject of its own.
fn wake(model: &mut StoreModel, id: &str, n: u64, link: Option<Link>, now: Timestamp) {
    model.enqueue(NewTrigger {
        daemon: daemon(id),
        rev: "rev-1".to_owned(),
        subject: format!("github:o/r#{n}").parse().ok(),
        trigger: Trigger {
            key: TriggerKey::Event(EventId::new(n, [0; 10])),
            conditions: vec![0],
            by: None,
            occasion: None,
            recorded_at: now,
        },
        activation_id: ActivationId::new(n, [1; 10]),
        not_before: now,
        joining: Joining::Coalesce,
        link,
    });
}

fn claim(model: &mut StoreModel, now: Timestamp) -> Option<Activation> {
    model.claim(&ClaimRequest {
        owner: HostEpoch(1),
        now,
        lease_until: now + SignedDuration::from_secs(60),
        host_slots: 4,
        daemon_slots: 1,
        rates: Default::default(),
        day_usd: None,
    })
}

/// Lets two daemons answer every output of the other `n_answers` times for a day, and returns what they did.
fn answering(n_answers: u64, max_depth: u32) -> Vec<Activation> {
    let mut model = StoreModel::default();
    model.register(Registration {
        repo: "o/r".parse().expect("a valid name"),
        commit: "c0ffee".to_owned(),
        daemons: vec![row("ping"), row("pong")],
        since: None,
        now: at(0),
    });
    let mut n_events = 1;
    wake(&mut model, "ping", n_events, None, at(0));
    for second in (0..DAY).step_by(30) {
        let now = at(second);
        while let Some(activation) = claim(&mut model, now) {
            let end = AttemptEnd::new(AttemptOutcome::Done, now, 0);
            model
                .end_attempt(&activation.id, activation.run_lease, end)
                .expect("its lease is held");
            let other = match activation.daemon.id.as_str() {
                "ping" => "pong",
                _ => "ping",
            };
            for _ in 0..n_answers {
                n_events += 1;
                let link = activation.chain.link(max_depth);
                wake(&mut model, other, n_events, Some(link), now);
            }
        }
    }
    model.all_activations().cloned().collect()
}

fn in_state(all: &[Activation], state: ActivationState) -> Vec<&Activation> {
    all.iter().filter(|row| row.state == state).collect()
}

#[test]
fn two_daemons_that_answer_each_other_for_a_day_are_three_deep_and_then_quiet() {
    let all = answering(1, 3);
    let depths = |state| -> Vec<u32> {
        let rows = in_state(&all, state).into_iter();
        rows.map(|row| row.chain.depth).collect()
    };
    assert_eq!(depths(ActivationState::Succeeded), [0, 1, 2, 3]);
    assert_eq!(depths(ActivationState::Cancelled), [4]);
    assert_eq!(all.len(), 5);
}

#[test]
fn a_root_has_ten_activations_however_many_answers_it_gets() {
    for (n_answers, max_depth) in [(3, 3), (2, 100), (1, 100)] {
        let all = answering(n_answers, max_depth);
        let mut roots: BTreeMap<ActivationId, u64> = BTreeMap::new();
        for row in in_state(&all, ActivationState::Succeeded) {
            *roots.entry(row.chain.root.clone()).or_default() += 1;
        }
        let counts: Vec<u64> = roots.into_values().collect();
        assert_eq!(counts, [MAX_PER_ROOT], "{n_answers} answers");
        let ended = in_state(&all, ActivationState::Cancelled).len() + counts.len();
        assert!(ended > 1, "what came behind is recorded");
        assert_eq!(in_state(&all, ActivationState::Pending).len(), 0);
    }
}
