//! Hosts that crash: what counts against a run, and what a crash loop pauses.

use std::fs;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::Value;

use crate::fields::Shown as _;
use crate::http::{self, pull_request_opened};
use crate::world::{Host, NOTE, SECRET, World, until, watch};

/// A provider that never ends by itself.
const HANGS: &str = "cat > /dev/null\nexec sleep 600\n";

fn world() -> World {
    let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
    world.script(HANGS);
    world
}

fn wake(host: &Host, number: u32) {
    let delivery = format!("d-{number}");
    let answer = host.hook("pull_request", &delivery, &pull_request_opened(number));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Takes from a host all memory that it does not have yet, and sends it more than fits into the rest: it aborts, since an
/// allocation fails.
fn starve(host: &mut Host) {
    let pid = i32::try_from(host.pid()).ok().and_then(Pid::from_raw);
    // With a limit of 0 Linux looks at the maximum instead.
    let limit = Rlimit {
        current: Some(1),
        ..getrlimit(Resource::Data)
    };
    prlimit(pid, Resource::Data, limit).expect("the limit of an own child can be set");
    let mut body = pull_request_opened(1);
    body["padding"] = "x".repeat(16 << 20).into();
    let body = body.to_string();
    let request = http::webhook(
        host.address(),
        ("pull_request", "large"),
        SECRET,
        body.as_bytes(),
    );
    until("the host aborts before it answers", || {
        let answer = http::try_raw(host.address(), &request);
        answer.is_none()
    });
    assert_eq!(host.wait().0, None, "a signal ended it");
}

fn check<'a>(doctor: &'a Value, name: &str) -> Option<&'a Value> {
    let checks = doctor["checks"].as_array().expect("a list");
    checks.iter().find(|check| check["name"] == name)
}

/// Checks that the next host ends the run well, and that it is the first attempt.
fn check_first_attempt(world: &World) {
    let activations = world.serve().settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:#?}");
    assert_eq!(activations[0]["attempts"], 1, "{activations:#?}");
}

#[test]
fn a_host_that_is_killed_counts_against_no_run() {
    let world = world();
    let host = world.serve();
    wake(&host, 1);
    host.activation_in("running");
    host.kill();
    for _ in 0..3 {
        let host = world.serve();
        host.activation_in("running");
        host.kill();
    }
    world.script(NOTE);
    check_first_attempt(&world);
}

#[test]
fn a_host_that_another_process_aborts_counts_against_no_run() {
    let world = world();
    let mut host = world.serve();
    wake(&host, 1);
    for _ in 0..3 {
        host.activation_in("running");
        host.signal(Signal::ABORT);
        assert_eq!(host.wait().0, None, "a signal ended it");
        host = world.serve();
    }
    world.script(NOTE);
    host.activation_in("running");
    host.kill();
    check_first_attempt(&world);
}

#[test]
fn a_run_whose_host_aborts_three_times_is_poison_and_closes_no_gate() {
    let world = world();
    let mut host = world.serve();
    wake(&host, 1);
    for _ in 0..3 {
        host.activation_in("running");
        starve(&mut host);
        host = world.serve();
    }
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "dead", "{activations:#?}");
    shows!(activations, {"0.reason": "poison: 3 host crashes while it ran"});
    let daemon = host.get("daemons/pr-helper");
    assert_eq!(daemon["daemon"]["gate"], "open", "{daemon}");
    let log = world.log();
    assert!(log.contains("aborted"), "the log says how it ended: {log}");
    // What wakes later is not held back.
    world.script(NOTE);
    wake(&host, 2);
    let activations = host.settled(2);
    let n_good = activations
        .iter()
        .filter(|one| one["state"] == "succeeded")
        .count();
    assert_eq!(n_good, 1, "{activations:#?}");
}

#[test]
fn a_crash_loop_pauses_claims_and_serves_intake_and_reads() {
    let world = world();
    for _ in 0..5 {
        world.serve().kill();
    }
    let host = world.serve();
    let doctor = host.get("doctor");
    let claims = check(&doctor, "claims").expect("a check says that claims pause");
    assert_eq!(claims["status"], "warn", "{claims}");
    wake(&host, 1);
    let pending = host.activation_in("pending");
    assert_eq!(pending["attempts"], 0, "{pending}");
    assert_eq!(host.list("events").len(), 1);
    // Every view shows the pause and its end.
    let (_, listed) = world.json(&["list"]);
    let fired = shown!(world.json(&["fire", "pr-helper"]), {"$?": 75});
    for shown in [
        &listed["pause"],
        &host.activation_in("pending")["reason"],
        &fired["error"]["message"],
    ] {
        let text = shown.as_str().unwrap_or_default();
        let until = text.rsplit(' ').next().and_then(|at| at.parse().ok());
        let until: jiff::Timestamp = until.unwrap_or_else(|| panic!("no end in `{text}`"));
        assert!(text.starts_with("crash loop: "), "{text}");
        assert!(until > jiff::Timestamp::now(), "{text}");
    }
    assert_eq!(host.open("GET", "/readyz", &[]).status, 200);
    assert_eq!(host.stop().0, Some(0));
    // A stop in order ends the loop.
    let host = world.serve();
    assert_eq!(check(&host.get("doctor"), "claims"), None);
    host.activation_in("running");
}

#[test]
fn work_trees_left_by_kills_are_removed_at_the_next_start() {
    let world = world();
    let host = world.serve();
    wake(&host, 1);
    let running = host.activation_in("running");
    let id = running.text("id");
    host.kill();
    let places = world.home.join("worktrees");
    // With an overlay, the files of the run are in its upper layer.
    let left = ["-1/.git", "-1.upper/.git"].map(|end| places.join(format!("{id}{end}")));
    assert!(left.iter().any(|dir| dir.is_dir()), "one was left");
    // What earlier versions left: a work tree of the watched repository, and records of others that a kill cut off.
    let records = world.repo.join(".git/worktrees");
    let old = places.join(format!("{id}-7"));
    let old = old.to_str().expect("UTF-8");
    world.git(&["worktree", "add", "--quiet", "--detach", old]);
    let cut_off = records.join(format!("{id}-8"));
    let named = format!("{}/.git\n", places.join(format!("{id}-8")).display());
    fs::create_dir(&cut_off).expect("a record");
    fs::write(cut_off.join("gitdir"), named).expect("its directory");
    fs::write(cut_off.join("commondir"), "").expect("an empty file");
    world.script(NOTE);
    let host = world.serve();
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:#?}");
    assert_eq!(activations[0]["attempts"], 1, "{activations:#?}");
    until("all are gone", || {
        let left = fs::read_dir(&places).expect("the folder").next();
        left.is_none() && !records.exists()
    });
}
