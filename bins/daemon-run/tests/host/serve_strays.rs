//! What a dead host's runs left behind is gone before the next host is ready.

use std::fs;
use std::path::Path;

use crate::serve_sandbox::levels;
use crate::world::{NOBODY, World, eventually};

/// Leaves a process that has another session and parent, and an empty environment; then stays.
const STRAYS: &str = "cat > /dev/null\n\
    (env -i setsid /bin/sh -c 'echo $$ > \"$0\"; exec /bin/sleep 1000' \"$HOME/stray\" > /dev/null 2>&1 < /dev/null &)\n\
    exec sleep 1000\n";

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Returns the stray of the one run of a home.
fn stray(home: &Path) -> Option<String> {
    let runs = fs::read_dir(home.join("daemons")).ok()?.flatten();
    let mut strays =
        runs.filter_map(|run| fs::read_to_string(run.path().join("session/stray")).ok());
    strays
        .find(|pid| pid.ends_with('\n'))
        .map(|pid| pid.trim().to_owned())
}

#[test]
fn processes_left_by_a_killed_host_end_before_the_next_host_is_ready() {
    // At level 3 processes end with their namespace, and inside it they have other numbers.
    let levels = [1, 2]
        .into_iter()
        .filter(|level| *level == 1 || levels().contains(level));
    let levels: Vec<u8> = levels.collect();
    let users: &[Option<u32>] = if rustix::process::geteuid().is_root() {
        &[Some(NOBODY), None]
    } else {
        &[None]
    };
    for user in users {
        for level in &levels {
            let mut world = World::pushed();
            world.script(STRAYS);
            world.at_level(*level);
            if let Some(user) = user {
                world.hand_over(*user);
            }
            let host = world.serve();
            let fire = world.begin(&["fire", "pusher"]);
            let pid = eventually("the run has left a process", || stray(&world.home));
            host.kill();
            drop(fire);
            let next = world.serve();
            assert!(
                !is_alive(&pid),
                "level {level}, user {user:?}: {}",
                world.log()
            );
            // A second signal ends the wait for the run that had just begun.
            next.signal(rustix::process::Signal::TERM);
            next.stop();
        }
    }
}
