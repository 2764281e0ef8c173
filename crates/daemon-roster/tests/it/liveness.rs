//! Scenarios 1 and 3 to 8.

use daemon_roster::{
    Cadence, CheckInParams, Evaluation, Incarnation, Liveness, LivenessBadge, LivenessReason,
    LivenessReport, Principal, Role, RosterCommand, RosterEffect, RowKind, WakeReason,
};
use jiff::SignedDuration;

use super::scene::{Scene, id, project, settings};

fn seconds(minutes: i64, seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(60 * minutes + seconds)
}

/// Returns the state at ages in minutes and seconds after now.
fn states<const N: usize>(scene: &Scene, by: &Principal, ages: [(i64, i64); N]) -> [Liveness; N] {
    ages.map(|(minutes, secs)| {
        let at = scene.now + seconds(minutes, secs);
        let report = scene.roster.liveness(&id(by), at);
        report.expect("the row exists").state
    })
}

#[test]
fn an_expected_row_is_spawning_for_ever_without_a_check_in_of_its_own() {
    let mut scene = Scene::new();
    let (row, _) = scene.start("garden", Role::Ops);
    let report = |badge| LivenessReport {
        state: Liveness::Spawning,
        reason: LivenessReason::NeverCheckedIn,
        age: None,
        stale_at: None,
        dead_at: None,
        badge,
    };
    for _ in 0..10 {
        let incarnation = Incarnation::FIRST;
        let row = row.clone();
        scene.done(
            &Principal::Host,
            RosterCommand::Activity { row, incarnation },
        );
        scene.minutes(1);
    }
    assert_eq!(scene.report(&row), report(None));
    scene.pass(SignedDuration::from_secs(1));
    assert_eq!(
        scene.report(&row),
        report(Some(LivenessBadge::SpawnOverdue))
    );
    scene.minutes(60 * 24 * 400);
    assert_eq!(scene.state(&row), Liveness::Spawning);
}

#[test]
fn a_quiet_row_is_live_then_stale_then_dead_to_the_second() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let ages = [(20, 0), (20, 1), (40, 0), (40, 1)];
    use Liveness::{Dead, Live, Stale};
    assert_eq!(states(&scene, &by, ages), [Live, Stale, Stale, Dead]);
    let checked_in_at = scene.now;
    scene.pass(seconds(14, 1));
    assert_eq!(
        scene.report(&id(&by)),
        LivenessReport {
            state: Live,
            reason: LivenessReason::CheckIn,
            age: Some(seconds(14, 1)),
            stale_at: Some(checked_in_at + seconds(20, 0)),
            dead_at: Some(checked_in_at + seconds(40, 0)),
            badge: Some(LivenessBadge::Overdue),
        }
    );
    scene.now = checked_in_at + seconds(14, 0);
    assert_eq!(scene.report(&id(&by)).badge, None);
    // A check-in revives a dead row.
    scene.minutes(60);
    assert_eq!(scene.state(&id(&by)), Dead);
    scene.tick(&by);
    assert_eq!(scene.state(&id(&by)), Live);
}

#[test]
fn activity_counts_for_the_present_incarnation_only() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let row = id(&by);
    scene.minutes(30);
    let active = |incarnation| RosterCommand::Activity {
        row: row.clone(),
        incarnation: Incarnation(incarnation),
    };
    scene.done(&Principal::Host, active(0));
    assert_eq!(scene.state(&row), Liveness::Stale);
    scene.done(&Principal::Host, active(1));
    let report = scene.report(&row);
    assert_eq!(
        (report.state, report.reason),
        (Liveness::Live, LivenessReason::Activity)
    );
    // A late report about an older session changes nothing.
    scene.minutes(1);
    scene.done(&Principal::Host, active(0));
    assert_eq!(scene.report(&row).age, Some(seconds(1, 0)));
}

#[test]
fn only_an_accepted_check_in_that_names_a_cadence_changes_the_window() {
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let named = |cadence: &str| CheckInParams {
        cadence: Some(cadence.to_owned()),
        ..CheckInParams::new(WakeReason::Tick)
    };
    use Liveness::{Dead, Live, Stale};
    // Slower polling without declaring it.
    let ages = [(20, 0), (20, 1), (45, 0), (45, 1), (90, 0), (90, 1)];
    let base = [Live, Stale, Dead, Dead, Dead, Dead];
    assert_eq!(states(&scene, &by, ages), base);
    let refused = scene.refused(&by, RosterCommand::CheckIn(named("sleepy")));
    assert_eq!(refused, (-32602, "invalid-params"));
    assert_eq!(states(&scene, &by, ages), base);
    scene.check_in(&by, named("dormant"));
    let dormant = [Live, Live, Live, Stale, Stale, Dead];
    assert_eq!(states(&scene, &by, ages), dormant);
    // A check-in without a cadence keeps the accepted one.
    scene.tick(&by);
    assert_eq!(states(&scene, &by, ages), dormant);
    scene.check_in(&by, named("fast"));
    assert_eq!(states(&scene, &by, ages), base);
    assert_eq!(scene.row(&id(&by)).cadence, Some(Cadence::Fast));
}

#[test]
fn the_override_is_blind_to_the_cadence_and_for_standing_daemons_only() {
    let mut settings = settings();
    settings.stale_after = Some(SignedDuration::from_mins(5));
    let mut scene = Scene::with(settings);
    let by = scene.spawn("garden", Role::Ops);
    scene.check_in(
        &by,
        CheckInParams {
            cadence: Some("dormant".to_owned()),
            ..CheckInParams::new(WakeReason::Tick)
        },
    );
    use Liveness::{Dead, Live, Stale};
    let ages = [(5, 0), (5, 1), (10, 0), (10, 1)];
    assert_eq!(states(&scene, &by, ages), [Live, Stale, Stale, Dead]);
    scene.done(&Principal::Host, evaluated(RowKind::Repository, None));
    let rows = scene.roster.tables().rows.values();
    let repository = rows.filter(|row| row.kind == RowKind::Repository);
    let repository = repository.map(|row| row.id.clone()).next().expect("a row");
    scene.minutes(20);
    assert_eq!(scene.state(&repository), Live);
}

fn evaluated(kind: RowKind, trouble: Option<&str>) -> RosterCommand {
    RosterCommand::Evaluate(Evaluation {
        kind,
        project: Some(project("garden")),
        actor_ref: "librarian".parse().expect("a reference"),
        name: "librarian".parse().expect("a name"),
        gate: daemon_roster::RosterGate::Go,
        trouble: trouble.map(str::to_owned),
    })
}

#[test]
fn a_repository_daemon_is_stale_with_the_reason_why_it_is_not_evaluated() {
    let mut scene = Scene::new();
    scene.done(&Principal::Host, evaluated(RowKind::Repository, None));
    let row = scene
        .roster
        .tables()
        .rows
        .keys()
        .next()
        .expect("a row")
        .clone();
    scene.minutes(15);
    scene.done(
        &Principal::Host,
        evaluated(RowKind::Repository, Some("the file is invalid")),
    );
    scene.pass(seconds(5, 1));
    scene.lapse();
    assert_eq!(scene.state(&row), Liveness::Stale);
    let trouble = scene.row(&row).trouble.clone();
    assert_eq!(trouble.as_deref(), Some("the file is invalid"));
    scene.done(&Principal::Host, evaluated(RowKind::Repository, None));
    assert_eq!(
        (scene.state(&row), &scene.row(&row).trouble),
        (Liveness::Live, &None)
    );
    // Only the host checks in for it, and only a standing daemon for itself.
    let by = scene.spawn("garden", Role::Ops);
    assert_eq!(
        scene.refused(&by, evaluated(RowKind::Repository, None)),
        (-32003, "role")
    );
    assert_eq!(
        scene.refused(&Principal::Host, evaluated(RowKind::Standing, None)),
        (-32003, "role")
    );
}

#[test]
fn each_kind_of_row_has_its_window() {
    let windows = [
        (RowKind::Repository, 20, 40),
        (RowKind::Run, 5, 10),
        (RowKind::Host, 1, 3),
    ];
    for (kind, stale, dead) in windows {
        let mut scene = Scene::new();
        scene.done(&Principal::Host, evaluated(kind, None));
        let row = scene
            .roster
            .tables()
            .rows
            .keys()
            .next()
            .expect("a row")
            .clone();
        let report = scene.report(&row);
        let expected = [stale, dead].map(|minutes| Some(scene.now + seconds(minutes, 0)));
        assert_eq!([report.stale_at, report.dead_at], expected, "{kind}");
    }
}

#[test]
fn a_step_of_the_clock_makes_no_negative_age_and_no_row_live_for_a_year() {
    let year = SignedDuration::from_hours(24 * 365);
    let mut scene = Scene::new();
    let by = scene.spawn("garden", Role::Ops);
    let row = id(&by);
    scene.pass(-SignedDuration::from_hours(1));
    assert_eq!(scene.report(&row).age, Some(SignedDuration::ZERO));
    scene.lapse();
    let clamped = scene.audit.last().cloned().expect("an entry");
    assert_eq!(
        (clamped.kind, clamped.to),
        ("clock", Some(scene.now.to_string()))
    );
    scene.pass(seconds(20, 1));
    assert_eq!(scene.state(&row), Liveness::Stale);

    scene.pass(year);
    scene.tick(&by);
    scene.pass(-year);
    scene.lapse();
    assert_eq!(scene.state(&row), Liveness::Live);
    scene.pass(seconds(20, 1));
    assert_eq!(scene.state(&row), Liveness::Stale);
    scene.minutes(20);
    assert_eq!(scene.state(&row), Liveness::Dead);
}

#[test]
fn each_crossing_is_notified_once_and_at_its_deadline() {
    let mut scene = Scene::new();
    let by = scene.register("garden", Role::Ops, "digger");
    let row = id(&by);
    let notified = |liveness| RosterEffect::Notify {
        row: row.clone(),
        liveness,
    };
    for (minutes, liveness) in [(20, Liveness::Stale), (40, Liveness::Dead)] {
        let expected = "2026-11-28T09:00:00.001Z".parse::<jiff::Timestamp>();
        let expected = expected.expect("an instant") + SignedDuration::from_mins(minutes);
        let deadline = scene.roster.deadline(scene.now);
        assert_eq!(deadline, Some(expected));
        scene.now = expected;
        for _ in 0..2 {
            scene.lapse();
        }
        assert_eq!(std::mem::take(&mut scene.effects), [notified(liveness)]);
    }
    assert_eq!(scene.roster.deadline(scene.now), None);
    // After a check-in the next crossing is a new one.
    scene.tick(&by);
    scene.minutes(21);
    scene.lapse();
    assert_eq!(scene.effects, [notified(Liveness::Stale)]);
}
