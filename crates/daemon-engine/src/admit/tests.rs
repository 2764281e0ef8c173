use super::{
    Admission, AdmissionState, Joining, MAX_PENDING, MAX_PENDING_PER_DAEMON, NewTrigger,
    QueueLimit, admit,
};
use crate::chain::{Chain, ChainEnd, MAX_PER_ROOT, Notice};
use crate::fixture::{id, new_trigger};

fn check(joining: Joining, standing: AdmissionState, expected: &Admission) {
    let new = NewTrigger {
        joining,
        ..new_trigger(1)
    };
    assert_eq!(
        admit(&new, &standing),
        *expected,
        "{joining:?} {standing:?}"
    );
}

#[test]
fn what_is_known_is_a_duplicate_before_anything_else() {
    let full = AdmissionState {
        known: Some(id(7)),
        joinable: Some(id(8)),
        pending_of_daemon: MAX_PENDING_PER_DAEMON,
        pending_in_all: MAX_PENDING,
        ..AdmissionState::default()
    };
    for joining in [Joining::Coalesce, Joining::Separate] {
        check(joining, full.clone(), &Admission::Duplicate(id(7)));
    }
}

#[test]
fn a_waiting_activation_is_joined_unless_the_trigger_is_separate() {
    let waiting = AdmissionState {
        joinable: Some(id(8)),
        ..AdmissionState::default()
    };
    check(
        Joining::Coalesce,
        waiting.clone(),
        &Admission::Joined(id(8)),
    );
    check(Joining::Separate, waiting, &Admission::Enqueued(id(1)));
    check(
        Joining::Coalesce,
        AdmissionState::default(),
        &Admission::Enqueued(id(1)),
    );
}

#[test]
fn a_full_queue_refuses_what_joins_nothing() {
    let with = |pending_of_daemon, pending_in_all| AdmissionState {
        pending_of_daemon,
        pending_in_all,
        ..AdmissionState::default()
    };
    let enqueued = Admission::Enqueued(id(1));
    let of_daemon = Admission::Refused(QueueLimit::Daemon);
    let of_host = Admission::Refused(QueueLimit::Host);
    check(Joining::Coalesce, with(999, 99_999), &enqueued);
    check(Joining::Coalesce, with(1_000, 1_000), &of_daemon);
    check(Joining::Separate, with(1_000, 100_000), &of_daemon);
    check(Joining::Coalesce, with(0, 100_000), &of_host);
    let full_and_waiting = AdmissionState {
        joinable: Some(id(8)),
        ..with(1_000, 100_000)
    };
    check(
        Joining::Coalesce,
        full_and_waiting,
        &Admission::Joined(id(8)),
    );
}

#[test]
fn a_chain_ends_by_its_depth_or_its_number_with_one_notice() {
    let admitted = |depth: u32, of_root, ended_of_root, joinable| {
        let chain = Chain {
            root: id(9),
            depth: depth - 1,
        };
        let new = NewTrigger {
            link: Some(chain.link(3)),
            ..new_trigger(1)
        };
        let standing = AdmissionState {
            of_root,
            ended_of_root,
            joinable,
            ..AdmissionState::default()
        };
        admit(&new, &standing)
    };
    let ended = |end, notice| Admission::Ended(id(1), end, notice);
    let too_deep = ChainEnd::Depth { found: 4, limit: 3 };
    assert_eq!(admitted(3, 9, 0, None), Admission::Enqueued(id(1)));
    assert_eq!(admitted(4, 4, 0, None), ended(too_deep, Notice::Due));
    assert_eq!(admitted(4, 4, 1, None), ended(too_deep, Notice::Given));
    assert_eq!(
        admitted(1, MAX_PER_ROOT, 0, None),
        ended(ChainEnd::Root, Notice::Due)
    );
    assert_eq!(
        admitted(4, MAX_PER_ROOT, 0, Some(id(8))),
        Admission::Joined(id(8)),
        "what joins starts nothing"
    );
}
