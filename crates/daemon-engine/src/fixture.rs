//! Rows for this crate's tests.

use daemon_event::{ActivationId, DaemonKey, EventId, TriggerKey};
use jiff::Timestamp;

use crate::activation::{Activation, Trigger};
use crate::admit::{Joining, NewTrigger};
use crate::attempt::{AttemptEnd, AttemptOutcome};
use crate::output::{NewOutput, Output, OutputKey, OutputState};

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

pub(crate) fn id(n: u64) -> ActivationId {
    ActivationId::new(n, [0; 10])
}

pub(crate) fn new_trigger(n: u64) -> NewTrigger {
    NewTrigger {
        daemon: DaemonKey {
            repo: "o/r".parse().unwrap(),
            id: "a".parse().unwrap(),
        },
        rev: "rev-1".to_owned(),
        subject: None,
        trigger: Trigger {
            key: TriggerKey::Event(EventId::new(n, [0; 10])),
            conditions: vec![0],
            by: None,
            occasion: None,
            recorded_at: at(0),
        },
        activation_id: id(n),
        not_before: at(0),
        joining: Joining::Coalesce,
        link: None,
    }
}

pub(crate) fn pending() -> Activation {
    Activation::pending(new_trigger(1))
}

pub(crate) fn retryable() -> AttemptOutcome {
    AttemptOutcome::Retryable {
        reason: "it crashed".to_owned(),
    }
}

pub(crate) fn end(outcome: AttemptOutcome) -> AttemptEnd {
    AttemptEnd::new(outcome, at(100), u32::MAX)
}

pub(crate) fn output(state: OutputState) -> Output {
    let new = NewOutput {
        key: OutputKey::derive(&id(1), 0, "git", "refs/heads/x"),
        ordinal: 0,
        surface: "git".to_owned(),
        target: "refs/heads/x".to_owned(),
        content: "{}".to_owned(),
        revision: None,
        state,
        error: None,
    };
    Output::new(new, &pending(), at(0))
}
