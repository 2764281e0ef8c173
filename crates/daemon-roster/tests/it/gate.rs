//! Scenarios 11 and 12: the gate, and what a role may authorise.

use daemon_roster::{
    GateChange, GatedAction, Generation, Principal, Role, RosterAnswer, RosterCommand, RosterGate,
    RowKind,
};

use super::scene::{Scene, gate, id, project};

#[test]
fn hold_refuses_each_of_the_five_actions_and_go_releases_them() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Orchestrator);
    for action in GatedAction::ALL {
        let refused = scene.refused(&by, RosterCommand::Authorize(action));
        assert_eq!(refused, (-32031, "held"), "{action}");
    }
    scene.go(&by);
    for action in GatedAction::ALL {
        let answer = scene.done(&by, RosterCommand::Authorize(action));
        assert_eq!(answer, RosterAnswer::Generation(Generation(1)), "{action}");
    }
}

#[test]
fn dispatch_spawn_and_merge_are_the_orchestrators_alone() {
    let mut scene = Scene::new();
    let ops = scene.spawn_on_go("garden", Role::Ops);
    // One that registered itself has no baton, also if it names the role.
    let own = scene.register("garden", Role::Orchestrator, "digger");
    scene.go(&own);
    for action in GatedAction::ALL {
        let is_orchestrators =
            !matches!(action, GatedAction::TriageAction | GatedAction::SelfReset);
        for (by, generation) in [(&ops, 1), (&own, 0)] {
            let answer = scene.ask(by, RosterCommand::Authorize(action));
            if is_orchestrators {
                let refusal = answer.expect_err("it is not the orchestrator");
                assert_eq!(refusal.rule(), "role", "{action}");
            } else {
                let expected = RosterAnswer::Generation(Generation(generation));
                assert_eq!(answer, Ok(expected), "{action}");
            }
        }
    }
}

#[test]
fn no_daemon_opens_its_own_gate_or_one_of_another_project_or_widens_itself() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn("garden", Role::Orchestrator);
    let ops = scene.spawn("garden", Role::Ops);
    let foreign = scene.spawn_on_go("orchard", Role::Orchestrator);
    let (o_row, ops_row) = (id(&orchestrator), id(&ops));
    let go = |row| gate(row, GateChange::Go);
    assert_eq!(scene.refused(&ops, go(&ops_row)), (-32003, "self-go"));
    assert_eq!(
        scene.refused(&orchestrator, go(&o_row)),
        (-32003, "self-go")
    );
    assert_eq!(
        scene.refused(&foreign, go(&ops_row)),
        (-32003, "other-project")
    );
    // On hold it is not yet the orchestrator.
    assert_eq!(scene.refused(&orchestrator, go(&ops_row)), (-32003, "role"));
    assert_eq!(scene.refused(&ops, go(&o_row)), (-32003, "role"));
    let widen = RosterCommand::Widen {
        what: "update-config".to_owned(),
    };
    assert_eq!(scene.refused(&ops, widen), (-32003, "self-widening"));
    let audited: Vec<_> = scene.audit.iter().rev().take(6).rev().collect();
    let audited: Vec<_> = audited
        .into_iter()
        .map(|entry| (entry.kind, entry.rule.unwrap_or_default(), &entry.actor))
        .collect();
    assert_eq!(
        audited,
        [
            ("daemon_go", "self-go", &ops),
            ("daemon_go", "self-go", &orchestrator),
            ("daemon_go", "other-project", &foreign),
            ("daemon_go", "role", &orchestrator),
            ("daemon_go", "role", &ops),
            ("widen", "self-widening", &ops),
        ]
    );
    // The orchestrator on go opens others, and holds itself.
    scene.go(&orchestrator);
    let answer = scene.done(&orchestrator, go(&ops_row));
    assert_eq!(answer, RosterAnswer::Gate(RosterGate::Go));
    let answer = scene.done(&orchestrator, gate(&o_row, GateChange::Hold));
    assert_eq!(answer, RosterAnswer::Gate(RosterGate::Hold));
}

#[test]
fn a_gate_has_the_listed_transitions_and_no_other() {
    use GateChange::{Go, Hold, NewRevision, Trip};
    let evaluation = daemon_roster::Evaluation {
        kind: RowKind::Repository,
        project: Some(project("garden")),
        actor_ref: "librarian".parse().expect("a reference"),
        name: "librarian".parse().expect("a name"),
        gate: RosterGate::Go,
        trouble: None,
    };
    // A path to each state, then what is possible there.
    let host = Principal::Host;
    let operator = Principal::Operator;
    let cases = [
        (vec![], RosterGate::Go, vec![Hold, Trip]),
        (vec![(&operator, Hold)], RosterGate::Hold, vec![Go]),
        (
            vec![(&host, Trip)],
            RosterGate::Tripped,
            vec![Go, NewRevision],
        ),
    ];
    for (path, state, possible) in cases {
        for change in [Go, Hold, Trip, NewRevision] {
            let mut scene = Scene::new();
            scene.done(&host, RosterCommand::Evaluate(evaluation.clone()));
            let row = scene
                .roster
                .tables()
                .rows
                .keys()
                .next()
                .expect("a row")
                .clone();
            for (by, change) in &path {
                scene.done(by, gate(&row, *change));
            }
            assert_eq!(scene.row(&row).gate, state);
            let by = if matches!(change, Go | Hold) {
                &operator
            } else {
                &host
            };
            let answer = scene.ask(by, gate(&row, change));
            assert_eq!(
                answer.is_ok(),
                possible.contains(&change),
                "{state} {change:?}"
            );
            if let Err(refusal) = answer {
                assert_eq!(refusal.code(), -32030);
            }
        }
    }
}

#[test]
fn the_engine_trips_repository_daemons_only_and_the_orchestrator_cannot_reopen_them() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn_on_go("garden", Role::Orchestrator);
    let row = id(&orchestrator);
    let trip = |row| gate(row, GateChange::Trip);
    assert_eq!(
        scene.refused(&Principal::Host, trip(&row)),
        (-32003, "role")
    );
    let evaluation = daemon_roster::Evaluation {
        kind: RowKind::Repository,
        project: Some(project("garden")),
        actor_ref: "librarian".parse().expect("a reference"),
        name: "librarian".parse().expect("a name"),
        gate: RosterGate::Go,
        trouble: None,
    };
    scene.done(&Principal::Host, RosterCommand::Evaluate(evaluation));
    let rows = scene.roster.tables().rows.values();
    let librarian = rows.filter(|row| row.kind == RowKind::Repository);
    let librarian = librarian.map(|row| row.id.clone()).next().expect("a row");
    assert_eq!(
        scene.refused(&orchestrator, trip(&librarian)),
        (-32003, "role")
    );
    scene.done(&Principal::Host, trip(&librarian));
    let go = gate(&librarian, GateChange::Go);
    assert_eq!(scene.refused(&orchestrator, go.clone()), (-32003, "role"));
    let answer = scene.done(&Principal::Operator, go);
    assert_eq!(answer, RosterAnswer::Gate(RosterGate::Go));
}

#[test]
fn the_gate_of_a_repository_daemon_is_that_of_the_engine_and_its_changes_are_recorded() {
    let mut scene = Scene::new();
    let evaluation = |gate| {
        RosterCommand::Evaluate(daemon_roster::Evaluation {
            kind: RowKind::Repository,
            project: Some(project("garden")),
            actor_ref: "librarian".parse().expect("a reference"),
            name: "librarian".parse().expect("a name"),
            gate,
            trouble: None,
        })
    };
    for gate in [RosterGate::Hold, RosterGate::Hold, RosterGate::Tripped] {
        scene.done(&Principal::Host, evaluation(gate));
        let mut rows = scene.roster.tables().rows.values();
        assert_eq!(rows.next().map(|row| row.gate), Some(gate));
    }
    let gates = scene.audit.iter().filter(|entry| entry.kind == "gate");
    let gates: Vec<_> = gates
        .map(|entry| (entry.from.as_deref(), entry.to.as_deref()))
        .collect();
    assert_eq!(gates, [(Some("hold"), Some("tripped"))]);
}
