//! What a child may take, and its end when it takes more.

use std::fs;
use std::time::{Duration, Instant};

use daemon_process::{ChildEvent, ExitStatus, Launch, LimitReached, SandboxLevel, Supervisor};

use crate::confinement::{is_offered, sandbox};
use crate::support::{Story, exited, first_line, is_alive, shell, stopped, story};

fn run(launch: Launch) -> Story {
    story(&mut Supervisor::start().unwrap().spawn(launch).unwrap())
}

fn stopped_for(limit: LimitReached, signal: i32) -> [ChildEvent; 2] {
    [
        ChildEvent::LimitReached(limit),
        stopped(ExitStatus::Signal(signal)),
    ]
}

#[test]
fn limits_hold_inside_the_child() {
    let story = run(shell(
        "ulimit -n; ulimit -c; ulimit -f; nice; echo $DAEMON_RUN_ID | cut -c1-5",
    ));
    // `ulimit -f` counts blocks of 512 bytes.
    assert_eq!(story.stdout, ["1024", "0", "2097152", "10", "test-"]);
}

#[test]
fn a_tree_over_its_memory_is_stopped() {
    let mut launch = shell("x=$(head -c 150000000 /dev/zero | tr '\\0' x); sleep 1000");
    launch.limits.memory_bytes = 50 << 20;
    let mut child = Supervisor::start().unwrap().spawn(launch).unwrap();
    let expected = [
        ChildEvent::LimitReached(LimitReached::Memory),
        stopped(ExitStatus::Signal(15)),
    ];
    assert_eq!(story(&mut child).other, expected);
}

#[test]
fn a_tree_with_too_many_processes_is_killed() {
    let mut launch = shell("trap '' TERM; for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait");
    launch.limits.processes = 5;
    assert_eq!(run(launch).other, stopped_for(LimitReached::Processes, 9));
}

/// Every process starts two more in sessions and environments of their own, ignores SIGTERM, and loses its parents.
const BOMB: &str = "trap '' TERM\n\
    if [ $1 -gt 0 ]; then for i in 1 2; do (env -i setsid sh $0 $(($1 - 1)) &); done; fi\n\
    exec sleep 1000\n";

#[test]
fn what_multiplies_is_ended_whole_and_within_ten_seconds() {
    for level in [SandboxLevel::Contained, SandboxLevel::Isolated] {
        if !is_offered(level) {
            continue;
        }
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::write(home.join("bomb"), BOMB).unwrap();
        let mut launch = shell("exec sh ./bomb 7");
        launch.cwd.clone_from(&home);
        launch.sandbox = sandbox(level, Vec::new(), vec![home.clone()]);
        launch.limits.processes = 40;
        #[expect(
            clippy::disallowed_methods,
            reason = "the time it takes is what is tested"
        )]
        let begun = Instant::now();
        assert_eq!(run(launch).other, stopped_for(LimitReached::Processes, 9));
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(working_in(&home), Vec::<i32>::new());
    }
}

/// Returns the processes whose directory is this one.
fn working_in(directory: &std::path::Path) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.unwrap().file_name().to_str()?.parse::<i32>().ok()?;
        let found = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        (found == directory && is_alive(&pid.to_string())).then_some(pid)
    });
    pids.collect()
}

#[test]
fn directories_that_hold_too_much_end_their_child() {
    for script in [
        "head -c 30000000 /dev/zero > flood; exec sleep 1000",
        "mkdir -p a/b; i=0; while :; do i=$((i+1)); : > a/b/$i; done",
        "d=; while :; do d=$d/d; mkdir -p ./$d; cd ./$d; d=; done",
    ] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let mut launch = shell(script);
        launch.cwd.clone_from(&home);
        launch.disk = vec![home.join("absent"), home.clone()];
        launch.limits.disk_bytes = 2 << 20;
        let other = run(launch).other;
        assert_eq!(other, stopped_for(LimitReached::Disk, 15), "{script}");
    }
}

#[test]
fn a_child_that_stays_within_its_directories_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let mut launch = shell("head -c 1000000 /dev/zero > file; sleep 2.5; echo done");
    launch.cwd = home.path().canonicalize().unwrap();
    launch.disk = vec![launch.cwd.clone()];
    launch.limits.disk_bytes = 2 << 20;
    let told = run(launch);
    assert_eq!(
        (told.stdout, told.other),
        (vec!["done".to_owned()], vec![exited(ExitStatus::Code(0))])
    );
}

#[test]
fn a_file_that_grows_too_large_ends_who_writes_it() {
    let home = tempfile::tempdir().unwrap();
    let mut launch = shell("exec head -c 3000000 /dev/zero > file");
    launch.cwd = home.path().canonicalize().unwrap();
    launch.limits.file_bytes = 1 << 20;
    let told = run(launch);
    let size = fs::metadata(home.path().join("file")).unwrap().len();
    assert_eq!(
        (told.other, size),
        (vec![exited(ExitStatus::Signal(25))], 1 << 20)
    );
}

#[test]
fn a_child_that_opens_too_many_files_is_refused_the_next() {
    let mut launch =
        shell("perl -e 'for (1..50) { open $f[$_], \"</dev/null\" or die \"$!\\n\" }'");
    launch.limits.open_files = 16;
    let told = run(launch);
    assert_eq!(told.stderr, ["Too many open files"]);
    assert_ne!(told.other, [exited(ExitStatus::Code(0))]);
}

#[test]
fn what_nothing_but_its_control_group_ties_to_a_child_dies_with_it() {
    // Its parents are gone before anybody looks, and so are its marker and its session.
    let script =
        "(env -i setsid sh -c 'echo $$; exec sleep 1000 > /dev/null 2>&1' &); exec sleep 1000";
    let mut child = Supervisor::start().unwrap().spawn(shell(script)).unwrap();
    let escapee = first_line(&mut child);
    let groups = fs::read_to_string(format!("/proc/{escapee}/cgroup")).unwrap();
    let is_grouped = groups.contains("/daemon-run.");
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(15))]);
    if is_grouped {
        assert!(!is_alive(&escapee));
    } else {
        println!("skipped: no control group can be made here");
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(escapee.parse().unwrap()).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
}
