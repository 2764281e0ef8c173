//! From a push or a webhook to a branch, and what the registry makes of changed files.

use serde_json::{Value, json};

use crate::http::{pull_request_opened, push};
use crate::world::{Host, World, daemon_file, eventually, until, watch};

/// Returns the daemons that activations belong to, oldest first, each with its state.
fn woken(activations: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pairs = activations
        .iter()
        .map(|one| (text(&one["daemon_id"]), text(&one["state"])));
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort();
    pairs
}

fn succeeded(ids: &[&str]) -> Vec<(String, String)> {
    ids.iter()
        .map(|id| ((*id).to_owned(), "succeeded".to_owned()))
        .collect()
}

#[test]
fn a_push_wakes_the_matching_daemon_and_makes_an_attributed_branch() {
    let world = World::new(&[
        (
            "docs",
            &watch(&["when files matching docs/**/*.md are changed"]),
        ),
        (
            "code",
            &watch(&["when files matching src/**/*.rs are changed"]),
        ),
        ("opened", &watch(&["when a pull request is opened"])),
    ]);
    let host = world.serve();
    world.write("docs/a.md", "two\n");
    let commit = world.commit("change the manual");
    let activations = host.settled(1);
    assert_eq!(woken(&activations), succeeded(&["docs"]));
    let activation = &activations[0];
    let id = activation["id"].as_str().expect("an id");
    let outputs = host.list("outputs");
    let branch = format!("refs/heads/daemon/docs/{id}");
    assert_eq!(outputs.len(), 1);
    shows!(outputs, {"0.state": "confirmed", "0.target": branch, "0.activation_id": id});
    assert_eq!(world.branches(), [branch.as_str()]);
    assert_eq!(world.git(&["show", &format!("{branch}:NOTE.md")]), "note\n");
    assert_eq!(
        world.git(&["rev-parse", &format!("{branch}^")]).trim(),
        commit
    );
    let key = outputs[0]["key"].as_str().expect("a key");
    let trailers = world.git(&["log", "-1", "--format=%(trailers:only)", &branch]);
    assert_eq!(
        trailers.trim(),
        format!("Daemon-Id: docs\nDaemon-Activation: {id}\nDaemon-Output: {key}")
    );
    let event = activation["trigger"]["event_ids"][0]
        .as_str()
        .expect("an event");
    let event = host.get(&format!("events/{event}"));
    let fields = ["source", "kind", "actor", "delivery_id"].map(|name| &event[name]);
    assert_eq!(fields, ["git", "push", "Ann", "git:o/r:refs/heads/main:1"]);
}

#[test]
fn a_pull_request_wakes_the_matching_daemon() {
    let world = World::new(&[
        ("opened", &watch(&["when a pull request is opened"])),
        ("closed", &watch(&["when a pull request is closed"])),
        ("pusher", &watch(&["when a commit is pushed to main"])),
    ]);
    let host = world.serve();
    let answer = host.hook("pull_request", "d-1", &pull_request_opened(7));
    let activations = host.settled(1);
    assert_eq!(woken(&activations), succeeded(&["opened"]));
    shows!(activations, {"0.trigger.event_ids": answer.json()["event_ids"]});
    shows!(activations, {
        "0.trigger.key": format!("event:{}", activations[0]["trigger"]["event_ids"][0].as_str().expect("an id")),
    });
    assert_eq!(world.branches().len(), 1);
}

#[test]
fn one_move_reported_twice_is_one_event() {
    let world = World::pushed();
    let before = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let host = world.serve();
    let after = world.commit("told by both");
    host.settled(1);
    let answer = host.hook("push", "d-1", &push("O/R", &before, &after));
    shows!(answer, {"HTTP": 200, "duplicate": true}, "git was first");
    assert_eq!(host.settled(1).len(), 1);

    // The other way round: the commit exists before the branch leads to it.
    let tree = format!("{after}^{{tree}}");
    let next = world.git(&["commit-tree", "-p", &after, "-m", "by webhook first", &tree]);
    let next = next.trim();
    let answer = host.hook("push", "d-2", &push("o/r", &after, next));
    shows!(answer, {"HTTP": 200, "duplicate": false}, "the webhook was first");
    let activations = host.settled(2);
    assert_eq!(woken(&activations), succeeded(&["pusher", "pusher"]));
    world.git(&["update-ref", "refs/heads/main", next]);
    host.registered(next);
    assert_eq!(host.settled(2).len(), 2);
    let pushes = host
        .list("events")
        .into_iter()
        .filter(|event| event["kind"] == "push");
    assert_eq!(pushes.count(), 2);
}

/// Lets a daemon make a branch where a new branch wakes it, and waits until the host has seen the branch.
fn made(env: &[(&str, &str)]) -> (World, Host) {
    let wakes = [
        "when a commit is pushed to main",
        "when a branch is created",
    ];
    let world = World::new(&[("maker", &watch(&wakes))]);
    let host = world.serve_with(&[], env);
    world.commit("wake it");
    host.settled(1);
    until("its branch was seen", || {
        let events = host.list("events");
        events.iter().any(|event| event["kind"] == "create")
    });
    (world, host)
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_without_the_filter_for_own_outputs_is_found_out() {
    let (_world, host) = made(&[("DAEMON_CANARY", "no-self-filter")]);
    let woken = host.settled(2);
    assert!(woken.len() > 1, "{woken:?}");
}

#[test]
fn what_a_daemon_made_does_not_wake_it() {
    let (world, host) = made(&[]);
    assert_eq!(woken(&host.settled(1)), succeeded(&["maker"]));
    world.git(&["branch", "topic"]);
    assert_eq!(
        woken(&host.settled(2)),
        succeeded(&["maker", "maker"]),
        "a person's branch does"
    );
}

/// Returns what `list` says of a daemon.
fn listed(world: &World, id: &str) -> Value {
    let list = shown!(world.json(&["list"]), {"$?": 0});
    let daemons = list["daemons"].as_array().expect("a list");
    daemons
        .iter()
        .find(|daemon| daemon["id"] == id)
        .expect("it is listed")
        .clone()
}

#[test]
fn an_invalid_file_wakes_no_more_with_a_reason_until_it_is_corrected() {
    let condition = watch(&["when a commit is pushed to main"]);
    let world = World::new(&[("broken", &condition), ("sound", &condition)]);
    let host = world.serve();
    world.write_daemon("broken", "---\nid: broken\npurpose: x\nwatch: [\n---\n");
    let commit = world.commit("break it");
    host.registered(&commit);
    assert_eq!(
        woken(&host.settled(1)),
        succeeded(&["sound"]),
        "not even by the push that broke it"
    );
    let daemon = listed(&world, "broken");
    shows!(daemon, {"valid": false, "diagnostics.0.code": "D010"});
    assert_eq!(daemon["diagnostics"][0]["start"]["line"], 4);
    assert_eq!(listed(&world, "sound")["valid"], true);
    let check = shown!(world.examined("daemon o/r:broken"), {"$?": 1, "status": "fail"});
    assert!(
        check["detail"]
            .as_str()
            .expect("text")
            .starts_with("does not wake: D010: "),
        "{check}"
    );
    shows!(world.json(&["fire", "broken"]), {"$?": 65, "error.code": "invalid-daemon"});

    world.commit("nobody mended it");
    assert_eq!(woken(&host.settled(2)), succeeded(&["sound", "sound"]));

    world.write_daemon("broken", &daemon_file("broken", &condition));
    let commit = world.commit("mend it");
    host.registered(&commit);
    assert_eq!(listed(&world, "broken")["valid"], true);
    assert_eq!(world.examined("daemon o/r:broken").1["status"], "ok");
    host.settled(3);
    world.commit("wake both");
    let activations = host.settled(5);
    let event = host
        .list("events")
        .into_iter()
        .find(|event| event["kind"] == "push")
        .expect("the newest");
    let both: Vec<Value> = activations
        .into_iter()
        .filter(|one| one["trigger"]["event_ids"][0] == event["id"])
        .collect();
    assert_eq!(woken(&both), succeeded(&["broken", "sound"]));
}

#[test]
fn a_new_daemon_is_not_woken_by_the_push_that_brings_it() {
    let condition = watch(&["when a commit is pushed to main"]);
    let world = World::new(&[("old", &condition)]);
    let host = world.serve();
    world.write_daemon("new", &daemon_file("new", &condition));
    let commit = world.commit("add one");
    host.registered(&commit);
    assert_eq!(woken(&host.settled(1)), succeeded(&["old"]));
    world.commit("go on");
    assert_eq!(woken(&host.settled(3)), succeeded(&["new", "old", "old"]));
}

#[test]
fn a_held_daemon_waits_and_a_removed_one_is_cancelled() {
    let condition = watch(&["when a commit is pushed to main"]);
    let world = World::new(&[("gone", &condition), ("kept", &condition)]);
    let host = world.serve();
    for id in ["gone", "kept"] {
        shows!(world.json(&["hold", id]), {"$?": 0, "gate": "held"});
    }
    world.commit("while they are held");
    let waiting = eventually("both wait", || {
        let all = host.list("activations");
        (all.len() == 2).then_some(all)
    });
    for activation in &waiting {
        shows!(activation, {"state": "pending", "reason": "hold"});
    }
    shows!(world.json(&["fire", "kept"]), {"$?": 75, "error.code": "held"});
    world.git(&["rm", "-r", "--quiet", ".agents/daemons/gone"]);
    let commit = world.commit("remove one");
    host.registered(&commit);
    eventually("it is cancelled", || {
        let all = host.list("activations");
        let gone = all.into_iter().find(|one| one["daemon_id"] == "gone")?;
        (gone["state"] == "cancelled" && gone["reason"] == "the daemon was removed").then_some(())
    });
    assert_eq!(world.json(&["go", "gone"]).0, 66);
    assert_eq!(world.json(&["go", "kept"]).1["gate"], "open");
    let activations = host.settled(2);
    let kept: Vec<Value> = activations
        .into_iter()
        .filter(|one| one["daemon_id"] == "kept")
        .collect();
    // The second push joined what was waiting: they have one subject.
    assert_eq!(woken(&kept), succeeded(&["kept"]));
    assert_eq!(
        kept[0]["trigger"]["event_ids"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
}

#[test]
fn a_held_host_starts_no_run() {
    let (world, _host) = World::serving();
    assert_eq!(
        world.json(&["hold"]),
        (0, json!({"schema_version": 1, "gate": "held"}))
    );
    assert_eq!(world.json(&["fire", "pusher"]).0, 75);
    let (_, held) = world.json(&["list"]);
    let pause = "hold: the host is held until `daemon-run go`";
    assert_eq!(
        (&held["gate"], &held["pause"]),
        (&json!("held"), &json!(pause))
    );
    assert_eq!(statuses_of_hold(&world), ["warn"]);
    assert_eq!(
        world.json(&["go"]),
        (0, json!({"schema_version": 1, "gate": "open"}))
    );
    let (_, open) = world.json(&["list"]);
    assert_eq!(
        (&open["gate"], &open["pause"]),
        (&json!("open"), &json!(null))
    );
    assert_eq!(statuses_of_hold(&world), [""; 0]);
    assert_eq!(world.json(&["fire", "pusher"]).0, 0);
}

/// Returns the statuses of the check `hold` of `doctor`.
fn statuses_of_hold(world: &World) -> Vec<String> {
    let (_, found) = world.json(&["doctor"]);
    let checks = found["checks"].as_array().expect("a list").iter();
    let hold = checks.filter(|check| check["name"] == "hold");
    hold.map(|check| check["status"].as_str().expect("a word").to_owned())
        .collect()
}

#[test]
fn a_push_while_no_host_runs_is_seen_by_the_next() {
    let (world, host) = World::serving();
    assert_eq!(host.stop().0, Some(0));
    world.commit("nobody looks");
    let host = world.serve();
    assert_eq!(woken(&host.settled(1)), succeeded(&["pusher"]));
    host.kill();
    world.commit("nobody looks again");
    let host = world.serve();
    assert_eq!(woken(&host.settled(2)), succeeded(&["pusher", "pusher"]));
}

#[test]
fn a_repository_that_cannot_be_read_does_not_hinder_another() {
    let world = World::pushed();
    let other = World::pushed();
    world.configure(&format!(
        "[[repo]]\npath = {:?}\nname = \"o/other\"\n",
        other.repo.display().to_string()
    ));
    let host = world.serve();
    let head = other.repo.join(".git/HEAD");
    let refs = std::fs::read(&head).expect("it has a HEAD");
    std::fs::write(&head, "garbage").expect("it can be spoilt");
    world.commit("all is well here");
    assert_eq!(woken(&host.settled(1)), succeeded(&["pusher"]));
    std::fs::write(&head, refs).expect("it can be mended");
    other.commit("well again");
    assert_eq!(woken(&host.settled(2)), succeeded(&["pusher", "pusher"]));
}
