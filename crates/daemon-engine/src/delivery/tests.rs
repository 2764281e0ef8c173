use super::{DeliveryStep, Settlement, after_look_up, after_send, step};
use crate::facts::RetryAfter;
use crate::fixture::{at, output};
use crate::output::{Output, OutputState};
use crate::surface::{Found, RemoteId, SurfaceError, SurfaceErrorKind};

const NOW: i64 = 1_000;

fn sending(attempts: u32) -> Output {
    Output {
        attempts,
        ..output(OutputState::Sending)
    }
}

fn error(kind: SurfaceErrorKind) -> SurfaceError {
    SurfaceError::new(kind, "502")
}

fn settled(state: OutputState, error: Option<&str>, not_before: Option<i64>) -> Settlement {
    Settlement {
        state,
        remote: None,
        error: error.map(str::to_owned),
        not_before: not_before.map(at),
        at: at(NOW),
    }
}

fn remote() -> RemoteId {
    RemoteId {
        id: "r-1".to_owned(),
        url: None,
        revision: None,
    }
}

fn confirmed() -> Settlement {
    Settlement {
        remote: Some(remote()),
        ..settled(OutputState::Confirmed, None, None)
    }
}

#[test]
fn every_state_has_its_step() {
    let steps: Vec<(OutputState, DeliveryStep)> = OutputState::ALL
        .into_iter()
        .map(|state| (state, step(state)))
        .collect();
    assert_eq!(
        steps,
        [
            (OutputState::Refused, DeliveryStep::Rest),
            (OutputState::Planned, DeliveryStep::Send),
            (OutputState::Sending, DeliveryStep::LookUp),
            (OutputState::Ambiguous, DeliveryStep::LookUp),
            (OutputState::Confirmed, DeliveryStep::Rest),
            (OutputState::Unknown, DeliveryStep::Rest),
            (OutputState::GaveUp, DeliveryStep::Rest),
        ]
    );
    for (state, step) in steps {
        assert_eq!(step == DeliveryStep::Rest, state.is_settled());
    }
}

#[test]
fn what_was_sent_is_confirmed_tried_again_or_given_up() {
    let check = |sent, expected: &Settlement| {
        assert_eq!(after_send(&sending(2), sent, at(NOW), u32::MAX), *expected);
    };
    check(Ok(remote()), &confirmed());
    check(
        Err(error(SurfaceErrorKind::Refused)),
        &settled(OutputState::GaveUp, Some("502"), None),
    );
    check(
        Err(error(SurfaceErrorKind::Retryable)),
        &settled(OutputState::Planned, Some("502"), Some(NOW + 30)),
    );
    check(
        Err(error(SurfaceErrorKind::Ambiguous)),
        &settled(OutputState::Ambiguous, Some("502"), Some(NOW + 30)),
    );
}

#[test]
fn what_was_looked_up_is_confirmed_sent_or_never_sent_again() {
    let check = |found, expected: &Settlement| {
        assert_eq!(
            after_look_up(&sending(0), found, at(NOW), u32::MAX),
            *expected
        );
    };
    check(Ok(Found::At(remote())), &confirmed());
    check(
        Ok(Found::Absent),
        &settled(OutputState::Planned, None, Some(NOW)),
    );
    check(
        Ok(Found::Unreadable),
        &settled(
            OutputState::Unknown,
            Some("the surface cannot be read back"),
            None,
        ),
    );
    for kind in [SurfaceErrorKind::Retryable, SurfaceErrorKind::Ambiguous] {
        check(
            Err(error(kind)),
            &settled(OutputState::Ambiguous, Some("502"), Some(NOW + 10)),
        );
    }
    check(
        Err(error(SurfaceErrorKind::Refused)),
        &settled(OutputState::GaveUp, Some("502"), None),
    );
}

#[test]
fn a_surface_that_names_a_time_is_not_asked_before_it() {
    let limited = |kind, second| {
        let asked = error(kind).with_retry_after(RetryAfter::Until(at(second)));
        let sent = after_send(&sending(1), Err(asked), at(NOW), 0);
        (sent.state, sent.not_before)
    };
    let (retryable, ambiguous) = (SurfaceErrorKind::Retryable, SurfaceErrorKind::Ambiguous);
    for (kind, second, expected) in [
        (retryable, NOW + 90, (OutputState::Planned, NOW + 90)),
        (ambiguous, NOW + 90, (OutputState::Ambiguous, NOW + 90)),
        // A time in the past, and one that a wrong clock names.
        (retryable, NOW - 90, (OutputState::Planned, NOW)),
        (retryable, NOW * 1_000, (OutputState::Planned, NOW + 3_600)),
    ] {
        let expected = (expected.0, Some(at(expected.1)));
        assert_eq!(limited(kind, second), expected, "{kind:?} {second}");
    }
    // The last try is at the expiry, not an hour later.
    let late = 24 * 3_600 - 60;
    let asked = error(retryable).with_retry_after(RetryAfter::Until(at(late + 3_000)));
    let sent = after_send(&sending(1), Err(asked), at(late), 0);
    assert_eq!(sent.not_before, Some(at(late + 60)));
}

#[test]
fn a_day_of_trying_is_enough() {
    let day = 24 * 3600;
    let after = |second| {
        let failed = Err(error(SurfaceErrorKind::Retryable));
        after_send(&sending(1), failed, at(second), 0).state
    };
    assert_eq!(after(day - 1), OutputState::Planned);
    assert_eq!(after(day), OutputState::GaveUp);
}

#[test]
fn an_output_without_an_answer_is_looked_up_even_after_a_day() {
    let day = 24 * 3600;
    let unanswered = || Err(error(SurfaceErrorKind::Ambiguous));
    let sent = after_send(&sending(1), unanswered(), at(day), 0);
    assert_eq!(sent.state, OutputState::Ambiguous);
    let mut ambiguous = sending(1);
    ambiguous.error = sent.error;
    let after = |found| after_look_up(&ambiguous, Ok(found), at(day), 0).state;
    assert_eq!(after(Found::At(remote())), OutputState::Confirmed);
    assert_eq!(after(Found::Absent), OutputState::GaveUp);
    let unreachable = Err(error(SurfaceErrorKind::Retryable));
    let unread = after_look_up(&ambiguous, unreachable, at(day), 0);
    assert_eq!(unread.state, OutputState::Unknown);
    assert_eq!(unread.error.as_deref(), Some("502; looked up for 24 hours"));
    // A host that was down for a day when it had begun to send has not tried for a day.
    let interrupted = after_look_up(&sending(1), Ok(Found::Absent), at(day), 0);
    assert_eq!(interrupted.state, OutputState::Planned);
}
