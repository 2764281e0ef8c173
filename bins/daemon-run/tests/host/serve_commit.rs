//! Events that name a commit: the run works at that commit, and waits for a commit that the repository does not have.

use serde_json::{Value, json};

use crate::world::{Host, World, cleared, eventually, until, watch};

/// A provider whose result is the text of a file of its checkout.
const READ: &str = "cat > /dev/null\nprintf '{\"daemon\":\"result\",\"ok\":true,\"text\":\"%s\"}\\n' \"$(cat docs/a.md)\"\n";

fn world() -> World {
    let world = World::new(&[
        ("opened", &watch(&["when a pull request is opened"])),
        ("pushed", &watch(&["when a commit is pushed to main"])),
    ]);
    world.script(READ);
    world
}

/// Clones the repository and commits there; returns the clone and the commit, which the repository does not have.
fn elsewhere(world: &World) -> (String, String) {
    let clone = world.beside("elsewhere").display().to_string();
    world.git(&["clone", "--quiet", ".", &clone]);
    std::fs::write(format!("{clone}/docs/a.md"), "two").expect("a file");
    let git = |args: &[&str]| {
        let output = cleared("git")
            .args([
                "-C",
                &clone,
                "-c",
                "user.name=Ann",
                "-c",
                "user.email=ann@example.com",
            ])
            .args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", &clone)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .expect("git speaks UTF-8")
            .trim()
            .to_owned()
    };
    git(&["commit", "--quiet", "--all", "--message", "two"]);
    let commit = git(&["rev-parse", "HEAD"]);
    (clone, commit)
}

fn opened(head: &str) -> Value {
    json!({
        "action": "opened", "number": 7, "repository": {"full_name": "o/r"},
        "sender": {"login": "ann", "type": "User"},
        "pull_request": {
            "number": 7, "draft": false, "user": {"login": "ann", "type": "User"},
            "head": {"ref": "topic", "sha": head}, "base": {"ref": "main", "sha": head},
        },
    })
}

fn waiting(host: &Host, commit: &str) -> Value {
    let reason = format!("commit: `{commit}` is not in `o/r`");
    eventually("the activation waits for its commit", || {
        let all = host.list("activations");
        let found = all
            .iter()
            .find(|one| one["state"] == "pending" && one["reason"] == reason.as_str());
        found.cloned()
    })
}

#[test]
fn a_pull_request_waits_for_its_head_commit() {
    let world = world();
    let host = world.serve();
    let (clone, commit) = elsewhere(&world);
    shows!(host.hook("pull_request", "d-1", &opened(&commit)), {"HTTP": 200});
    let waiting = waiting(&host, &commit);
    shows!(waiting, {"attempts": 0, "started_at": null});
    assert_eq!(
        host.list("runs"),
        Vec::<Value>::new(),
        "nothing ran at another commit"
    );
    let page = host.ask("GET", "/activations", &Value::Null);
    assert!(page.body.contains("commit: "), "{page:?}");
    assert!(
        world
            .log()
            .contains(&format!("commit: `{commit}` is not in `o/r`"))
    );

    // It comes on no branch, as the head of a pull request does.
    world.git(&["fetch", "--quiet", &clone, "HEAD:refs/pull/7/head"]);
    let ended = host.settled(1);
    assert_eq!(ended[0]["state"], "succeeded", "{ended:#?}");
    assert_eq!(ended[0]["attempts"], 1);
    assert_eq!(host.list("runs")[0]["result_preview"], "two");
}

/// A provider whose result is the branches of its repository.
const BRANCHES: &str = "cat > /dev/null\nprintf '{\"daemon\":\"result\",\"ok\":true,\"text\":\"%s\"}\\n' \"$(git for-each-ref '--format=%(refname) %(objectname)' | tr '\\n' ' ')\"\n";

#[test]
fn a_run_sees_the_branches_of_its_pull_request_and_the_default_branch() {
    let world = world();
    let first = world.git(&["rev-parse", "HEAD"]);
    let first = first.trim();
    // The fork's branch has the name of another one here.
    world.git(&["branch", "topic"]);
    world.git(&["branch", "unrelated"]);
    world.git(&["branch", "stable"]);
    world.script(BRANCHES);
    let (clone, commit) = elsewhere(&world);
    world.git(&["fetch", "--quiet", &clone, "HEAD:refs/pull/7/head"]);
    let host = world.serve();
    let mut body = opened(&commit);
    body["pull_request"]["base"]["ref"] = "stable".into();
    shows!(host.hook("pull_request", "d-1", &body), {"HTTP": 200});
    host.settled(1);
    let seen =
        format!("refs/heads/main {first} refs/heads/stable {first} refs/heads/topic {commit} ");
    let told = host.list("runs")[0]["result_preview"].clone();
    assert_eq!(told.as_str().map(str::trim), Some(seen.trim()));
}

#[test]
fn a_push_reported_before_it_was_fetched_waits_for_its_commit() {
    let world = world();
    let host = world.serve();
    let (clone, commit) = elsewhere(&world);
    let before = world.git(&["rev-parse", "HEAD"]);
    let push = crate::http::push("o/r", before.trim(), &commit);
    assert_eq!(host.hook("push", "d-1", &push).status, 200);
    waiting(&host, &commit);
    world.git(&["fetch", "--quiet", &clone, "HEAD:refs/pull/8/head"]);
    assert_eq!(host.settled(1)[0]["state"], "succeeded");
    assert_eq!(host.list("runs")[0]["result_preview"], "two");
}

#[test]
fn a_head_that_is_no_full_name_of_a_commit_waits_and_is_not_replaced() {
    let world = world();
    let commit = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let host = world.serve();
    let zeros = "0".repeat(40);
    let heads = [&commit[..9], &zeros, "main", "\u{1b}[31m"];
    for (n, head) in (1_usize..).zip(heads) {
        let mut body = opened(head);
        body["number"] = json!(n);
        body["pull_request"]["number"] = json!(n);
        shows!(host.hook("pull_request", &format!("d-{n}"), &body), {"HTTP": 200});
        let (named, n_same) = match n {
            1 | 2 => (format!("`{head}`"), 1),
            _ => ("what the event names".to_owned(), n - 2),
        };
        let reason = format!("commit: {named} is not the full name of a commit of `o/r`");
        until(&reason, || {
            let all = host.list("activations");
            let same = |one: &&Value| one["state"] == "pending" && one["reason"] == reason.as_str();
            all.iter().filter(same).count() == n_same
        });
    }
    assert_eq!(host.list("runs"), Vec::<Value>::new(), "nothing ran");

    // A name in upper case is the same name.
    let mut body = opened(&commit.to_uppercase());
    body["number"] = json!(7);
    assert_eq!(host.hook("pull_request", "d-upper", &body).status, 200);
    eventually("it runs at its commit", || {
        host.list("runs")
            .first()
            .filter(|run| run["state"] == "done")
            .cloned()
    });
}

#[test]
fn fire_without_a_host_reports_a_missing_commit() {
    let world = world();
    let (clone, commit) = elsewhere(&world);
    let payload = world.beside("opened.json");
    std::fs::write(&payload, opened(&commit).to_string()).expect("a payload");
    let payload = payload.display().to_string();
    let repo = world.repo.display().to_string();
    let fire = [
        "fire",
        "opened",
        "--repo",
        &repo,
        "--event",
        &payload,
        "--source",
        "github",
        "--kind",
        "pull_request",
    ];
    let answer = shown!(world.json(&fire), {"$?": 1});
    let reason = format!("commit: `{commit}` is not in `o/r`");
    shows!(answer, {"activation.state": "pending", "activation.reason": reason});
    assert_eq!(answer["runs"], json!([]));
    world.git(&["fetch", "--quiet", &clone, "HEAD:refs/pull/7/head"]);
    let host = world.serve();
    shows!(host.settled(1), {"0.state": "succeeded"}, "a host goes on with it");
    assert_eq!(host.list("runs")[0]["result_preview"], "two");
}

/// Makes a remote `origin` that has the head of pull request 7 on no branch, and returns it with that head.
fn forked(world: &World) -> (String, String) {
    let (clone, commit) = elsewhere(world);
    let origin = world.beside("origin.git").display().to_string();
    world.git(&["clone", "--quiet", "--bare", ".", &origin]);
    world.git(&[
        "-C",
        &clone,
        "push",
        "--quiet",
        &origin,
        "HEAD:refs/pull/7/head",
    ]);
    std::fs::remove_dir_all(&clone).expect("the clone");
    world.git(&["remote", "add", "origin", &origin]);
    (origin, commit)
}

/// Returns the refs and the files of the watched repository's git directory.
fn git_files(world: &World) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut acc = Vec::new();
    let mut left = vec![world.repo.join(".git")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else {
            let content = std::fs::read(&path).expect("a file");
            acc.push((path, content));
        }
    }
    acc.sort();
    acc
}

/// Delivers a webhook about a head that only the remote has, and returns the activation's run.
fn runs_at_a_fetched_head(policy: &str) {
    let world = world();
    world.script(
        "cat > /dev/null\nset -e\ngit log --stat >log.txt\ngit add log.txt\ngit commit --quiet --message own\necho left > left.txt\n\
         printf '{\"daemon\":\"result\",\"ok\":true,\"text\":\"%s %s\"}\\n' \"$(git rev-parse HEAD^)\" \"$(cat docs/a.md)\"\n",
    );
    world.configure(policy);
    let (_, commit) = forked(&world);
    let before = git_files(&world);
    let host = world.serve();
    shows!(host.hook("pull_request", "d-1", &opened(&commit)), {"HTTP": 200});
    shows!(host.settled(1), {"0.state": "succeeded", "0.attempts": 1});
    let ran = host.list("runs")[0]["result_preview"].clone();
    assert_eq!(ran, format!("{commit} two").as_str(), "{policy}");
    // The delivery adds one branch, with the objects that it needs.
    let branches = world.branches();
    assert_eq!(branches.len(), 1, "{branches:?}");
    let parents = world.git(&["rev-parse", &format!("{}~2", branches[0])]);
    assert_eq!(parents.trim(), commit);
    world.git(&["fsck", "--full", "--strict"]);
    world.git(&["update-ref", "-d", &branches[0]]);
    let git_dir = world.repo.join(".git");
    let is_old =
        |(path, _): &(std::path::PathBuf, Vec<u8>)| !path.starts_with(git_dir.join("objects"));
    let after: Vec<_> = git_files(&world).into_iter().filter(is_old).collect();
    let before: Vec<_> = before.into_iter().filter(is_old).collect();
    assert_eq!(
        after, before,
        "no other ref, no FETCH_HEAD, no configuration"
    );
}

#[test]
fn the_head_of_a_pull_request_is_fetched_from_the_remote() {
    runs_at_a_fetched_head("");
}

#[test]
fn a_fetched_head_is_readable_at_every_sandbox_level() {
    for level in 2..=daemon_process::probe().level.number() {
        runs_at_a_fetched_head(&format!("[policy]\nsandbox_min = {level}\n"));
    }
}

#[test]
fn a_head_that_cannot_be_fetched_is_waited_for_with_the_error_of_the_remote() {
    let world = world();
    let (origin, commit) = forked(&world);
    let hidden = world.beside("hidden.git");
    std::fs::rename(&origin, &hidden).expect("the remote is renamed");
    let before = git_files(&world);
    let host = world.serve();
    shows!(host.hook("pull_request", "d-1", &opened(&commit)), {"HTTP": 200});
    let reason = format!(
        "commit: `{commit}` is not in `o/r`, and it cannot be fetched from `origin`: '{origin}' does not appear to be a git repository"
    );
    let waits = eventually("the activation says why it waits", || {
        let all = host.list("activations");
        all.into_iter().find(|one| one["reason"] == reason.as_str())
    });
    shows!(waits, {"state": "pending", "attempts": 0});
    assert_eq!(
        git_files(&world),
        before,
        "the watched repository did not change"
    );
    // The next look finds it, with no move of a ref in the watched repository.
    std::fs::rename(&hidden, &origin).expect("the remote is back");
    let ended = host.settled(1);
    assert_eq!(ended[0]["state"], "succeeded", "{ended:#?}");
    assert_eq!(host.list("runs")[0]["result_preview"], "two");
}
