use super::{DeliveryEnd, SteppedBack};
use crate::activation::{Activation, ActivationState, HostEpoch, RunLease};
use crate::attempt::{AttemptEnd, AttemptOutcome, end_attempt, reclaim};
use crate::crash::{Blame, Departure, HostCrash, HostEnd};
use crate::fixture::{at, end, id, new_trigger, pending, retryable};
use crate::output::OutputState;

const HOST: HostEpoch = HostEpoch(3);

fn leased() -> Activation {
    let mut activation = pending();
    activation.lease(HOST, at(60), "rev-2");
    activation
}

#[test]
fn a_trigger_that_must_wait_says_why() {
    let reason = |not_before| {
        let new = crate::NewTrigger {
            not_before,
            ..new_trigger(1)
        };
        Activation::pending(new).reason
    };
    assert_eq!(reason(at(0)).as_deref(), Some("slot"));
    assert_eq!(reason(at(1)).as_deref(), Some("settle"));
}

#[test]
fn the_shortest_chain_counts_and_a_person_begins_one() {
    let link = |depth: u32| crate::Chain { root: id(9), depth }.link(3);
    let new = crate::NewTrigger {
        link: Some(link(1)),
        ..new_trigger(1)
    };
    let mut activation = Activation::pending(new);
    let chain = |root, depth| crate::Chain { root, depth };
    assert_eq!(activation.chain, chain(id(9), 2));
    activation.join(new_trigger(2).trigger, Some(link(2)));
    assert_eq!(activation.chain, chain(id(9), 2));
    activation.join(new_trigger(3).trigger, Some(link(0)));
    assert_eq!(activation.chain, chain(id(9), 1));
    activation.join(new_trigger(4).trigger, None);
    assert_eq!(activation.chain, chain(id(1), 0));
}

#[test]
fn the_end_of_a_chain_is_a_cancelled_activation_that_a_person_may_revive_as_a_root() {
    let deep = crate::Chain {
        root: id(9),
        depth: 3,
    };
    let new = crate::NewTrigger {
        link: Some(deep.link(3)),
        ..new_trigger(1)
    };
    let end = crate::ChainEnd::Depth { found: 4, limit: 3 };
    let mut ended = Activation::ended(new, end);
    assert_eq!(
        (ended.state, ended.reason.as_deref(), ended.finished_at),
        (
            ActivationState::Cancelled,
            Some("chain: 4 deep, at most 3"),
            Some(at(0))
        )
    );
    ended.revive(at(7));
    assert_eq!(ended.chain, crate::Chain::begin(id(1)));
}

#[test]
fn a_lease_counts_and_fences() {
    let leased = leased();
    assert_eq!(
        leased,
        Activation {
            state: ActivationState::Claimed,
            reason: None,
            rev: "rev-2".to_owned(),
            attempts: 1,
            run_lease: RunLease(1),
            owner: Some(HOST),
            lease_until: Some(at(60)),
            ..pending()
        }
    );
    assert!(leased.is_held_under(RunLease(1)));
    assert!(!leased.is_held_under(RunLease(0)));
    assert!(!leased.is_held_under(RunLease(2)));
    assert!(!pending().is_held_under(RunLease(0)));
}

#[test]
fn leases_of_earlier_epochs_and_expired_ones_are_taken_back() {
    let table = [(3, 59, false), (3, 60, true), (4, 0, true), (2, 0, false)];
    for (epoch, second, expected) in table {
        let is_reclaimable = leased().is_reclaimable(HostEpoch(epoch), at(second));
        assert_eq!(is_reclaimable, expected, "epoch {epoch} at {second}");
    }
    assert!(!pending().is_reclaimable(HostEpoch(9), at(999)));
}

#[test]
fn a_crash_is_counted_and_ends_the_lease() {
    let mut activation = leased();
    activation.begin_run(at(5));
    let crash = HostCrash {
        end: HostEnd::Aborted,
        present: 2,
    };
    let taken = reclaim(&activation, Departure::HostEnded(crash), at(70));
    activation.take_back(taken, at(70));
    assert_eq!(
        activation,
        Activation {
            state: ActivationState::Pending,
            reason: Some("slot".to_owned()),
            blame: Blame {
                alone: 0,
                in_row: 1,
            },
            owner: None,
            lease_until: None,
            not_before: at(70),
            started_at: Some(at(5)),
            ..leased()
        }
    );
}

#[test]
fn an_end_adds_up_what_was_used() {
    let mut activation = leased();
    let used = |tokens, cost_usd, outcome| AttemptEnd {
        tokens,
        cost_usd,
        ..end(outcome)
    };
    let mut finish = |end: AttemptEnd| {
        let next = end_attempt(&activation, &end, 0);
        activation.finish(&end, next);
        (activation.tokens, activation.cost_usd, activation.attempts)
    };
    assert_eq!(finish(used(None, None, retryable())), (None, None, 1));
    assert_eq!(
        finish(used(Some(5), None, AttemptOutcome::HostStopping)),
        (Some(5), None, 0)
    );
    assert_eq!(
        finish(used(Some(u64::MAX), Some(0.5), AttemptOutcome::Done)),
        (Some(u64::MAX), Some(0.5), 0)
    );
    assert_eq!(activation.finished_at, Some(at(100)));
}

#[test]
fn deliveries_end_with_their_last_output() {
    use OutputState::{Ambiguous, Confirmed, GaveUp, Planned, Refused, Sending, Unknown};
    let table: [(&[OutputState], ActivationState); 7] = [
        (&[], ActivationState::Succeeded),
        (&[Confirmed, Refused, Unknown], ActivationState::Succeeded),
        (&[Confirmed, GaveUp], ActivationState::Failed),
        (&[GaveUp, Planned], ActivationState::Delivering),
        (&[Confirmed, Sending], ActivationState::Delivering),
        (&[Ambiguous], ActivationState::Delivering),
        (&[Planned], ActivationState::Delivering),
    ];
    for (outputs, expected) in table {
        let mut activation = Activation {
            state: ActivationState::Delivering,
            ..leased()
        };
        let end = activation.close_delivery(outputs.iter().copied(), at(9));
        assert_eq!(activation.state, expected, "{outputs:?}");
        assert_eq!(end == DeliveryEnd::Closed, expected.is_final());
    }
    let mut running = leased();
    assert_eq!(running.close_delivery([], at(9)), DeliveryEnd::Open);
    assert_eq!(running, leased());
}

#[test]
fn a_revived_activation_waits_anew() {
    let mut activation = leased();
    activation.cancel("a person", at(5));
    assert!(activation.is_revivable());
    activation.revive(at(90_000));
    assert_eq!(
        (
            activation.state,
            activation.attempts,
            activation.finished_at
        ),
        (ActivationState::Pending, 0, None)
    );
    let day = 24 * 3600;
    assert!(!activation.is_expired(at(90_000 + day - 1)));
    assert!(activation.is_expired(at(90_000 + day)));
    assert!(!leased().is_expired(at(90_000 + day)), "only what waits");
}

#[test]
fn only_bad_ends_are_revivable() {
    let revivable: Vec<ActivationState> = ActivationState::ALL
        .into_iter()
        .filter(|state| {
            let state = *state;
            Activation { state, ..pending() }.is_revivable()
        })
        .collect();
    assert_eq!(
        revivable,
        [
            ActivationState::Failed,
            ActivationState::Dead,
            ActivationState::Cancelled
        ]
    );
}

#[test]
fn a_clock_that_stepped_back_holds_nothing_up() {
    let minute = 60;
    let mut waiting = pending();
    waiting.not_before = at(90_000);
    assert_eq!(waiting.step_back(at(100)), SteppedBack::Changed);
    assert_eq!(waiting.not_before, at(100));
    assert_eq!(waiting.step_back(at(100)), SteppedBack::Unchanged);

    let mut running = leased();
    running.lease_until = Some(at(90_000));
    assert_eq!(running.step_back(at(100)), SteppedBack::Changed);
    assert_eq!(running.lease_until, Some(at(100 + minute)));
    let before = running.clone();
    assert_eq!(running.step_back(at(100)), SteppedBack::Unchanged);
    assert_eq!(running, before);
}
