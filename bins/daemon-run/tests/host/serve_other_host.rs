//! Two hosts that watch one repository and write with one account: outputs that the other host delivered for the same daemon wake neither.

use serde_json::{Value, json};

use crate::http::repository;
use crate::serve_github::world_with;
use crate::world::{Host, World, daemon_file, until, watch};

/// An activation of the other host.
const THERE: &str = "01KAF2D3E4F5G6H7J8K9M0N1P2";
const SILENT: &str = r#"cat > /dev/null
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

fn bot() -> Value {
    json!({"login": "helper-bot", "id": 7, "type": "User"})
}

fn ann() -> Value {
    json!({"login": "ann", "id": 8, "type": "User"})
}

/// Makes a world with the daemons `helper` and `other`, which wake on the same condition.
fn world(condition: &str) -> (World, daemon_fakes::GithubApi) {
    let (world, api) = world_with(condition, SILENT, "");
    world.write_daemon("other", &daemon_file("other", &watch(&[condition])));
    world.commit("Add another daemon");
    (world, api)
}

/// Starts a host and waits until it knows its account.
fn serve(world: &World, env: &[(&str, &str)]) -> Host {
    let host = world.serve_with(&[], env);
    until("the account is stored", || {
        let store = world.store();
        let known = "SELECT count(*) FROM bookmark WHERE name = 'account/github'";
        store
            .query_row(known, [], |row| row.get::<_, u32>(0))
            .expect("reads")
            > 0
    });
    host
}

fn commented(n: u32, author: &Value, body: &str) -> Value {
    json!({
        "action": "created",
        "issue": {"number": 1, "title": "A question", "state": "open", "user": ann(), "labels": []},
        "comment": {"id": n, "body": body, "user": author},
        "repository": repository("o/r"), "sender": author,
    })
}

/// Writes a commit as a host writes those of the daemon `helper`, on no branch.
fn commit_of_helper(world: &World) -> String {
    let of = |name: &str| world.git(&["rev-parse", name]).trim().to_owned();
    let person = "helper (daemon) <helper@daemon.invalid> 1800000000 +0000";
    let trailers = format!(
        "Daemon-Id: helper\nDaemon-Activation: {THERE}\nDaemon-Output: 4ymwin7k4k363ohv3ycu7vcqhh\n"
    );
    let text = format!(
        "tree {}\nparent {}\nauthor {person}\ncommitter {person}\n\nRepair\n\n{trailers}",
        of("HEAD^{tree}"),
        of("HEAD")
    );
    let file = world.beside("commit");
    std::fs::write(&file, text).expect("the commit");
    let file = file.display().to_string();
    let id = world.git(&["hash-object", "-t", "commit", "-w", &file]);
    id.trim().to_owned()
}

/// Returns daemon and depth of each activation.
fn woken(host: &Host, at_least: usize) -> Vec<Value> {
    let woken = host.settled(at_least);
    let row = |one: &Value| json!([one["daemon_id"], one["chain"]["depth"]]);
    let mut rows: Vec<Value> = woken.iter().map(row).collect();
    rows.sort_by_key(Value::to_string);
    rows
}

/// A comment with the marker of an output of the other host.
fn marked() -> String {
    let key = "4ymwin7k4k363ohv3ycu7vcqhh";
    format!("Noted.\n\n<!-- daemon:helper act:{THERE} out:{key} -->")
}

#[test]
fn a_comment_of_the_other_host_wakes_only_other_daemons_one_level_deeper() {
    let (world, _api) = world("when a comment is added to an issue");
    let host = serve(&world, &[]);
    host.hook("issue_comment", "d-1", &commented(1, &bot(), &marked()));
    assert_eq!(woken(&host, 1), [json!(["other", 1])]);
    // A person who copies the marker is a person.
    host.hook("issue_comment", "d-2", &commented(2, &ann(), &marked()));
    let expected = [
        json!(["helper", null]),
        json!(["other", 1]),
        json!(["other", null]),
    ];
    assert_eq!(woken(&host, 3), expected);
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_believes_markers_of_any_author_is_found_out() {
    let (world, _api) = world("when a comment is added to an issue");
    let host = serve(&world, &[("DAEMON_CANARY", "marker-without-actor-check")]);
    host.hook("issue_comment", "d-1", &commented(1, &ann(), &marked()));
    // The person's comment passes for an output of `helper`.
    assert_eq!(woken(&host, 1), [json!(["other", 1])]);
}

#[test]
fn a_branch_of_the_other_host_does_not_wake_its_daemon_by_webhook_or_git() {
    let (world, _api) = world("when a branch is created");
    let host = serve(&world, &[]);
    let branch = format!("daemon/helper/{THERE}");
    let created = json!({
        "ref": branch, "ref_type": "branch", "master_branch": "main", "pusher_type": "user",
        "repository": repository("o/r"), "sender": bot(),
    });
    host.hook("create", "d-1", &created);
    assert_eq!(woken(&host, 1), [json!(["other", 1])]);
    let theirs = commit_of_helper(&world);
    world.git(&["branch", "daemon/helper/rolling", &theirs]);
    let expected = [json!(["other", 1]), json!(["other", 1])];
    assert_eq!(woken(&host, 2), expected);
    // On another branch the same commit is where a person put it.
    world.git(&["branch", "topic-2", &theirs]);
    let expected = [
        json!(["helper", null]),
        json!(["other", 1]),
        json!(["other", 1]),
        json!(["other", null]),
    ];
    assert_eq!(woken(&host, 4), expected);
}
