//! One change that several sources report: one event, and one activation for each daemon.

use serde_json::{Value, json};

use crate::http::{pull_request_opened, repository, sender};
use crate::world::{Host, World, watch};

/// A provider that makes nothing, so that nothing it does is reported.
const QUIET: &str =
    "cat > /dev/null\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"seen\"}'\n";

/// A provider whose result is the first subject that its context names.
const SUBJECT: &str = "subject=$(grep -o -E -m 1 '(github:o/r#|git:o/r:refs/heads/)[a-z0-9]+' | head -n 1)\n\
     printf '{\"daemon\":\"result\",\"ok\":true,\"text\":\"%s\"}\\n' \"$subject\"\n";

/// Returns how often each daemon was woken, once everything has ended.
fn woken(host: &Host, at_least: usize) -> Vec<(String, usize)> {
    let mut ids: Vec<String> = host
        .settled(at_least)
        .iter()
        .filter_map(|one| Some(one["daemon_id"].as_str()?.to_owned()))
        .collect();
    ids.sort();
    let mut counts: Vec<(String, usize)> = Vec::new();
    for id in ids {
        match counts.last_mut() {
            Some((last, n)) if *last == id => *n += 1,
            _ => counts.push((id, 1)),
        }
    }
    counts
}

fn each(ids: &[&str], n: usize) -> Vec<(String, usize)> {
    ids.iter().map(|id| ((*id).to_owned(), n)).collect()
}

/// Sends a webhook that must be known already, twice.
fn known(host: &Host, (kind, delivery): (&str, &str), body: &Value) {
    for again in ["once", "once more"] {
        let answer = host.hook(kind, delivery, body);
        shows!(answer, {"HTTP": 200, "duplicate": true}, "{kind} {again}");
    }
}

/// Commits a merge of a new branch into `main` without moving it, and returns the commit.
fn merge(world: &World, name: &str) -> String {
    world.git(&["checkout", "--quiet", "-b", name]);
    world.write(&format!("docs/{name}.md"), "more\n");
    let side = world.commit(name);
    world.git(&["checkout", "--quiet", "main"]);
    let tree = format!("{side}^{{tree}}");
    let parents = ["commit-tree", &tree, "-p", "main", "-p", &side, "-m", name];
    world.git(&parents).trim().to_owned()
}

/// Writes the body of a webhook of a merged pull request.
fn closed(number: u32, commit: &str) -> Value {
    let mut body = pull_request_opened(number);
    body["action"] = json!("closed");
    body["pull_request"]["merged"] = json!(true);
    body["pull_request"]["state"] = json!("closed");
    body["pull_request"]["merge_commit_sha"] = json!(commit);
    body["pull_request"]["labels"] = json!([{"name": "docs"}]);
    body
}

#[test]
fn a_merge_and_its_pull_request_are_one_event_in_either_order() {
    let world = World::new(&[
        (
            "labelled",
            &watch(&["when a pull request labeled docs is merged"]),
        ),
        ("merged", &watch(&["when a pull request is merged"])),
    ]);
    world.script(QUIET);
    let host = world.serve();
    let commit = merge(&world, "one");
    world.git(&["update-ref", "refs/heads/main", &commit]);
    assert_eq!(woken(&host, 1), each(&["merged"], 1));
    known(&host, ("pull_request", "d-1"), &closed(1, &commit));
    assert_eq!(
        woken(&host, 2),
        each(&["labelled", "merged"], 1),
        "what only the webhook says wakes as well"
    );

    let commit = merge(&world, "two");
    let answer = host.hook("pull_request", "d-2", &closed(2, &commit));
    assert_eq!(answer.json()["duplicate"], json!(false));
    assert_eq!(woken(&host, 4), each(&["labelled", "merged"], 2));
    world.git(&["update-ref", "refs/heads/main", &commit]);
    let pushed = || {
        let events = host.list("events");
        let moved = |event: &&Value| {
            event["kind"] == "push" && event["subject"] == "git:o/r:refs/heads/main"
        };
        events.iter().filter(moved).count() == 2
    };
    crate::world::until("the merge was seen", pushed);
    assert_eq!(woken(&host, 4), each(&["labelled", "merged"], 2));
    known(&host, ("pull_request", "d-2"), &closed(2, &commit));
}

/// Returns what each run said, with its daemon, in order.
fn said(host: &Host) -> Vec<(String, String)> {
    let runs = host.list("runs");
    let text = |run: &Value, field: &str| run[field].as_str().map(str::to_owned);
    let mut said: Vec<(String, String)> = runs
        .iter()
        .filter_map(|run| Some((text(run, "daemon_id")?, text(run, "result_preview")?)))
        .collect();
    said.sort();
    said
}

#[test]
fn a_run_gets_the_report_that_woke_it_in_either_order() {
    let world = World::new(&[
        ("born", &watch(&["when a branch is created"])),
        (
            "labelled",
            &watch(&["when a pull request labeled docs is merged"]),
        ),
    ]);
    world.script(SUBJECT);
    let host = world.serve();
    let told = |daemon: &str, subject: &str| (daemon.to_owned(), subject.to_owned());

    let commit = merge(&world, "one");
    world.git(&["update-ref", "refs/heads/main", &commit]);
    crate::world::until("git reported the merge", || {
        let events = host.list("events");
        events.iter().any(|event| event["kind"] == "merge")
    });
    host.settled(1);
    known(&host, ("pull_request", "d-1"), &closed(1, &commit));
    host.settled(2);
    let commit = merge(&world, "two");
    host.hook("pull_request", "d-2", &closed(2, &commit));
    host.settled(4);
    let expected = [
        told("born", "git:o/r:refs/heads/one"),
        told("born", "git:o/r:refs/heads/two"),
        told("labelled", "github:o/r#1"),
        told("labelled", "github:o/r#2"),
    ];
    assert_eq!(said(&host), expected);

    let (_, create) = &born(&world, "three")[0];
    host.hook("create", "d-3", create);
    host.settled(5);
    assert_eq!(said(&host)[1], told("born", "git:o/r:refs/heads/three"));
}

/// Writes the bodies of the two webhooks of a new branch.
fn born(world: &World, branch: &str) -> [(&'static str, Value); 2] {
    let commit = world.git(&["rev-parse", "main"]).trim().to_owned();
    let create = json!({
        "ref": branch, "ref_type": "branch", "master_branch": "main", "repository": repository("o/r"), "sender": sender(),
    });
    let push = json!({
        "ref": format!("refs/heads/{branch}"), "before": "0".repeat(40), "after": commit, "created": true,
        "deleted": false, "forced": false, "commits": [], "head_commit": null, "pusher": {"name": "ann"},
        "repository": repository("o/r"), "sender": sender(),
    });
    [("create", create), ("push", push)]
}

#[test]
fn a_new_branch_is_one_event_and_is_pushed_with_its_commit() {
    let (created, pushed) = ("when a branch is created", "when a commit is pushed");
    let world = World::new(&[
        ("both", &watch(&[created, pushed])),
        ("born", &watch(&[created])),
        ("pushed", &watch(&[pushed])),
    ]);
    world.script(QUIET);
    let host = world.serve();
    let all = ["born", "both", "pushed"];
    world.git(&["branch", "one"]);
    assert_eq!(woken(&host, 3), each(&all, 1), "git alone wakes them all");
    for (kind, body) in born(&world, "one") {
        known(&host, (kind, &format!("one-{kind}")), &body);
    }
    assert_eq!(woken(&host, 3), each(&all, 1));

    for (kind, body) in born(&world, "two") {
        host.hook(kind, &format!("two-{kind}"), &body);
    }
    assert_eq!(woken(&host, 6), each(&all, 2), "webhooks alone do");
    world.git(&["branch", "two"]);
    let is_counted = || {
        let events = host.list("events");
        events
            .iter()
            .any(|event| event["duplicates"] == 3)
            .then_some(())
    };
    crate::world::eventually("git reported both of it", is_counted);
    assert_eq!(woken(&host, 6), each(&all, 2));
    for (kind, body) in born(&world, "two") {
        known(&host, (kind, &format!("two-{kind}")), &body);
    }

    world.git(&["branch", "-D", "two"]);
    crate::world::until("its end was seen", || {
        let events = host.list("events");
        events.iter().any(|event| event["kind"] == "delete")
    });
    world.git(&["branch", "two"]);
    assert_eq!(
        woken(&host, 9),
        each(&all, 3),
        "another birth is another event"
    );
}

#[test]
fn a_ref_that_moves_back_and_forth_is_pushed_each_time() {
    let world = World::new(&[("pushed", &watch(&["when a commit is pushed to main"]))]);
    world.script(QUIET);
    let host = world.serve();
    let before = world.git(&["rev-parse", "main"]).trim().to_owned();
    let after = merge(&world, "one");
    let moves = [(&before, &after), (&after, &before), (&before, &after)];
    for (n, (_, to)) in (1..).zip(moves) {
        world.git(&["update-ref", "refs/heads/main", to]);
        assert_eq!(woken(&host, n), each(&["pushed"], n), "move {n}");
    }
    for (n, (from, to)) in (1..).zip(moves) {
        let body = json!({
            "ref": "refs/heads/main", "before": from, "after": to, "created": false, "deleted": false,
            "forced": n == 2, "commits": [], "head_commit": null, "pusher": {"name": "ann"},
            "repository": repository("o/r"), "sender": sender(), "n": n,
        });
        known(&host, ("push", &format!("d-{n}")), &body);
    }
    assert_eq!(woken(&host, 3), each(&["pushed"], 3));
}
