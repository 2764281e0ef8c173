use daemon_event::TriggerKey;
use jiff::SignedDuration;

use super::{ClaimRequest, ClaimState, DAY, Obstacle, RATE_PERIOD, Rates, is_over_rate, obstacle};
use crate::activation::{Activation, ActivationState, HostEpoch};
use crate::attempt::Gate;
use crate::crash::Blame;
use crate::fixture::{at, id, new_trigger, pending};

/// A week, so that a day before it is a day.
const NOW: i64 = 7 * 24 * 3_600;

fn request() -> ClaimRequest {
    ClaimRequest {
        owner: HostEpoch(1),
        now: at(NOW),
        lease_until: at(NOW + 60),
        host_slots: 4,
        daemon_slots: 2,
        rates: Rates::default(),
        day_usd: None,
    }
}

fn other(n: u64, state: ActivationState) -> Activation {
    Activation {
        state,
        subject: Some(format!("github:o/r#{n}").parse().unwrap()),
        ..Activation::pending(new_trigger(n))
    }
}

fn of_daemon(name: &str, activation: Activation) -> Activation {
    let mut moved = activation;
    moved.daemon.id = name.parse().unwrap();
    moved
}

fn suspect(activation: Activation) -> Activation {
    let blame = Blame {
        alone: 1,
        ..Blame::default()
    };
    Activation {
        blame,
        ..activation
    }
}

fn began(n: u64, seconds_ago: i64) -> Activation {
    Activation {
        started_at: Some(at(NOW - seconds_ago)),
        cost_usd: Some(1.0),
        ..other(n, ActivationState::Succeeded)
    }
}

fn check(
    activation: &Activation,
    others: &[Activation],
    request: &ClaimRequest,
) -> Option<Obstacle> {
    let around = ClaimState {
        host_gate: Gate::Open,
        daemon_gate: Some(Gate::Open),
        unfinished: others.iter().filter(|other| !other.state.is_final()),
        all: others.iter(),
    };
    obstacle(activation, &around, request)
}

#[test]
fn only_a_pending_activation_whose_time_has_come_is_ready() {
    assert_eq!(check(&pending(), &[], &request()), None);
    for state in ActivationState::ALL {
        let expected = (state != ActivationState::Pending).then_some(Obstacle::NotPending);
        assert_eq!(
            check(&other(1, state), &[], &request()),
            expected,
            "{state}"
        );
    }
    let waits = |seconds| Activation {
        not_before: at(NOW + seconds),
        ..pending()
    };
    assert_eq!(check(&waits(0), &[], &request()), None);
    assert_eq!(check(&waits(1), &[], &request()), Some(Obstacle::Early));
}

#[test]
fn a_gate_that_is_not_open_holds_back() {
    let held_by = |host_gate, daemon_gate| {
        let around = ClaimState {
            host_gate,
            daemon_gate,
            unfinished: std::iter::empty(),
            all: std::iter::empty(),
        };
        obstacle(&pending(), &around, &request())
    };
    for gate in [Gate::Held, Gate::Tripped] {
        assert_eq!(held_by(gate, Some(Gate::Open)), Some(Obstacle::HostHeld));
        assert_eq!(held_by(Gate::Open, Some(gate)), Some(Obstacle::DaemonHeld));
    }
    assert_eq!(held_by(Gate::Open, None), Some(Obstacle::DaemonHeld));
    assert_eq!(held_by(Gate::Open, Some(Gate::Open)), None);
}

#[test]
fn slots_are_occupied_from_the_claim_to_the_end_of_the_run() {
    for state in ActivationState::ALL {
        let of_daemon_alone = [other(2, state), other(3, state)];
        let of_others: Vec<Activation> = (2..6).map(|n| of_daemon("b", other(n, state))).collect();
        let expected = |obstacle| state.is_leased().then_some(obstacle);
        assert_eq!(
            check(&pending(), &of_daemon_alone, &request()),
            expected(Obstacle::DaemonBusy),
            "{state}"
        );
        assert_eq!(
            check(&pending(), &of_others, &request()),
            expected(Obstacle::HostBusy),
            "{state}"
        );
        assert_eq!(check(&pending(), &of_others[1..], &request()), None);
    }
}

#[test]
fn a_subject_is_busy_from_the_claim_to_the_last_output() {
    for state in ActivationState::ALL {
        let same = Activation {
            state,
            ..Activation::pending(new_trigger(2))
        };
        let is_busy = state.is_leased() || state == ActivationState::Delivering;
        assert_eq!(
            check(&pending(), std::slice::from_ref(&same), &request()),
            is_busy.then_some(Obstacle::SubjectBusy),
            "{state}"
        );
        assert_eq!(check(&pending(), &[of_daemon("b", same)], &request()), None);
    }
}

#[test]
fn one_suspect_is_leased_at_a_time() {
    let leased = suspect(of_daemon("b", other(2, ActivationState::Running)));
    let others = [leased];
    assert_eq!(
        check(&suspect(pending()), &others, &request()),
        Some(Obstacle::Suspect)
    );
    assert_eq!(check(&pending(), &others, &request()), None);
    // While it delivers, nothing of it runs that could crash the host.
    let delivering = suspect(of_daemon("b", other(2, ActivationState::Delivering)));
    assert_eq!(check(&suspect(pending()), &[delivering], &request()), None);
}

#[test]
fn rates_count_what_began_within_an_hour() {
    let hour = RATE_PERIOD.as_secs();
    let about = |n| Activation {
        state: ActivationState::Pending,
        ..other(n, ActivationState::Pending)
    };
    let limited = |activation: &Activation, others: &[Activation], rates| {
        let is_over = is_over_rate(activation, others.iter(), rates, at(NOW));
        let request = ClaimRequest { rates, ..request() };
        let expected = is_over.then_some(Obstacle::OverRate);
        assert_eq!(check(activation, others, &request), expected);
        is_over
    };
    let of = |subject, daemon, host| Rates {
        subject,
        daemon,
        host,
    };
    let subject = of(Some(1), None, None);
    assert!(limited(&about(2), &[began(2, 0)], subject));
    assert!(limited(&about(2), &[began(2, hour - 1)], subject));
    assert!(!limited(&about(2), &[began(2, hour)], subject));
    assert!(
        !limited(&about(2), &[began(2, -1)], subject),
        "the clock stepped back"
    );
    assert!(!limited(&about(2), &[began(3, 0)], subject));
    assert!(!limited(&about(2), &[of_daemon("b", began(2, 0))], subject));
    let nothing = Activation {
        subject: None,
        ..began(2, 0)
    };
    assert!(
        !limited(&pending(), &[nothing], subject),
        "it is about nothing"
    );
    let mut ticked = about(2);
    ticked.triggers[0].key = TriggerKey::Tick(at(0));
    assert!(!limited(&ticked, &[began(2, 0)], subject), "a tick");
    let daemon = of(None, Some(1), None);
    assert!(limited(&ticked, &[began(3, 0)], daemon));
    assert!(!limited(&about(2), &[of_daemon("b", began(2, 0))], daemon));
    assert!(limited(
        &about(2),
        &[of_daemon("b", began(2, 0))],
        of(None, None, Some(1))
    ));
    assert!(!limited(
        &about(2),
        &[of_daemon("b", began(2, 0))],
        of(None, None, Some(2))
    ));
}

#[test]
fn what_a_day_cost_ends_claims() {
    let day = DAY.as_secs();
    let spending = |day_usd: f64, others: &[Activation]| {
        let request = ClaimRequest {
            day_usd: Some(day_usd),
            ..request()
        };
        check(&pending(), others, &request)
    };
    let others = [began(2, 0), began(3, day - 1), began(4, day)];
    assert_eq!(spending(2.01, &others), None);
    assert_eq!(spending(2.0, &others), Some(Obstacle::OverBudget));
    assert_eq!(spending(0.0, &[]), Some(Obstacle::OverBudget));
    assert_eq!(spending(f64::NAN, &[]), Some(Obstacle::OverBudget));
}

#[test]
fn persons_and_ticks_are_found_among_all_triggers() {
    let mut activation = pending();
    assert_eq!(
        (activation.has_person(), activation.has_tick()),
        (false, false)
    );
    activation.join(
        crate::Trigger {
            key: TriggerKey::Person("p-1".into()),
            ..new_trigger(2).trigger
        },
        None,
    );
    assert_eq!(
        (activation.has_person(), activation.has_tick()),
        (true, false)
    );
    activation.triggers[1].key = TriggerKey::Tick(at(0) + SignedDuration::from_secs(1));
    assert_eq!(
        (activation.has_person(), activation.has_tick()),
        (false, true)
    );
    assert_eq!(activation.id, id(1));
}
