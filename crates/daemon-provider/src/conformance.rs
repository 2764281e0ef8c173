//! A test suite that every provider must pass.
//!
//! A provider's tests implement [`Fixture`] and call [`check`]. The suite uses no timers, so that it runs on any executor; the
//! caller must abort a test whose provider hangs.

use async_trait::async_trait;

use crate::{
    Asked, ChildProcess, ErrorClass, FailureKind, Outcome, Provider, ProviderError, Run, RunEvent,
    RunRequest, StopReason,
};

/// Prepares runs of a known behaviour for the provider under test.
#[async_trait]
pub trait Fixture: Sync {
    /// Returns the provider and a request for a run with this behaviour; `None` if the provider has no such runs.
    async fn prepare(&self, behaviour: Behaviour) -> Option<(Box<dyn Provider>, RunRequest)>;
}

/// The behaviour of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Behaviour {
    /// Prints a line, then ends as `done` with the text `fixed`.
    Done,
    /// Reports a failure.
    Fails,
    /// Prints a line, then runs until it is cancelled.
    Hangs,
    /// [`Provider::start`] fails.
    CannotStart,
}

/// Runs the whole suite.
///
/// # Panics
/// The provider violates a rule of the traits. The message names the rule.
pub async fn check(fixture: &dyn Fixture) {
    a_good_run_ends_once(fixture).await;
    a_failed_run_is_classed(fixture).await;
    the_first_reason_to_cancel_wins(fixture).await;
    a_late_cancel_changes_nothing(fixture).await;
    a_message_that_joins_is_part_of_the_run(fixture).await;
    what_cannot_start_is_an_error(fixture).await;
}

async fn start(fixture: &dyn Fixture, behaviour: Behaviour) -> Option<Box<dyn Run>> {
    let (provider, request) = fixture.prepare(behaviour).await?;
    assert!(!provider.name().is_empty(), "a provider has a name");
    Some(
        provider
            .start(request)
            .await
            .expect("this run can be started"),
    )
}

/// Reads a run to its end and checks the rules that hold for every run.
async fn play(run: &mut dyn Run) -> Vec<RunEvent> {
    let events = read(run).await;
    spawns_match_exits(&events);
    events
}

async fn read(run: &mut dyn Run) -> Vec<RunEvent> {
    let mut acc = Vec::new();
    while let Some(event) = run.next().await.expect("this run is not lost") {
        acc.push(event);
    }
    let n_terminal = acc
        .iter()
        .filter(|event| matches!(event, RunEvent::Terminal { .. }))
        .count();
    assert_eq!(n_terminal, 1, "exactly one terminal event: {acc:?}");
    assert!(
        matches!(acc.last(), Some(RunEvent::Terminal { .. })),
        "it comes last: {acc:?}"
    );
    for _ in 0..2 {
        let after = run.next().await.expect("an ended run is not lost");
        assert_eq!(after, None, "nothing follows the terminal event");
    }
    acc
}

fn spawns_match_exits(events: &[RunEvent]) {
    let mut running: Option<ChildProcess> = None;
    for event in events {
        match event {
            RunEvent::Spawned { child, .. } => running = Some(*child),
            RunEvent::Exited(_) => {
                assert!(
                    running.take().is_some(),
                    "an exit follows a spawn: {events:?}"
                );
            }
            _ => {}
        }
    }
    assert_eq!(
        running, None,
        "every process that was spawned is reaped: {events:?}"
    );
}

fn outcome(events: &[RunEvent]) -> (&Outcome, &str) {
    match events.last() {
        Some(RunEvent::Terminal { outcome, text }) => (outcome, text),
        other => panic!("a run ends with its terminal event, not {other:?}"),
    }
}

async fn a_good_run_ends_once(fixture: &dyn Fixture) {
    let Some(mut run) = start(fixture, Behaviour::Done).await else {
        return;
    };
    let events = play(&mut *run).await;
    let (outcome, text) = outcome(&events);
    assert_eq!(outcome, &Outcome::Done);
    assert!(
        text.contains("fixed"),
        "the final text is the run's own: {text:?}"
    );
}

async fn a_failed_run_is_classed(fixture: &dyn Fixture) {
    let Some(mut run) = start(fixture, Behaviour::Fails).await else {
        return;
    };
    let events = play(&mut *run).await;
    let Outcome::Failed(failure) = outcome(&events).0 else {
        panic!("a failed run ends as failed: {events:?}");
    };
    assert!(!failure.message.is_empty(), "a failure has a message");
    if failure.kind == FailureKind::Spawn {
        assert_eq!(
            failure.class,
            ErrorClass::Final,
            "what cannot start now cannot start later"
        );
    }
    let has_usage = events
        .iter()
        .any(|event| matches!(event, RunEvent::Usage { .. }));
    let has_child = events
        .iter()
        .any(|event| matches!(event, RunEvent::Spawned { .. }));
    assert!(
        !(has_usage && has_child),
        "a program's own count of usage holds after success only"
    );
}

async fn the_first_reason_to_cancel_wins(fixture: &dyn Fixture) {
    let Some(mut run) = start(fixture, Behaviour::Hangs).await else {
        return;
    };
    loop {
        match run.next().await.expect("this run is not lost") {
            Some(RunEvent::Output { .. }) => break,
            Some(RunEvent::Terminal { .. }) | None => {
                panic!("a run that hangs does not end by itself")
            }
            Some(_) => {}
        }
    }
    // Two reasons with different states, so that the outcome shows which one the run kept.
    run.cancel(StopReason::Timeout)
        .await
        .expect("a running run can be cancelled");
    run.cancel(StopReason::Reclaim)
        .await
        .expect("a second cancel is no error");
    let events = read(&mut *run).await;
    assert_eq!(outcome(&events).0, &Outcome::Stopped(StopReason::Timeout));
    let has_usage = events
        .iter()
        .any(|event| matches!(event, RunEvent::Usage { .. }));
    assert!(!has_usage, "a cancelled run counts no usage: {events:?}");
}

async fn a_late_cancel_changes_nothing(fixture: &dyn Fixture) {
    let Some(mut run) = start(fixture, Behaviour::Done).await else {
        return;
    };
    play(&mut *run).await;
    run.cancel(StopReason::Reclaim)
        .await
        .expect("cancelling an ended run is not an error");
    assert_eq!(run.next().await.expect("an ended run is not lost"), None);
}

async fn a_message_that_joins_is_part_of_the_run(fixture: &dyn Fixture) {
    const MESSAGE: &str = "and what else?";
    let Some(mut run) = start(fixture, Behaviour::Done).await else {
        return;
    };
    let expected = run.would_take();
    let asked = run.ask(MESSAGE).await.expect("a message can be sent");
    assert_eq!(asked, expected, "`ask` answers what `would_take` did");
    let events = play(&mut *run).await;
    let is_it =
        |event: &RunEvent| matches!(event, RunEvent::Message { text, .. } if text == MESSAGE);
    assert_eq!(
        events.iter().any(is_it),
        asked == Asked::Joined,
        "what joins a run is one of its messages: {events:?}"
    );
    assert_ne!(run.would_take(), Asked::Joined, "the run has ended");
}

async fn what_cannot_start_is_an_error(fixture: &dyn Fixture) {
    let Some((provider, request)) = fixture.prepare(Behaviour::CannotStart).await else {
        return;
    };
    let error: ProviderError = match provider.start(request).await {
        Ok(_) => panic!("a run that cannot start must not"),
        Err(error) => error,
    };
    assert_eq!(
        error.provider,
        provider.name(),
        "an error names its provider"
    );
    assert!(!error.message.is_empty(), "an error has a message");
    assert_eq!(
        error.class,
        ErrorClass::Final,
        "what cannot start now cannot start later"
    );
}
