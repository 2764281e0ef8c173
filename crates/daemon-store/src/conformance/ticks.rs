//! Ticks: every one recorded once, together with what it woke.

use daemon_engine::{Joining, MAX_PENDING_PER_DAEMON, NewTrigger};
use daemon_event::{ActivationId, TriggerKey};
use daemon_schedule::{Cancels, TickOutcome, TickRow};
use jiff::Timestamp;

use super::scene::{
    activation_id, asked, at, claim, claimed, daemon, done, enqueue, first, read, registration,
    scheduled, subject, tick, trigger, woken,
};
use crate::rows::{Coverage, ScheduleText, StoredTick, TickActivations, TickCommit, TickResult};
use crate::traits::Store;

/// What a commit to a coverage that is not open answers.
pub(super) const GONE: TickResult = TickResult::Elsewhere { cursor: None };

pub(super) async fn scheduled_daemons(store: &dyn Store, ids: &[&str]) {
    let rows = ids.iter().map(|id| scheduled(id, "* * * * *")).collect();
    store
        .register(registration(rows, at(0)))
        .await
        .expect("registers");
}

pub(super) fn ticked(id: &str, n: u64, scheduled_at: Timestamp) -> NewTrigger {
    trigger(id, n, TriggerKey::Tick(scheduled_at), scheduled_at)
}

/// Returns the commit of one tick that shall make activation `n`.
pub(super) fn commit(id: &str, n: u64, from: i64, to: i64) -> TickCommit {
    TickCommit {
        daemon: daemon(id),
        coverage: 1,
        from: at(from),
        to: at(to),
        rows: vec![tick(at(to), TickOutcome::Enqueued)],
        trigger: Some(ticked(id, n, at(to))),
        cancels: Cancels::Nothing,
        now: at(to),
    }
}

/// Returns a commit of ticks that wakes no daemon.
pub(super) fn quiet(id: &str, from: i64, to: i64, rows: Vec<TickRow>) -> TickCommit {
    TickCommit {
        rows,
        trigger: None,
        ..commit(id, 0, from, to)
    }
}

pub(super) fn stored(
    id: &str,
    row: TickRow,
    activation: Option<ActivationId>,
    recorded_at: Timestamp,
) -> StoredTick {
    StoredTick {
        daemon: daemon(id),
        coverage: Some(1),
        first: row.first,
        scheduled_at: row.scheduled_at,
        count: row.count,
        outcome: row.outcome,
        activation,
        recorded_at,
    }
}

pub(super) async fn record(store: &dyn Store, commits: Vec<TickCommit>) -> Vec<TickResult> {
    store.commit_ticks(commits).await.expect("commits")
}

pub(super) async fn listed(store: &dyn Store) -> Vec<StoredTick> {
    store.ticks(&first(100)).await.expect("lists").rows
}

pub(super) async fn cursor(store: &dyn Store) -> Timestamp {
    let coverages = store.coverages().await.expect("reads");
    coverages.first().expect("one is open").cursor
}

pub(super) fn made(n: u64) -> TickResult {
    TickResult::Recorded(Some(activation_id(n)))
}

pub(super) async fn a_tick_moves_the_cursor_and_makes_an_activation(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    assert_eq!(record(store, vec![commit("a", 1, 0, 60)]).await, [made(1)]);
    assert_eq!(cursor(store).await, at(60));
    assert_eq!(
        listed(store).await,
        [stored(
            "a",
            tick(at(60), TickOutcome::Enqueued),
            Some(activation_id(1)),
            at(60)
        )]
    );
    let activation = read(store, &activation_id(1)).await;
    assert_eq!(activation.triggers[0].key, TriggerKey::Tick(at(60)));
}

pub(super) async fn a_tick_is_committed_once(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    record(store, vec![commit("a", 1, 0, 60)]).await;
    assert_eq!(
        // A second host, or this one after a lost answer: the cursor is the compare-and-set that decides.
        record(store, vec![commit("a", 2, 0, 60)]).await,
        [TickResult::Elsewhere {
            cursor: Some(at(60))
        }],
        "what is recorded elsewhere tells how far that is"
    );
    assert_eq!(listed(store).await.len(), 1);
    let page = store.activations(&first(10)).await.expect("lists");
    assert_eq!(page.rows.len(), 1);
    assert_eq!(
        record(store, vec![commit("b", 3, 0, 60)]).await,
        [GONE],
        "an unknown daemon has no cursor"
    );
}

pub(super) async fn an_ended_coverage_takes_no_ticks(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let edited = scheduled("a", "5 * * * *");
    store
        .register(registration(vec![edited], at(30)))
        .await
        .expect("registers");
    assert_eq!(record(store, vec![commit("a", 1, 0, 60)]).await, [GONE]);
    // The commit was planned before the edit; recording it would mix two expressions in one coverage.
    let second = TickCommit {
        coverage: 2,
        ..commit("a", 1, 30, 60)
    };
    assert_eq!(record(store, vec![second]).await, [made(1)]);
}

pub(super) async fn ticks_name_what_they_joined(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let overdue = TickRow {
        first: at(60),
        scheduled_at: at(180),
        count: 3,
        outcome: TickOutcome::Coalesced,
    };
    let missed = TickRow {
        first: at(0),
        scheduled_at: at(0),
        count: 1,
        outcome: TickOutcome::MissedWindow,
    };
    let caught_up = TickCommit {
        rows: vec![missed, overdue, tick(at(240), TickOutcome::Enqueued)],
        ..commit("a", 1, 0, 240)
    };
    assert_eq!(record(store, vec![caught_up]).await, [made(1)]);
    let next = commit("a", 2, 240, 300);
    assert_eq!(record(store, vec![next]).await, [made(1)]);
    let one = Some(activation_id(1));
    assert_eq!(
        listed(store).await,
        [
            stored(
                "a",
                tick(at(300), TickOutcome::Coalesced),
                one.clone(),
                at(300)
            ),
            stored(
                "a",
                tick(at(240), TickOutcome::Enqueued),
                one.clone(),
                at(240)
            ),
            stored("a", overdue, one, at(240)),
            stored("a", missed, None, at(240)),
        ]
    );
    assert_eq!(read(store, &activation_id(1)).await.triggers.len(), 2);
}

pub(super) async fn ticks_name_what_they_gave_way_to(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let enqueued = commit("a", 1, 0, 300);
    assert_eq!(record(store, vec![enqueued]).await, [made(1)]);
    claimed(store, at(310)).await;
    // Planned while the activation was pending, committed after its claim: joining it would lose the tick.
    let meant_to_join = TickCommit {
        rows: vec![tick(at(360), TickOutcome::Coalesced)],
        ..commit("a", 3, 300, 360)
    };
    assert_eq!(record(store, vec![meant_to_join]).await, [made(3)]);
    assert_eq!(
        listed(store).await[0].outcome,
        TickOutcome::Enqueued,
        "the activation that it was to join has been claimed"
    );
    let skipped = quiet(
        "a",
        360,
        420,
        vec![tick(at(420), TickOutcome::SkippedOverlap)],
    );
    assert_eq!(
        record(store, vec![skipped]).await,
        [TickResult::Recorded(None)]
    );
    assert_eq!(
        listed(store).await[0].activation,
        Some(activation_id(1)),
        "a skipped tick names the running activation"
    );
}

pub(super) async fn a_refused_tick_says_so(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    for n in 1..=MAX_PENDING_PER_DAEMON {
        let waiting = NewTrigger {
            subject: subject(&format!("s-{n}")),
            ..asked("a", n, at(1))
        };
        enqueue(store, waiting).await;
    }
    assert_eq!(
        record(store, vec![commit("a", 5000, 0, 60)]).await,
        [TickResult::Recorded(None)]
    );
    assert_eq!(
        listed(store).await,
        [stored(
            "a",
            tick(at(60), TickOutcome::Refused),
            None,
            at(60)
        )]
    );
    // The cursor moves, or the refused tick would be tried in every round.
    assert_eq!(cursor(store).await, at(60));
}

pub(super) async fn unfinished_ticks_are_told_apart_from_events(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let unfinished = async || {
        let known = store.tick_activations(&[daemon("a"), daemon("b")]).await;
        let [of_a, of_b] = known
            .expect("reads")
            .try_into()
            .expect("two were asked for");
        assert_eq!(of_b, TickActivations::default(), "it never ticked");
        of_a
    };
    // Overlap compares ticks with ticks. Counting the event would let a webhook suppress a schedule.
    enqueue(store, woken("a", 1, at(1))).await;
    claimed(store, at(1)).await;
    enqueue(store, woken("a", 2, at(1))).await;
    assert_eq!(unfinished().await, TickActivations::default());
    record(store, vec![commit("a", 3, 0, 60)]).await;
    let waiting = TickActivations {
        running: Vec::new(),
        pending: vec![activation_id(3)],
    };
    assert_eq!(unfinished().await, waiting);
    let event = read(store, &activation_id(1)).await;
    store
        .end_attempt(&event.id, event.run_lease, done(at(61)))
        .await
        .expect("ends");
    let ticking = store
        .claim_one(&activation_id(3), &claim(at(62)))
        .await
        .expect("claims")
        .expect("is ready");
    let again = TickCommit {
        trigger: Some(NewTrigger {
            joining: Joining::Separate,
            ..ticked("a", 4, at(120))
        }),
        ..commit("a", 4, 60, 120)
    };
    record(store, vec![again]).await;
    let both = TickActivations {
        running: vec![activation_id(3)],
        pending: vec![activation_id(4)],
    };
    assert_eq!(unfinished().await, both);
    store
        .end_attempt(&ticking.id, ticking.run_lease, done(at(130)))
        .await
        .expect("ends");
    let waiting = TickActivations {
        running: Vec::new(),
        pending: vec![activation_id(4)],
    };
    assert_eq!(unfinished().await, waiting);
}

pub(super) async fn a_clock_step_back_retracts_what_made_nothing(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let range = TickRow {
        first: at(180),
        scheduled_at: at(240),
        count: 2,
        outcome: TickOutcome::MissedWindow,
    };
    let rows = vec![
        tick(at(60), TickOutcome::MissedWindow),
        tick(at(120), TickOutcome::Enqueued),
        range,
    ];
    let commits = TickCommit {
        rows,
        to: at(240),
        ..commit("a", 1, 0, 120)
    };
    record(store, vec![commits]).await;
    assert_eq!(store.retract(at(90)).await.expect("retracts"), 1);
    assert_eq!(cursor(store).await, at(90));
    let outcomes = async || -> Vec<TickOutcome> {
        listed(store)
            .await
            .into_iter()
            .map(|tick| tick.outcome)
            .collect()
    };
    assert_eq!(
        outcomes().await,
        [
            TickOutcome::Retracted,
            TickOutcome::Enqueued,
            TickOutcome::MissedWindow
        ]
    );
    assert_eq!(
        record(store, vec![commit("a", 2, 90, 120)]).await,
        [TickResult::Recorded(None)],
        "the tick that made an activation makes no second one"
    );
    assert_eq!(outcomes().await.len(), 3, "and keeps its row");
    // The clock shows these minutes a second time, and each needs an outcome again.
    let again = quiet("a", 120, 240, vec![range]);
    record(store, vec![again]).await;
    assert_eq!(
        outcomes().await,
        [
            TickOutcome::MissedWindow,
            TickOutcome::Retracted,
            TickOutcome::Enqueued,
            TickOutcome::MissedWindow
        ],
        "what was retracted is recorded again"
    );
    assert_eq!(store.retract(at(500)).await.expect("retracts"), 0);
    assert_eq!(cursor(store).await, at(240), "a cursor never moves on");
}

pub(super) async fn one_stale_commit_does_not_hinder_others(store: &dyn Store) {
    scheduled_daemons(store, &["a", "b"]).await;
    // A batch holds up to 500 daemons; failing all for one stale cursor would make the others late.
    let results = record(
        store,
        vec![
            commit("a", 1, 30, 60),
            commit("b", 2, 0, 60),
            commit("a", 3, 0, 60),
        ],
    )
    .await;
    let elsewhere = TickResult::Elsewhere {
        cursor: Some(at(0)),
    };
    assert_eq!(results, [elsewhere, made(2), made(3)]);
    assert_eq!(listed(store).await.len(), 2);
}

pub(super) async fn a_key_without_a_registration_has_ticks_while_it_has_a_schedule(
    store: &dyn Store,
) {
    let key = daemon("unregistered");
    let schedule = |expression: &str| {
        Some(ScheduleText {
            expression: expression.to_owned(),
            zone: "UTC".to_owned(),
        })
    };
    let cover = async |schedule, second| {
        let covered = store.cover(key.clone(), schedule, at(second)).await;
        covered.expect("covers");
    };
    let coverage = |number, expression, cursor| Coverage {
        daemon: key.clone(),
        number,
        schedule: schedule(expression).expect("some"),
        cursor: at(cursor),
    };
    cover(schedule("* * * * *"), 0).await;
    // The same schedule keeps its cursor.
    cover(schedule("* * * * *"), 30).await;
    let open = async || store.coverages().await.expect("reads");
    assert_eq!(open().await, [coverage(1, "* * * * *", 0)]);
    let rows = vec![tick(at(60), TickOutcome::Enqueued)];
    let commit = quiet("unregistered", 0, 60, rows.clone());
    let recorded = store.commit_ticks(vec![commit]).await.expect("commits");
    assert_eq!(recorded, [TickResult::Recorded(None)]);
    assert_eq!(
        store.ticks(&first(10)).await.expect("lists").rows,
        [stored("unregistered", rows[0], None, at(60))]
    );
    // Another one begins its own coverage; the tick in between that was not recorded is superseded.
    cover(schedule("*/5 * * * *"), 150).await;
    assert_eq!(open().await, [coverage(2, "*/5 * * * *", 150)]);
    let superseded = tick(at(120), TickOutcome::Superseded);
    let newest = store.ticks(&first(1)).await.expect("lists").rows;
    assert_eq!(newest, [stored("unregistered", superseded, None, at(150))]);
    cover(None, 160).await;
    cover(None, 170).await;
    assert_eq!(open().await, []);
}
