//! A host that is killed repeatedly and recovers by itself: a few kills here, hundreds with `cargo xtask kills`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::serve_crash::{send, setting};
use crate::world::{Host, World, eventually, processes_with, until, watch};

/// More than all activations of a scenario.
const RATES: &str =
    "[limits]\ndaemon = 4\nrate_subject = 100000\nrate_daemon = 100000\nrate_host = 100000\n";
/// How many senders a storm has.
const SENDERS: u32 = 4;

/// Makes a world whose runs take a while.
fn world(run: Duration) -> World {
    let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
    world.configure(RATES);
    world.script(&format!(
        "cat > /dev/null\nsleep {}\necho note >> NOTE.md\necho '{{\"daemon\":\"result\",\"ok\":true,\"text\":\"noted\"}}'\n",
        run.as_secs_f64()
    ));
    world
}

/// What is left of a scenario.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    /// Events that were acknowledged and are not stored.
    lost: usize,
    /// Stored events that did not wake exactly once.
    astray: usize,
    /// How many activations are in which state.
    states: BTreeMap<String, usize>,
    gate: String,
    /// Records in `.git/worktrees`.
    records: usize,
    worktrees: usize,
    locks: Vec<String>,
    processes: usize,
}

/// Waits until everything has ended, and looks at what is left.
fn settle(world: &World, host: &Host, acknowledged: &BTreeSet<String>) -> Left {
    eventually("claims go on", || {
        let doctor = host.get("doctor");
        let checks = doctor["checks"].as_array()?;
        let is_paused = checks.iter().any(|check| check["name"] == "claims");
        (!is_paused).then_some(())
    });
    let activations = host.settled(acknowledged.len());
    let mut wakes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for activation in &activations {
        let state = activation["state"].as_str().unwrap_or_default();
        *states.entry(state.to_owned()).or_default() += 1;
        let woken = activation["trigger"]["event_ids"].as_array();
        for id in woken.into_iter().flatten().filter_map(Value::as_str) {
            *wakes.entry(id).or_default() += 1;
        }
    }
    let stored: BTreeSet<String> = host
        .list("events")
        .iter()
        .filter(|event| event["source"] == "github")
        .filter_map(|event| event["id"].as_str().map(str::to_owned))
        .collect();
    let worktrees = world.home.join("worktrees");
    until("the last worktree is removed", || count(&worktrees) == 0);
    let marker = format!("DAEMON_CONTEXT={}", world.home.display());
    let daemon = host.get("daemons/pr-helper");
    Left {
        lost: acknowledged.difference(&stored).count(),
        astray: stored
            .iter()
            .filter(|id| wakes.get(id.as_str()) != Some(&1))
            .count(),
        states,
        gate: daemon["daemon"]["gate"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        records: count(&world.repo.join(".git/worktrees")),
        worktrees: count(&worktrees),
        locks: locks(&world.repo.join(".git")),
        processes: processes_with(&marker).len(),
    }
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Lists the locks that git left in a folder.
fn locks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Prints what is left, and checks that it is what a host leaves that was never killed.
#[expect(clippy::print_stdout, reason = "the report of `cargo xtask kills`")]
fn check(name: &str, kills: u32, began: Instant, acknowledged: &BTreeSet<String>, left: &Left) {
    println!(
        "{name}: {kills} kills, {:.0} s, {} events acknowledged\n{name}: {left:?}",
        began.elapsed().as_secs_f64(),
        acknowledged.len()
    );
    let n: usize = left.states.values().sum();
    let clean = Left {
        lost: 0,
        astray: 0,
        states: BTreeMap::from([("succeeded".to_owned(), n)]),
        gate: "open".to_owned(),
        records: 0,
        worktrees: 0,
        locks: Vec::new(),
        processes: 0,
    };
    assert_eq!(*left, clean);
}

/// Lets the host work for a while: when a kill comes is what a scenario is about, so that there is nothing to wait for.
fn work(time: Duration) {
    let (_open, nothing) = mpsc::channel::<()>();
    assert_eq!(
        nothing.recv_timeout(time),
        Err(mpsc::RecvTimeoutError::Timeout)
    );
}

#[test]
fn runs_end_though_their_host_is_killed_again_and_again() {
    let kills = setting("DAEMON_TEST_PACED_KILLS", 3);
    let pace = Duration::from_millis(setting("DAEMON_TEST_PACE_MS", 2_500).into());
    let run = Duration::from_millis(setting("DAEMON_TEST_RUN_MS", 1_000).into());
    let world = world(run);
    let began = Instant::now();
    let mut acknowledged = BTreeSet::new();
    for kill in 0..kills {
        let host = world.serve();
        // Some can end before the kill, and some are met by it.
        for number in kill * 6..(kill + 1) * 6 {
            acknowledged.insert(send(host.address(), number).expect("a live host acknowledges"));
        }
        work(pace);
        host.kill();
    }
    let host = world.serve();
    let left = settle(&world, &host, &acknowledged);
    check("paced", kills, began, &acknowledged, &left);
}

#[test]
fn a_storm_of_kills_under_load_leaves_nothing_behind() {
    let kills = setting("DAEMON_TEST_STORM_KILLS", 4);
    let world = world(Duration::from_millis(300));
    let began = Instant::now();
    let acknowledged = Mutex::new(BTreeSet::new());
    for kill in 0..kills {
        let host = world.serve();
        let address = host.address().to_owned();
        std::thread::scope(|scope| {
            for sender in 0..SENDERS {
                let (address, acknowledged) = (&address, &acknowledged);
                scope.spawn(move || {
                    let id = send(address, kill * SENDERS + sender);
                    let mut known = acknowledged.lock().expect("no holder panics");
                    known.extend(id);
                });
            }
            // Every kill comes at another moment.
            work(Duration::from_millis((20 + kill * 7_919 % 900).into()));
            host.kill();
        });
    }
    let acknowledged = acknowledged.into_inner().expect("no holder panics");
    let host = world.serve();
    let left = settle(&world, &host, &acknowledged);
    check("storm", kills, began, &acknowledged, &left);
}
