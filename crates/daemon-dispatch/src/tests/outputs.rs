//! Outputs: what is sent, looked up and settled, also when the store fails between the steps.

use std::time::Duration;

use daemon_engine::{
    Found, HostEpoch, Output, OutputKey, OutputState, RemoteId, SurfaceError, SurfaceErrorKind,
};
use jiff::SignedDuration;

use super::{Rig, output, seconds};
use crate::{Concern, HostEffect, HostEvent, Settings};

fn remote() -> RemoteId {
    RemoteId {
        id: "abc".to_owned(),
        url: None,
        revision: None,
    }
}

fn key() -> OutputKey {
    output(OutputState::Planned).key
}

/// Makes a rig that was given some due outputs, and knows of none that is due later.
fn given_all(due: Vec<Output>, expected: &[&str]) -> Rig {
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    let expected = [&["FindNextOutput"], expected].concat();
    rig.check(HostEvent::OutputsDue(due), &expected);
    rig.check(HostEvent::NextOutput(None), &[]);
    rig
}

/// Makes a rig that was given one due output.
fn given(state: OutputState, expected: &[&str]) -> Rig {
    given_all(vec![output(state)], expected)
}

/// Returns the output of an activation at a place, on a surface.
fn other(activation: u64, ordinal: u32, surface: &str) -> Output {
    let mut other = output(OutputState::Planned);
    other.activation = super::id(activation);
    other.ordinal = ordinal;
    surface.clone_into(&mut other.surface);
    other.key = OutputKey::derive(&other.activation, ordinal, surface, "x");
    other
}

/// Returns the keys of the outputs that the effects are steps of.
fn keys(rig: &Rig) -> Vec<OutputKey> {
    let keys = rig.decided.iter().filter_map(|effect| match effect {
        HostEffect::BeginSend(key) | HostEffect::Settle(key, _) => Some(key.clone()),
        HostEffect::Send(output) | HostEffect::LookUp(output) => Some(output.key.clone()),
        _ => None,
    });
    keys.collect()
}

/// Returns the state that the only effect settles an output to.
fn settled(rig: &Rig) -> OutputState {
    match &rig.decided[..] {
        [HostEffect::Settle(_, settlement)] => settlement.state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_planned_output_is_noted_sent_and_settled() {
    let mut rig = given(OutputState::Planned, &["BeginSend"]);
    rig.check(HostEvent::SendBegun(key()), &["Send"]);
    rig.check(HostEvent::Sent(key(), Ok(remote()), 0), &["Settle"]);
    assert_eq!(settled(&rig), OutputState::Confirmed);
    let confirmed = Box::new(output(OutputState::Confirmed));
    rig.check(HostEvent::Settled(confirmed), &["FindDueOutputs"]);
    rig.check(HostEvent::OutputsDue(Vec::new()), &["FindNextOutput"]);
    rig.check(HostEvent::NextOutput(None), &[]);
    assert_eq!(rig.wait(), seconds(30));
}

#[test]
fn what_a_host_was_to_send_before_it_was_stopped_is_looked_up_first() {
    let mut rig = given(OutputState::Planned, &["BeginSend"]);
    rig.pass(Duration::from_secs(20));
    rig.check(HostEvent::SendBegun(key()), &["Settle"]);
    assert_eq!(settled(&rig), OutputState::Ambiguous);
}

#[test]
fn a_surface_that_does_not_answer_delays_no_other_and_its_own_outputs_stay_in_order() {
    let due = vec![
        other(1, 0, "slack"),
        other(2, 0, "slack"),
        other(3, 0, "git"),
    ];
    let [slow, next, fast] = [0, 1, 2].map(|n: usize| due[n].key.clone());
    let mut rig = given_all(due, &["BeginSend", "BeginSend"]);
    rig.check(HostEvent::SendBegun(slow.clone()), &["Send"]);
    rig.check(HostEvent::SendBegun(fast.clone()), &["Send"]);
    rig.check(HostEvent::Sent(fast.clone(), Ok(remote()), 0), &["Settle"]);
    rig.check(HostEvent::SettledBefore(fast), &["FindDueOutputs"]);
    // The slow one is not listed; the one behind it is, and another one of the surface that answers.
    let more = vec![other(2, 0, "slack"), other(4, 0, "git")];
    rig.check(
        HostEvent::OutputsDue(more),
        &["FindNextOutput", "BeginSend"],
    );
    assert_eq!(keys(&rig), [other(4, 0, "git").key]);
    rig.check(HostEvent::NextOutput(None), &[]);
    rig.check(HostEvent::Sent(slow.clone(), Ok(remote()), 0), &["Settle"]);
    rig.check(HostEvent::SettledBefore(slow), &["BeginSend"]);
    assert_eq!(keys(&rig), [next]);
}

#[test]
fn a_pull_request_waits_for_the_branch_of_its_activation() {
    let mut branch = other(1, 0, "git");
    branch.revision = Some("c0ffee".to_owned());
    let opened = other(1, 1, "github");
    let due = vec![branch.clone(), opened.clone(), other(2, 0, "slack")];
    let mut rig = given_all(due, &["BeginSend", "BeginSend"]);
    assert!(!keys(&rig).contains(&opened.key));
    rig.check(HostEvent::SendBegun(branch.key.clone()), &["Send"]);
    rig.check(
        HostEvent::Sent(branch.key.clone(), Ok(remote()), 0),
        &["Settle"],
    );
    let settled = HostEvent::SettledBefore(branch.key);
    rig.check(settled, &["BeginSend", "FindDueOutputs"]);
    assert_eq!(keys(&rig), [opened.key]);
}

#[test]
fn an_output_in_doubt_is_looked_up_before_it_is_sent() {
    for (found, state) in [
        (Found::At(remote()), OutputState::Confirmed),
        (Found::Absent, OutputState::Planned),
        (Found::Unreadable, OutputState::Unknown),
    ] {
        let mut rig = given(OutputState::Ambiguous, &["LookUp"]);
        rig.check(HostEvent::LookedUp(key(), Ok(found), 0), &["Settle"]);
        assert_eq!(settled(&rig), state);
    }
}

#[test]
fn an_output_of_no_configured_surface_is_refused_unsent() {
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    let mut stray = output(OutputState::Planned);
    "linear".clone_into(&mut stray.surface);
    let due = HostEvent::OutputsDue(vec![stray]);
    rig.check(due, &["FindNextOutput", "Settle"]);
    rig.decided.remove(0);
    assert_eq!(settled(&rig), OutputState::GaveUp);
}

#[test]
fn what_the_store_could_not_take_is_stored_before_anything_else_is_sent() {
    let begun = given(OutputState::Planned, &["BeginSend"]);
    let sending = || {
        let mut rig = given(OutputState::Planned, &["BeginSend"]);
        rig.check(HostEvent::SendBegun(key()), &["Send"]);
        rig
    };
    let mut sent = sending();
    sent.check(HostEvent::Sent(key(), Ok(remote()), 0), &["Settle"]);
    // Where the store fails or an effect panics, and what is known of the output then.
    for (mut rig, state) in [
        (begun, OutputState::Planned),
        (sending(), OutputState::Ambiguous),
        (sent, OutputState::Confirmed),
    ] {
        rig.check(HostEvent::OutputFailed(key()), &[]);
        assert_eq!(rig.wait(), seconds(1));
        rig.pass(Duration::from_secs(1));
        rig.check(HostEvent::Time, &["Settle"]);
        assert_eq!(settled(&rig), state);
        // The store fails again, and again the output comes first.
        rig.check(HostEvent::OutputFailed(key()), &[]);
        rig.pass(Duration::from_secs(1));
        rig.check(HostEvent::Time, &["Settle"]);
        assert_eq!(settled(&rig), state);
        rig.check(HostEvent::SettledBefore(key()), &["FindDueOutputs"]);
    }
}

#[test]
fn a_surface_that_fails_is_tried_again_later() {
    for (kind, state) in [
        (SurfaceErrorKind::Retryable, OutputState::Planned),
        (SurfaceErrorKind::Ambiguous, OutputState::Ambiguous),
        (SurfaceErrorKind::Refused, OutputState::GaveUp),
    ] {
        let mut rig = given(OutputState::Planned, &["BeginSend"]);
        rig.check(HostEvent::SendBegun(key()), &["Send"]);
        let error = SurfaceError::new(kind, "502");
        rig.check(HostEvent::Sent(key(), Err(error), 0), &["Settle"]);
        assert_eq!(settled(&rig), state);
    }
}

#[test]
fn a_stop_settles_the_output_that_is_under_way_and_sends_no_other() {
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    let due = vec![output(OutputState::Planned), output(OutputState::Ambiguous)];
    rig.check(HostEvent::OutputsDue(due), &["FindNextOutput", "BeginSend"]);
    rig.check(HostEvent::StopRequested, &[]);
    rig.check(HostEvent::SendBegun(key()), &["Send"]);
    rig.check(HostEvent::Sent(key(), Ok(remote()), 0), &["Settle"]);
    let confirmed = Box::new(output(OutputState::Confirmed));
    rig.check(HostEvent::Settled(confirmed), &[]);
    assert!(rig.dispatcher.is_finished());
}

#[test]
fn another_configuration_makes_every_output_due_at_once() {
    let configured = || HostEvent::Configured(Box::new(Settings::new(HostEpoch(7))));
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    rig.check(HostEvent::OutputsDue(Vec::new()), &["FindNextOutput"]);
    // The output under way is read with the earlier configuration, so the new one counts only after it.
    rig.check(configured(), &[]);
    rig.check(HostEvent::NextOutput(None), &["HastenOutputs"]);
    rig.check(HostEvent::StoreFailed(Concern::Outputs), &[]);
    rig.pass(Duration::from_secs(1));
    rig.check(HostEvent::Time, &["HastenOutputs"]);
    rig.check(HostEvent::OutputsHastened, &["FindDueOutputs"]);
    rig.check(HostEvent::OutputsDue(Vec::new()), &["FindNextOutput"]);
    let next = rig.now.wall + SignedDuration::from_mins(30);
    rig.check(HostEvent::NextOutput(Some(next)), &[]);
    rig.check(configured(), &["HastenOutputs"]);
}
