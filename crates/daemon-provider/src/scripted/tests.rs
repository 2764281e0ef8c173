use std::task::{Context, Poll, Waker};

use super::*;
use crate::conformance::{Behaviour, Fixture, check};
use crate::{ErrorClass, RunId};

fn request() -> RunRequest {
    RunRequest::new(
        "em-1-20260102-030405-0a1b2c".parse::<RunId>().unwrap(),
        "/nonexistent".into(),
    )
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

struct Scripts;

#[async_trait]
impl Fixture for Scripts {
    async fn prepare(&self, behaviour: Behaviour) -> Option<(Box<dyn Provider>, RunRequest)> {
        let line = || ScriptStep::Event(RunEvent::output("here"));
        let script = match behaviour {
            Behaviour::Done => Script::new([
                line(),
                ScriptStep::Event(RunEvent::terminal(Outcome::Done, "fixed")),
            ]),
            Behaviour::Fails => Script::failed(Failure::new(FailureKind::Provider, "quota")),
            Behaviour::Hangs => Script::new([line(), ScriptStep::Hang]),
            Behaviour::CannotStart => return Some((Box::new(Scripted::default()), request())),
        };
        Some((Box::new(Scripted::new([script])), request()))
    }
}

#[test]
fn scripts_pass_the_conformance_suite() {
    block_on(check(&Scripts));
}

async fn events(script: Script) -> Vec<Result<Option<RunEvent>, String>> {
    let mut run = Scripted::new([script]).start(request()).await.unwrap();
    let mut acc = Vec::new();
    while acc.last() != Some(&Ok(None)) {
        acc.push(run.next().await.map_err(|error| error.to_string()));
    }
    acc
}

#[test]
fn a_script_without_an_end_is_a_breach_of_protocol() {
    let failure = Failure {
        kind: FailureKind::Protocol,
        class: ErrorClass::Retryable,
        message: "the script ended without a result".to_owned(),
    };
    let expected = [
        Ok(Some(RunEvent::terminal(Outcome::Failed(failure), ""))),
        Ok(None),
    ];
    assert_eq!(block_on(events(Script::new([]))), expected);
}

#[test]
fn a_failing_step_ends_the_run() {
    let error = ProviderError::new("scripted", ProviderErrorKind::Lost, "connection lost");
    let expected = [
        Err("provider `scripted`: connection lost".to_owned()),
        Ok(None),
    ];
    assert_eq!(
        block_on(events(Script::new([
            ScriptStep::Fail(error),
            ScriptStep::Hang
        ]))),
        expected
    );
}

#[test]
fn what_is_not_granted_is_denied_and_the_script_goes_on() {
    let denied = |name: &str| RunEvent::Denied {
        name: name.to_owned(),
        detail: "not allowed: this run has no grants".to_owned(),
    };
    let script = Script::new([
        ScriptStep::Propose(Value::Null),
        ScriptStep::SetState("key".to_owned(), Value::Null),
        ScriptStep::Event(RunEvent::terminal(Outcome::Done, "")),
    ]);
    let expected = [
        Ok(Some(denied("propose_output"))),
        Ok(Some(denied("state_set"))),
        Ok(Some(RunEvent::terminal(Outcome::Done, ""))),
        Ok(None),
    ];
    assert_eq!(block_on(events(script)), expected);
}

#[test]
fn a_dropped_future_loses_no_event() {
    block_on(async {
        let script = Script::new([ScriptStep::Event(RunEvent::output("one")), ScriptStep::Hang]);
        let mut run = Scripted::new([script]).start(request()).await.unwrap();
        assert_eq!(run.next().await.unwrap(), Some(RunEvent::output("one")));
        for _ in 0..2 {
            let polled = run
                .next()
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Pending));
        }
        run.cancel(StopReason::Idle).await.unwrap();
        let stopped = RunEvent::terminal(Outcome::Stopped(StopReason::Idle), "");
        assert_eq!(run.next().await.unwrap(), Some(stopped));
    });
}
