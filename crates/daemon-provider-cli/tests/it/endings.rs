//! How runs of programs end.

use std::fs;

use daemon_process::ChildLimits;
use daemon_provider::ErrorClass::{Final, Retryable};
use daemon_provider::FailureKind::{
    Budget as BudgetKind, Exit as ExitKind, Protocol, Provider, Resource, Terminated,
};
use daemon_provider::{
    ErrorClass, Exit, Failure, FailureKind, MicroUsd, Outcome, Provider as _, RunEvent, StopReason,
};
use daemon_provider_cli::ResultRule;

use crate::kit::{Bench, done, story, until};

fn failed(
    kind: FailureKind,
    class: ErrorClass,
    message: &str,
    text: &str,
) -> Option<(Outcome, String)> {
    let failure = Failure {
        kind,
        class,
        message: message.to_owned(),
    };
    Some((Outcome::Failed(failure), text.to_owned()))
}

fn stopped(reason: StopReason, text: &str) -> Option<(Outcome, String)> {
    Some((Outcome::Stopped(reason), text.to_owned()))
}

const GOOD: &str = r#"echo '{"daemon":"result","ok":true,"text":"fixed"}'"#;
const BAD: &str = r#"echo '{"daemon":"result","ok":false,"text":"quota"}'"#;

#[tokio::test]
async fn codes_and_results_become_outcomes() {
    let bench = Bench::new();
    let table = [
        ("echo a; echo; echo b".to_owned(), done("a\n\nb")),
        (format!("echo a; {GOOD}"), done("fixed")),
        (BAD.to_owned(), failed(Provider, Final, "quota", "quota")),
        (format!("{BAD}; {GOOD}"), done("fixed")),
        (
            "echo a; exit 75".to_owned(),
            failed(ExitKind, Retryable, "exit code 75", "a"),
        ),
        (
            "exit 3".to_owned(),
            failed(ExitKind, Final, "exit code 3", ""),
        ),
        (
            format!("{GOOD}; exit 9"),
            failed(ExitKind, Final, "exit code 9", "fixed"),
        ),
    ];
    for (script, end) in table {
        assert_eq!(bench.play(&script).await.end, end, "{script}");
    }
}

#[tokio::test]
async fn a_required_result_that_is_missing_fails_the_run() {
    let bench = Bench::new();
    let mut config = bench.config("echo text");
    config.result = ResultRule::Required;
    let message = "the program ended without a result";
    assert_eq!(
        bench.story(config.clone()).await.end,
        failed(Protocol, Retryable, message, "text")
    );
    config.program.args = vec!["-c".to_owned(), GOOD.to_owned()];
    assert_eq!(bench.story(config).await.end, done("fixed"));
}

#[tokio::test]
async fn a_result_too_long_to_be_read_is_not_taken_for_text() {
    let bench = Bench::new();
    let script = r#"printf '{"daemon":"result","ok":false,"text":"'
        head -c 5000000 /dev/zero | tr '\0' x; echo '"}'"#;
    let Some((Outcome::Failed(failure), _)) = bench.play(script).await.end else {
        panic!("a failure")
    };
    let message = "an event of the program was too long to be read";
    let expected = Failure {
        kind: Protocol,
        class: Retryable,
        message: message.to_owned(),
    };
    assert_eq!(failure, expected);
}

#[tokio::test]
async fn a_failure_has_the_end_of_standard_error_as_its_message() {
    let bench = Bench::new();
    let story = bench
        .play("seq 1 100 >&2; yes | tr -d '\\n' | head -c 480 >&2; exit 1")
        .await;
    // Of the last twenty lines the last 500 characters, and nothing else.
    let last = format!("4\n95\n96\n97\n98\n99\n100\n{}", "y".repeat(480));
    let last = &last[last.len() - 500..];
    assert_eq!(story.end, failed(ExitKind, Final, last, ""));
}

#[tokio::test]
async fn a_flood_on_stderr_with_a_silent_stdout_does_not_deadlock() {
    let bench = Bench::new();
    let story = bench
        .play("yes 0123456789abcde | head -c 10000000 >&2; echo done")
        .await;
    assert_eq!((story.stderr.len(), story.end), (625_000, done("done")));
}

#[tokio::test]
async fn a_foreign_signal_is_a_termination_by_an_unknown_sender() {
    let bench = Bench::new();
    for (script, code) in [("kill -TERM $$", -15), ("exit 143", 143)] {
        let message = format!("terminated by an unknown sender (SIGTERM, code {code})");
        assert_eq!(
            bench.play(script).await.end,
            failed(Terminated, Retryable, &message, "")
        );
    }
}

#[tokio::test]
async fn a_child_and_grandchild_that_ignore_sigterm_die_of_a_cancel() {
    let bench = Bench::new();
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & echo $! > pid; \
                  echo up; while :; do sleep 1000; done";
    let mut run = bench.start(bench.config(script)).await.unwrap();
    until(&mut *run, "up").await;
    run.cancel(StopReason::Timeout).await.unwrap();
    let story = story(&mut *run).await;
    assert_eq!(
        (story.exit, story.end),
        (Some(Exit::Signal(9)), stopped(StopReason::Timeout, "up"))
    );
    let pid = fs::read_to_string(bench.path("worktree/pid")).unwrap();
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[tokio::test]
async fn the_first_reason_stays() {
    let bench = Bench::new();
    let mut run = bench
        .start(bench.config("echo up; exec sleep 1000"))
        .await
        .unwrap();
    until(&mut *run, "up").await;
    run.cancel(StopReason::Timeout).await.unwrap();
    run.cancel(StopReason::Reclaim).await.unwrap();
    assert_eq!(
        story(&mut *run).await.end,
        stopped(StopReason::Timeout, "up")
    );
}

#[tokio::test]
async fn a_cancel_between_the_last_output_and_exit_0_cancels_and_counts_nothing() {
    let bench = Bench::new();
    let script = r#"trap 'exit 0' TERM; echo '{"daemon":"usage","input":5}'; echo last;
        while :; do sleep 0.01; done 2>/dev/null"#;
    let mut run = bench.start(bench.config(script)).await.unwrap();
    until(&mut *run, "last").await;
    run.cancel(StopReason::Reclaim).await.unwrap();
    let story = story(&mut *run).await;
    let expected = (
        Some(Exit::Code(0)),
        vec![],
        stopped(StopReason::Reclaim, "last"),
    );
    assert_eq!((story.exit, story.events, story.end), expected);
}

#[tokio::test]
async fn a_cancel_after_the_exit_but_before_the_end_is_returned_still_cancels() {
    let bench = Bench::new();
    let mut run = bench
        .start(bench.config(r#"echo '{"daemon":"usage","input":5}'"#))
        .await
        .unwrap();
    while !matches!(run.next().await.unwrap(), Some(RunEvent::Exited(_))) {}
    run.cancel(StopReason::LostLease).await.unwrap();
    let expected = RunEvent::terminal(Outcome::Stopped(StopReason::LostLease), "");
    assert_eq!(run.next().await.unwrap(), Some(expected));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_stays_after_its_result_is_stopped_and_its_result_counts() {
    let bench = Bench::new();
    let started = tokio::time::Instant::now();
    let mut run = bench
        .start(bench.config(&format!("{GOOD}; exec sleep 1000")))
        .await
        .unwrap();
    let story = story(&mut *run).await;
    assert_eq!(
        story.events,
        [RunEvent::Stopping {
            why: StopReason::Grace,
            detail: None
        }]
    );
    assert_eq!(
        (story.exit, story.end),
        (Some(Exit::Signal(15)), done("fixed"))
    );
    // The paused clock jumps to the deadline as soon as nothing else is left to do.
    assert_eq!(started.elapsed().as_secs(), 20);
}

#[tokio::test]
async fn a_deadline_after_the_result_changes_nothing_and_a_reclaim_cancels() {
    let bench = Bench::new();
    let script =
        format!(r#"echo '{{"daemon":"usage","input":5}}'; {GOOD}; echo told; exec sleep 1000"#);
    for (why, n_usage, end) in [
        (StopReason::Timeout, 1, done("fixed")),
        (StopReason::Idle, 1, done("fixed")),
        (StopReason::AgentStop, 1, done("fixed")),
        (
            StopReason::Reclaim,
            0,
            stopped(StopReason::Reclaim, "fixed"),
        ),
    ] {
        let mut run = bench.start(bench.config(&script)).await.unwrap();
        until(&mut *run, "told").await;
        run.cancel(why).await.unwrap();
        let story = story(&mut *run).await;
        assert_eq!((story.events.len(), story.end), (n_usage, end), "{why}");
    }
}

#[tokio::test]
async fn work_after_a_result_is_under_the_deadline_again() {
    let bench = Bench::new();
    let script = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"a"}'
        echo '{"type":"assistant","message":{"content":[{"type":"text","text":"more"}]}}'
        exec sleep 1000"#;
    let mut run = crate::stand_in::start_shell(&bench, script).await;
    until(&mut *run, "more").await;
    run.cancel(StopReason::Timeout).await.unwrap();
    assert_eq!(
        story(&mut *run).await.end,
        stopped(StopReason::Timeout, "a")
    );
}

#[tokio::test]
async fn a_result_with_a_byte_that_is_not_utf8_is_a_result() {
    let bench = Bench::new();
    // In a result, in the key of an event, and next to characters of several bytes.
    let script = r#"printf '{"daemon":"session","id":"s-1"}\n{"daemon":"usage","input":5}\n'
        printf '{"daemon":"result","ok":true,"text":"caf\351 \303\251 \\n"}\n'"#;
    let story = bench.play(script).await;
    assert_eq!(
        (story.stdout, story.events.len(), story.end),
        (vec![], 2, done("caf\\xe9 \u{e9} \n"))
    );
}

#[tokio::test]
async fn a_program_that_reports_a_cost_over_its_budget_is_stopped() {
    let bench = Bench::new();
    let script = r#"echo '{"daemon":"usage","input":1,"cost_usd":0.5}'
        echo '{"daemon":"usage","input":1,"cost_usd":0.6}'; exec sleep 1000"#;
    let mut request = bench.request();
    request.limits.budget = Some(MicroUsd(1_000_000));
    let provider = bench.provider(bench.config(script));
    let story = story(&mut *provider.start(request).await.unwrap()).await;
    let message = "cost 1.10 USD of 1.00 USD";
    let stopping = RunEvent::Stopping {
        why: StopReason::Budget,
        detail: Some(message.to_owned()),
    };
    assert_eq!(story.events.last(), Some(&stopping));
    assert_eq!(story.end, failed(BudgetKind, Final, message, ""));
}

#[tokio::test]
async fn a_program_that_takes_too_much_is_stopped_for_it() {
    let bench = Bench::new();
    let mut config = bench.config("for i in 1 2 3 4 5 6; do sleep 1000 & done; wait");
    config.program.limits = ChildLimits {
        processes: 3,
        ..ChildLimits::default()
    };
    let story = bench.story(config).await;
    let message = "started more processes than it may";
    let detail = Some(message.to_owned());
    assert_eq!(
        story.events,
        [RunEvent::Stopping {
            why: StopReason::Resource,
            detail
        }]
    );
    assert_eq!(story.end, failed(Resource, Final, message, ""));
}

#[tokio::test]
async fn one_run_that_is_stopped_leaves_the_other_alone() {
    let bench = Bench::new();
    let mut long = bench
        .start(bench.config("echo up; exec sleep 1000"))
        .await
        .unwrap();
    let mut short = bench
        .start(bench.config("echo up; read line; echo fixed"))
        .await
        .unwrap();
    until(&mut *long, "up").await;
    long.cancel(StopReason::Timeout).await.unwrap();
    assert_eq!(
        story(&mut *long).await.end,
        stopped(StopReason::Timeout, "up")
    );
    assert_eq!(story(&mut *short).await.end, done("up\nfixed"));
}
