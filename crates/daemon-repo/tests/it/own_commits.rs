use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use daemon_process::{ByteCount, Tool};
use daemon_repo::{CommitMark, Worktree, WorktreeChanges};

use crate::private_git::inside;
use crate::scratch::{SEARCH, Scratch, checkout};
use crate::worktrees::{at, mark};

/// Makes a repository with one commit and a work tree of it.
fn world(init: &[&str]) -> (Scratch, Worktree) {
    let scratch = Scratch::with(init);
    let base = scratch
        .write("a", "a\n")
        .write(".gitignore", "target/\n")
        .commit("first");
    let worktree = scratch
        .open()
        .create_worktree(&checkout(&base), &scratch.next_to("work"));
    (scratch, worktree.unwrap())
}

fn commit(worktree: &Worktree, path: &str, content: &str, message: &str) {
    fs::write(worktree.dir().join(path), content).unwrap();
    inside(worktree.dir(), &["add", "--force", path]);
    inside(worktree.dir(), &["commit", "-q", "-m", message]);
}

fn messages(changes: &WorktreeChanges) -> Vec<&str> {
    let commits = changes.commits.iter();
    commits.map(|commit| commit.message.trim_end()).collect()
}

fn paths(changes: &WorktreeChanges) -> Vec<&str> {
    let files = changes.files.iter();
    files.map(|file| file.path.as_str()).collect()
}

#[test]
fn commits_of_a_run_are_written_again_by_the_daemon() {
    for init in [
        &["init", "-q", "-b", "main"][..],
        &["init", "-q", "-b", "main", "--object-format=sha256"],
    ] {
        let (scratch, worktree) = world(init);
        let dir = worktree.dir();
        inside(dir, &["switch", "-q", "-c", "own"]);
        inside(dir, &["config", "user.name", "Mallory"]);
        commit(&worktree, "b", "1\n", "add b\n\nDaemon-Output: forged");
        fs::create_dir(dir.join("target")).unwrap();
        commit(&worktree, "target/c", "2\n", "add c");
        inside(dir, &["gc", "-q", "--prune=now"]);
        inside(dir, &["multi-pack-index", "write", "--no-progress"]);
        inside(dir, &["commit-graph", "write", "--no-progress"]);
        fs::write(dir.join("a"), "aa\n").unwrap();
        fs::write(dir.join("target/d"), "ignored\n").unwrap();
        let changes = worktree.changes().unwrap();
        assert_eq!(paths(&changes), ["a", "b", "target/c"]);
        assert_eq!(
            messages(&changes),
            ["add b\n\nDaemon-Output: forged", "add c"]
        );
        let [first, second] = &*changes.commits else {
            panic!("{changes:?}")
        };
        assert_eq!(
            (paths(&first.changes), paths(&second.changes)),
            (vec!["b"], vec!["target/c"])
        );
        assert_eq!(
            worktree.added_lines(&second.changes).unwrap(),
            "++ b/target/c\n2\n"
        );
        let written = |changes| worktree.commit(changes, "the rest", &mark(), at()).unwrap();
        let tip = written(&changes);
        assert_eq!(written(&worktree.changes().unwrap()), tip);
        worktree.remove().unwrap();
        let by = "link%20janitor (daemon) link%20janitor@daemon.invalid 1767323045";
        assert_eq!(
            scratch.git(&["log", "--format=%s|%an %ce %ct", &format!("main..{tip}")]),
            format!("the rest|{by}\nadd c|{by}\nadd b|{by}")
        );
        let repository = scratch.open();
        for commit in scratch.git(&["rev-list", &format!("main..{tip}")]).lines() {
            let message = repository.commit(&commit.parse().unwrap()).unwrap().message;
            assert_eq!(CommitMark::in_message(&message), Some(mark()), "{message}");
        }
        scratch.git(&["fsck", "--no-dangling", "--strict"]);

        let one = changes.squashed();
        assert_eq!((messages(&one), paths(&one)), (vec![], paths(&changes)));
    }
}

#[test]
fn a_commit_follows_only_if_files_differ_from_the_last_one() {
    let (scratch, worktree) = world(&["init", "-q", "-b", "main"]);
    commit(&worktree, "b", "1\n", "add b");
    let changes = worktree.changes().unwrap();
    let tip = worktree
        .commit(&changes, "the rest", &mark(), at())
        .unwrap();
    assert_eq!(
        scratch.git(&["log", "--format=%s", &format!("main..{tip}")]),
        "add b"
    );
    fs::remove_file(worktree.dir().join("b")).unwrap();
    let changes = worktree.changes().unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(messages(&changes), ["add b"]);
}

/// What a run does after its commit of `b`, so that its commits are not kept.
type Step = fn(&Scratch, &Path);

const UNKEPT: [(&str, Step); 15] = [
    ("nothing is committed", |_, dir| {
        inside(dir, &["reset", "-q", "--soft", "HEAD~1"]);
    }),
    ("a merge", |_, dir| {
        inside(dir, &["switch", "-q", "-c", "side", "HEAD~1"]);
        inside(dir, &["commit", "-q", "--allow-empty", "-m", "side"]);
        inside(dir, &["merge", "-q", "-m", "merge", "HEAD@{2}"]);
    }),
    ("another first commit", |_, dir| {
        inside(dir, &["reset", "-q", "--soft", "HEAD~1"]);
        inside(dir, &["commit", "-q", "--amend", "-m", "amended"]);
    }),
    ("no common commit", |_, dir| {
        inside(dir, &["switch", "-q", "--orphan", "none"]);
        fs::write(dir.join("a"), "a\n").unwrap();
        fs::write(dir.join("b"), "1\n").unwrap();
        fs::write(dir.join(".gitignore"), "target/\n").unwrap();
        inside(dir, &["add", "-A"]);
        inside(dir, &["commit", "-q", "-m", "orphan"]);
    }),
    ("too many", |_, dir| {
        for n in 0..50 {
            fs::write(dir.join("c"), format!("{n}\n")).unwrap();
            inside(dir, &["add", "c"]);
            inside(dir, &["commit", "-q", "-m", "more"]);
        }
        fs::remove_file(dir.join("c")).unwrap();
    }),
    ("a submodule", |_, dir| {
        let entry = format!("160000,{},sub", inside(dir, &["rev-parse", "HEAD"]));
        inside(dir, &["update-index", "--add", "--cacheinfo", &entry]);
        inside(dir, &["commit", "-q", "-m", "submodule"]);
    }),
    ("large contents", |_, dir| {
        let file = fs::File::create(dir.join("large")).unwrap();
        file.set_len((64 << 20) + 1).unwrap();
        inside(dir, &["add", "large"]);
        inside(dir, &["commit", "-q", "-m", "large"]);
        fs::remove_file(dir.join("large")).unwrap();
    }),
    ("a path below .git", |_, dir| {
        let tree = git_with(dir, &["mktree"], "");
        let entry = format!("040000 tree {tree}\t.git\n");
        let tree = git_with(dir, &["mktree"], &entry);
        let tip = git_with(dir, &["commit-tree", "-p", "HEAD", &tree], "evil");
        inside(dir, &["update-ref", "--no-deref", "HEAD", &tip]);
    }),
    ("an object under a false name", |_, dir| {
        let path = |name: &str| {
            let id = inside(dir, &["rev-parse", name]);
            let (start, rest) = id.split_at(2);
            dir.join(".git/objects").join(start).join(rest)
        };
        fs::remove_file(path("HEAD:b")).unwrap_or_default();
        fs::copy(path("HEAD"), path("HEAD:b")).unwrap();
    }),
    ("an object that is missing", |_, dir| {
        let id = inside(dir, &["rev-parse", "HEAD:b"]);
        let (start, rest) = id.split_at(2);
        fs::remove_file(dir.join(".git/objects").join(start).join(rest)).unwrap();
    }),
    ("objects of another repository", |scratch, dir| {
        fs::write(
            dir.join(".git/objects/info/alternates"),
            format!("{}\n", private(scratch).display()),
        )
        .unwrap();
    }),
    ("a link to another repository", |scratch, dir| {
        fs::remove_dir(dir.join(".git/objects/pack")).unwrap_or_default();
        symlink(private(scratch), dir.join(".git/objects/pack")).unwrap();
    }),
    ("a link for the repository", |scratch, dir| {
        let moved = scratch.next_to("moved");
        fs::rename(dir.join(".git"), &moved).unwrap();
        symlink(moved, dir.join(".git")).unwrap();
    }),
    ("a pipe", |_, dir| {
        let pipe = dir.join(".git/pipe");
        let made = Tool::new(Path::new("/usr/bin/mkfifo"))
            .arg(&pipe)
            .run(std::time::Duration::from_secs(60), ByteCount(1 << 10));
        assert!(pipe.exists(), "{made:?}");
    }),
    ("a branch that is not there", |_, dir| {
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/gone\n").unwrap();
    }),
];

/// Returns the objects of a repository that the run must not reach.
fn private(scratch: &Scratch) -> PathBuf {
    let path = scratch.next_to("private");
    scratch.git(&["init", "-q", path.to_str().unwrap()]);
    path.join(".git/objects")
}

fn git_with(dir: &Path, args: &[&str], stdin: &str) -> String {
    let output = Tool::new(crate::scratch::git().program())
        .env("PATH", SEARCH)
        .cwd(dir)
        .args(args)
        .stdin(stdin)
        .run(std::time::Duration::from_secs(60), ByteCount(1 << 20))
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn other_commits_are_not_kept_and_their_files_still_count() {
    for (what, step) in UNKEPT {
        let (scratch, worktree) = world(&["init", "-q", "-b", "main"]);
        commit(&worktree, "b", "1\n", "add b");
        step(&scratch, worktree.dir());
        let changes = worktree.changes().unwrap();
        assert_eq!(
            (messages(&changes), paths(&changes)),
            (vec![], vec!["b"]),
            "{what}"
        );
    }
}
