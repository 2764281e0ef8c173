//! A host that is killed while webhooks come: what it acknowledged is there, and everything runs once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::http::{pull_request_opened, try_raw, webhook};
use crate::world::{Host, SECRET, World, processes_with, watch};

/// How many senders there are.
const SENDERS: u32 = 8;

/// Reads a number that a longer run may raise.
pub(crate) fn setting(name: &str, otherwise: u32) -> u32 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

/// Sends one webhook, and returns the event's id if it was acknowledged.
pub(crate) fn send(address: &str, number: u32) -> Option<String> {
    let body = pull_request_opened(number).to_string();
    let delivery = format!("d-{number}");
    let request = webhook(
        address,
        ("pull_request", &delivery),
        SECRET,
        body.as_bytes(),
    );
    let answer = try_raw(address, &request).filter(|answer| answer.status == 200)?;
    answer.json()["event_ids"][0].as_str().map(str::to_owned)
}

/// Sends webhooks from all senders at once; one of them kills the host after `fatal` acknowledgements.
fn storm(host: Host, numbers: std::ops::Range<u32>, fatal: u32) -> BTreeMap<u32, String> {
    let address = host.address().to_owned();
    let acknowledged = Mutex::new(BTreeMap::new());
    let victim = Mutex::new(Some(host));
    let next = AtomicU32::new(numbers.start);
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    let Some(id) = send(&address, number) else {
                        continue;
                    };
                    let mut known = acknowledged.lock().expect("no holder panics");
                    known.insert(number, id);
                    if u32::try_from(known.len()).expect("few") >= fatal
                        && let Some(host) = victim.lock().expect("no holder panics").take()
                    {
                        host.kill();
                    }
                }
            });
        }
    });
    acknowledged.into_inner().expect("no holder panics")
}

/// Checks that every event woke once, every activation ended well, and every branch is there once.
pub(crate) fn everything_ran_once(world: &World, host: &Host, events: &BTreeSet<String>) {
    let activations = host.settled(events.len());
    let stored: BTreeSet<String> = host
        .list("events")
        .iter()
        .filter(|event| event["source"] == "github")
        .filter_map(|event| event["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(&stored, events, "what was acknowledged is what is stored");
    let woken = activations
        .iter()
        .flat_map(|one| one["trigger"]["event_ids"].as_array().into_iter().flatten());
    let mut woken: Vec<String> = woken
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    woken.sort();
    assert_eq!(
        woken,
        events.iter().cloned().collect::<Vec<_>>(),
        "every event woke once"
    );
    for activation in &activations {
        assert_eq!(activation["state"], "succeeded", "{activation}");
    }
    let mut targets: Vec<Value> = host
        .list("outputs")
        .into_iter()
        .map(|output| output["target"].clone())
        .collect();
    targets.sort_by_key(Value::to_string);
    assert_eq!(
        json!(targets),
        json!(world.branches()),
        "every output is a branch, every branch an output"
    );
    assert_eq!(targets.len(), activations.len());
    for run in host.list("runs") {
        assert_ne!(run["state"], "running", "{run}");
    }
    let marker = format!("DAEMON_CONTEXT={}", world.home.display());
    assert_eq!(
        processes_with(&marker),
        Vec::<u32>::new(),
        "no process is left"
    );
    crate::world::until("no worktree is left", || {
        let left = fs::read_dir(world.home.join("worktrees")).expect("it is there");
        left.count() == 0
    });
}

#[test]
fn what_was_acknowledged_before_a_kill_runs_once() {
    let (kills, hooks) = (
        setting("DAEMON_TEST_KILLS", 3),
        setting("DAEMON_TEST_HOOKS", 60),
    );
    let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
    world.configure("[limits]\ndaemon = 4\nrate_daemon = 1000000\nrate_host = 1000000\n");
    let mut all = BTreeSet::new();
    for kill in 0..kills {
        let numbers = kill * hooks..(kill + 1) * hooks;
        // Every kill comes at another place of its storm.
        let fatal = 1 + (kill * 7_919 + hooks / 2) % hooks;
        let acknowledged = storm(world.serve(), numbers.clone(), fatal);
        world.forget_crashes();
        let host = world.serve();
        for (number, id) in &acknowledged {
            shows!(host.get(&format!("events/{id}")), {"subject": format!("github:o/r#{number}")});
        }
        for number in numbers {
            let id = send(host.address(), number).expect("a host that lives acknowledges");
            if let Some(known) = acknowledged.get(&number) {
                assert_eq!(known, &id, "a repetition is known");
            }
            all.insert(id);
        }
        everything_ran_once(&world, &host, &all);
        assert_eq!(host.stop().0, Some(0));
    }
}
