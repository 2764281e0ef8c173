use std::fs;

use super::*;

const LONG: Duration = Duration::from_secs(60);
const CAP: ByteCount = ByteCount(1 << 20);

fn shell(script: &str) -> Tool {
    Tool::new("/bin/sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn streams_status_and_directory_are_those_of_the_program() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let output = shell("pwd; echo two >&2; exit 7")
        .cwd(&home)
        .run(LONG, CAP)
        .unwrap();
    let expected = CapturedOutput {
        status: ExitStatus::Code(7),
        stdout: format!("{}\n", home.display()).into_bytes(),
        stderr: b"two\n".to_vec(),
        truncated: false,
    };
    assert_eq!(output, expected);
}

#[test]
fn the_environment_contains_only_the_given_variables() {
    let output = Tool::new("/usr/bin/env")
        .env("ONLY", "this")
        .run(LONG, CAP)
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "ONLY=this\n");
}

#[test]
fn input_larger_than_a_pipe_is_written_completely() {
    let input = "0123456789abcde\n".repeat(64 * 1024);
    let output = shell("cat")
        .stdin(input.as_str())
        .run(LONG, ByteCount(input.len()))
        .unwrap();
    assert_eq!(
        (output.stdout.len(), output.truncated),
        (input.len(), false)
    );
    assert_eq!(output.stdout, input.as_bytes());
}

#[test]
fn unread_input_is_not_an_error() {
    let output = shell("exit 0")
        .stdin(vec![b'x'; 1 << 20])
        .run(LONG, CAP)
        .unwrap();
    assert_eq!(output.status, ExitStatus::Code(0));
}

#[test]
fn a_flood_on_one_stream_neither_blocks_nor_exceeds_the_cap() {
    let output = shell("yes no | head -c 10000000 >&2; echo done")
        .run(LONG, ByteCount(100))
        .unwrap();
    let expected = CapturedOutput {
        status: ExitStatus::Code(0),
        stdout: b"done\n".to_vec(),
        stderr: "no\n".repeat(34).into_bytes()[..100].to_vec(),
        truncated: true,
    };
    assert_eq!(output, expected);
}

#[test]
fn the_whole_group_dies_at_the_deadline() {
    let home = tempfile::tempdir().unwrap();
    let pids = home.path().join("pids");
    let script = format!(
        "trap '' TERM; (trap '' TERM; exec sleep 1000) & echo $$ $! > {}; while :; do sleep 1000; done",
        pids.display()
    );
    let error = shell(&script)
        .run(Duration::from_millis(500), CAP)
        .unwrap_err();
    assert_eq!(error.to_string(), "`/bin/sh` was still running after 500ms");
    let pids = fs::read_to_string(pids).unwrap();
    let (shell_pid, child) = pids.trim().split_once(' ').unwrap();
    assert!(
        !fs::exists(format!("/proc/{shell_pid}")).unwrap(),
        "the leader was not reaped"
    );
    // The orphan is dead at once, but its new parent may not have reaped it yet.
    while is_alive(child) {
        std::thread::yield_now();
    }
}

#[test]
fn a_background_job_with_the_pipes_is_not_waited_for() {
    let output = shell("sleep 1000 & echo $!").run(LONG, CAP).unwrap();
    let pid = String::from_utf8(output.stdout).unwrap();
    while is_alive(pid.trim()) {
        std::thread::yield_now();
    }
}

#[test]
fn the_error_names_a_program_that_cannot_start() {
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("absent");
    let error = Tool::new(&program).run(LONG, CAP).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot start `{}`", program.display())
    );
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let output = shell("kill -TERM $$").run(LONG, CAP).unwrap();
    assert_eq!(output.status, ExitStatus::Signal(15));
}
