//! Scenario 35, as far as it needs no store: every transition and every refusal has its entry.

use daemon_roster::{
    AuditEntry, GateChange, Idempotency, Principal, Role, RosterAnswer, RosterCommand, RosterGate,
    RosterRequest,
};
use jiff::SignedDuration;

use super::scene::{Scene, gate, id, reason};

#[test]
fn a_transition_is_audited_with_actor_states_and_reason() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let transitions = scene.audit.iter().map(|entry| {
        let from = entry.from.clone().unwrap_or_default();
        let to = entry.to.clone().unwrap_or_default();
        format!(
            "{} {} {from}>{to} {}",
            entry.actor, entry.kind, entry.reason
        )
    });
    let transitions: Vec<_> = transitions
        .map(|line| line.replace(id(&by).as_str(), "ROW"))
        .collect();
    assert_eq!(
        transitions,
        [
            "operator plan >clear garden-ops in garden",
            "operator plan clear>spawning garden-ops confirmed",
            "operator liveness >spawning garden-ops",
            "host plan spawning>spawned garden-ops",
            "daemon:ROW#1 liveness spawning>live the first check-in",
            "daemon:ROW#1 baton >1 ops of garden",
        ]
    );
    scene.go(&by);
    let expected = AuditEntry {
        at: scene.now,
        actor: Principal::Operator,
        kind: "gate",
        row: Some(id(&by)),
        from: Some("hold".to_owned()),
        to: Some("go".to_owned()),
        rule: None,
        reason: "a test".to_owned(),
        request: None,
        count: 1,
    };
    assert_eq!(scene.audit.last(), Some(&expected));
}

#[test]
fn repetitions_of_a_refusal_within_a_minute_make_one_entry() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    scene.audit.clear();
    let go = gate(&id(&by), GateChange::Go);
    let entry = |at, count| AuditEntry {
        at,
        actor: by.clone(),
        kind: "daemon_go",
        row: Some(id(&by)),
        from: None,
        to: None,
        rule: Some("self-go"),
        reason: "forbidden by the rule `self-go`".to_owned(),
        request: None,
        count,
    };
    let first = scene.now;
    for _ in 0..5 {
        scene.refused(&by, go.clone());
        scene.pass(SignedDuration::from_secs(10));
    }
    assert_eq!(std::mem::take(&mut scene.audit), [entry(first, 1)]);
    // Another refusal of the same caller is an entry of its own.
    let hold = gate(&id(&by), GateChange::Hold);
    scene.refused(&by, hold);
    assert_eq!(scene.audit.pop().and_then(|entry| entry.rule), Some("role"));
    let deadline = scene.roster.deadline(scene.now).expect("a deadline");
    assert_eq!(deadline, first + SignedDuration::from_secs(60));
    scene.lapse();
    assert_eq!(scene.audit, []);
    scene.now = deadline;
    scene.lapse();
    let last = first + SignedDuration::from_secs(40);
    assert_eq!(std::mem::take(&mut scene.audit), [entry(last, 4)]);
    // The next one is again a first.
    scene.refused(&by, go.clone());
    assert_eq!(std::mem::take(&mut scene.audit), [entry(scene.now, 1)]);
    // Without a lapse in between, a later refusal brings what was counted with it.
    scene.refused(&by, go.clone());
    let counted = scene.now;
    scene.minutes(2);
    scene.refused(&by, go);
    assert_eq!(scene.audit, [entry(counted, 1), entry(scene.now, 1)]);
}

fn keyed(scene: &mut Scene, by: &Principal, command: RosterCommand, params: u8) -> RosterRequest {
    RosterRequest {
        idempotency: Some(Idempotency {
            request: "r1".parse().expect("an id"),
            params: [params; 32],
        }),
        ..scene.request(by, command)
    }
}

#[test]
fn a_repeated_request_has_the_same_answer_and_other_parameters_conflict() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let operator = Principal::Operator;
    let go = gate(&id(&by), GateChange::Go);
    let hold = gate(&id(&by), GateChange::Hold);
    for _ in 0..2 {
        let request = keyed(&mut scene, &operator, go.clone(), 1);
        let answer = scene.send(request);
        assert_eq!(answer, Ok(RosterAnswer::Gate(RosterGate::Go)));
    }
    let request = keyed(&mut scene, &operator, hold.clone(), 2);
    let refusal = scene.send(request).expect_err("it conflicts");
    assert_eq!(refusal.code(), -32005);
    // The id is the caller's own, and it is forgotten after a day. A refusal is not kept.
    let request = keyed(
        &mut scene,
        &by,
        RosterCommand::RequestCompaction(id(&by)),
        3,
    );
    scene.send(request).expect("another caller");
    scene.pass(SignedDuration::from_hours(24) + SignedDuration::from_secs(1));
    scene.lapse();
    let request = keyed(&mut scene, &operator, hold, 2);
    scene.send(request).expect("a day later");
    let retire = RosterCommand::Retire {
        row: id(&by),
        reason: reason(),
    };
    scene.done(&operator, retire);
}
