//! Steps 4, 6 and 7 of `docs/github.md`: the first webhook, the commands that show what happened, and how everything is taken back.

use daemon_fakes::GithubIssue;
use serde_json::{Value, json};

use crate::serve_from_zero::{DOCS, REPO, Zero, first_daemon};
use crate::world::{Host, World, eventually, git, until};

/// Returns a host with the configuration of the documentation, before its first daemon.
fn serving() -> (Zero, Host) {
    let zero = Zero::new();
    zero.configure(None);
    let host = zero.world.serve();
    (zero, host)
}

/// Runs a command that the documentation names, and returns its object.
fn documented(world: &World, command: &str) -> Value {
    assert!(DOCS.contains(command), "the page names `{command}`");
    let args: Vec<&str> = command.split(' ').collect();
    let (code, object) = world.json(&args);
    assert_eq!(code, 0, "{command}: {object}");
    object
}

#[test]
fn the_ping_of_a_new_webhook_is_listed_and_wakes_nothing() {
    let (zero, host) = serving();
    let body = json!({
        "zen": "Keep it simple.", "hook_id": 1, "hook": {"type": "Repository", "id": 1, "active": true},
        "repository": {"id": 1, "full_name": REPO}, "sender": {"login": "ann", "type": "User"},
    });
    assert_eq!(host.hook("ping", "p-1", &body).status, 200);
    let events = documented(&zero.world, "events");
    let pings = events["events"].as_array().expect("a list").iter();
    let pings: Vec<_> = pings.filter(|event| event["kind"] == "ping").collect();
    assert_eq!(pings.len(), 1, "{events}");
    shows!(pings[0], {"source": "github", "delivery_id": "p-1", "repo": REPO});
    assert_eq!(host.settled(0), Vec::<Value>::new());
}

#[test]
fn the_commands_of_the_documentation_show_what_the_first_daemon_did() {
    let (zero, host) = serving();
    let activation = first_daemon(&zero, &host);
    let world = &zero.world;
    let id = activation["id"].as_str().expect("an id");
    let events = documented(world, "events");
    let events = events["events"].as_array().expect("a list");
    let woke = &activation["trigger"]["event_ids"][0];
    assert!(
        events.iter().any(|event| event["id"] == *woke),
        "{events:?}"
    );
    let event = woke.as_str().expect("an id");
    assert!(DOCS.contains("explain link-janitor --event EVENT"));
    let explain = ["explain", "link-janitor", "--event", event, "--json"];
    let mut explain = world.command(&explain);
    let why = explain.current_dir(&world.repo).output().expect("it runs");
    let why: Value = serde_json::from_slice(&why.stdout).expect("an object");
    shows!(why, {"daemons.0.daemon_id": "link-janitor", "daemons.0.wakes": true});
    shows!(documented(world, "activations"), {"activations.0.id": id, "activations.0.state": "succeeded"});
    assert!(DOCS.contains("`runs`, `run ID`, `logs ID`"));
    let runs = world.json(&["runs"]).1;
    shows!(runs, {"runs.0.daemon_id": "link-janitor", "runs.0.state": "done"});
    let run = runs["runs"][0]["id"].as_str().expect("an id");
    shows!(world.json(&["run", run]).1, {"run.id": run});
    let logs = world.run(&["logs", run]);
    let lines = String::from_utf8_lossy(&logs.stdout);
    assert!(lines.contains("README.md:1: "), "{logs:?}");
    let outputs = documented(world, "outputs");
    let urls = outputs["outputs"].as_array().expect("a list").iter();
    let urls: Vec<&str> = urls.filter_map(|output| output["url"].as_str()).collect();
    assert!(
        urls.iter().any(|url| url.contains("/acme/lantern/pull/")),
        "{outputs}"
    );
    let made: Vec<GithubIssue> = zero.api.issues(REPO);
    let body = made[0].body.as_deref().expect("a body");
    let last = body.lines().last().expect("the footer");
    assert!(last.contains("link-janitor") && last.contains(id), "{last}");
}

/// Moves the page again, to a place of its own, and pushes.
fn move_page(zero: &Zero, from: &str, to: &str) {
    let world = &zero.world;
    let to_file = world.repo.join(format!("docs/{to}/setup.md"));
    std::fs::create_dir_all(to_file.parent().expect("a directory")).expect("a directory");
    world.git(&[
        "mv",
        &format!("docs/{from}/setup.md"),
        &format!("docs/{to}/setup.md"),
    ]);
    world.commit(&format!("Move the setup to {to}"));
    zero.push();
}

/// Returns state and reason of each activation, oldest first.
fn states(host: &Host) -> Vec<Value> {
    let mut all = host.list("activations");
    all.sort_by_key(|one| one["id"].to_string());
    all.iter()
        .map(|one| json!([one["state"], one["reason"]]))
        .collect()
}

#[test]
fn everything_and_one_daemon_are_paused_and_continue_with_what_was_recorded() {
    let (zero, host) = serving();
    first_daemon(&zero, &host);
    for (n, (hold, go)) in [("hold", "go"), ("hold link-janitor", "go link-janitor")]
        .into_iter()
        .enumerate()
    {
        documented(&zero.world, hold);
        let (from, to) = (["start", "second"][n], ["second", "third"][n]);
        move_page(&zero, from, to);
        let held = until_pending(&host, n + 2);
        assert_eq!(held, json!(["pending", "hold"]), "{hold}");
        let args: Vec<&str> = go.split(' ').collect();
        assert_eq!(zero.world.json(&args).0, 0, "{go}");
        let ended = host.settled(n + 2);
        assert!(
            ended.iter().all(|one| one["state"] == "succeeded"),
            "{hold}: {ended:#?}"
        );
    }
}

/// Waits until there are `n` activations, and returns state and reason of the newest.
fn until_pending(host: &Host, n: usize) -> Value {
    until("the event is matched", || {
        host.list("activations").len() == n
    });
    states(host).pop().expect("there is one")
}

#[test]
fn a_person_closes_the_pull_request_and_removes_its_branch_and_the_daemon() {
    let (zero, host) = serving();
    let activation = first_daemon(&zero, &host);
    let id = activation["id"].as_str().expect("an id");
    let path = format!("/repos/{REPO}/pulls/{}", zero.api.issues(REPO)[0].number);
    let (status, closed) = zero
        .api
        .act("ann", "PATCH", &path, &json!({"state": "closed"}));
    assert_eq!(
        (status, &closed["state"]),
        (200, &json!("closed")),
        "{closed}"
    );
    until("the branch is seen", || {
        host.list("events")
            .iter()
            .any(|event| event["kind"] == "create")
    });
    git(
        &zero.origin,
        &["branch", "-D", &format!("daemon/link-janitor/{id}")],
    );
    zero.deliver(&host);
    until("the removed branch is seen", || {
        host.list("events")
            .iter()
            .any(|event| event["kind"] == "delete")
    });
    assert_eq!(
        host.settled(1).len(),
        1,
        "a person who undoes it wakes nobody"
    );

    // What waits for a daemon that is removed is cancelled.
    assert_eq!(zero.world.json(&["hold"]).0, 0);
    move_page(&zero, "start", "second");
    assert_eq!(until_pending(&host, 2), json!(["pending", "hold"]));
    zero.world
        .git(&["rm", "--quiet", "-r", ".agents/daemons/link-janitor"]);
    let commit = zero.world.commit("Remove the daemon");
    zero.push();
    host.registered(&commit);
    shows!(documented(&zero.world, "list"), {"daemons": []});
    let ended = states(&host).pop().expect("there is one");
    assert_eq!(ended[0], "cancelled", "{ended}");
    assert_eq!(zero.world.json(&["go"]).0, 0);
    assert_eq!(host.settled(2).len(), 2);
}

#[test]
fn outputs_of_a_host_whose_access_was_revoked_wait_and_are_shown_with_the_reason() {
    let (zero, host) = serving();
    first_daemon(&zero, &host);
    zero.secrets("github_pat_Revoked");
    assert_eq!(zero.world.json(&["reload"]).0, 0);
    let _fired = zero.world.begin(&["fire", "link-janitor", "--json"]);
    // The page still links to the old place in the default branch, which the host has fetched.
    let failed = eventually("an output fails", || {
        let outputs = documented(&zero.world, "outputs");
        let mut outputs = outputs["outputs"].as_array()?.clone();
        outputs.retain(|output| output["state"] != "confirmed" && output["error"].is_string());
        (!outputs.is_empty()).then_some(outputs)
    });
    for output in failed {
        let error = output["error"].as_str().expect("a text");
        let is_refused = error.contains("Authentication failed") || error.contains("401");
        assert!(is_refused, "{error}");
        assert_ne!(output["state"], "confirmed", "{output}");
    }
    assert_eq!(
        zero.api.issues(REPO).len(),
        1,
        "that of the first activation"
    );
}
