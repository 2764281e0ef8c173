//! Capture, limits, and the end of whole trees.

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::time::Duration;

use daemon_process::{
    ByteCount, ExitStatus, Orphans, ProcessId, RUN_MARKER, Supervisor, Tool, end_orphans,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::support::{Story, assert_dies, exited, first_line, is_alive, shell, stopped, story};

fn run(script: &str, stdin: &str) -> Story {
    let mut launch = shell(script);
    launch.stdin = stdin.as_bytes().to_vec();
    story(&mut Supervisor::start().unwrap().spawn(launch).unwrap())
}

#[test]
fn lines_and_exit_code_arrive_in_order() {
    let expected = Story {
        stdout: vec!["one".to_owned(), "\\xff".to_owned(), "last".to_owned()],
        stderr: vec!["two".to_owned()],
        other: vec![exited(ExitStatus::Code(3))],
    };
    assert_eq!(
        run(r"echo one; echo two >&2; printf '\377\nlast'; exit 3", ""),
        expected
    );
}

#[test]
fn the_environment_of_a_child_has_the_given_variables_and_its_marker() {
    let mut launch = shell("");
    launch.program = "/usr/bin/env".into();
    launch.args = Vec::new();
    launch.env = vec![
        ("ONLY".into(), "one".into()),
        ("ONLY".into(), "this".into()),
    ];
    let marker = format!("{RUN_MARKER}={}", launch.marker);
    let story = story(&mut Supervisor::start().unwrap().spawn(launch).unwrap());
    assert_eq!(story.stdout, ["ONLY=this", &marker]);
}

#[test]
fn a_signal_from_outside_is_reported_as_such() {
    let story = run("kill -TERM $$", "");
    assert_eq!(story.other, [exited(ExitStatus::Signal(15))]);
}

#[test]
fn input_is_written_completely_and_closed() {
    let story = run("wc -c", &"x".repeat(300_000));
    assert_eq!(story.stdout, ["300000"]);
    assert_eq!(run("cat; echo end", "").stdout, ["end"]);
}

#[test]
fn a_flood_on_stderr_and_a_silent_stdout_do_not_deadlock() {
    let story = run("yes 0123456789abcde | head -c 10000000 >&2", "");
    assert_eq!(
        (story.stderr.len(), story.other),
        (625_000, vec![exited(ExitStatus::Code(0))])
    );
}

#[test]
fn nothing_is_lost_while_the_owner_does_not_read() {
    let home = tempfile::tempdir().unwrap();
    let fence = home.path().join("fence");
    let supervisor = Supervisor::start().unwrap();
    let script = format!("seq 1 300000; echo done > {}", fence.display());
    let mut noisy = supervisor.spawn(shell(&script)).unwrap();
    // Another child runs to its end meanwhile: a full queue does not block the thread.
    let mut quiet = supervisor.spawn(shell("echo here")).unwrap();
    assert_eq!(story(&mut quiet).stdout, ["here"]);
    assert!(!fence.exists(), "two megabytes went somewhere");
    let lines = story(&mut noisy).stdout;
    assert_eq!(
        (lines.len(), lines.last().map(String::as_str)),
        (300_000, Some("300000"))
    );
}

#[test]
fn a_child_and_grandchild_that_ignore_sigterm_are_killed() {
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & echo $!; \
                  while :; do sleep 1000; done";
    let mut child = Supervisor::start().unwrap().spawn(shell(script)).unwrap();
    let grandchild = first_line(&mut child);
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(9))]);
    assert!(!is_alive(&grandchild));
    assert!(!child.id().is_alive());
}

#[test]
fn a_child_that_obeys_sigterm_keeps_its_own_exit_code() {
    let script =
        "exec 2>/dev/null; trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done";
    let mut child = Supervisor::start().unwrap().spawn(shell(script)).unwrap();
    assert_eq!(first_line(&mut child), "up");
    child.stop();
    let expected = Story {
        stdout: vec!["bye".to_owned()],
        stderr: Vec::new(),
        other: vec![stopped(ExitStatus::Code(7))],
    };
    assert_eq!(story(&mut child), expected);
}

/// Returns a program that ignores SIGTERM and whose first thread exits at once; a second thread prints a line, then runs `then`.
fn without_first_thread(then: &str) -> String {
    let exit = libc::SYS_exit;
    format!(
        "trap '' TERM; exec perl -Mthreads -MPOSIX -e '$| = 1; threads->create(sub {{ while (1) {{ \
         open F, \"</proc/$$/task/$$/stat\"; last if <F> =~ /\\) Z / }} print \"up\\n\"; {then} }}); syscall({exit}, 0)'"
    )
}

#[test]
fn a_child_whose_first_thread_exited_earlier_reports_its_own_exit_code() {
    let script = without_first_thread("select undef, undef, undef, 0.3; POSIX::_exit(143)");
    let mut child = Supervisor::start().unwrap().spawn(shell(&script)).unwrap();
    assert_eq!(first_line(&mut child), "up");
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Code(143))]);
}

#[test]
fn a_child_that_runs_without_its_first_thread_is_killed() {
    let script = without_first_thread("sleep 1000");
    let mut child = Supervisor::start().unwrap().spawn(shell(&script)).unwrap();
    assert_eq!(first_line(&mut child), "up");
    let pid = child.id().pid;
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(9))]);
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
}

#[test]
fn a_double_forked_escapee_in_its_own_session_dies_with_the_child() {
    let script =
        "(setsid sh -c 'echo $$; exec >/dev/null 2>&1; exec sleep 1000' &) ; sleep 0.2; exit 0";
    let story = run(script, "");
    assert_eq!(
        (story.stdout.len(), story.other),
        (1, vec![exited(ExitStatus::Code(0))])
    );
    assert!(!is_alive(&story.stdout[0]));
}

#[test]
fn an_escapee_that_clears_its_environment_dies_with_the_child() {
    let script =
        "env -i setsid sh -c 'echo $$; exec >/dev/null 2>&1; exec sleep 1000' & sleep 1000";
    let mut child = Supervisor::start().unwrap().spawn(shell(script)).unwrap();
    let escapee = first_line(&mut child);
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(15))]);
    assert!(!is_alive(&escapee));
}

#[test]
fn orphans_reparented_to_this_process_leave_no_zombie() {
    let story = run(
        "(setsid sh -c 'echo $$' &); (sh -c 'echo $$' &); sleep 0.1",
        "",
    );
    assert_eq!(story.stdout.len(), 2);
    // The last check may come before the zombies; the checks of the next child find them.
    for pid in &story.stdout {
        while fs::exists(format!("/proc/{pid}")).unwrap() {
            run("true", "");
        }
    }
}

#[test]
fn a_tool_leaves_no_zombie_to_the_reaper_of_orphans() {
    let _supervisor = Supervisor::start().unwrap();
    let output = Tool::new("/bin/sh")
        .args(["-c", "(sleep 1000 & echo $!); sleep 1000 & echo $!; exit 3"])
        .env("PATH", "/usr/bin:/bin")
        .run(Duration::from_secs(60), ByteCount(100))
        .unwrap();
    assert_eq!(output.status, ExitStatus::Code(3));
    let text = String::from_utf8(output.stdout).unwrap();
    let left: Vec<&str> = text
        .lines()
        .filter(|pid| fs::exists(format!("/proc/{pid}")).unwrap())
        .collect();
    assert_eq!((text.lines().count(), left), (2, vec![]));
}

#[test]
fn a_deep_tree_of_sessions_that_ignore_sigterm_dies_within_ten_seconds() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("wild");
    // Every process starts two more in sessions of their own, ignores SIGTERM, and outlives its parent.
    let text = "trap '' TERM\n\
        if [ $1 -gt 0 ]; then for i in 1 2; do (setsid sh $0 $(($1 - 1)) &); done; fi\n\
        echo $$\n\
        exec sleep 1000\n";
    fs::write(&script, text).unwrap();
    let launch = shell(&format!("exec sh {} 4", script.display()));
    let mut child = Supervisor::start().unwrap().spawn(launch).unwrap();
    let pids: Vec<String> = (0..31).map(|_| first_line(&mut child)).collect();
    child.stop();
    // SIGKILL follows SIGTERM after five seconds, and takes at most three more.
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(9))]);
    let alive: Vec<&String> = pids.iter().filter(|pid| is_alive(pid)).collect();
    assert_eq!(alive, Vec::<&String>::new());
}

#[test]
fn a_dropped_child_dies() {
    let supervisor = Supervisor::start().unwrap();
    let mut child = supervisor.spawn(shell("echo $$; exec sleep 1000")).unwrap();
    let pid = first_line(&mut child);
    drop(child);
    drop(supervisor);
    assert_dies(&pid);
}

#[test]
fn the_error_names_a_program_that_cannot_start() {
    let mut launch = shell("");
    launch.program = "/nonexistent/claude".into();
    let error = Supervisor::start().unwrap().spawn(launch).unwrap_err();
    assert_eq!(error.to_string(), "cannot start `/nonexistent/claude`");
    assert_eq!(error.source.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn processes_of_a_dead_host_are_found_by_their_marker() {
    let supervisor = Supervisor::start().unwrap();
    let launch = shell("echo $$; exec sleep 1000");
    let marker = launch.marker.clone();
    let mut child = supervisor.spawn(launch).unwrap();
    let pid = first_line(&mut child);
    let reused = ProcessId {
        start: child.id().start + 1,
        ..child.id()
    };
    let nothing = Orphans::default();
    assert_eq!(end_orphans(Some(reused), "another-run").unwrap(), nothing);
    assert!(is_alive(&pid));
    let ended = Orphans {
        ended: vec![child.id()],
        survivors: Vec::new(),
    };
    assert_eq!(end_orphans(None, &marker).unwrap(), ended);
    assert_eq!(end_orphans(None, &marker).unwrap(), nothing);
    assert_eq!(story(&mut child).other, [exited(ExitStatus::Signal(9))]);
}

#[test]
fn a_connected_child_exchanges_lines_and_ends_when_its_input_is_closed() {
    let script = "echo ready >&2; while read line; do echo \"got $line\"; done; exit 5";
    let (mut child, connection) = Supervisor::start().unwrap().connect(shell(script)).unwrap();
    assert_eq!(first_line(&mut child), "ready");
    let mut input = fs::File::from(connection.input);
    input.write_all(b"one\n").unwrap();
    assert_eq!(read_line(&connection.output), "got one\n");
    input.write_all(b"two\n").unwrap();
    assert_eq!(read_line(&connection.output), "got two\n");
    drop(input);
    let expected = Story {
        stdout: Vec::new(),
        stderr: Vec::new(),
        other: vec![exited(ExitStatus::Code(5))],
    };
    assert_eq!(story(&mut child), expected);
}

/// Reads the output of a child up to the end of a line, for at most 20 seconds.
fn read_line(output: &OwnedFd) -> String {
    let mut text = String::new();
    while !text.ends_with('\n') {
        let mut fds = [PollFd::new(output, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: 20,
            tv_nsec: 0,
        };
        assert_eq!(poll(&mut fds, Some(&patience)).unwrap(), 1, "{text:?}");
        let mut bytes = [0; 64];
        let n_read = rustix::io::read(output, &mut bytes).unwrap();
        text.push_str(std::str::from_utf8(&bytes[..n_read]).unwrap());
    }
    text
}

#[test]
fn the_parts_of_a_run_end_with_the_run_and_not_with_each_other() {
    let supervisor = Supervisor::start().unwrap();
    let part = |name: &str, run: &str, script: &str| {
        let mut launch = shell(script);
        launch.marker = format!("{run}/{name}");
        launch
    };
    let run = shell("").marker;
    let mut long = supervisor
        .spawn(part("long", &run, "echo $$; exec sleep 1000"))
        .unwrap();
    let pid = first_line(&mut long);
    let mut short = supervisor.spawn(part("short", &run, "true")).unwrap();
    assert_eq!(story(&mut short).other, [exited(ExitStatus::Code(0))]);
    assert!(is_alive(&pid));
    assert_eq!(end_orphans(None, &run).unwrap().survivors, []);
    assert_eq!(story(&mut long).other, [exited(ExitStatus::Signal(9))]);
}

const ROLE: &str = "DAEMON_PROCESS_TEST_ROLE";

/// The host that dies, if the next test starts this program again.
#[test]
fn a_host_that_kills_itself() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let supervisor = Supervisor::start().unwrap();
    let mut child = supervisor.spawn(shell("echo $$; exec sleep 1000")).unwrap();
    let pid = first_line(&mut child);
    // The test harness captures printed output, and this process is killed before it is passed on.
    fs::write("child", pid).unwrap();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

#[test]
fn a_child_dies_with_the_process_that_started_it() {
    let home = tempfile::tempdir().unwrap();
    let output = Tool::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervisor::a_host_that_kills_itself"])
        .env(ROLE, "host")
        .cwd(home.path())
        .run(Duration::from_secs(60), ByteCount(10_000))
        .unwrap();
    assert_eq!(output.status, ExitStatus::Signal(9));
    assert_dies(&fs::read_to_string(home.path().join("child")).unwrap());
}

/// As in a container: the session's leader is outside, so this process and its children see 0 as its number.
#[test]
fn children_are_supervised_where_the_leader_of_the_session_is_in_another_namespace() {
    let namespace = ["--pid", "--fork", "--mount-proc", "--"];
    let unshare = |args: &[&str]| {
        Tool::new("/usr/bin/unshare")
            .args(namespace)
            .args(args)
            .run(Duration::from_secs(60), ByteCount(10_000))
    };
    if !unshare(&["/bin/true"]).is_ok_and(|output| output.status == ExitStatus::Code(0)) {
        println!("skipped: no process namespace can be made here");
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let output = unshare(&[
        tests.to_str().unwrap(),
        "--exact",
        "supervisor::orphans_reparented_to_this_process_leave_no_zombie",
    ])
    .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("1 passed"), "{output:?}");
}
