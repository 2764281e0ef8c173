//! Scenarios 13 to 17: signals and interjections.

use daemon_roster::{
    CheckInParams, ClaimToken, DedupeKey, Interjection, InterjectionTarget, NewSignal, Principal,
    Role, RosterAnswer, RosterCommand, RosterEffect, RosterRefusal, SignalId, SignalKind,
    SignalStatus, WakeReason,
};
use jiff::SignedDuration;

use super::scene::{Scene, gate, id, project};

fn new(kind: SignalKind, payload: &str) -> NewSignal {
    NewSignal {
        kind,
        project: Some(project("garden")),
        target: None,
        dedupe_key: None,
        priority: NewSignal::DEFAULT_PRIORITY,
        payload: payload.to_owned(),
        reference: None,
    }
}

#[track_caller]
fn enqueue(scene: &mut Scene, signal: NewSignal) -> SignalId {
    match scene.done(&Principal::Operator, RosterCommand::Enqueue(signal)) {
        RosterAnswer::Queued {
            signal,
            existing: false,
        } => signal,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn claim(scene: &mut Scene, by: &Principal, signal: &SignalId) -> ClaimToken {
    match scene.done(by, RosterCommand::Claim(signal.clone())) {
        RosterAnswer::Claimed { token, lease_until } => {
            assert_eq!(lease_until, scene.now + SignedDuration::from_mins(15));
            token
        }
        other => panic!("{other:?}"),
    }
}

fn status(scene: &Scene, signal: &SignalId) -> (SignalStatus, u32) {
    let signal = &scene.roster.tables().signals[signal];
    (signal.status, signal.attempts)
}

fn complete(signal: &SignalId, token: &ClaimToken) -> RosterCommand {
    RosterCommand::Complete {
        signal: signal.clone(),
        token: token.clone(),
        result: Some("done".to_owned()),
    }
}

fn fail(signal: &SignalId, token: &ClaimToken) -> RosterCommand {
    RosterCommand::Fail {
        signal: signal.clone(),
        token: token.clone(),
        error: "impossible".to_owned(),
    }
}

#[test]
fn of_twenty_concurrent_claims_one_wins() {
    let mut scene = Scene::new();
    let by = scene.spawn_on_go("garden", Role::Orchestrator);
    let signal = enqueue(&mut scene, new(SignalKind::Feedback, "a"));
    let answers: Vec<_> = (0..20)
        .map(|_| scene.ask(&by, RosterCommand::Claim(signal.clone())))
        .collect();
    let winners = answers.iter().filter(|answer| answer.is_ok()).count();
    let codes = answers.iter().filter_map(|answer| answer.as_ref().err());
    assert_eq!(winners, 1);
    assert!(codes.map(RosterRefusal::code).all(|code| code == -32030));
}

#[test]
fn signals_are_drained_by_priority_and_then_by_age() {
    let mut scene = Scene::new();
    let by = scene.spawn_on_go("garden", Role::Orchestrator);
    let mut urgent = new(SignalKind::Nudge, "c");
    urgent.priority = 1;
    let [a, b] = ["a", "b"].map(|payload| enqueue(&mut scene, new(SignalKind::Report, payload)));
    let c = enqueue(&mut scene, urgent);
    let order: Vec<_> = scene.roster.open_signals(&project("garden")).collect();
    let order: Vec<_> = order.into_iter().map(|signal| &signal.id).collect();
    assert_eq!(order, [&c, &a, &b]);
    assert_eq!(scene.tick(&by).pending_signals, 3);
    claim(&mut scene, &by, &c);
    assert_eq!(scene.tick(&by).pending_signals, 2);
}

#[test]
fn a_signal_is_claimed_by_its_target_or_the_orchestrator_on_go() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn("garden", Role::Orchestrator);
    let ops = scene.spawn("garden", Role::Ops);
    let foreign = scene.spawn_on_go("orchard", Role::Orchestrator);
    let mut targeted = new(SignalKind::Nudge, "for ops");
    targeted.target = Some(id(&ops));
    let [general, targeted] =
        [new(SignalKind::Nudge, "for all"), targeted].map(|signal| enqueue(&mut scene, signal));
    let command = |signal: &SignalId| RosterCommand::Claim(signal.clone());
    let refused = [
        (&orchestrator, &general, (-32031, "held")),
        (&ops, &targeted, (-32031, "held")),
        (&ops, &general, (-32003, "role")),
        (&foreign, &general, (-32003, "other-project")),
        (&Principal::Operator, &general, (-32003, "role")),
    ];
    for (by, signal, expected) in refused {
        assert_eq!(scene.refused(by, command(signal)), expected);
    }
    scene.go(&ops);
    claim(&mut scene, &ops, &targeted);
    scene.go(&orchestrator);
    claim(&mut scene, &orchestrator, &general);
}

#[test]
fn a_foreign_token_is_refused_and_the_right_one_has_one_answer() {
    let mut scene = Scene::new();
    let by = scene.spawn_on_go("garden", Role::Orchestrator);
    let [a, b] = ["a", "b"].map(|payload| enqueue(&mut scene, new(SignalKind::Report, payload)));
    let [token, other] = [&a, &b].map(|signal| claim(&mut scene, &by, signal));
    let foreign = scene.refused(&by, complete(&a, &other));
    assert_eq!(foreign, (-32030, "illegal-transition"));
    assert_eq!(status(&scene, &a), (SignalStatus::Claimed, 1));
    for _ in 0..2 {
        let answer = scene.done(&by, complete(&a, &token));
        assert_eq!(answer, RosterAnswer::Signal(a.clone()));
    }
    assert_eq!(
        scene.roster.tables().signals[&a].result.as_deref(),
        Some("done")
    );
    // A completed signal cannot fail, and the reverse.
    assert_eq!(scene.refused(&by, fail(&a, &token)).0, -32030);
    for _ in 0..2 {
        scene.done(&by, fail(&b, &other));
    }
    assert_eq!(scene.refused(&by, complete(&b, &other)).0, -32030);
    assert_eq!(status(&scene, &b), (SignalStatus::Failed, 1));
}

#[test]
fn a_claim_expires_unless_check_ins_renew_it_and_the_fifth_is_the_last() {
    let mut scene = Scene::new();
    let by = scene.spawn_on_go("garden", Role::Orchestrator);
    let signal = enqueue(&mut scene, new(SignalKind::Report, "a"));
    let token = claim(&mut scene, &by, &signal);
    for _ in 0..3 {
        scene.minutes(14);
        scene.tick(&by);
        scene.lapse();
        assert_eq!(status(&scene, &signal), (SignalStatus::Claimed, 1));
    }
    scene.minutes(15);
    scene.lapse();
    assert_eq!(status(&scene, &signal), (SignalStatus::Pending, 2));
    // The old claim cannot complete it any more.
    assert_eq!(scene.refused(&by, complete(&signal, &token)).0, -32030);
    for attempts in 3..=6 {
        scene.tick(&by);
        claim(&mut scene, &by, &signal);
        let deadline = scene.roster.deadline(scene.now).expect("a deadline");
        assert!(deadline <= scene.now + SignedDuration::from_mins(15));
        scene.minutes(15);
        scene.lapse();
        let expected = if attempts <= 5 {
            SignalStatus::Pending
        } else {
            SignalStatus::Failed
        };
        assert_eq!(status(&scene, &signal), (expected, attempts));
    }
    let error = scene.roster.tables().signals[&signal].error.as_deref();
    assert_eq!(error, Some("dead-letter"));
}

#[test]
fn a_pending_signal_with_an_equal_key_is_returned_again() {
    let mut scene = Scene::new();
    let ops = scene.spawn("garden", Role::Ops);
    let row = id(&ops);
    let poke = |line: &str| RosterCommand::Poke {
        row: row.clone(),
        line: line.to_owned(),
    };
    let queued = |answer| match answer {
        RosterAnswer::Queued { signal, existing } => (signal, existing),
        other => panic!("{other:?}"),
    };
    let (first, existing) = queued(scene.done(&Principal::Operator, poke("wake up")));
    assert!(!existing);
    let again = queued(scene.done(&Principal::Operator, poke("wake up")));
    assert_eq!(again, (first.clone(), true));
    let (other, existing) = queued(scene.done(&Principal::Operator, poke("please")));
    assert_eq!((other == first, existing), (false, false));
    // Once it is claimed, an equal one is new.
    scene.go(&ops);
    claim(&mut scene, &ops, &first);
    let (later, existing) = queued(scene.done(&Principal::Operator, poke("wake up")));
    assert_eq!((later == first, existing), (false, false));
    // Without a key, feedback is never dropped; with one, the kind, target and key have to be equal.
    for _ in 0..2 {
        enqueue(&mut scene, new(SignalKind::Feedback, "a"));
    }
    let key: DedupeKey = "k".parse().expect("a key");
    let keyed = |kind| NewSignal {
        dedupe_key: Some(key.clone()),
        ..new(kind, "a")
    };
    enqueue(&mut scene, keyed(SignalKind::Feedback));
    enqueue(&mut scene, keyed(SignalKind::Report));
}

#[test]
fn the_requester_and_the_operator_cancel_a_signal() {
    let mut scene = Scene::new();
    let [ops, refine] = [Role::Ops, Role::Refine].map(|role| scene.spawn("garden", role));
    let report = RosterCommand::ReportBlocked {
        tool: "timer".to_owned(),
        error: "denied".to_owned(),
    };
    let RosterAnswer::Queued { signal, .. } = scene.done(&ops, report) else {
        panic!("not queued");
    };
    let stored = &scene.roster.tables().signals[&signal];
    assert_eq!(
        (stored.kind, stored.payload.as_str(), &stored.requested_by),
        (
            SignalKind::Report,
            "the tool `timer` is blocked: denied",
            &ops
        )
    );
    let cancel = RosterCommand::CancelSignal(signal.clone());
    assert_eq!(scene.refused(&refine, cancel.clone()), (-32003, "role"));
    scene.done(&ops, cancel.clone());
    assert_eq!(status(&scene, &signal).0, SignalStatus::Cancelled);
    assert_eq!(scene.refused(&Principal::Operator, cancel).0, -32030);
    let other = enqueue(&mut scene, new(SignalKind::Report, "a"));
    scene.done(&Principal::Operator, RosterCommand::CancelSignal(other));
}

#[test]
fn an_interjection_is_one_short_line_to_a_live_daemon_after_a_delay() {
    let mut scene = Scene::new();
    let ops = scene.spawn("garden", Role::Ops);
    let orchestrator = scene.spawn("garden", Role::Orchestrator);
    let foreign = scene.spawn("orchard", Role::Ops);
    scene.effects.clear();
    let to = |target, line: &str, delay_ms| {
        RosterCommand::Interject(Interjection {
            target,
            line: line.to_owned(),
            delay_ms,
        })
    };
    let ops_row = || InterjectionTarget::Row(id(&ops));
    let long = "é".repeat(241);
    let bad = [
        ("stop", Some(0)),
        ("stop", Some(-1)),
        ("stop", Some(60_001)),
        ("one\ntwo", None),
        ("one\u{2028}two", None),
        (long.as_str(), None),
        (" ", None),
    ];
    for (line, delay) in bad {
        let refused = scene.refused(&Principal::Operator, to(ops_row(), line, delay));
        assert_eq!(refused, (-32602, "invalid-params"), "{line:?} {delay:?}");
    }
    let refused = scene.refused(&foreign, to(ops_row(), "stop", None));
    assert_eq!(refused, (-32003, "other-project"));
    assert_eq!(scene.effects, []);
    let accepted = [(&long[..480], Some(1), 1), ("stop", None, 1_000)];
    for (line, delay, millis) in accepted {
        let at = scene.now + SignedDuration::from_millis(millis);
        let answer = scene.done(&orchestrator, to(ops_row(), line, delay));
        assert_eq!(answer, RosterAnswer::At(at));
        let said = RosterEffect::Say {
            row: id(&ops),
            line: line.to_owned(),
            at,
        };
        assert_eq!(std::mem::take(&mut scene.effects), [said]);
    }
    // The role is the holder of its baton; a stale one is not reached.
    let role = || InterjectionTarget::Orchestrator(None);
    scene.done(&ops, to(role(), "stop", None));
    scene.minutes(21);
    scene.tick(&ops);
    assert_eq!(
        scene.refused(&ops, to(role(), "stop", None)),
        (-32033, "not-ready")
    );
    // The other project has no holder.
    let refused = scene.refused(&foreign, to(role(), "stop", None));
    assert_eq!(refused, (-32033, "not-ready"));
}

#[test]
fn a_held_daemon_still_reports_and_checks_in() {
    let mut scene = Scene::new();
    let ops = scene.spawn_on_go("garden", Role::Ops);
    let row = id(&ops);
    scene.done(
        &Principal::Operator,
        gate(&row, daemon_roster::GateChange::Hold),
    );
    scene.check_in(&ops, CheckInParams::new(WakeReason::Tick));
    scene.done(&ops, RosterCommand::Enqueue(new(SignalKind::Report, "a")));
}
