//! When leases are renewed, and when their runs are stopped.

use std::time::Duration;

use daemon_engine::RunLease;
use jiff::SignedDuration;

use super::{Rig, claimed, id, seconds};
use crate::{Concern, HostEffect, HostEvent};

#[test]
fn leases_are_renewed_until_their_attempts_end() {
    let mut rig = Rig::new(&[Concern::Leases]);
    rig.check(claimed(1, 4), &["Execute"]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
    let until = rig.now.wall + SignedDuration::from_secs(60);
    let [
        HostEffect::Renew {
            leases,
            until: asked,
        },
    ] = &rig.decided[..]
    else {
        panic!("{:?}", rig.decided);
    };
    assert_eq!((leases, *asked), (&vec![(id(1), RunLease(4))], until));
    rig.check(HostEvent::Renewed { lost: Vec::new() }, &[]);
    assert_eq!(rig.wait(), seconds(10));
    rig.check(HostEvent::AttemptEnded(id(1), RunLease(4)), &[]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &[]);
}

#[test]
fn a_lost_lease_stops_its_run_and_no_later_one() {
    let mut rig = Rig::new(&[Concern::Leases]);
    rig.check(claimed(1, 4), &["Execute"]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
    rig.check(HostEvent::Renewed { lost: vec![id(1)] }, &["StopUnleased"]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
    // The attempt ends and the activation is claimed again while the renewal is under way.
    rig.check(HostEvent::AttemptEnded(id(1), RunLease(4)), &[]);
    rig.check(claimed(1, 5), &["Execute"]);
    rig.check(HostEvent::Renewed { lost: vec![id(1)] }, &[]);
    rig.check(HostEvent::AttemptEnded(id(1), RunLease(4)), &[]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
}

#[test]
fn a_run_is_stopped_before_a_lease_ends_that_cannot_be_renewed() {
    let mut rig = Rig::new(&[Concern::Leases]);
    rig.check(claimed(1, 4), &["Execute"]);
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
    rig.pass(Duration::from_secs(5));
    // It lasts from the moment at which the renewal was asked for, or later.
    rig.check(HostEvent::Renewed { lost: Vec::new() }, &[]);
    for _ in 0..2 {
        rig.pass(Duration::from_secs(10));
        rig.check(HostEvent::Time, &["Renew"]);
        rig.pass(Duration::from_secs(5));
        rig.check(HostEvent::StoreFailed(Concern::Leases), &[]);
    }
    rig.pass(Duration::from_secs(10));
    rig.check(HostEvent::Time, &["Renew"]);
    // Also while the store has not answered.
    assert_eq!(rig.wait(), seconds(5));
    rig.pass(Duration::from_secs(5));
    rig.check(HostEvent::Time, &["StopUnleased"]);
    rig.check(HostEvent::Time, &[]);
    assert_eq!(rig.wait(), None);
    rig.check(HostEvent::AttemptEnded(id(1), RunLease(4)), &[]);
}

#[test]
fn a_host_that_was_stopped_stops_the_runs_whose_leases_are_over() {
    let mut rig = Rig::new(&[Concern::Leases]);
    rig.check(claimed(1, 4), &["Execute"]);
    rig.pass(Duration::from_secs(90));
    rig.check(claimed(2, 1), &["Execute", "StopUnleased", "Renew"]);
    assert!(matches!(&rig.decided[1], HostEffect::StopUnleased(one) if *one == id(1)));
}
