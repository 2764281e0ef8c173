//! Rolling branches: the activations of a daemon add to one branch and one pull request, until a person ends them.

use daemon_fakes::GithubApi;
use serde_json::{Value, json};

use crate::git_server::tip;
use crate::serve_github::{opened, world_with};
use crate::world::{Host, World};

const ROLLING: &str = "[policy.daemon.helper]\nrolling = true\n";
const BRANCH: &str = "daemon/helper/rolling";
const NEXT: &str = "daemon/helper/rolling-2";

/// Adds a line to a file, and asks for a pull request.
const ADDS: &str = r#"cat > /dev/null
echo "line of $(git rev-parse --short HEAD)" >> NOTE.md
echo '{"daemon":"output","output":{"v":1,"verb":"open_pull_request","title":"Notes","body":"One more line."}}'
echo '{"daemon":"result","ok":true,"text":"done"}'
"#;

fn world() -> (World, GithubApi) {
    world_with("when a pull request is opened", ADDS, ROLLING)
}

/// Sends the `n`th webhook. Each has another body, since a repeated one is a duplicate.
pub(crate) fn send(world: &World, host: &Host, n: usize) {
    let mut body = opened(world);
    body["pull_request"]["title"] = json!(format!("Change {n}"));
    host.hook("pull_request", &format!("d-{n}"), &body);
}

/// Wakes the daemon for the `n`th time, and returns its activation.
pub(crate) fn wake(world: &World, host: &Host, n: usize) -> Value {
    send(world, host, n);
    let activations = host.settled(n);
    let newest = activations.iter().max_by_key(|one| one["id"].as_str());
    let newest = newest.expect("an activation").clone();
    assert_eq!(newest["state"], "succeeded", "{activations:?}");
    newest
}

/// Returns the pull requests of the daemon: their number and whether they are open.
fn pulls(api: &GithubApi) -> Vec<(u64, bool)> {
    let issues = api.issues("o/r");
    let own = issues.iter().filter(|issue| issue.author == "helper-bot");
    own.map(|issue| (issue.number, issue.is_open)).collect()
}

fn lines(world: &World, branch: &str) -> usize {
    world
        .git(&["show", &format!("{branch}:NOTE.md")])
        .lines()
        .count()
}

#[test]
fn activations_add_to_one_branch_and_one_pull_request() {
    let (world, api) = world();
    let host = world.serve();
    wake(&world, &host, 1);
    assert_eq!(world.branches(), [format!("refs/heads/{BRANCH}")]);
    let first = tip(&world.repo, BRANCH).expect("the branch");
    world.write("docs/b.md", "two\n");
    host.registered(&world.commit("the default branch moves"));
    wake(&world, &host, 2);
    wake(&world, &host, 3);
    assert_eq!(world.branches(), [format!("refs/heads/{BRANCH}")]);
    assert_eq!(lines(&world, BRANCH), 3);
    // The default branch is merged in, and nothing was forced.
    assert_eq!(
        world.git(&["show", &format!("{BRANCH}:docs/b.md")]),
        "two\n"
    );
    world.git(&["merge-base", "--is-ancestor", &first, BRANCH]);
    let merges = world.git(&["log", "--merges", "--format=%s %an", BRANCH]);
    assert_eq!(
        merges,
        format!("Merge main into {BRANCH} helper (daemon)\n")
    );
    assert_eq!(pulls(&api), [(3, true)]);
    let body = api.issues("o/r").pop().and_then(|pull| pull.body);
    let body = body.expect("a body");
    assert_eq!(body.matches("One more line.").count(), 3, "{body}");
    assert_eq!(body.matches("<!-- daemon:helper act:").count(), 3, "{body}");
    let outputs = host.list("outputs");
    let remote = outputs
        .iter()
        .filter(|output| output["surface"] == "github");
    assert!(
        remote
            .clone()
            .all(|output| output["remote_id"] == "pull_request:3"),
        "{outputs:?}"
    );
    assert_eq!(remote.count(), 3);
    // Its own pushes and pull request woke no one.
    assert_eq!(host.settled(3).len(), 3);
}

/// Wakes the daemon before and after a person ended its branch, and returns where the second activation pushed.
fn ended_by(person: impl FnOnce(&World, &GithubApi)) -> (World, GithubApi) {
    let (world, api) = world();
    let host = world.serve();
    wake(&world, &host, 1);
    person(&world, &api);
    host.registered(world.git(&["rev-parse", "main"]).trim());
    wake(&world, &host, 2);
    (world, api)
}

#[test]
fn a_persons_commit_ends_a_branch() {
    let mut theirs = String::new();
    let (world, api) = ended_by(|world, _| {
        world.git(&["checkout", "--quiet", BRANCH]);
        theirs = world.commit("by hand");
        world.git(&["checkout", "--quiet", "main"]);
    });
    assert_eq!(tip(&world.repo, BRANCH), Some(theirs));
    assert_eq!(lines(&world, NEXT), 1);
    assert_eq!(pulls(&api), [(3, true), (4, true)]);
}

#[test]
fn a_closed_pull_request_ends_a_branch() {
    let (world, api) = ended_by(|_, api| {
        let (status, _) = api.act(
            "ann",
            "PATCH",
            "/repos/o/r/pulls/3",
            &json!({"state": "closed"}),
        );
        assert_eq!(status, 200);
    });
    assert_eq!((lines(&world, BRANCH), lines(&world, NEXT)), (1, 1));
    assert_eq!(pulls(&api), [(3, false), (4, true)]);
}

#[test]
fn a_conflict_with_the_default_branch_ends_a_branch() {
    let (world, _) = ended_by(|world, _| {
        world.write("NOTE.md", "another note\n");
        world.commit("a note of a person");
    });
    assert_eq!((lines(&world, BRANCH), lines(&world, NEXT)), (1, 2));
}

#[test]
fn a_merge_and_a_squash_end_a_branch() {
    for squash in [
        &["merge", "--quiet", "--no-ff", BRANCH][..],
        &["merge", "--quiet", "--squash", BRANCH],
    ] {
        let (world, _) = ended_by(|world, _| {
            world.git(squash);
            world.commit("merged by a person");
        });
        assert_eq!(lines(&world, NEXT), 2, "{squash:?}");
    }
}

#[test]
fn a_removed_branch_is_not_made_again() {
    let (world, _) = ended_by(|world, _| {
        world.git(&["branch", "--quiet", "-D", BRANCH]);
    });
    assert_eq!(world.branches(), [format!("refs/heads/{NEXT}")]);
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_death_between_the_push_and_its_confirmation_repeats_nothing() {
    for place in ["R2", "R9", "O2", "O4", "O5"] {
        let (world, api) = world();
        let host = world.serve();
        wake(&world, &host, 1);
        drop(host);
        let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", place)]);
        send(&world, &host, 2);
        assert_eq!(host.wait().0, None, "{place}: it was killed");
        drop(host);
        let host = world.serve();
        let activations = host.settled(2);
        assert!(
            activations.iter().all(|one| one["state"] == "succeeded"),
            "{place}: {activations:?}"
        );
        wake(&world, &host, 3);
        assert_eq!(
            world.branches(),
            [format!("refs/heads/{BRANCH}")],
            "{place}"
        );
        assert_eq!(lines(&world, BRANCH), 3, "{place}");
        let log = world.git(&["log", "--format=%h", &format!("main..{BRANCH}")]);
        assert_eq!(log.lines().count(), 3, "{place}");
        assert_eq!(pulls(&api), [(3, true)], "{place}");
        let body = api.issues("o/r").pop().and_then(|pull| pull.body);
        let body = body.expect("a body");
        assert_eq!(body.matches("One more line.").count(), 3, "{place}: {body}");
    }
}
