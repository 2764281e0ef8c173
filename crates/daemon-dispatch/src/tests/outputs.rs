//! Outputs: what is sent, looked up and settled, also when the store fails between the steps.

use std::time::Duration;

use daemon_engine::{Found, HostEpoch, OutputState, RemoteId, SurfaceError, SurfaceErrorKind};
use jiff::SignedDuration;

use super::{Rig, output, seconds};
use crate::{Concern, HostEffect, HostEvent, Settings};

fn remote() -> RemoteId {
    RemoteId {
        id: "abc".to_owned(),
        url: None,
    }
}

/// Makes a rig that was given one due output.
fn given(state: OutputState, expected: &[&str]) -> Rig {
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    rig.check(HostEvent::OutputsDue(vec![output(state)]), expected);
    rig
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
    rig.check(HostEvent::SendBegun, &["Send"]);
    rig.check(HostEvent::Sent(Ok(remote()), 0), &["Settle"]);
    assert_eq!(settled(&rig), OutputState::Confirmed);
    let confirmed = Box::new(output(OutputState::Confirmed));
    rig.check(HostEvent::Settled(confirmed), &["FindDueOutputs"]);
    rig.check(HostEvent::OutputsDue(Vec::new()), &["FindNextOutput"]);
    rig.check(HostEvent::NextOutput(None), &[]);
    assert_eq!(rig.wait(), seconds(30));
}

#[test]
fn an_output_in_doubt_is_looked_up_before_it_is_sent() {
    for (found, state) in [
        (Found::At(remote()), OutputState::Confirmed),
        (Found::Absent, OutputState::Planned),
        (Found::Unreadable, OutputState::Unknown),
    ] {
        let mut rig = given(OutputState::Ambiguous, &["LookUp"]);
        rig.check(HostEvent::LookedUp(Ok(found), 0), &["Settle"]);
        assert_eq!(settled(&rig), state);
    }
}

#[test]
fn an_output_of_no_configured_surface_is_refused_unsent() {
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    let mut stray = output(OutputState::Planned);
    "slack".clone_into(&mut stray.surface);
    rig.check(HostEvent::OutputsDue(vec![stray]), &["Settle"]);
    assert_eq!(settled(&rig), OutputState::GaveUp);
}

#[test]
fn what_the_store_could_not_take_is_stored_before_anything_else_is_sent() {
    let begun = given(OutputState::Planned, &["BeginSend"]);
    let sending = || {
        let mut rig = given(OutputState::Planned, &["BeginSend"]);
        rig.check(HostEvent::SendBegun, &["Send"]);
        rig
    };
    let mut sent = sending();
    sent.check(HostEvent::Sent(Ok(remote()), 0), &["Settle"]);
    let failed = || HostEvent::StoreFailed(Concern::Outputs);
    let panicked = HostEvent::Panicked(Concern::Outputs);
    // Where the store fails or an effect panics, and what is known of the output then.
    for (mut rig, event, state) in [
        (begun, failed(), OutputState::Planned),
        (sending(), panicked, OutputState::Ambiguous),
        (sent, failed(), OutputState::Confirmed),
    ] {
        rig.check(event, &[]);
        assert_eq!(rig.wait(), seconds(1));
        rig.pass(Duration::from_secs(1));
        rig.check(HostEvent::Time, &["Settle"]);
        assert_eq!(settled(&rig), state);
        // The store fails again, and again the output comes first.
        rig.check(HostEvent::StoreFailed(Concern::Outputs), &[]);
        rig.pass(Duration::from_secs(1));
        rig.check(HostEvent::Time, &["Settle"]);
        assert_eq!(settled(&rig), state);
        rig.check(HostEvent::SettledBefore, &["FindDueOutputs"]);
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
        rig.check(HostEvent::SendBegun, &["Send"]);
        let error = SurfaceError::new(kind, "502");
        rig.check(HostEvent::Sent(Err(error), 0), &["Settle"]);
        assert_eq!(settled(&rig), state);
    }
}

#[test]
fn a_stop_settles_the_output_that_is_under_way_and_sends_no_other() {
    let mut rig = Rig::new(&[Concern::Outputs]);
    rig.check(HostEvent::Time, &["FindDueOutputs"]);
    let due = vec![output(OutputState::Planned), output(OutputState::Ambiguous)];
    rig.check(HostEvent::OutputsDue(due), &["BeginSend"]);
    rig.check(HostEvent::StopRequested, &[]);
    rig.check(HostEvent::SendBegun, &["Send"]);
    rig.check(HostEvent::Sent(Ok(remote()), 0), &["Settle"]);
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
