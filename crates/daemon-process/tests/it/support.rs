//! Starts children and waits for their end, with timeouts.

use std::path::Path;
use std::time::Duration;

use daemon_process::{
    ByteCount, ChildEvent, ChildLimits, ExitStatus, Launch, OutputPipe, Sandbox, SupervisedChild,
    Tool,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

pub(crate) fn shell(script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: Vec::new(),
        marker: format!("test-{}", unique()),
        limits: ChildLimits::default(),
        disk: Vec::new(),
        sandbox: Sandbox::Contained,
        ports: None,
    }
}

/// Returns a marker that is unique among tests that run at the same time.
pub(crate) fn unique() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/uuid")
        .unwrap()
        .trim()
        .to_owned()
}

/// The events of a child, without the order between its two streams.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
    pub(crate) other: Vec<ChildEvent>,
}

pub(crate) fn story(child: &mut SupervisedChild) -> Story {
    let mut acc = Story {
        stdout: Vec::new(),
        stderr: Vec::new(),
        other: Vec::new(),
    };
    while let Some(event) = child.next_blocking() {
        match event {
            ChildEvent::Line {
                stream: OutputPipe::Stdout,
                line,
            } => acc.stdout.push(line.text),
            ChildEvent::Line {
                stream: OutputPipe::Stderr,
                line,
            } => acc.stderr.push(line.text),
            event => acc.other.push(event),
        }
    }
    acc
}

pub(crate) fn exited(status: ExitStatus) -> ChildEvent {
    ChildEvent::Exited {
        status,
        was_stopped: false,
        leaked: Vec::new(),
    }
}

pub(crate) fn stopped(status: ExitStatus) -> ChildEvent {
    ChildEvent::Exited {
        status,
        was_stopped: true,
        leaked: Vec::new(),
    }
}

pub(crate) fn first_line(child: &mut SupervisedChild) -> String {
    match child.next_blocking() {
        Some(ChildEvent::Line { line, .. }) => line.text,
        other => panic!("expected a line, got {other:?}"),
    }
}

/// Waits until the process has ended; fails after 20 seconds.
#[track_caller]
pub(crate) fn assert_dies(pid: &str) {
    let pid: i32 = pid.trim().parse().unwrap();
    let Ok(process) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) else {
        return;
    };
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    let n_ready = poll(
        &mut fds,
        Some(&Timespec {
            tv_sec: 20,
            tv_nsec: 0,
        }),
    )
    .unwrap();
    assert_eq!(n_ready, 1, "process {pid} is still alive");
}

pub(crate) fn is_alive(pid: &str) -> bool {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Runs another test of this program as an ordinary user, if this user can become one.
#[track_caller]
pub(crate) fn as_ordinary_user(test: &str) {
    as_ordinary_user_in(Path::new("/"), test);
}

/// Like [`as_ordinary_user`], in a directory.
#[track_caller]
pub(crate) fn as_ordinary_user_in(directory: &Path, test: &str) {
    if rustix::process::geteuid().is_root() {
        let ordinary = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let setpriv = Tool::new("/usr/bin/setpriv").args(ordinary);
        run_test_under(setpriv.cwd(directory), test);
    }
}

/// Runs another test of this program under a tool that starts the program after its arguments.
#[track_caller]
pub(crate) fn run_test_under(tool: Tool, test: &str) {
    let tests = std::env::current_exe().unwrap();
    let output = tool
        .args([tests.to_str().unwrap(), "--exact", test])
        .run(Duration::from_secs(60), ByteCount(10_000));
    match output {
        Ok(output) if output.status.code() == Some(126) => {
            println!("skipped: other users cannot read this program");
        }
        output => {
            let output = output.unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(printed.contains("1 passed"), "{printed}\n{errors}");
        }
    }
}
