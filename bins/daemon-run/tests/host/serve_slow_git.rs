//! A repository that cannot be read in time: the listener, the other repositories and the stop do not wait for it, and its
//! events do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::http;
use crate::slow_git::SlowGit;
use crate::world::{Host, World, check, daemon_file, until, watch};

/// How soon a host is ready whose repository cannot be read: 5 s, and as much again for a busy machine.
const READY: Duration = Duration::from_secs(20);

fn world() -> (World, SlowGit) {
    let world = World::new(&[("opened", &watch(&["when a pull request is opened"]))]);
    let daemon = daemon_file("slow-opened", &watch(&["when a pull request is opened"]));
    let slow = SlowGit::new(&world, "slow-opened", &daemon);
    world.configure(&format!(
        "[[repo]]\npath = {:?}\nname = \"o/slow\"\n",
        slow.repo.display().to_string()
    ));
    (world, slow)
}

fn serve(world: &World, slow: &SlowGit) -> Host {
    world.serve_with(&[], &[("PATH", &slow.search_path())])
}

fn opened(repo: &str, number: u32) -> Value {
    json!({
        "action": "opened", "number": number, "repository": {"full_name": repo},
        "sender": {"login": "ann", "type": "User"},
        "pull_request": {"number": number, "draft": false, "user": {"login": "ann", "type": "User"}},
    })
}

#[test]
fn a_hanging_repository_holds_neither_the_listener_nor_the_ready_line() {
    let (world, slow) = world();
    let begun = Instant::now();
    let (early, host) = std::thread::scope(|scope| {
        let host = scope.spawn(|| serve(&world, &slow));
        let address = world.listening();
        let early = http::ask(&address, "GET", "/healthz", &[], b"");
        (early, host.join().expect("it becomes ready"))
    });
    assert_eq!(early.status, 200, "{early:?}");
    let took = begun.elapsed();
    assert!(took < READY, "the ready line came after {took:?}");

    // The rest of the host works, and says which repository is missing.
    let ready = host.open("GET", "/readyz", &[]);
    assert_eq!(ready.status, 200, "{ready:?}");
    let repositories = ready.json()["parts"]["repositories"].clone();
    assert_eq!(repositories, "not read yet: o/slow");
    let doctor = host.get("doctor");
    let check = check(&doctor, "repository o/slow");
    assert_eq!(check["status"], "warn", "{check}");
    let listed = shown!(world.json(&["list"]), {"$?": 0});
    let unread = &listed["unread"];
    assert_eq!(unread[0]["repo"], "o/slow", "{listed}");
    let answer = shown!(world.json(&["fire", "slow-opened"]), {"$?": 66});
    let help = answer["error"]["help"].as_str().unwrap_or_default();
    assert!(help.contains("`o/slow`"), "{answer}");

    shows!(host.hook("pull_request", "d-1", &opened("o/slow", 1)), {"HTTP": 200});
    shows!(host.hook("pull_request", "d-2", &opened("o/r", 2)), {"HTTP": 200});
    let woken = |host: &Host| -> Vec<String> {
        let all = host.list("activations");
        let ids = all.iter().map(|one| one.text("daemon_id"));
        ids.collect()
    };
    until("the other repository's daemon is woken", || {
        woken(&host) == ["opened"]
    });
    shows!(host.get("stats"), {"unmatched": 1}, "the event waits for its repository");

    slow.release();
    until(
        "what came meanwhile wakes the daemon that was read after it",
        || woken(&host).contains(&"slow-opened".to_owned()),
    );
    assert_eq!(host.settled(2).len(), 2);
    let ready = host.open("GET", "/readyz", &[]).json();
    assert_eq!(ready["parts"]["repositories"], "ok");
    assert_eq!(world.json(&["list"]).1["unread"], json!([]));
}

#[test]
fn what_was_acknowledged_before_a_host_died_in_its_first_reading_wakes() {
    let (world, slow) = world();
    let host = serve(&world, &slow);
    let answer = host.hook("pull_request", "d-1", &opened("o/slow", 1));
    assert_eq!(answer.status, 200);
    host.kill();
    slow.release();
    let host = serve(&world, &slow);
    let woken = host.settled(1);
    shows!(woken, {"*.daemon_id": ["slow-opened"]});
}

#[test]
fn a_host_whose_git_hangs_stops_in_time() {
    let (world, slow) = world();
    let host = serve(&world, &slow);
    let begun = Instant::now();
    assert_eq!(host.stop().0, Some(0));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(30), "the stop took {took:?}");
}
