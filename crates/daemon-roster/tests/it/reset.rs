//! Scenarios 19 to 25, as far as they need no process.

use daemon_roster::{
    Baton, CheckInParams, GatedAction, Generation, HandOffGate, HandoffRef, Liveness, NewSignal,
    PacketHash, Principal, Project, ResetId, ResetState, Role, RosterAnswer, RosterCommand,
    RosterEffect, RosterGate, RowId, SignalKind, SignalStatus, WakeReason, WindDownState,
};
use jiff::SignedDuration;

use super::scene::{Scene, id, project, reason, token};

fn request(by: &Principal) -> RosterCommand {
    RosterCommand::RequestReset {
        row: id(by),
        reason: reason(),
    }
}

fn hand_off(reset: &ResetId, gate: HandOffGate) -> RosterCommand {
    RosterCommand::HandOff {
        reset: reset.clone(),
        handoff_ref: Some(handoff()),
        gate,
    }
}

fn handoff() -> HandoffRef {
    "notes/7".parse().expect("a reference")
}

fn start(reset: &ResetId) -> RosterCommand {
    // Each reset is of another project or made at another time, so that their ids make tokens that differ.
    let n = reset
        .as_str()
        .bytes()
        .fold(0u64, |acc, b| acc.wrapping_mul(31) ^ u64::from(b));
    RosterCommand::StartReset {
        reset: reset.clone(),
        token: token(n),
        charter: Some(PacketHash::of("Work.")),
    }
}

fn token_of(reset: &ResetId) -> daemon_roster::TokenHash {
    match start(reset) {
        RosterCommand::StartReset { token, .. } => token,
        _ => unreachable!("it is a start"),
    }
}

#[track_caller]
fn reset_of(answer: RosterAnswer) -> (ResetId, Option<RowId>) {
    match answer {
        RosterAnswer::Reset { reset, successor } => (reset, successor),
        other => panic!("{other:?}"),
    }
}

/// Brings a reset up to the start of the successor's process.
#[track_caller]
fn spawned(scene: &mut Scene, predecessor: &Principal) -> (ResetId, RowId) {
    let (reset, none) = reset_of(scene.done(&Principal::Operator, request(predecessor)));
    assert_eq!(none, None);
    let (_, successor) = reset_of(scene.done(&Principal::Operator, start(&reset)));
    let successor = successor.expect("a row");
    scene.started(&successor);
    (reset, successor)
}

#[track_caller]
pub(crate) fn ready(scene: &mut Scene, predecessor: &Principal) -> (ResetId, Principal) {
    let (reset, _) = spawned(scene, predecessor);
    let by = scene.roster.principal(&token_of(&reset)).expect("a token");
    scene.check_in(&by, CheckInParams::new(WakeReason::Start));
    scene.done(&by, RosterCommand::SuccessorReady(reset.clone()));
    (reset, by)
}

#[track_caller]
pub(crate) fn handed_over(scene: &mut Scene, predecessor: &Principal) -> (ResetId, Principal) {
    let (reset, successor) = ready(scene, predecessor);
    scene.done(predecessor, hand_off(&reset, HandOffGate::Keep));
    (reset, successor)
}

fn baton(scene: &Scene, of: &str, role: Role) -> Baton {
    scene.roster.tables().batons[&(project(of), role)].clone()
}

fn state(scene: &Scene, reset: &ResetId) -> ResetState {
    scene.roster.tables().resets[reset].state
}

fn held(project: Project, holder: &Principal, generation: u64) -> Baton {
    Baton {
        project,
        role: Role::Orchestrator,
        holder: Some(id(holder)),
        generation: Generation(generation),
    }
}

#[test]
fn the_five_steps_move_the_baton_with_one_holder_throughout() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let before = held(project("garden"), &old, 1);
    let holder = |scene: &Scene| baton(scene, "garden", Role::Orchestrator);
    let reset = request_twice(&mut scene, &old);
    assert_eq!(holder(&scene), before);
    let successor = start_and_report(&mut scene, &old, &reset);
    assert_eq!(holder(&scene), before);
    let charters = [&id(&old), &successor].map(|row| scene.row(row).charter);
    let given = ["Work as {{role}} of {{project}}.", "Work."];
    assert_eq!(charters, given.map(|text| Some(PacketHash::of(text))));

    let new = scene.roster.principal(&token_of(&reset)).expect("a token");
    let answer = scene.check_in(&new, CheckInParams::new(WakeReason::Start));
    assert_eq!(
        (answer.reset, answer.generation),
        (Some(ResetState::Spawned), None)
    );
    for _ in 0..2 {
        let answer = scene.done(&new, RosterCommand::SuccessorReady(reset.clone()));
        assert_eq!(reset_of(answer), (reset.clone(), Some(successor.clone())));
        assert_eq!(holder(&scene), before);
    }

    let answer = scene.done(&old, hand_off(&reset, HandOffGate::Go));
    assert_eq!(answer, RosterAnswer::Generation(Generation(2)));
    let after = held(project("garden"), &new, 2);
    assert_eq!(holder(&scene), after);
    let predecessor = scene.row(&id(&old));
    assert_eq!(
        (
            predecessor.wind_down,
            &predecessor.handoff_ref,
            &predecessor.successor
        ),
        (
            WindDownState::Ready,
            &Some(handoff()),
            &Some(successor.clone())
        )
    );
    assert_eq!(scene.row(&successor).gate, RosterGate::Go);

    retire_twice(&mut scene, &old, &new, &reset);
    assert_eq!(holder(&scene), after);
}

/// Step 1: a repetition is the same reset, and nothing is started or closed by it.
fn request_twice(scene: &mut Scene, old: &Principal) -> ResetId {
    let (reset, _) = reset_of(scene.done(old, request(old)));
    scene.effects.clear();
    let again = reset_of(scene.done(old, request(old)));
    assert_eq!(again, (reset.clone(), None));
    let queued = scene.roster.open_signals(&project("garden"));
    let queued: Vec<_> = queued.map(|it| (it.kind, it.payload.clone())).collect();
    assert_eq!(queued, [(SignalKind::Reset, reset.to_string())]);
    assert_eq!(scene.effects, []);
    reset
}

/// Step 2: until the process is reported, its order is repeated after a crash.
fn start_and_report(scene: &mut Scene, old: &Principal, reset: &ResetId) -> RowId {
    let (_, successor) = reset_of(scene.done(old, start(reset)));
    let successor = successor.expect("a row");
    let order = match scene.effects.as_slice() {
        [RosterEffect::Spawn(order)] => order.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (&order.row, &order.predecessor, order.name.as_str()),
        (&successor, &Some(id(old)), "garden-orchestrator-2")
    );
    assert_eq!(scene.row(&successor).gate, RosterGate::Hold);
    assert_eq!(scene.roster.unfinished(), [RosterEffect::Spawn(order)]);
    scene.started(&successor);
    assert_eq!(
        (state(scene, reset), scene.roster.unfinished()),
        (ResetState::Spawned, vec![])
    );
    successor
}

/// Step 5: the close is ordered again for as long as it is not confirmed; after the end nothing is closed.
fn retire_twice(scene: &mut Scene, old: &Principal, new: &Principal, reset: &ResetId) {
    let retire = RosterCommand::RetirePredecessor(reset.clone());
    let close = RosterEffect::Close(id(old));
    scene.effects.clear();
    for _ in 0..2 {
        scene.done(new, retire.clone());
        assert_eq!(scene.effects.pop(), Some(close.clone()));
    }
    assert_eq!(scene.row(&id(old)).retired_at, None);
    assert_eq!(scene.roster.unfinished(), [close]);
    scene.done(&Principal::Host, RosterCommand::ProcessClosed(id(old)));
    assert_eq!(state(scene, reset), ResetState::Retired);
    assert_eq!(scene.row(&id(old)).retired_at, Some(scene.now));
    scene.done(new, retire);
    assert_eq!(scene.effects, []);
}

#[test]
fn the_hand_over_completes_the_signals_of_the_reset_and_requeues_claims() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let (reset, _) = ready(&mut scene, &old);
    let report = NewSignal {
        kind: SignalKind::Report,
        project: Some(project("garden")),
        target: None,
        dedupe_key: None,
        priority: NewSignal::DEFAULT_PRIORITY,
        payload: String::new(),
        reference: None,
    };
    let queued = scene.done(&Principal::Operator, RosterCommand::Enqueue(report));
    let RosterAnswer::Queued { signal, .. } = queued else {
        panic!("{queued:?}");
    };
    let claimed = scene.done(&old, RosterCommand::Claim(signal.clone()));
    let RosterAnswer::Claimed { token, .. } = claimed else {
        panic!("{claimed:?}");
    };
    scene.done(&old, hand_off(&reset, HandOffGate::Keep));
    let signals = scene.roster.tables().signals.values();
    let signals: Vec<_> = signals
        .map(|it| (it.kind, it.status, it.attempts))
        .collect();
    assert_eq!(
        signals,
        [
            (SignalKind::Reset, SignalStatus::Completed, 1),
            (SignalKind::Report, SignalStatus::Pending, 1)
        ]
    );
    let complete = RosterCommand::Complete {
        signal,
        token,
        result: None,
    };
    assert_eq!(scene.refused(&old, complete), (-32032, "fenced"));
}

#[test]
fn steps_out_of_order_are_refused() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let (reset, successor) = spawned(&mut scene, &old);
    let new = scene.roster.principal(&token_of(&reset)).expect("a token");
    let is_ready = RosterCommand::SuccessorReady(reset.clone());
    let retire = RosterCommand::RetirePredecessor(reset.clone());
    // Step 3 before the check-in.
    assert_eq!(scene.refused(&new, is_ready.clone()), (-32033, "not-ready"));
    assert_eq!(scene.refused(&old, is_ready.clone()), (-32003, "role"));
    // Step 4 before 3, step 5 before 4.
    let keep = hand_off(&reset, HandOffGate::Keep);
    assert_eq!(scene.refused(&old, keep.clone()).0, -32030);
    assert_eq!(scene.refused(&new, retire.clone()).0, -32030);
    scene.check_in(&new, CheckInParams::new(WakeReason::Start));
    scene.done(&new, is_ready);
    assert_eq!(scene.refused(&new, retire.clone()).0, -32030);
    assert_eq!(scene.refused(&Principal::Operator, retire).0, -32030);
    assert_eq!(scene.refused(&old, start(&reset)).0, -32030);
    // No other daemon takes the baton, and the successor opens no gate.
    let ops = scene.spawn("garden", Role::Ops);
    assert_eq!(scene.refused(&ops, keep.clone()), (-32003, "role"));
    assert_eq!(scene.refused(&new, keep), (-32033, "not-ready"));
    let retired = scene.row(&successor).retired_at;
    assert_eq!((state(&scene, &reset), retired), (ResetState::Ready, None));
}

#[test]
fn a_predecessor_on_hold_hands_over_but_opens_no_gate_and_requests_no_reset() {
    let mut scene = Scene::new();
    let old = scene.spawn("garden", Role::Orchestrator);
    assert_eq!(scene.refused(&old, request(&old)), (-32031, "held"));
    let (reset, new) = ready(&mut scene, &old);
    let go = hand_off(&reset, HandOffGate::Go);
    assert_eq!(scene.refused(&old, go), (-32003, "role"));
    scene.done(&old, hand_off(&reset, HandOffGate::Keep));
    assert_eq!(scene.row(&id(&new)).gate, RosterGate::Hold);
}

#[test]
fn a_silent_predecessor_is_succeeded_and_its_later_acts_are_fenced() {
    // The predecessor is stale, or it is live and ten minutes have passed since the successor was ready.
    for is_stale in [true, false] {
        let mut scene = Scene::new();
        let old = scene.spawn_on_go("garden", Role::Orchestrator);
        // Stale before the ten minutes are over.
        let quiet = if is_stale { 11 } else { 0 };
        scene.minutes(quiet);
        let (reset, new) = ready(&mut scene, &old);
        scene.minutes(9);
        let keep = hand_off(&reset, HandOffGate::Keep);
        assert_eq!(scene.refused(&new, keep.clone()), (-32033, "not-ready"));
        scene.pass(SignedDuration::from_secs(if is_stale { 1 } else { 60 }));
        scene.tick(&new);
        assert_eq!(scene.state(&id(&old)) == Liveness::Stale, is_stale);
        let go = hand_off(&reset, HandOffGate::Go);
        assert_eq!(scene.refused(&new, go), (-32003, "self-go"));
        let answer = scene.done(&new, keep);
        assert_eq!(answer, RosterAnswer::Generation(Generation(2)));
        scene.tick(&old);
        for action in [
            GatedAction::Merge,
            GatedAction::Dispatch,
            GatedAction::Spawn,
        ] {
            let merge = RosterCommand::Authorize(action);
            assert_eq!(scene.refused(&old, merge), (-32032, "fenced"));
        }
        assert_eq!(scene.refused(&old, request(&old)), (-32032, "fenced"));
        scene.go(&new);
        let merge = RosterCommand::Authorize(GatedAction::Merge);
        let answer = scene.done(&new, merge);
        assert_eq!(answer, RosterAnswer::Generation(Generation(2)));
    }
}

#[test]
fn a_successor_that_never_checks_in_fails_the_reset() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let (reset, successor) = spawned(&mut scene, &old);
    scene.minutes(5);
    scene.tick(&old);
    let deadline = scene.roster.deadline(scene.now).expect("a deadline");
    assert_eq!(deadline, scene.now + SignedDuration::from_mins(5));
    scene.now = deadline;
    scene.effects.clear();
    scene.lapse();
    assert_eq!(state(&scene, &reset), ResetState::Failed);
    assert_eq!(scene.effects, [RosterEffect::Close(successor.clone())]);
    assert_eq!(scene.state(&successor), Liveness::Dead);
    assert_eq!(scene.state(&id(&old)), Liveness::Live);
    let expected = held(project("garden"), &old, 1);
    assert_eq!(baton(&scene, "garden", Role::Orchestrator), expected);
    assert_eq!(scene.roster.open_signals(&project("garden")).count(), 0);
    // It can be tried again.
    let (again, _) = handed_over(&mut scene, &old);
    assert_ne!(again, reset);
}

#[test]
fn a_reset_is_cancelled_until_the_baton_has_moved() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let ops = scene.spawn_on_go("garden", Role::Ops);
    let (reset, new) = ready(&mut scene, &old);
    let cancel = |reset: &ResetId| RosterCommand::CancelReset(reset.clone());
    assert_eq!(scene.refused(&ops, cancel(&reset)), (-32003, "role"));
    assert_eq!(scene.refused(&new, cancel(&reset)), (-32003, "role"));
    scene.done(&Principal::Operator, cancel(&reset));
    assert_eq!(state(&scene, &reset), ResetState::Cancelled);
    assert_eq!(scene.row(&id(&new)).retired_at, Some(scene.now));
    // The requester cancels what was not started.
    let (own, _) = reset_of(scene.done(&old, request(&old)));
    scene.done(&old, cancel(&own));
    let (late, _) = handed_over(&mut scene, &old);
    assert_eq!(scene.refused(&Principal::Operator, cancel(&late)).0, -32030);
}

#[test]
fn a_process_that_starts_after_its_reset_was_cancelled_is_closed() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let (reset, _) = reset_of(scene.done(&old, request(&old)));
    let (_, successor) = reset_of(scene.done(&old, start(&reset)));
    let successor = successor.expect("a row");
    scene.done(&Principal::Operator, RosterCommand::CancelReset(reset));
    scene.effects.clear();
    scene.started(&successor);
    assert_eq!(scene.effects, [RosterEffect::Close(successor.clone())]);
    assert_eq!(scene.roster.unfinished(), [RosterEffect::Close(successor)]);
}

#[test]
fn a_role_has_one_open_reset_and_only_its_holder_is_reset() {
    let mut scene = Scene::new();
    let old = scene.spawn_on_go("garden", Role::Orchestrator);
    let other = scene.register("garden", Role::Orchestrator, "digger");
    let refused = scene.refused(&Principal::Operator, request(&other));
    assert_eq!(refused, (-32005, "conflict"));
    let (reset, new) = handed_over(&mut scene, &old);
    let refused = scene.refused(&Principal::Operator, request(&new));
    assert_eq!(refused, (-32005, "conflict"));
    scene.done(&new, RosterCommand::RetirePredecessor(reset));
    scene.done(&Principal::Host, RosterCommand::ProcessClosed(id(&old)));
    scene.done(&Principal::Operator, request(&new));
}

#[test]
fn two_projects_are_reset_at_once() {
    let mut scene = Scene::new();
    let olds = ["garden", "orchard"].map(|of| scene.spawn_on_go(of, Role::Orchestrator));
    let readied = [0, 1].map(|n| ready(&mut scene, &olds[n]));
    for (n, (reset, new)) in readied.iter().enumerate() {
        let foreign = &readied[1 - n].1;
        let keep = hand_off(reset, HandOffGate::Keep);
        assert_eq!(scene.refused(foreign, keep.clone()), (-32003, "role"));
        scene.done(&olds[n], keep);
        scene.done(new, RosterCommand::RetirePredecessor(reset.clone()));
    }
    for (n, (reset, new)) in readied.iter().enumerate() {
        scene.done(&Principal::Host, RosterCommand::ProcessClosed(id(&olds[n])));
        assert_eq!(state(&scene, reset), ResetState::Retired);
        let of = ["garden", "orchard"][n];
        let expected = held(project(of), new, 2);
        assert_eq!(baton(&scene, of, Role::Orchestrator), expected);
    }
}

#[test]
fn a_predecessor_that_is_gone_is_retired_and_leaves_no_signal() {
    for is_early in [true, false] {
        let mut scene = Scene::new();
        let old = scene.spawn_on_go("garden", Role::Orchestrator);
        let gone = RosterCommand::ProcessClosed(id(&old));
        if is_early {
            scene.done(&Principal::Host, gone.clone());
        }
        let (reset, new) = ready(&mut scene, &old);
        scene.done(
            &Principal::Operator,
            RosterCommand::Poke {
                row: id(&old),
                line: "wake up".to_owned(),
            },
        );
        scene.minutes(41);
        scene.tick(&new);
        assert_eq!(scene.state(&id(&old)), Liveness::Dead);
        scene.done(&new, hand_off(&reset, HandOffGate::Keep));
        scene.done(&new, RosterCommand::RetirePredecessor(reset.clone()));
        scene.done(&Principal::Host, gone);
        assert_eq!(state(&scene, &reset), ResetState::Retired);
        assert_eq!(scene.roster.open_signals(&project("garden")).count(), 0);
        let successor = scene.row(&id(&new));
        assert_eq!(
            (successor.retired_at, scene.state(&id(&new))),
            (None, Liveness::Live)
        );
    }
}
