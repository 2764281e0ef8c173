//! Scenarios 28 and 29: spawn plans.

use daemon_roster::{
    AllowlistState, Blocker, CheckInParams, Confirmation, GateChange, PacketHash, PlanCheck,
    PlanCheckName, PlanCheckOutcome, PlanId, PlanStatus, Principal, Role, RosterAnswer,
    RosterCommand, RosterEffect, RosterGate, RosterRefusal, RosterSettings, SpawnFacts, WakeReason,
    WantedSpawn, spawned_name,
};

use super::scene::{Scene, facts, gate, id, project, reason, token, wanted};

fn planned(scene: &mut Scene, wanted: WantedSpawn, facts: SpawnFacts) -> RosterAnswer {
    let facts = Box::new(facts);
    scene.done(
        &Principal::Operator,
        RosterCommand::PlanSpawn { wanted, facts },
    )
}

/// Returns what blocks a plan and what is warned of.
#[track_caller]
fn found(
    scene: &mut Scene,
    wanted: WantedSpawn,
    facts: SpawnFacts,
) -> Vec<(PlanCheckName, PlanCheckOutcome)> {
    let RosterAnswer::Planned { status, checks, .. } = planned(scene, wanted, facts) else {
        panic!("not planned");
    };
    let is_blocked = checks.iter().any(PlanCheck::blocks);
    let expected = if is_blocked {
        PlanStatus::Blocked
    } else {
        PlanStatus::Clear
    };
    assert_eq!((status, checks.len()), (expected, PlanCheckName::ALL.len()));
    let noticed = checks
        .iter()
        .filter(|it| it.outcome != PlanCheckOutcome::Pass);
    noticed.map(|check| (check.name, check.outcome)).collect()
}

fn confirm(plan: &PlanId, packet: PacketHash, facts: SpawnFacts) -> RosterCommand {
    RosterCommand::ConfirmSpawn {
        plan: plan.clone(),
        packet,
        confirmation: Confirmation::Confirmed,
        token: token(99),
        facts: Box::new(facts),
    }
}

#[test]
fn a_plan_changes_no_row_but_its_own_and_starts_nothing() {
    let mut scene = Scene::new();
    scene.plan("garden", Role::Ops);
    let mut tables = scene.roster.tables().clone();
    assert_eq!(tables.plans.len(), 1);
    tables.plans.clear();
    assert_eq!((tables.is_empty(), scene.effects.len()), (true, 0));
}

#[test]
fn each_fact_that_is_not_as_it_should_be_blocks_its_check() {
    use PlanCheckName as Check;
    use PlanCheckOutcome::{Block, Warn};
    type Edit = fn(&mut SpawnFacts);
    let edits: [(Edit, Check, PlanCheckOutcome); 8] = [
        (|facts| facts.n_destinations = 0, Check::Destination, Block),
        (|facts| facts.n_destinations = 2, Check::Destination, Block),
        (|facts| facts.root_exists = false, Check::Root, Block),
        (|facts| facts.harness_answers = false, Check::Harness, Block),
        (|facts| facts.charter = None, Check::Charter, Block),
        (
            |facts| facts.charter = Some("{{moon}}".to_owned()),
            Check::Charter,
            Block,
        ),
        (
            |facts| facts.allowlist = AllowlistState::Absent,
            Check::Allowlist,
            Warn,
        ),
        (
            |facts| facts.allowlist = AllowlistState::Drifted,
            Check::Allowlist,
            Block,
        ),
    ];
    for (edit, check, outcome) in edits {
        let mut scene = Scene::new();
        let mut facts = facts();
        edit(&mut facts);
        let found = found(&mut scene, wanted("garden", Role::Ops), facts);
        assert_eq!(found, [(check, outcome)]);
    }
    let mut scene = Scene::new();
    let mut taken = facts();
    taken.process_names.insert("garden-ops".to_owned());
    let name = [(Check::Name, Block)];
    assert_eq!(found(&mut scene, wanted("garden", Role::Ops), taken), name);
    let other = Role::Other("poet".parse().expect("a name"));
    let role = [(Check::Role, Block)];
    assert_eq!(found(&mut scene, wanted("garden", other), facts()), role);
}

#[test]
fn a_daemon_that_exists_blocks_a_second_one_of_its_role() {
    use PlanCheckName as Check;
    use PlanCheckOutcome::Block;
    let mut scene = Scene::new();
    let orchestrator = scene.spawn_on_go("garden", Role::Orchestrator);
    let again = wanted("garden", Role::Orchestrator);
    let collisions = [(Check::Name, Block), (Check::Baton, Block)];
    assert_eq!(found(&mut scene, again.clone(), facts()), collisions);
    scene.done(
        &Principal::Operator,
        RosterCommand::RequestReset {
            row: id(&orchestrator),
            reason: reason(),
        },
    );
    let mut named = again;
    named.name = Some("second".parse().expect("a name"));
    let collisions = [(Check::Baton, Block), (Check::Reset, Block)];
    assert_eq!(found(&mut scene, named, facts()), collisions);
    assert_eq!(found(&mut scene, wanted("garden", Role::Ops), facts()), []);
    scene.done(
        &Principal::Operator,
        RosterCommand::RequestWindDown {
            row: id(&orchestrator),
            reason: reason(),
        },
    );
    let winding = [(Check::WindDown, Block)];
    assert_eq!(
        found(&mut scene, wanted("garden", Role::Ops), facts()),
        winding
    );
    assert_eq!(found(&mut scene, wanted("orchard", Role::Ops), facts()), []);
}

#[test]
fn the_cap_counts_daemons_of_all_projects_that_the_host_started() {
    let mut settings = super::scene::settings();
    settings.cap = 2;
    let mut scene = Scene::with(settings);
    scene.register("garden", Role::Ops, "digger");
    scene.spawn("garden", Role::Ops);
    assert_eq!(
        found(&mut scene, wanted("garden", Role::Refine), facts()),
        []
    );
    scene.spawn("orchard", Role::Ops);
    let capped = [(PlanCheckName::Cap, PlanCheckOutcome::Block)];
    assert_eq!(
        found(&mut scene, wanted("garden", Role::Refine), facts()),
        capped
    );
}

#[test]
fn a_name_is_prefixed_with_its_project_once() {
    let cases = [
        (None, "garden-ops"),
        (Some("garden-ops"), "garden-ops"),
        (Some("digger"), "garden-digger"),
        (Some("gardener"), "garden-gardener"),
    ];
    for (name, expected) in cases {
        let name = name.map(|name| name.parse().expect("a name"));
        let spawned = spawned_name(&project("garden"), &Role::Ops, name.as_ref());
        assert_eq!(spawned.expect("a name").as_str(), expected);
    }
}

#[test]
fn only_the_operator_and_the_orchestrator_on_go_plan_and_the_operator_confirms() {
    let mut scene = Scene::new();
    let orchestrator = scene.spawn("garden", Role::Orchestrator);
    let refine = scene.spawn_on_go("garden", Role::Refine);
    let plan = |of: &str| RosterCommand::PlanSpawn {
        wanted: wanted(of, Role::Ops),
        facts: Box::new(facts()),
    };
    assert_eq!(
        scene.refused(&orchestrator, plan("garden")),
        (-32031, "held")
    );
    assert_eq!(scene.refused(&refine, plan("garden")), (-32003, "role"));
    scene.go(&orchestrator);
    assert_eq!(
        scene.refused(&orchestrator, plan("orchard")),
        (-32003, "other-project")
    );
    let RosterAnswer::Planned {
        plan, hash, packet, ..
    } = scene.done(&orchestrator, plan("garden"))
    else {
        panic!("not planned");
    };
    assert_eq!(hash, PacketHash::of(&packet));
    assert!(packet.ends_with("Work as ops of garden."));
    let confirmed = confirm(&plan, hash, facts());
    assert_eq!(
        scene.refused(&orchestrator, confirmed.clone()),
        (-32003, "role")
    );
    scene.done(&Principal::Operator, confirmed);
}

#[test]
fn a_spawn_is_refused_unless_it_is_what_was_shown_confirmed_and_in_time() {
    let mut scene = Scene::new();
    let operator = Principal::Operator;
    let (plan, packet) = scene.plan("garden", Role::Ops);
    let expiry = scene.now + jiff::SignedDuration::from_mins(5);
    assert_eq!(scene.roster.deadline(scene.now), Some(expiry));
    let not_ready = |blocker| {
        Err(RosterRefusal::NotReady {
            blockers: vec![blocker],
        })
    };
    let other = confirm(&plan, PacketHash::of("other"), facts());
    assert_eq!(
        scene.ask(&operator, other),
        not_ready(Blocker::PacketChanged)
    );
    let mut edited = facts();
    edited.charter = Some("Obey.".to_owned());
    let changed = confirm(&plan, packet, edited);
    assert_eq!(
        scene.ask(&operator, changed),
        not_ready(Blocker::PacketChanged)
    );
    let mut drifted = facts();
    drifted.allowlist = AllowlistState::Drifted;
    let answer = scene.ask(&operator, confirm(&plan, packet, drifted));
    assert_eq!(answer, not_ready(Blocker::Check(PlanCheckName::Allowlist)));
    let mut unconfirmed = confirm(&plan, packet, facts());
    if let RosterCommand::ConfirmSpawn { confirmation, .. } = &mut unconfirmed {
        *confirmation = Confirmation::Unconfirmed;
    }
    assert_eq!(
        scene.ask(&operator, unconfirmed),
        not_ready(Blocker::NotConfirmed)
    );
    scene.minutes(5);
    let late = confirm(&plan, packet, facts());
    assert_eq!(scene.refused(&operator, late.clone()).0, -32030);
    scene.lapse();
    assert_eq!(
        scene.roster.tables().plans[&plan].status,
        PlanStatus::Expired
    );
    assert_eq!(scene.refused(&operator, late).0, -32030);
    assert_eq!(
        (scene.roster.tables().rows.len(), scene.effects.len()),
        (0, 0)
    );
}

#[test]
fn a_plan_that_is_confirmed_twice_starts_one_daemon() {
    let mut scene = Scene::new();
    let (plan, packet) = scene.plan("garden", Role::Ops);
    let confirmed = confirm(&plan, packet, facts());
    let RosterAnswer::Spawning(row) = scene.done(&Principal::Operator, confirmed.clone()) else {
        panic!("not spawning");
    };
    assert_eq!(
        scene.refused(&Principal::Operator, confirmed.clone()).0,
        -32030
    );
    let order = match scene.effects.as_slice() {
        [RosterEffect::Spawn(order)] => order.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((&order.row, order.predecessor.as_ref()), (&row, None));
    // A crash before the process was reported: the spawn is ordered again, under the same nonce.
    assert_eq!(scene.roster.unfinished(), [RosterEffect::Spawn(order)]);
    scene.started(&row);
    assert_eq!(scene.roster.unfinished(), []);
    assert_eq!(
        scene.roster.tables().plans[&plan].status,
        PlanStatus::Spawned
    );
    assert_eq!(scene.refused(&Principal::Operator, confirmed).0, -32030);
    assert_eq!(scene.roster.tables().rows.len(), 1);
}

#[test]
fn a_process_that_cannot_be_started_fails_the_plan_and_retires_the_row() {
    let mut scene = Scene::new();
    let (plan, packet) = scene.plan("garden", Role::Ops);
    scene.done(&Principal::Operator, confirm(&plan, packet, facts()));
    let row = scene
        .roster
        .tables()
        .rows
        .keys()
        .next()
        .expect("a row")
        .clone();
    scene.effects.clear();
    let failed = RosterCommand::StartFailed {
        row: row.clone(),
        error: "no such program".to_owned(),
    };
    assert_eq!(
        scene.refused(&Principal::Operator, failed.clone()),
        (-32003, "role")
    );
    scene.done(&Principal::Host, failed);
    assert_eq!(
        scene.roster.tables().plans[&plan].status,
        PlanStatus::Failed
    );
    assert_eq!(scene.row(&row).retired_at, Some(scene.now));
    assert_eq!(scene.effects, [RosterEffect::Close(row.clone())]);
    let go = gate(&row, GateChange::Go);
    assert_eq!(scene.refused(&Principal::Operator, go), (-32034, "retired"));
    assert_eq!(found(&mut scene, wanted("garden", Role::Ops), facts()), []);
}

#[test]
fn an_agent_is_resumed_under_the_next_incarnation_until_the_limit_and_the_older_one_is_fenced() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let row = id(&by);
    let resume = |n_lately, n| RosterCommand::Resume {
        row: row.clone(),
        token: token(n),
        n_lately,
    };
    let operator = Principal::Operator;
    assert_eq!(scene.refused(&operator, resume(0, 90)), (-32003, "role"));
    scene.effects.clear();
    scene.done(&Principal::Host, resume(2, 91));
    let wake = RosterEffect::Wake {
        row: row.clone(),
        wake: WakeReason::Start,
    };
    assert_eq!(std::mem::take(&mut scene.effects), [wake]);
    let resumed = scene.row(&row);
    assert_eq!((resumed.incarnation.0, resumed.gate), (2, RosterGate::Hold));
    let tick = RosterCommand::CheckIn(CheckInParams::new(WakeReason::Tick));
    assert_eq!(scene.refused(&by, tick), (-32032, "fenced"));
    let new = scene.roster.principal(&token(91)).expect("it is known");
    assert_eq!(scene.tick(&new).incarnation.0, 2);
    assert_eq!(
        scene.refused(&Principal::Host, resume(3, 92)),
        (-32033, "not-ready")
    );
    scene.done(
        &operator,
        RosterCommand::Retire {
            row: row.clone(),
            reason: reason(),
        },
    );
    assert_eq!(
        scene.refused(&Principal::Host, resume(0, 93)),
        (-32034, "retired")
    );
}

#[test]
fn an_agent_of_the_host_is_woken_by_its_gate_and_by_a_poke() {
    let mut scene = Scene::new();
    let row = id(&scene.spawn("garden", Role::Ops));
    let poke = RosterCommand::Poke {
        row: row.clone(),
        line: "look".to_owned(),
    };
    for (command, wake) in [
        (gate(&row, GateChange::Go), Some(WakeReason::Go)),
        (gate(&row, GateChange::Hold), None),
        (poke, Some(WakeReason::Poke)),
    ] {
        scene.effects.clear();
        scene.done(&Principal::Operator, command);
        let woken = wake.map(|wake| RosterEffect::Wake {
            row: row.clone(),
            wake,
        });
        assert_eq!(scene.effects, woken.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_roster_that_is_only_read_takes_check_ins_and_what_its_host_records() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let row = id(&by);
    let settings = RosterSettings {
        is_read_only: true,
        ..scene.roster.settings().clone()
    };
    scene.roster.configure(settings);
    let poke = RosterCommand::Poke {
        row: row.clone(),
        line: "look".to_owned(),
    };
    assert_eq!(
        scene.refused(&Principal::Operator, poke),
        (-32003, "read-only")
    );
    let compact = RosterCommand::RequestCompaction(row.clone());
    assert_eq!(scene.refused(&by, compact), (-32003, "read-only"));
    scene.tick(&by);
    scene.lapse();
    scene.done(&Principal::Host, RosterCommand::ProcessClosed(row));
}

#[test]
fn the_hash_of_a_packet_is_parsed_as_it_is_printed() {
    let hash = PacketHash::of("a packet");
    assert_eq!(hash.to_string().parse(), Ok(hash));
    for text in ["", "00", &"0".repeat(63), &"G".repeat(64), &"A".repeat(64)] {
        text.parse::<PacketHash>().unwrap_err();
    }
}
