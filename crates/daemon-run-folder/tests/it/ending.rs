//! How a run ends: which reason decides its state, and what is written once.

use std::fs;

use daemon_run_folder::{
    ErrorClass, Exit, Failure, FailureKind, Outcome, RunState, StopReason, TokensRecord,
};

use crate::kit::{Home, at, document, listing, start, text};

#[test]
fn the_first_stop_reason_holds_and_overrides_success() {
    let home = Home::new();
    let mut writer = home.run(start());
    writer.cli_usage(
        TokensRecord {
            input: 1,
            ..TokensRecord::default()
        },
        None,
        serde_json::Value::Null,
    );
    assert_eq!(
        writer.stopping(StopReason::Timeout, None, at(100)).unwrap(),
        StopReason::Timeout
    );
    let stored = document(writer.folder())
        .cli_termination
        .map(|stop| stop.reason);
    assert_eq!(
        stored,
        Some(StopReason::Timeout),
        "durable before anything is signalled"
    );
    assert_eq!(
        writer.stopping(StopReason::Reclaim, None, at(200)).unwrap(),
        StopReason::Timeout
    );
    writer
        .provider_ended(&Outcome::Done, "done", at(300))
        .unwrap();
    writer.exited(Exit::Code(0), at(400)).unwrap();
    assert_eq!(
        writer.finish(&Outcome::Done, at(500)).unwrap(),
        RunState::Timeout
    );
    let document = document(writer.folder());
    assert_eq!(
        document.cli_tokens.calls, 0,
        "usage counts after success only"
    );
    assert_eq!(document.result_preview, None);
    let log = text(writer.folder().events());
    assert!(
        !log.contains("daemon_done") && !log.contains("cli_usage"),
        "{log}"
    );
}

#[test]
fn each_reason_leads_to_its_state() {
    use ErrorClass::{Final, Retryable};
    let table = [
        (
            StopReason::Timeout,
            RunState::Timeout,
            Some(("timeout", Retryable)),
        ),
        (
            StopReason::Idle,
            RunState::Timeout,
            Some(("idle", Retryable)),
        ),
        (
            StopReason::Reclaim,
            RunState::Cancelled,
            Some(("reclaim", Final)),
        ),
        (
            StopReason::AgentStop,
            RunState::Cancelled,
            Some(("agent_stop", Retryable)),
        ),
        (
            StopReason::LostLease,
            RunState::Cancelled,
            Some(("lost_lease", Final)),
        ),
        (
            StopReason::Budget,
            RunState::Failed,
            Some(("budget", Final)),
        ),
        (
            StopReason::Resource,
            RunState::Failed,
            Some(("resource", Final)),
        ),
        (StopReason::Grace, RunState::Done, None),
    ];
    let home = Home::new();
    for (reason, state, error) in table {
        let mut writer = home.run(start());
        writer.stopping(reason, None, at(1)).unwrap();
        assert_eq!(writer.finish(&Outcome::Done, at(2)).unwrap(), state);
        let stored = document(writer.folder()).error;
        assert_eq!(
            stored.as_ref().map(|error| (&*error.kind, error.class)),
            error
        );
    }
}

#[test]
fn any_other_stop_reason_replaces_grace() {
    let home = Home::new();
    let mut writer = home.run(start());
    let mut stop = |reason| writer.stopping(reason, None, at(1)).unwrap();
    let stored = [
        StopReason::Grace,
        StopReason::Reclaim,
        StopReason::Grace,
        StopReason::Timeout,
    ]
    .map(&mut stop);
    assert_eq!(
        stored,
        [
            StopReason::Grace,
            StopReason::Reclaim,
            StopReason::Reclaim,
            StopReason::Reclaim
        ]
    );
    assert_eq!(
        writer.finish(&Outcome::Done, at(2)).unwrap(),
        RunState::Cancelled
    );
}

#[test]
fn a_run_whose_folder_was_deleted_ends_in_memory() {
    let home = Home::new();
    let mut writer = home.run(start());
    fs::remove_dir_all(writer.folder().path()).unwrap();
    writer.finish(&Outcome::Done, at(1)).unwrap_err();
    assert_eq!(writer.document().state, RunState::Running);
    writer.finish_unrecorded(&Outcome::Stopped(StopReason::Reclaim), at(2));
    let document = writer.document();
    let error = document
        .error
        .as_ref()
        .map(|error| (&*error.kind, error.class));
    assert_eq!(
        (document.state, error, document.finished_at.is_some()),
        (
            RunState::Cancelled,
            Some(("reclaim", ErrorClass::Final)),
            true
        )
    );
    assert!(!writer.folder().path().exists());
}

#[test]
fn a_run_ends_once() {
    let home = Home::new();
    let mut writer = home.run(start());
    let error = Failure {
        kind: FailureKind::Exit,
        message: "exit code 1".to_owned(),
        class: ErrorClass::Retryable,
    };
    assert_eq!(
        writer.finish(&Outcome::Failed(error), at(10)).unwrap(),
        RunState::Failed
    );
    let before = text(writer.folder().path().join("daemon.json"));
    let refused = writer.finish(&Outcome::Done, at(20)).unwrap_err();
    assert_eq!(refused.to_string(), "the run has ended as failed");
    assert_eq!(text(writer.folder().path().join("daemon.json")), before);
}

#[test]
fn a_failed_terminal_write_can_be_repeated() {
    let home = Home::new();
    let mut writer = home.run(start());
    let path = writer.folder().path().join("daemon.json");
    fs::remove_file(&path).unwrap();
    // A directory in its place cannot be replaced by a file.
    fs::create_dir(&path).unwrap();
    let error = writer.finish(&Outcome::Done, at(10)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot write `{}`", path.display())
    );
    assert_eq!(writer.document().state, RunState::Running);
    fs::remove_dir(&path).unwrap();
    assert_eq!(
        writer.finish(&Outcome::Done, at(20)).unwrap(),
        RunState::Done
    );
    assert_eq!(
        text(writer.folder().events())
            .matches("daemon_done")
            .count(),
        1
    );
    let temporary = listing(writer.folder())
        .into_iter()
        .filter(|name| name.starts_with("600") && name.contains("tmp"));
    assert_eq!(temporary.collect::<Vec<_>>(), Vec::<String>::new());
}
