//! Limits of a child, and its end when it exceeds one.

use std::fs;
use std::time::{Duration, Instant};

use daemon_process::{
    ChildEvent, ExitStatus, Launch, LimitReached, ProcessLimit, SandboxLevel, Supervisor, Tool,
    process_limit,
};
use rustix::process::{Resource, getpriority_process, getrlimit};

use crate::confinement::{is_offered, sandbox};
use crate::support::{
    Story, as_ordinary_user, exited, first_line, is_alive, run_test_under, shell, stopped, story,
};

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

/// The limit by which the kernel starts no program of the machine for a core; 0 only prevents a file.
#[test]
fn no_program_of_the_machine_handles_the_crash_of_a_child() {
    let story = run(shell("grep 'core file' /proc/self/limits"));
    let bytes = getrlimit(Resource::Core)
        .maximum
        .map_or(1, |most| most.min(1));
    let words: Vec<&str> = story.stdout[0].split_whitespace().collect();
    let bytes = bytes.to_string();
    assert_eq!(words[4..], [&bytes, &bytes, "bytes"]);
}

#[test]
fn a_child_of_a_host_with_low_priority_keeps_that_priority() {
    // More than 15 where the tests themselves run at a low priority: `nice` adds to what it inherits.
    let inherited = getpriority_process(None).unwrap();
    if inherited < 15 {
        let name = "limits::a_child_of_a_host_with_low_priority_keeps_that_priority";
        return run_test_under(Tool::new("/usr/bin/nice").args(["-n", "15"]), name);
    }
    for level in [
        SandboxLevel::Contained,
        SandboxLevel::Confined,
        SandboxLevel::Isolated,
    ] {
        let mut launch = shell("nice");
        launch.limits.nice = 10;
        launch.sandbox = sandbox(level, Vec::new(), Vec::new());
        match Supervisor::start().unwrap().spawn(launch) {
            Ok(mut child) => {
                let printed = story(&mut child).stdout;
                assert_eq!(printed, [inherited.to_string()], "level {level}");
            }
            // If a level is not supported, the reason is another one.
            Err(error) => {
                let error = format!("{error:?}");
                assert!(!error.contains("limits"), "level {level}: {error}");
            }
        }
    }
}

/// The same for a user who cannot raise a priority.
#[test]
fn the_priority_of_an_ordinary_users_child_is_not_raised() {
    as_ordinary_user("limits::a_child_of_a_host_with_low_priority_keeps_that_priority");
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
    assert_has_too_many(&run(launch));
}

/// Asserts that a child ended because its tree had too many processes; it may have exited by itself when it was refused one.
#[track_caller]
fn assert_has_too_many(story: &Story) {
    let limit = ChildEvent::LimitReached(LimitReached::Processes);
    let [first, ChildEvent::Exited { leaked, .. }] = &story.other[..] else {
        panic!("{:?}", story.other);
    };
    assert_eq!((first, &leaked[..]), (&limit, &[][..]));
}

/// Every process starts two more in sessions and environments of their own, ignores SIGTERM, and outlives its parent.
const BOMB: &str = "trap '' TERM\n\
    if [ $1 -gt 0 ]; then for i in 1 2; do (env -i setsid sh $0 $(($1 - 1)) &); done; fi\n\
    exec sleep 1000\n";

#[test]
fn a_multiplying_tree_ends_completely_within_ten_seconds() {
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
fn a_child_whose_directories_grow_too_large_is_stopped() {
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
fn a_child_within_the_limit_of_its_directories_is_not_stopped() {
    let home = tempfile::tempdir().unwrap();
    let mut launch = shell("head -c 1000000 /dev/zero > file; sleep 2.5; echo done");
    launch.cwd = home.path().canonicalize().unwrap();
    launch.disk = vec![launch.cwd.clone()];
    launch.limits.disk_bytes = 2 << 20;
    let found = run(launch);
    assert_eq!(
        (found.stdout, found.other),
        (vec!["done".to_owned()], vec![exited(ExitStatus::Code(0))])
    );
}

#[test]
fn a_process_that_writes_too_large_a_file_is_ended() {
    let home = tempfile::tempdir().unwrap();
    let mut launch = shell("exec head -c 3000000 /dev/zero > file");
    launch.cwd = home.path().canonicalize().unwrap();
    launch.limits.file_bytes = 1 << 20;
    let found = run(launch);
    let size = fs::metadata(home.path().join("file")).unwrap().len();
    assert_eq!(
        (found.other, size),
        (vec![exited(ExitStatus::Signal(25))], 1 << 20)
    );
}

#[test]
fn opening_too_many_files_fails() {
    let mut launch =
        shell("perl -e 'for (1..50) { open $f[$_], \"</dev/null\" or die \"$!\\n\" }'");
    launch.limits.open_files = 16;
    let found = run(launch);
    assert_eq!(found.stderr, ["Too many open files"]);
    assert_ne!(found.other, [exited(ExitStatus::Code(0))]);
}

#[test]
fn a_host_with_more_open_files_than_a_child_may_have_starts_it_at_each_level() {
    let files = [(); 40].map(|()| fs::File::open("/dev/null").unwrap());
    for level in [
        SandboxLevel::Contained,
        SandboxLevel::Confined,
        SandboxLevel::Isolated,
    ] {
        if !is_offered(level) {
            continue;
        }
        let mut launch = shell("ulimit -n");
        launch.limits.open_files = 16;
        launch.sandbox = sandbox(level, Vec::new(), Vec::new());
        assert_eq!(run(launch).stdout, ["16"], "{level:?}");
    }
    drop(files);
}

#[test]
fn a_process_that_left_parent_session_and_environment_at_once_dies_with_its_child() {
    let script =
        "(env -i setsid sh -c 'echo $$; exec sleep 1000 > /dev/null 2>&1' &); exec sleep 1000";
    let mut child = Supervisor::start().unwrap().spawn(shell(script)).unwrap();
    let escapee = first_line(&mut child);
    child.stop();
    assert_eq!(story(&mut child).other, [stopped(ExitStatus::Signal(15))]);
    assert!(!is_alive(&escapee));
}

/// The same for a user who cannot create control groups.
#[test]
fn processes_of_an_ordinary_users_child_die_with_it() {
    as_ordinary_user(
        "limits::a_process_that_left_parent_session_and_environment_at_once_dies_with_its_child",
    );
}

/// In a user namespace the kernel counts the processes of an ordinary user, and their threads.
#[test]
fn threads_of_an_ordinary_users_child_do_not_count_as_processes() {
    as_ordinary_user("limits::threads_do_not_count_as_processes");
}

/// Starts many processes as fast as a shell can; each prints that it was started.
const MANY: &str =
    "i=0; while [ $i -lt 2000 ]; do (echo up; exec sleep 1000) & i=$((i+1)); done; wait";

#[test]
fn a_control_group_limits_the_processes_of_a_tree() {
    if process_limit() != ProcessLimit::Enforced {
        println!("skipped: no control group that counts processes can be made here");
        return;
    }
    // The kernel counts threads too, and there is room for some that are not the first of their process.
    let n_processors = std::thread::available_parallelism().unwrap().get();
    let most = 50 + 64 + 16 * n_processors;
    let mut launch = shell(MANY);
    launch.limits.processes = 50;
    let story = run(launch);
    assert_has_too_many(&story);
    assert!(story.stdout.len() < most, "{}", story.stdout.len());
    let script = "cat /sys/fs/cgroup/pids$(sed -n 's/.*:pids://p' /proc/self/cgroup)/pids.max 2> /dev/null || \
                  cat /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/pids.max";
    let mut launch = shell(script);
    launch.limits.processes = 50;
    assert_eq!(run(launch).stdout, [most.to_string()]);
}

#[test]
fn threads_do_not_count_as_processes() {
    // Sixty at once, before the next check, then many more than there is room for at once.
    let script = "exec perl -Mthreads -e 'sub start { threads->create(sub { sleep 1000 }) } start() or exit 1 for 1..60; \
                  for (1..240) { start() or do { select(undef, undef, undef, 0.02); redo } } print \"up\\n\"; \
                  $_->detach for threads->list'";
    for level in [SandboxLevel::Contained, SandboxLevel::Isolated] {
        if !is_offered(level) {
            continue;
        }
        let mut launch = shell(script);
        launch.limits.processes = 4;
        launch.sandbox = sandbox(level, Vec::new(), Vec::new());
        let story = run(launch);
        let expected = (vec!["up".to_owned()], vec![exited(ExitStatus::Code(0))]);
        assert_eq!(
            (story.stdout, story.other),
            expected,
            "level {level}: {:?}",
            story.stderr
        );
    }
}
