//! The changes of a run that are added to the pull request which woke it.

use daemon_fakes::{Applied, FaultPlan, ServiceFault};
use serde_json::json;

use crate::git_server::tip;
use crate::http::{repository, sender};
use crate::serve_github::{opened, outputs, world_with};
use crate::world::World;

const WRITE: &str = "[policy.daemon.helper]\ncapability = \"write\"\n";
const OPENED: &str = "when a pull request is opened";

/// Commits a file, leaves another one uncommitted, and proposes to push both.
const PUSHES: &str = r#"cat > /dev/null
echo fixed > FIX.md
git add FIX.md
git commit --quiet --message "docs: fix"
echo more > MORE.md
echo '{"daemon":"output","output":{"v":1,"verb":"push_pull_request","message":"docs: more"}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

#[test]
fn the_changes_of_a_run_are_added_to_the_pull_request_that_woke_it() {
    let (world, _api) = world_with(OPENED, PUSHES, WRITE);
    let before = tip(&world.repo, "topic").expect("the branch");
    let host = world.serve();
    host.hook("pull_request", "d-1", &opened(&world));
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:?}");
    assert_eq!(
        outputs(&host),
        [json!(["git", "refs/heads/topic", "confirmed", null])]
    );
    let log = world.git(&["log", "--format=%s %an", &format!("{before}..topic")]);
    assert_eq!(
        log,
        "docs: more helper (daemon)\ndocs: fix helper (daemon)\n"
    );
    assert_eq!(world.git(&["show", "topic:MORE.md"]), "more\n");
    assert!(world.branches().is_empty());
    // The webhook of its own push wakes nothing.
    let mut pushed = opened(&world);
    pushed["action"] = json!("synchronize");
    host.hook("pull_request", "d-2", &pushed);
    assert_eq!(host.settled(1).len(), 1);
}

#[test]
fn a_run_that_a_comment_woke_works_at_the_pull_request_and_adds_to_it() {
    let commented = "when a comment is added to a pull request";
    let (world, api) = world_with(commented, PUSHES, WRITE);
    let before = tip(&world.repo, "topic").expect("the branch");
    let host = world.serve();
    let body = json!({
        "action": "created",
        "issue": {
            "number": 2, "title": "A change", "state": "open", "user": sender(), "labels": [],
            "pull_request": {"url": "https://api.github.com/repos/o/r/pulls/2"},
        },
        "comment": {"id": 1, "body": "Please add the rest.", "user": sender()},
        "repository": repository("o/r"), "sender": sender(),
    });
    // Without the pull request, such as one that the token may not see, the default branch is what there is to work at.
    let refused = ServiceFault::Status(404, Applied::No);
    let plan = FaultPlan::each_once([("GET", "/pulls/2", refused)]);
    api.server().set_faults(plan);
    host.hook("issue_comment", "d-1", &body);
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "succeeded", "{activations:?}");
    assert_eq!(tip(&world.repo, "topic"), Some(before.clone()));
    let mut again = body;
    again["comment"]["id"] = json!(2);
    host.hook("issue_comment", "d-2", &again);
    let activations = host.settled(2);
    assert_eq!(activations.len(), 2, "{activations:?}");
    let pushed = json!(["git", "refs/heads/topic", "confirmed", null]);
    assert!(outputs(&host).contains(&pushed), "{:?}", outputs(&host));
    let log = world.git(&["log", "--format=%s", &format!("{before}..topic")]);
    assert_eq!(log, "docs: more\ndocs: fix\n");
}

#[test]
fn the_branch_of_a_fork_is_not_pushed_to() {
    let (world, _api) = world_with(OPENED, PUSHES, WRITE);
    let before = tip(&world.repo, "topic");
    let host = world.serve();
    let mut body = opened(&world);
    body["pull_request"]["head"]["repo"]["full_name"] = json!("ann/r");
    host.hook("pull_request", "d-1", &body);
    let activations = host.settled(1);
    let id = activations[0]["id"].as_str().expect("an id");
    // What the run changed is not lost: it becomes a branch, as without a proposal.
    assert_eq!(
        outputs(&host),
        [
            json!([
                "git",
                format!("refs/heads/daemon/helper/{id}"),
                "confirmed",
                null
            ]),
            json!([
                "none",
                "",
                "refused",
                "the branch of `github:o/r#2` is in another repository, to which this host does not push"
            ]),
        ]
    );
    assert_eq!(tip(&world.repo, "topic"), before);
}

#[test]
fn a_protected_branch_is_not_pushed_to() {
    let protected = format!("{WRITE}[surfaces.git]\nprotected = [\"top*\"]\n");
    let (world, _api) = world_with(OPENED, PUSHES, &protected);
    let before = tip(&world.repo, "topic");
    let host = world.serve();
    host.hook("pull_request", "d-1", &opened(&world));
    host.settled(1);
    let outputs = outputs(&host);
    let refused = json!([
        "none",
        "",
        "refused",
        "the branch of `github:o/r#2` is protected, and no daemon pushes to it"
    ]);
    assert!(outputs.contains(&refused), "{outputs:?}");
    assert_eq!(tip(&world.repo, "topic"), before);
}

#[test]
fn a_pull_request_that_moved_during_the_run_is_left_alone() {
    let (world, _api) = world_with(OPENED, PUSHES, WRITE);
    let body = opened(&world);
    // The webhook names the commit before this one.
    world.git(&["checkout", "--quiet", "topic"]);
    let theirs = world.commit("theirs");
    world.git(&["checkout", "--quiet", "main"]);
    let host = world.serve();
    host.hook("pull_request", "d-1", &body);
    let activations = host.settled(1);
    assert_eq!(activations[0]["state"], "failed", "{activations:?}");
    let outputs = outputs(&host);
    assert_eq!(outputs[0][2], "gave_up");
    let why = outputs[0][3].as_str().unwrap_or_default();
    let moved = format!("branch `refs/heads/topic` moved: it is at `{theirs}`");
    assert!(why.contains(&moved), "{why}");
    assert_eq!(tip(&world.repo, "topic"), Some(theirs));
}

#[test]
fn credentials_in_the_address_of_a_remote_are_not_shown() {
    let world = World::pushed();
    world.configure("[surfaces.git]\nremote = \"http://bot:hunter2-of-git@127.0.0.1:9/x.git\"\n");
    let offline = world.run(&["doctor"]);
    let host = world.serve();
    let asked = host.get("doctor").to_string();
    let served = world.run(&["doctor", "--json"]);
    host.hook(
        "push",
        "d-1",
        &crate::http::push("o/r", &"a".repeat(40), &"b".repeat(40)),
    );
    let outputs = host.list("outputs");
    host.stop();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (what, told) in [
        ("offline", text(&offline.stdout)),
        ("API", asked),
        ("served", text(&served.stdout)),
        ("outputs", format!("{outputs:?}")),
        ("log", world.log()),
    ] {
        assert!(!told.contains("hunter2"), "{what}: {told}");
    }
    assert!(
        text(&offline.stdout).contains("<redacted>"),
        "{}",
        text(&offline.stdout)
    );
}
