//! Support scripts and the shell.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_fakes::{Message, Reply};
use daemon_provider::{Outcome, Permissions, ProviderErrorKind, RunEvent, StopReason};
use daemon_provider_llm::{Bash, LlmProvider};
use serde_json::json;

use crate::kit::{Bench, end, story};

/// Writes a support script.
fn script(bench: &Bench, name: &str, body: &str) {
    let path = bench.path("context/support/scripts").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{body}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_support_script_runs_in_the_worktree_with_the_environment_of_the_run() {
    let run = |args: &[&str], stdin: &str| json!({"script": "scripts/fix.sh", "args": args, "stdin": stdin});
    let bench = Bench::new([
        Reply::Message(
            Message::default()
                .and_call("run_script", run(&["a b", "$HOME"], "in"))
                .and_call("run_script", run(&["fail"], ""))
                .and_call("run_script", json!({"script": "../fix.sh"})),
        ),
        Reply::text("ok"),
    ]);
    script(
        &bench,
        "fix.sh",
        "[ \"$1\" = fail ] && { echo oh >&2; exit 3; }\nprintf '%s|' \"$@\"; cat; echo; echo \"$HOME\" > made\n",
    );
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    let events = bench.story(bench.config("openai"), request).await;
    assert_eq!(end(&events), (Outcome::Done, "ok"));
    let results = bench.results();
    assert_eq!(results[0], "a b|$HOME|in\n");
    assert_eq!(results[1], "error: exit code 3\noh\n");
    assert!(
        results[2].starts_with("error: the arguments do not fit `run_script`: "),
        "{results:?}"
    );
    assert_eq!(
        bench.file("made").trim(),
        bench.path("home").display().to_string()
    );
}

#[tokio::test]
async fn a_run_that_may_only_read_runs_no_script() {
    let bench = Bench::new([Reply::text("ok")]);
    script(&bench, "fix.sh", "true");
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    request.permissions = Permissions::Read;
    bench.story(bench.config("openai"), request).await;
    let offered = bench.api.received()[0].tools();
    assert!(!offered.contains(&"run_script".to_owned()), "{offered:?}");
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_marked() {
    let bench = Bench::new([
        Reply::call("run_script", json!({"script": "scripts/flood.sh"})),
        Reply::text("ok"),
    ]);
    script(
        &bench,
        "flood.sh",
        "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done",
    );
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    bench.story(bench.config("openai"), request).await;
    let result = bench.results().remove(0);
    assert!(
        result.len() < (64 << 10) + 100 && result.ends_with(" bytes more]\n"),
        "{}",
        result.len()
    );
}

#[tokio::test]
async fn a_cancel_in_the_middle_of_a_script_leaves_no_process() {
    let bench = Bench::new([
        Reply::call("run_script", json!({"script": "scripts/sleep.sh"})),
        Reply::text("late"),
    ]);
    script(
        &bench,
        "sleep.sh",
        "echo $$ > pid.new; mv pid.new pid; sleep 1000 & wait",
    );
    let mut request = bench.request();
    request.context = Some(bench.path("context"));
    let mut run = bench.start(bench.config("openai"), request).await;
    while !matches!(run.next().await.unwrap(), Some(RunEvent::ToolStart { .. })) {}
    let pid = bench.path("worktree/pid");
    // The script runs while the run is read.
    while !pid.exists() {
        let waited = tokio::time::timeout(std::time::Duration::from_millis(10), run.next()).await;
        assert!(waited.is_err(), "the script does not end by itself");
    }
    let pid = fs::read_to_string(pid).unwrap();
    run.cancel(StopReason::Timeout).await.unwrap();
    let events = story(&mut *run).await;
    assert_eq!(end(&events).0, Outcome::Stopped(StopReason::Timeout));
    assert!(
        !std::path::Path::new("/proc").join(pid.trim()).exists(),
        "it is dead when the end is told"
    );
}

#[tokio::test]
async fn a_shell_is_offered_only_where_it_is_confined() {
    let bench = Bench::new([
        Reply::call("bash", json!({"command": "echo hi; echo x > made"})),
        Reply::text("ok"),
    ]);
    let mut config = bench.config("openai");
    config.bash = Bash::Confined;
    let error = LlmProvider::new(bench.supervisor.clone(), config.clone()).unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Unsupported);
    if daemon_process::probe().level.number() < 2 {
        println!("skipped: no confinement here");
        return;
    }
    config.enclosure = daemon_process::Enclosure::Confined;
    bench.story(config, bench.request()).await;
    assert_eq!(bench.results(), ["hi\n"]);
    assert_eq!(bench.file("made"), "x\n");
}
