//! Scenarios 2 and 9, and how incarnations are fenced.

use daemon_roster::{
    CheckInParams, CheckedIn, Evaluation, Generation, Incarnation, LivenessReason, Principal,
    ResetState, Role, RosterCommand, RosterGate, RowId, RowKind, WakeReason, WindDownState,
};
use jiff::SignedDuration;

use super::scene::{Scene, id, project, reason, token};

fn ids(process: &str, session: &str, wake: WakeReason) -> CheckInParams {
    CheckInParams {
        process: Some(process.parse().expect("an id")),
        session: Some(session.parse().expect("an id")),
        ..CheckInParams::new(wake)
    }
}

fn named(actor_ref: &str, wake: WakeReason) -> CheckInParams {
    CheckInParams {
        project: Some(project("garden")),
        actor_ref: Some(actor_ref.parse().expect("a reference")),
        ..CheckInParams::new(wake)
    }
}

#[test]
fn the_first_check_in_upgrades_the_expected_row() {
    let mut scene = Scene::new();
    let (row, token) = scene.start("garden", Role::Orchestrator);
    let by = scene.roster.principal(&token).expect("a known token");
    let answer = scene.check_in(&by, CheckInParams::new(WakeReason::Start));
    assert_eq!(
        answer,
        CheckedIn {
            row: row.clone(),
            incarnation: Incarnation::FIRST,
            gate: RosterGate::Hold,
            generation: Some(Generation(1)),
            wind_down: WindDownState::None,
            reset: None,
            needs_compaction: false,
            pending_signals: 0,
            next_due_at: scene.now + SignedDuration::from_mins(13),
        }
    );
    assert_eq!(scene.roster.tables().rows.len(), 1);
}

#[test]
fn a_nonce_upgrades_the_expected_row_and_a_name_does_not() {
    let mut scene = Scene::new();
    let (row, _) = scene.start("garden", Role::Ops);
    let nonce = scene
        .row(&row)
        .spawn
        .as_ref()
        .expect("a spawn")
        .nonce
        .clone();
    // The name of a spawned daemon can be guessed.
    let command = RosterCommand::CheckIn(named("garden-ops", WakeReason::Start));
    assert_eq!(
        scene.refused(&Principal::Unregistered, command),
        (-32003, "role")
    );
    let by_nonce = CheckInParams {
        nonce: Some(nonce),
        ..CheckInParams::new(WakeReason::Start)
    };
    let answer = scene.check_in(&Principal::Unregistered, by_nonce);
    assert_eq!((answer.row, scene.roster.tables().rows.len()), (row, 1));
    let unknown = CheckInParams {
        nonce: Some("01KB46Y5M00000000000000000".parse().expect("a nonce")),
        ..CheckInParams::new(WakeReason::Start)
    };
    assert_eq!(
        scene.refused(&Principal::Unregistered, RosterCommand::CheckIn(unknown)),
        (-32004, "not-found")
    );
}

#[test]
fn an_agent_without_a_row_registers_on_hold_and_gets_no_baton() {
    let mut scene = Scene::new();
    let by = scene.register("garden", Role::Orchestrator, "digger");
    let row = scene.row(&id(&by));
    assert_eq!(
        (row.kind, row.gate, row.generation, row.name.as_str()),
        (RowKind::Standing, RosterGate::Hold, None, "digger")
    );
    assert!(scene.roster.tables().batons.is_empty());
    // The same reference is the same row, in its project.
    let again = scene.register("garden", Role::Orchestrator, "digger");
    let elsewhere = scene.register("orchard", Role::Orchestrator, "digger");
    assert_eq!((&again, id(&elsewhere) == id(&by)), (&by, false));
    let nothing = CheckInParams::new(WakeReason::Start);
    let unknown = CheckInParams {
        project: Some(project("moon")),
        ..named("digger", WakeReason::Start)
    };
    for (params, code) in [(nothing, -32602), (unknown, -32004)] {
        let (found, _) = scene.refused(&Principal::Unregistered, RosterCommand::CheckIn(params));
        assert_eq!(found, code);
    }
}

#[test]
fn a_poke_counts_as_a_wake_and_absent_ids_keep_the_known_ones() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let mut params = ids("17", "s1", WakeReason::Start);
    params.context_tokens = Some(100);
    params.context_limit = Some(1_000);
    scene.check_in(&by, params);
    scene.minutes(10);
    scene.check_in(&by, CheckInParams::new(WakeReason::Poke));
    let row = scene.row(&id(&by));
    let known = |text: &str| Some(text.to_owned());
    assert_eq!(
        (
            row.last_checkin_at,
            row.process.as_ref().map(ToString::to_string),
            row.session.as_ref().map(ToString::to_string),
            row.context_tokens,
            row.context_limit,
            row.incarnation,
        ),
        (
            Some(scene.now),
            known("17"),
            known("s1"),
            Some(100),
            Some(1_000),
            Incarnation(1)
        )
    );
}

#[test]
fn a_start_in_a_new_process_or_session_fences_the_older_incarnation() {
    for (process, session) in [("18", "s1"), ("17", "s2")] {
        let mut scene = Scene::new();
        let (_, token) = scene.start("garden", Role::Ops);
        let old = scene.roster.principal(&token).expect("a known token");
        scene.check_in(&old, ids("17", "s1", WakeReason::Start));
        // Another id without a start comes from an older process.
        let late = RosterCommand::CheckIn(ids(process, session, WakeReason::Tick));
        assert_eq!(scene.refused(&old, late), (-32032, "fenced"));
        let answer = scene.check_in(&old, ids(process, session, WakeReason::Start));
        assert_eq!(answer.incarnation, Incarnation(2));
        // The token acts for the new incarnation; a process that was given the old one is refused.
        let new = scene.roster.principal(&token).expect("a known token");
        scene.tick(&new);
        let tick = RosterCommand::CheckIn(CheckInParams::new(WakeReason::Tick));
        assert_eq!(scene.refused(&old, tick), (-32032, "fenced"));
    }
}

#[test]
fn a_retired_daemon_is_refused_and_its_name_is_free() {
    let mut scene = Scene::new();
    let by = scene.register("garden", Role::Ops, "digger");
    let row = id(&by);
    let retire = RosterCommand::Retire {
        row,
        reason: reason(),
    };
    scene.done(&Principal::Operator, retire);
    let tick = RosterCommand::CheckIn(CheckInParams::new(WakeReason::Tick));
    assert_eq!(scene.refused(&by, tick), (-32034, "retired"));
    let again = scene.register("garden", Role::Ops, "digger");
    assert_ne!(id(&again), id(&by));
}

#[test]
fn the_operator_checks_in_for_a_row_that_exists_and_is_audited() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    scene.minutes(30);
    scene.check_in(&Principal::Operator, named("garden-ops", WakeReason::Tick));
    assert_eq!(scene.row(&id(&by)).last_checkin_at, Some(scene.now));
    let entry = scene.audit.last().expect("an entry");
    assert_eq!(
        (&entry.actor, entry.kind, &entry.row),
        (&Principal::Operator, "check-in", &Some(id(&by)))
    );
    let unknown = RosterCommand::CheckIn(named("digger", WakeReason::Tick));
    assert_eq!(
        scene.refused(&Principal::Operator, unknown),
        (-32004, "not-found")
    );
}

#[test]
fn a_check_in_on_hold_delivers_flags_and_is_woken_on_time() {
    use daemon_roster::RosterEffect;
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let row = id(&by);
    scene.effects.clear();
    let mut wakes = Vec::new();
    let end = scene.now + SignedDuration::from_hours(2);
    let start = scene.now;
    scene.done(
        &Principal::Operator,
        RosterCommand::RequestCompaction(row.clone()),
    );
    scene.done(
        &Principal::Operator,
        RosterCommand::RequestWindDown {
            row: row.clone(),
            reason: reason(),
        },
    );
    while let Some(deadline) = scene.roster.deadline(scene.now).filter(|at| *at <= end) {
        scene.now = deadline;
        scene.lapse();
        for effect in std::mem::take(&mut scene.effects) {
            assert_eq!(
                effect,
                RosterEffect::Wake {
                    row: row.clone(),
                    wake: WakeReason::Tick
                }
            );
            wakes.push(scene.now.duration_since(start).as_mins());
            let answer = scene.tick(&by);
            assert_eq!(
                (answer.gate, answer.needs_compaction, answer.wind_down),
                (RosterGate::Hold, true, WindDownState::Preparing)
            );
            assert_eq!(answer.reset, None::<ResetState>);
        }
    }
    assert_eq!(wakes, [13, 26, 39, 52, 65, 78, 91, 104, 117]);
}

#[test]
fn an_agent_that_registered_itself_is_known_by_its_token_until_another_start_fences_it() {
    let mut scene = Scene::new();
    let with = |n, process: &str| CheckInParams {
        token: Some(token(n)),
        process: Some(process.parse().expect("an id")),
        ..named("digger", WakeReason::Start)
    };
    let first = scene.check_in(&Principal::Unregistered, with(1, "17"));
    let by = |scene: &Scene, n| scene.roster.principal(&token(n));
    let agent = |incarnation| Principal::Daemon {
        row: first.row.clone(),
        incarnation: Incarnation(incarnation),
    };
    assert_eq!(by(&scene, 1), Some(agent(1)));
    scene.tick(&agent(1));
    let second = scene.check_in(&Principal::Unregistered, with(2, "18"));
    assert_eq!(
        (second.row, second.incarnation),
        (first.row.clone(), Incarnation(2))
    );
    assert_eq!(by(&scene, 2), Some(agent(2)));
    // The token of the older agent stays with its incarnation.
    assert_eq!(by(&scene, 1), Some(agent(1)));
    let tick = RosterCommand::CheckIn(CheckInParams::new(WakeReason::Tick));
    assert_eq!(scene.refused(&agent(1), tick), (-32032, "fenced"));
    // A refused check-in gives no token.
    let unknown = CheckInParams {
        project: Some(project("moon")),
        ..with(3, "19")
    };
    scene.refused(&Principal::Unregistered, RosterCommand::CheckIn(unknown));
    assert_eq!(by(&scene, 3), None);
}

#[test]
fn the_host_retires_the_rows_that_it_checks_in_and_no_others() {
    let mut scene = Scene::new();
    let evaluation = RosterCommand::Evaluate(Evaluation {
        kind: RowKind::Run,
        project: Some(project("garden")),
        actor_ref: "em-1".parse().expect("a reference"),
        name: "em-1".parse().expect("a name"),
        gate: RosterGate::Go,
        trouble: None,
    });
    scene.done(&Principal::Host, evaluation.clone());
    let rows = scene.roster.tables().rows.keys();
    let run = rows.clone().next().expect("a row").clone();
    let depart = |row: &RowId| RosterCommand::Depart {
        row: row.clone(),
        reason: reason(),
    };
    assert_eq!(
        scene.refused(&Principal::Operator, depart(&run)),
        (-32003, "role")
    );
    scene.done(&Principal::Host, depart(&run));
    assert_eq!(scene.report(&run).reason, LivenessReason::Retired);
    let standing = id(&scene.register("garden", Role::Ops, "digger"));
    assert_eq!(
        scene.refused(&Principal::Host, depart(&standing)),
        (-32003, "role")
    );
    // A later check-in of the same run is a new row.
    scene.done(&Principal::Host, evaluation);
    let runs = scene.roster.tables().rows.values();
    let n_runs = runs.filter(|row| row.kind == RowKind::Run).count();
    assert_eq!(n_runs, 2);
}
