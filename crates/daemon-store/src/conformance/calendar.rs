//! Ticks where edits, steps of the clock and people meet what is recorded.

use std::sync::Arc;

use daemon_engine::{
    Activation, ActivationState, Admission, Joining, NewTrigger, Occasion, Trigger,
};
use daemon_event::TriggerKey;
use daemon_schedule::{Cancels, MissedTicks, TickOutcome, TickRow};
use jiff::Timestamp;

use super::scene::{
    HOST, activation_id, at, claim, claimed, daemon, done, enqueue, read, registration, run,
    scheduled, tick, woken,
};
use super::ticks::{
    GONE, commit, cursor, listed, made, quiet, record, scheduled_daemons, stored, ticked,
};
use crate::error::StoreError;
use crate::rows::{ClaimRequest, Rates, StoredTick, TickCommit, TickResult};
use crate::traits::Store;

/// A range of minutes, from the first to the last.
fn minutes(first: i64, last: i64, outcome: TickOutcome) -> TickRow {
    TickRow {
        first: at(first),
        scheduled_at: at(last),
        count: u64::try_from((last - first) / 60 + 1).expect("a range is not empty"),
        outcome,
    }
}

async fn edited(store: &dyn Store, ids: &[(&str, &str)], now: Timestamp) {
    let rows = ids
        .iter()
        .map(|(id, expression)| scheduled(id, expression))
        .collect();
    store
        .register(registration(rows, now))
        .await
        .expect("registers");
}

pub(super) async fn a_clock_step_divides_a_range_that_lies_across_it(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let range = minutes(60, 600, TickOutcome::MissedWindow);
    record(store, vec![quiet("a", 0, 600, vec![range])]).await;
    assert_eq!(store.retract(at(270)).await.expect("retracts"), 1);
    let kept = minutes(60, 240, TickOutcome::MissedWindow);
    let gone = minutes(300, 600, TickOutcome::Retracted);
    assert_eq!(
        listed(store).await,
        [
            stored("a", gone, None, at(600)),
            stored("a", kept, None, at(600))
        ]
    );
    assert_eq!(cursor(store).await, at(270));
    // A crash between the retraction and the reload repeats the call, which must then find nothing left.
    assert_eq!(store.retract(at(270)).await.expect("retracts"), 0);
    record(store, vec![commit("a", 1, 270, 300)]).await;
    let again = stored(
        "a",
        tick(at(300), TickOutcome::Enqueued),
        Some(activation_id(1)),
        at(300),
    );
    assert_eq!(
        listed(store).await[1],
        again,
        "what is retracted may be recorded again"
    );
    // A commit that was planned before the step still has the old cursor and must not move the stored one forward again.
    let late = TickCommit {
        from: at(600),
        ..commit("a", 2, 0, 660)
    };
    let cursor = Some(at(300));
    assert_eq!(
        record(store, vec![late]).await,
        [TickResult::Elsewhere { cursor }],
        "the cursor went back with the clock"
    );
}

pub(super) async fn a_range_is_recorded_around_what_has_its_row(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    record(store, vec![commit("a", 1, 0, 60), commit("a", 2, 60, 120)]).await;
    claimed(store, at(130)).await;
    let ahead = TickCommit {
        to: at(300),
        ..commit("a", 3, 120, 300)
    };
    record(store, vec![ahead]).await;
    store.retract(at(150)).await.expect("retracts");
    // The tick at 300 made an activation before the step, so it keeps its row, and the range around it is recorded in
    // pieces.
    let overdue = TickCommit {
        rows: vec![
            minutes(180, 360, TickOutcome::Coalesced),
            tick(at(420), TickOutcome::Enqueued),
        ],
        from: at(150),
        ..commit("a", 4, 0, 420)
    };
    assert_eq!(record(store, vec![overdue]).await, [made(3)]);
    let three = || Some(activation_id(3));
    let coalesced = |row| stored("a", row, three(), at(420));
    assert_eq!(
        listed(store).await[..4],
        [
            coalesced(tick(at(420), TickOutcome::Coalesced)),
            coalesced(tick(at(360), TickOutcome::Coalesced)),
            stored("a", tick(at(300), TickOutcome::Enqueued), three(), at(300)),
            coalesced(minutes(180, 240, TickOutcome::Coalesced)),
        ]
    );
}

pub(super) async fn a_range_whose_activation_was_claimed_ends_in_a_tick_of_its_own(
    store: &dyn Store,
) {
    scheduled_daemons(store, &["a"]).await;
    record(store, vec![commit("a", 1, 0, 60)]).await;
    claimed(store, at(70)).await;
    // The plan was made before the transaction; in between the activation that the ticks were to join was claimed.
    let meant_to_join = TickCommit {
        rows: vec![minutes(120, 240, TickOutcome::Coalesced)],
        ..commit("a", 2, 60, 240)
    };
    assert_eq!(record(store, vec![meant_to_join]).await, [made(2)]);
    let two = || Some(activation_id(2));
    assert_eq!(
        listed(store).await[..2],
        [
            stored("a", tick(at(240), TickOutcome::Enqueued), two(), at(240)),
            stored(
                "a",
                minutes(120, 180, TickOutcome::Coalesced),
                two(),
                at(240)
            ),
        ]
    );
}

pub(super) async fn an_edit_or_removal_supersedes_what_is_unrecorded(store: &dyn Store) {
    edited(
        store,
        &[("a", "* * * * *"), ("b", "* * * * *"), ("c", "* * * * *")],
        at(0),
    )
    .await;
    record(store, vec![commit("a", 1, 0, 60)]).await;
    edited(store, &[("a", "*/5 * * * *"), ("c", "* * * * *")], at(250)).await;
    // Every tick needs an outcome, also those between the last round and the edit.
    let rows = listed(store).await;
    let superseded = |id, first| {
        let row = minutes(first, 240, TickOutcome::Superseded);
        stored(id, row, None, at(250))
    };
    assert_eq!(rows[..2], [superseded("b", 60), superseded("a", 120)]);
    assert_eq!(
        rows.len(),
        3,
        "the daemon that did not change keeps its coverage"
    );
    assert_eq!(record(store, vec![commit("b", 2, 0, 300)]).await, [GONE]);
    edited(
        store,
        &[("a", "*/5 * * * *"), ("b", "* * * * *"), ("c", "* * * * *")],
        at(400),
    )
    .await;
    let coverages = store.coverages().await.expect("reads");
    let known: Vec<_> = coverages
        .iter()
        .map(|one| (one.daemon.id.as_str(), one.number, one.cursor))
        .collect();
    assert_eq!(
        known,
        [("a", 2, at(250)), ("b", 2, at(400)), ("c", 1, at(0))],
        "adding again begins anew, with no catch-up"
    );
}

pub(super) async fn a_later_tick_may_cancel_what_runs(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    record(store, vec![commit("a", 1, 0, 60)]).await;
    let ticking = claimed(store, at(61)).await;
    enqueue(store, woken("a", 9, at(62))).await;
    // Schedule and watch never suppress each other, so that a tick with `cancel_other` leaves an activation of an event
    // alone.
    let watching = store
        .claim_one(
            &activation_id(9),
            &ClaimRequest {
                daemon_slots: 2,
                ..claim(at(63))
            },
        )
        .await
        .expect("claims")
        .expect("is ready");
    let takes_over = TickCommit {
        cancels: Cancels::Running,
        ..commit("a", 2, 60, 120)
    };
    assert_eq!(record(store, vec![takes_over]).await, [made(2)]);
    let state = async |activation: &Activation| read(store, &activation.id).await.state;
    assert_eq!(state(&ticking).await, ActivationState::Cancelled);
    assert_eq!(
        state(&watching).await,
        ActivationState::Claimed,
        "a tick never ends what an event began"
    );
    let stale = store
        .end_attempt(&ticking.id, ticking.run_lease, done(at(130)))
        .await;
    assert!(matches!(stale, Err(StoreError::LeaseLost)), "{stale:?}");
}

fn fired(n: u64, instant: i64, now: Timestamp) -> NewTrigger {
    let new = ticked("a", n, at(instant));
    NewTrigger {
        joining: Joining::Separate,
        trigger: Trigger {
            recorded_at: now,
            ..new.trigger
        },
        not_before: now,
        ..new
    }
}

pub(super) async fn a_fired_tick_has_its_row_and_keeps_the_one_it_has(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let missed = minutes(60, 180, TickOutcome::MissedWindow);
    record(store, vec![quiet("a", 0, 180, vec![missed])]).await;
    let fire = async |n, instant| {
        let new = fired(n, instant, at(200));
        store.enqueue(new).await.expect("enqueues")
    };
    assert_eq!(fire(1, 300).await, Admission::Enqueued(activation_id(1)));
    // A person's request for a tick and the schedule's own round share one key, in either order.
    assert_eq!(fire(2, 300).await, Admission::Duplicate(activation_id(1)));
    assert_eq!(fire(3, 120).await, Admission::Enqueued(activation_id(3)));
    assert_eq!(fire(4, 120).await, Admission::Duplicate(activation_id(3)));
    let row = tick(at(300), TickOutcome::Enqueued);
    let ahead: StoredTick = stored("a", row, Some(activation_id(1)), at(200));
    let before = stored("a", missed, None, at(180));
    assert_eq!(listed(store).await, [ahead.clone(), before.clone()]);
    record(store, vec![commit("a", 5, 180, 240)]).await;
    record(store, vec![commit("a", 6, 240, 300)]).await;
    let rows = listed(store).await;
    assert_eq!(
        (rows.len(), &rows[0], &rows[2]),
        (3, &ahead, &before),
        "the schedule finds it done"
    );
}

pub(super) async fn what_a_tick_tells_is_kept(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    let occasion = Some(Arc::new(Occasion {
        expression: "* * * * *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        local: "2026-01-01 01:01 +01:00".to_owned(),
        missed: Some(MissedTicks {
            count: 200,
            first: at(-60 * 200),
            last: at(0),
            list: vec![at(-60), at(0)],
        }),
    }));
    let mut telling = commit("a", 1, 0, 60);
    telling.trigger = telling.trigger.map(|new| NewTrigger {
        trigger: Trigger {
            occasion: occasion.clone(),
            ..new.trigger
        },
        ..new
    });
    record(store, vec![telling, commit("a", 2, 60, 120)]).await;
    let told: Vec<_> = read(store, &activation_id(1))
        .await
        .triggers
        .into_iter()
        .map(|trigger| (trigger.key, trigger.occasion))
        .collect();
    assert_eq!(
        told,
        [
            (TriggerKey::Tick(at(60)), occasion),
            (TriggerKey::Tick(at(120)), None)
        ]
    );
}

pub(super) async fn every_unfinished_tick_is_counted(store: &dyn Store) {
    scheduled_daemons(store, &["a"]).await;
    // `buffer_all` limits by this count; a query that found only the newest would let the queue grow.
    let separate = |n: u64, from: i64| {
        let mut commit = commit("a", n, from, from + 60);
        commit.trigger = commit.trigger.map(|new| NewTrigger {
            joining: Joining::Separate,
            ..new
        });
        commit
    };
    let commits = (1..=5).zip((0..).step_by(60));
    let commits = commits.map(|(n, from)| separate(n, from)).collect();
    record(store, commits).await;
    claimed(store, at(301)).await;
    let known = store.tick_activations(&[daemon("a")]).await.expect("reads");
    let unfinished = known.first().expect("one was asked for").unfinished();
    assert_eq!((unfinished.running, unfinished.pending), (1, 4));
}

pub(super) async fn a_clock_step_back_holds_nothing_up(store: &dyn Store) {
    scheduled_daemons(store, &["a", "b"]).await;
    record(store, vec![commit("b", 7, 0, 86_400)]).await;
    let running = claimed(store, at(86_400)).await;
    let row = run("r-1", &running, at(86_400));
    store
        .start_run(&running.id, running.run_lease, row, at(86_400))
        .await
        .expect("starts");
    record(store, vec![commit("a", 1, 0, 86_400)]).await;
    // Pending times, rates and leases of the future would otherwise wait a day for the clock to come back.
    store.retract(at(600)).await.expect("retracts");
    let rates = Rates {
        host: Some(1),
        ..Rates::default()
    };
    let request = ClaimRequest {
        rates,
        ..claim(at(601))
    };
    let next = store.claim(&request).await.expect("claims");
    assert_eq!(
        next.map(|activation| activation.id),
        Some(activation_id(1)),
        "neither its own time nor what began later keeps it waiting"
    );
    let lost = store.reclaim(HOST, at(661)).await.expect("reclaims");
    let ids: Vec<_> = lost.into_iter().map(|one| one.id).collect();
    assert_eq!(
        ids,
        [activation_id(7), activation_id(1)],
        "a lease lasts no longer than one that is given now"
    );
}
