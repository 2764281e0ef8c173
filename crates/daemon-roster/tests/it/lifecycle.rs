//! Scenarios 18 and 27: compaction and wind-down.

use daemon_roster::{
    Blocker, HandoffRef, Liveness, Principal, Role, RosterAnswer, RosterCommand, RosterEffect,
    RosterRefusal, WindDownState,
};

use super::reset::{handed_over, ready};
use super::scene::{Scene, id, project, reason};

fn handoff() -> HandoffRef {
    "notes/42".parse().expect("a reference")
}

fn request(by: &Principal) -> RosterCommand {
    RosterCommand::RequestWindDown {
        row: id(by),
        reason: reason(),
    }
}

fn retire(by: &Principal) -> RosterCommand {
    RosterCommand::Retire {
        row: id(by),
        reason: reason(),
    }
}

#[test]
fn compaction_is_cleared_by_the_daemon_or_its_successor() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn_on_go("garden", Role::Orchestrator);
    let [ops, refine] = [Role::Ops, Role::Refine].map(|role| scene.spawn("garden", role));
    let needed = RosterCommand::RequestCompaction(id(&ops));
    assert_eq!(scene.refused(&refine, needed.clone()), (-32003, "role"));
    for by in [&ops, &orchestrator, &Principal::Operator] {
        let n_entries = scene.audit.len();
        for _ in 0..2 {
            let answer = scene.done(by, needed.clone());
            assert_eq!(answer, RosterAnswer::Compaction(true));
        }
        // The repetition changed nothing.
        assert_eq!(scene.audit.len(), n_entries + 1);
        let of_ops = RosterCommand::CompactionDone(Some(id(&ops)));
        assert_eq!(scene.refused(&refine, of_ops), (-32003, "role"));
        let answer = scene.done(&ops, RosterCommand::CompactionDone(None));
        assert_eq!(answer, RosterAnswer::Compaction(false));
        assert!(!scene.row(&id(&ops)).needs_compaction);
    }
    scene.done(
        &Principal::Operator,
        RosterCommand::RequestCompaction(id(&orchestrator)),
    );
    let (_, successor) = handed_over(&mut scene, &orchestrator);
    let done = RosterCommand::CompactionDone(Some(id(&orchestrator)));
    assert_eq!(
        scene.done(&successor, done),
        RosterAnswer::Compaction(false)
    );
}

#[test]
fn a_wind_down_prepares_at_the_next_check_in_and_is_ready_with_a_handoff() {
    let mut scene = Scene::new();
    let ops = scene.spawn("garden", Role::Ops);
    let finish = RosterCommand::WindDownReady(handoff());
    assert_eq!(scene.refused(&ops, finish.clone()).0, -32030);
    assert_eq!(scene.refused(&ops, request(&ops)), (-32003, "role"));
    let answer = scene.done(&Principal::Operator, request(&ops));
    assert_eq!(answer, RosterAnswer::WindDown(WindDownState::Requested));
    assert_eq!(scene.refused(&Principal::Operator, request(&ops)).0, -32030);
    assert_eq!(scene.tick(&ops).wind_down, WindDownState::Preparing);
    let answer = scene.done(&ops, finish);
    assert_eq!(answer, RosterAnswer::WindDown(WindDownState::Ready));
    assert_eq!(scene.row(&id(&ops)).handoff_ref, Some(handoff()));
    // A wind-down without a handoff cannot be expressed.
    "".parse::<HandoffRef>().expect_err("an empty reference");
    let cancel = RosterCommand::CancelWindDown {
        row: id(&ops),
        reason: reason(),
    };
    assert_eq!(scene.refused(&ops, cancel.clone()), (-32003, "role"));
    let answer = scene.done(&Principal::Operator, cancel.clone());
    assert_eq!(answer, RosterAnswer::WindDown(WindDownState::None));
    assert_eq!(scene.refused(&Principal::Operator, cancel).0, -32030);
}

#[test]
fn the_orchestrator_retires_a_daemon_only_after_it_is_ready() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn_on_go("garden", Role::Orchestrator);
    let ops = scene.spawn("garden", Role::Ops);
    let row = id(&ops);
    let blocker = Blocker::NotWoundDown {
        row: row.clone(),
        liveness: Liveness::Live,
    };
    let refusal = scene.ask(&orchestrator, retire(&ops));
    let blockers = vec![blocker];
    assert_eq!(refusal, Err(RosterRefusal::NotReady { blockers }));
    scene.done(&orchestrator, request(&ops));
    scene.done(&ops, RosterCommand::WindDownReady(handoff()));
    scene.effects.clear();
    let answer = scene.done(&orchestrator, retire(&ops));
    assert_eq!(answer, RosterAnswer::Retired(row.clone()));
    assert_eq!(scene.effects, [RosterEffect::Close(row.clone())]);
    let retired = scene.row(&row);
    assert_eq!(
        (retired.wind_down, retired.retired_at, scene.state(&row)),
        (WindDownState::Closed, Some(scene.now), Liveness::Dead)
    );
    // Until the process is known to be closed, a restart closes it.
    assert_eq!(
        scene.roster.unfinished(),
        [RosterEffect::Close(row.clone())]
    );
    scene.done(&Principal::Host, RosterCommand::ProcessClosed(row.clone()));
    assert_eq!(scene.roster.unfinished(), []);
    assert_eq!(scene.refused(&orchestrator, retire(&ops)).0, -32034);
    let batons = &scene.roster.tables().batons;
    assert_eq!(batons[&(project("garden"), Role::Ops)].holder, None);
}

#[test]
fn an_orchestrators_wind_down_is_blocked_by_every_daemon_that_is_up() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn_on_go("garden", Role::Orchestrator);
    let ops = scene.spawn("garden", Role::Ops);
    let (refine, _) = scene.start("garden", Role::Refine);
    scene.spawn("orchard", Role::Ops);
    scene.minutes(41);
    scene.tick(&orchestrator);
    scene.done(&Principal::Operator, request(&orchestrator));
    scene.tick(&orchestrator);
    let up = |row, liveness| Blocker::NotWoundDown { row, liveness };
    let blockers = vec![
        up(id(&ops), Liveness::Dead),
        up(refine.clone(), Liveness::Spawning),
    ];
    let finish = RosterCommand::WindDownReady(handoff());
    let refusal = scene.ask(&orchestrator, finish.clone());
    assert_eq!(
        refusal,
        Err(RosterRefusal::NotReady {
            blockers: blockers.clone()
        })
    );
    let asked = RosterCommand::SubordinatesReady(project("garden"));
    for by in [&orchestrator, &Principal::Operator] {
        let answer = scene.done(by, asked.clone());
        let blockers = blockers.clone();
        assert_eq!(answer, RosterAnswer::Subordinates { blockers });
    }
    let elsewhere = RosterCommand::SubordinatesReady(project("orchard"));
    assert_eq!(
        scene.refused(&orchestrator, elsewhere),
        (-32003, "other-project")
    );
    scene.done(&Principal::Operator, retire(&ops));
    let row = refine;
    scene.done(
        &Principal::Operator,
        RosterCommand::Retire {
            row,
            reason: reason(),
        },
    );
    let answer = scene.done(&orchestrator, finish);
    assert_eq!(answer, RosterAnswer::WindDown(WindDownState::Ready));
}

#[test]
fn a_daemon_that_takes_part_in_a_reset_is_not_retired() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn_on_go("garden", Role::Orchestrator);
    let (_, successor) = ready(&mut scene, &orchestrator);
    for by in [&orchestrator, &successor] {
        let refusal = scene.ask(&Principal::Operator, retire(by));
        let blockers = vec![Blocker::ResetOpen];
        assert_eq!(refusal, Err(RosterRefusal::NotReady { blockers }));
    }
}
