//! Dispatched runs that work in a repository of their own, and the branches that come back from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::serve_sandbox::{levels, program};
use crate::world::{World, git, until};

/// Appends its task to a file.
const APPENDS: &str = "echo \"$(tail -n 1)\" >> docs/a.md\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"appended\"}'\n";
/// Commits, changes more after it, and leaves a file that is not text.
const COMMITS: &str = "cat > /dev/null\npwd > \"$HOME/pwd\"\necho two >> a.md\ngit commit --quiet --all --message 'by the run' 2> \"$HOME/errors\"\n\
    printf 'a\\000b' > data\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"committed\"}'\n";
/// Changes a file, then waits for one.
const WAITS: &str =
    "cat > /dev/null\necho half >> docs/a.md\necho begun\nwhile [ ! -e go ]; do sleep 0.05; done\n";
/// Commits in a directory that the caller shares, and writes where what is run is decided.
const GUARDED: &str = "cat > /dev/null\nfor path in .git/config .git/hooks/new .agents/daemons/pusher/DAEMON.md .agents/new docs/new; do\n\
    { echo >> \"$path\"; } 2> /dev/null && echo \"$path\" >> \"$HOME/written\"\ndone\n\
    mv .git away 2> /dev/null && echo moved >> \"$HOME/written\"\ngit log -1 --format=%s >> \"$HOME/written\"\n\
    echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"tried\"}'\n";

/// Makes a repository in the shared directory that names a program, or changes a file in an own place.
const HOSTILE: &str = "task=$(tail -n 1)\nif [ \"$task\" = make ]; then\n  git init --quiet .\n  echo one > a\n  git add a\n  \
    git -c user.name=x -c user.email=x@x commit --quiet --message x\n  mkdir -p .git/info\n  echo '* filter=f' > .git/info/attributes\n  \
    git config filter.f.clean \"touch '$PWD/executed'; cat\"\n  echo two > a\nelse\n  echo six > a\nfi\n\
    echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"made\"}'\n";

impl World {
    /// Dispatches tasks in a directory, and returns the reply and the ids.
    fn dispatch_in(&self, directory: &Path, tasks: &Value) -> (Value, Vec<String>) {
        let call = json!({"action": "emanate", "cwd": directory, "tasks": tasks});
        let reply = shown!(self.tool(&call), {"$?": 0, "status": "dispatched"});
        let ids = reply["run_ids"].as_array().expect("a list").iter();
        let ids = ids.map(|id| id.as_str().expect("an id").to_owned());
        let ids = ids.collect();
        (reply, ids)
    }

    /// Returns the files of the checkout and those of its git directory, but not the refs and objects.
    fn checkout(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut acc = BTreeMap::new();
        let mut left = vec![self.repo.clone()];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(&directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                let below = path.strip_prefix(&self.repo).expect("it is below");
                if [".git/objects", ".git/refs"]
                    .map(Path::new)
                    .contains(&below)
                {
                    continue;
                }
                if path.is_dir() {
                    left.push(path);
                } else {
                    let content = fs::read(&path).expect("a file");
                    acc.insert(below.to_owned(), content);
                }
            }
        }
        acc
    }

    /// Returns the branches of dispatched runs.
    fn run_branches(&self) -> String {
        self.git(&[
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads/run",
        ])
    }

    /// Returns what is left of places.
    fn places(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.join("worktrees"));
        let entries = entries.into_iter().flatten();
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    }
}

#[test]
fn two_writers_in_one_directory_get_own_places_and_come_back_as_branches() {
    let world = World::pushed();
    world.script(APPENDS);
    let head = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    world.write("docs/a.md", "not committed\n");
    world.write("docs/b.md", "staged\n");
    world.git(&["add", "docs/b.md"]);
    world.write("new/c.md", "untracked\n");
    let before = world.checkout();
    let _host = world.serve();
    let tasks = json!([{"task": "first"}, {"task": "second"}]);
    let (reply, runs) = world.dispatch_in(&world.repo, &tasks);
    let uncommitted = json!(["docs/a.md", "docs/b.md", "new/"]);
    for (n, (run, task)) in runs.iter().zip(["first", "second"]).enumerate() {
        let branch = format!("run/{run}");
        let place = &reply["places"][n];
        shows!(place, {"branch": branch, "commit": head, "uncommitted": uncommitted, "uncommitted_total": 3});
        let shown = world.announced(run);
        let diff = world.file(run, "changes.diff");
        shows!(shown, {
            "status": "done", "call_parameters.isolation": "own", "call_parameters.cwd": world.repo,
            "place.commit": head, "place.uncommitted": uncommitted,
            "place.changes.#": 1, "place.changes.0.branch": branch, "place.changes.0.files": 1,
            "place.changes.0.diff": diff, "place.changes.0.error": null,
        });
        let tip = world.git(&["rev-parse", &branch]);
        shows!(shown, {"place.changes.0.commit": tip.trim()});
        assert_eq!(
            world.git(&["show", &format!("{branch}:docs/a.md")]),
            format!("one\n{task}\n")
        );
        let log = ["log", "--format=%an <%ae> %B", &format!("main..{branch}")];
        assert_eq!(
            world.git(&log),
            format!(
                "{run} (run) <{run}@daemon.invalid> {task}\n\nappended\n\nDaemon-Run: {run}\n\n"
            )
        );
        let diff = fs::read_to_string(diff).expect("the patch");
        assert!(diff.ends_with(&format!(" one\n+{task}\n")), "{diff}");
        let prompt = fs::read_to_string(world.file(run, ".prompt")).expect("the prompt");
        let place = world.home.join("worktrees").join(run);
        assert!(
            prompt.contains(&format!("\nDirectory: {}\n", place.display())),
            "{prompt}"
        );
    }
    assert_eq!(world.checkout(), before);
    assert_eq!(world.run_branches().lines().count(), 2);
    assert_eq!(world.places(), Vec::<PathBuf>::new());
}

#[test]
fn own_commits_come_back_and_a_single_run_shares_the_directory() {
    for level in [vec![1], levels()].concat() {
        let world = World::pushed();
        let commits = program(&world, "commits", COMMITS);
        world.watch_with(&format!(
            "[provider]\ndefault = \"sh\"\n\n[provider.sh]\ncommand = {commits:?}\n"
        ));
        world.at_level(level);
        let before = world.checkout();
        let _host = world.serve();
        let docs = world.repo.join("docs");
        let tasks = json!([{"task": "Change it.\nAll of it.", "isolation": "own"}]);
        let (_, runs) = world.dispatch_in(&docs, &tasks);
        let run = &runs[0];
        let shown = world.announced(run);
        shows!(shown, {"status": "done", "sandbox.level": level, "place.directory": "docs", "place.changes.0.files": 2});
        let told = |name: &str| {
            let path = world.file(run, "session").join(name);
            fs::read_to_string(path).expect("the run wrote it")
        };
        assert_eq!(told("errors"), "", "level {level}");
        let place = world.home.join("worktrees").join(run).join("docs");
        assert_eq!(told("pwd").trim(), place.display().to_string());
        let branch = format!("run/{run}");
        let commits = ["log", "--format=%an %s", &format!("main..{branch}")];
        let author = format!("{run} (run)");
        assert_eq!(
            world.git(&commits),
            format!("{author} Change it.\n{author} by the run\n")
        );
        assert_eq!(world.checkout(), before, "level {level}");
        // The patch has the content of files that are not text, and applies.
        let diff = world.file(run, "changes.diff").display().to_string();
        world.git(&["apply", "--index", &diff]);
        assert_eq!(world.git(&["diff", "--cached", &branch]), "");
        world.git(&["reset", "--quiet", "--hard"]);
        let (reply, runs) = world.dispatch_in(&docs, &json!([{"task": "x"}]));
        assert_eq!(reply["places"], Value::Null);
        let shown = world.announced(&runs[0]);
        shows!(shown, {"call_parameters.isolation": null, "place": null});
        assert_eq!(
            fs::read(docs.join("data")).expect("the run wrote it"),
            b"a\0b"
        );
        assert_eq!(world.run_branches().lines().count(), 1);
    }
}

#[test]
fn a_repository_that_a_run_made_reaches_nothing_of_the_host() {
    let world = World::pushed();
    world.script(HOSTILE);
    let _host = world.serve();
    let desk = world.desk();
    let dispatch = |task: Value| {
        let (_, runs) = world.dispatch_in(&desk, &json!([task]));
        world.announced(&runs[0])
    };
    let shared = json!({"task": "make", "isolation": "shared"});
    shows!(dispatch(shared), {"status": "done"});
    let own = json!({"task": "change", "isolation": "own"});
    shows!(dispatch(own.clone()), {"status": "done", "place.changes.0.files": 1});
    assert!(!desk.join("executed").exists());

    let alternates = desk.join(".git/objects/info/alternates");
    fs::write(alternates, "/\n").expect("a repository");
    let call = json!({"action": "emanate", "cwd": desk, "tasks": [own]});
    let git_dir = desk.canonicalize().expect("a directory").join(".git");
    shows!(world.tool(&call), {"$?": 64, "error.message": format!(
        "tasks[0].isolation: own needs a repository that refers to no other place: `{}/objects/info/alternates` names objects elsewhere",
        git_dir.display()
    )});
}

#[test]
fn an_own_place_needs_a_commit_and_without_a_word_the_directory_is_shared() {
    let world = World::pushed();
    let empty = world.beside("empty");
    fs::create_dir(&empty).expect("a directory");
    git(&empty, &["init", "--quiet"]);
    let _host = world.serve();
    let (desk, shown) = (world.desk(), empty.display());
    for (cwd, isolation, message) in [
        (
            &desk,
            "own",
            format!(
                "tasks[1].isolation: own needs a git repository, and `{}` is in none",
                desk.display()
            ),
        ),
        (
            &empty,
            "own",
            format!(
                "tasks[1].isolation: own needs a commit to start at, and the repository of `{shown}` has none"
            ),
        ),
        (
            &desk,
            "none",
            "tasks[1].isolation must be shared or own".to_owned(),
        ),
    ] {
        let tasks = json!([{"task": "x"}, {"task": "y", "isolation": isolation}]);
        let call = json!({"action": "emanate", "cwd": cwd, "tasks": tasks});
        shows!(world.tool(&call), {"$?": 64, "error.message": message});
    }
    assert_eq!(world.folders(), Vec::<String>::new());
    let shared =
        json!([{"task": "x", "isolation": "shared"}, {"task": "y", "isolation": "shared"}]);
    for (cwd, tasks) in [
        (&desk, json!([{"task": "x"}, {"task": "y"}])),
        (&world.repo, shared),
    ] {
        let (reply, runs) = world.dispatch_in(cwd, &tasks);
        assert_eq!(reply["places"], Value::Null);
        for run in &runs {
            shows!(world.announced(run), {"status": "done"});
        }
        let notes = fs::read_to_string(cwd.join("NOTE.md")).expect("the notes");
        assert_eq!(notes, "note\nnote\n");
    }
    assert_eq!(world.run_branches(), "");
}

#[test]
fn what_a_stopped_run_changed_comes_back_and_a_secret_does_not() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    let own = json!([{"task": "wait", "isolation": "own"}]);
    let (_, runs) = world.dispatch_in(&world.repo, &own);
    world.begun(&runs[0]);
    world.json(&["emanate", "reclaim", &runs[0]]);
    let shown = world.announced(&runs[0]);
    let branch = format!("run/{}", runs[0]);
    shows!(shown, {"status": "cancelled", "place.changes.0.branch": branch});
    assert_eq!(
        world.git(&["show", &format!("{branch}:docs/a.md")]),
        "one\nhalf\n"
    );
    drop(host.stop());
    let token = format!("ghp_{}", "a1B2".repeat(9));
    world.script(&APPENDS.replace("$(tail -n 1)", &token));
    let _host = world.serve();
    let (_, runs) = world.dispatch_in(&world.repo, &own);
    let lost = "the changes of the run are lost: they contain a secret";
    shows!(world.announced(&runs[0]), {
        "status": "failed", "error.type": "resource", "error.message": lost,
        "place.changes.0.error": "they contain a secret", "place.changes.0.branch": null,
    });
    assert!(!world.file(&runs[0], "changes.diff").exists());
    assert_eq!(world.run_branches(), format!("{branch}\n"));
    assert_eq!(world.places(), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_host_leaves_no_branch_and_no_place() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    let tasks = json!([{"task": "one"}, {"task": "two"}]);
    let (_, runs) = world.dispatch_in(&world.repo, &tasks);
    for run in &runs {
        world.begun(run);
        assert!(world.home.join("worktrees").join(run).exists());
    }
    host.kill();
    let before = world.checkout();
    let _host = world.serve();
    for run in &runs {
        shows!(world.announced(run), {"status": "failed", "error.type": "DaemonOrphaned", "place.changes.#": 0});
        assert!(!world.file(run, "changes.diff").exists());
    }
    until("the places are removed", || world.places().is_empty());
    assert_eq!(world.run_branches(), "");
    assert_eq!(world.checkout(), before);
}

/// A stand-in for `claude` that appends each message, and says its session.
const REMEMBERS: &str = "echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}'\n\
    pwd >> \"$HOME/pwd\"\necho \"$(tail -n 1)\" >> docs/a.md\n\
    echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"did\"}'\n";

#[test]
fn a_message_is_answered_in_the_same_place_and_its_changes_follow_those_of_the_run() {
    let world = World::of_claude(REMEMBERS, "");
    let host = world.serve();
    let own = json!([{"task": "first", "isolation": "own"}]);
    let (_, runs) = world.dispatch_in(&world.repo, &own);
    let run = &runs[0];
    shows!(world.announced(run), {"status": "done", "place.changes.#": 1});
    drop(host.stop());
    let _host = world.serve();
    let sent = world.json(&["emanate", "ask", run, "second"]);
    shows!(sent, {"$?": 0, "status": "sent"});
    world.replied(run, 1);
    let follow_up = format!("run/{run}-followup-1");
    shows!(world.check(run), {
        "place.changes.#": 2, "place.changes.1.branch": follow_up, "place.changes.1.files": 1,
        "place.changes.1.diff": world.file(run, "followup-1.diff"),
    });
    assert_eq!(
        world.git(&["show", &format!("{follow_up}:docs/a.md")]),
        "one\nfirst\nsecond\n"
    );
    let subjects = ["log", "--format=%s", &format!("main..{follow_up}")];
    assert_eq!(world.git(&subjects), "second\nfirst\n");
    let directories = fs::read_to_string(world.file(run, "session/pwd")).expect("the run wrote it");
    let place = world.home.join("worktrees").join(run).display().to_string();
    assert_eq!(directories, format!("{place}\n{place}\n"));
    assert_eq!(world.places(), Vec::<PathBuf>::new());
}

#[test]
fn a_run_that_shares_the_directory_cannot_change_its_repository_at_level_3() {
    for level in levels().into_iter().filter(|level| *level == 3) {
        let world = World::pushed();
        let guarded = program(&world, "guarded", GUARDED);
        world.watch_with(&format!(
            "[provider]\ndefault = \"sh\"\n\n[provider.sh]\ncommand = {guarded:?}\n"
        ));
        world.at_level(level);
        let _host = world.serve();
        let (_, runs) = world.dispatch_in(&world.repo, &json!([{"task": "x"}]));
        shows!(world.announced(&runs[0]), {"status": "done", "sandbox.level": level});
        let written = fs::read_to_string(world.file(&runs[0], "session/written"));
        assert_eq!(written.expect("it wrote"), "docs/new\nbegin\n");
    }
}
