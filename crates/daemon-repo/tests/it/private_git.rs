use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_repo::{GitProblem, RefName, Repository, Worktree};

use crate::scratch::{SEARCH, Scratch, checkout, git};

/// Runs git in a directory as a run would: without an identity or a configuration of the machine.
pub(crate) fn inside(dir: &Path, args: &[&str]) -> String {
    let output = Tool::new(git().program())
        .envs([("PATH", SEARCH), ("GIT_CONFIG_NOSYSTEM", "1")])
        .env("HOME", dir.join("no-home"))
        .cwd(dir)
        .args(args)
        .run(Duration::from_secs(60), ByteCount(1 << 20))
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status, args),
        (ExitStatus::Code(0), args),
        "{stderr}"
    );
    assert_eq!(stderr, "", "{args:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the contents of all files below a directory, by path.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut acc = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            acc.extend(contents(&path));
        } else {
            acc.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    acc
}

fn changed(worktree: &Worktree) -> Vec<String> {
    let files = worktree.changes().unwrap().files;
    let paths = files.iter().map(|file| file.path.as_str().to_owned());
    paths.collect()
}

#[test]
fn git_in_a_work_tree_needs_only_the_objects_of_the_watched_repository() {
    let scratch = Scratch::new();
    let first = scratch.write("a", "1\n").commit("first");
    scratch.write(".gitattributes", "*.md text eol=crlf\n");
    let base = scratch.write("b.md", "2\n").commit("second");
    scratch.write(".git/info/exclude", "*.log\n");
    let mut checkout = checkout(&base);
    let topic = RefName::branch("topic/one").unwrap();
    checkout.branches.insert(topic, first.clone());
    let worktree = scratch
        .open()
        .create_worktree(&checkout, &scratch.next_to("work"));
    let worktree = worktree.unwrap();
    let objects = scratch.root().canonicalize().unwrap().join(".git/objects");
    assert_eq!(worktree.objects(), [objects]);
    // All of the watched repository but its objects is out of reach.
    let away = scratch.next_to("away");
    fs::create_dir(&away).unwrap();
    for entry in fs::read_dir(scratch.root().join(".git")).unwrap() {
        let name = entry.unwrap().file_name();
        if name != "objects" {
            fs::rename(scratch.root().join(".git").join(&name), away.join(&name)).unwrap();
        }
    }
    let dir = worktree.dir();
    fs::write(dir.join("build.log"), "").unwrap();
    assert_eq!(inside(dir, &["status", "--porcelain"]), "");
    assert_eq!(inside(dir, &["log", "--format=%s"]), "second\nfirst");
    assert_eq!(
        inside(dir, &["for-each-ref", "--format=%(objectname) %(refname)"]),
        format!("{base} refs/heads/main\n{first} refs/heads/topic/one")
    );
    assert_eq!(
        inside(dir, &["merge-base", "main", "topic/one"]),
        first.as_str()
    );
    assert_eq!(
        inside(dir, &["diff", "--name-status", "topic/one", "HEAD"]),
        "A\t.gitattributes\nA\tb.md"
    );
    assert!(inside(dir, &["blame", "a"]).contains("(Ada "));
    fs::write(dir.join("b.md"), "two\n").unwrap();
    assert_eq!(inside(dir, &["status", "--porcelain"]), "M b.md");
    inside(dir, &["commit", "-q", "-a", "-m", "by the run"]);
    assert_eq!(
        inside(dir, &["log", "-1", "--format=%an <%ae> %cn %P"]),
        format!(
            "link%20janitor (daemon) <link%20janitor@daemon.invalid> link%20janitor (daemon) {base}"
        )
    );
    inside(dir, &["fsck", "--no-dangling"]);
}

#[test]
fn a_run_that_rewrites_its_git_directory_changes_nothing_of_the_watched_repository() {
    let scratch = Scratch::new();
    let base = scratch.write("a", "a\n").commit("first");
    let watched = scratch.root().join(".git");
    let before = contents(&watched);
    let repository = scratch.open();
    let worktree = repository.create_worktree(&checkout(&base), &scratch.next_to("work"));
    let worktree = worktree.unwrap();
    let dir = worktree.dir();
    fs::write(dir.join("a"), "of the run\n").unwrap();
    inside(dir, &["commit", "-q", "-a", "-m", "by the run"]);
    inside(dir, &["branch", "-f", "main", "HEAD"]);
    inside(dir, &["tag", "v1"]);
    inside(dir, &["gc", "-q", "--prune=now"]);
    assert_eq!(contents(&watched), before, "by the work of the run");

    let (script, proof) = (scratch.next_to("evil"), scratch.next_to("proof"));
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}\ncat\n", proof.display()),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = script.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.hooksPath",
        "filter.evil.clean",
        "core.worktree",
    ] {
        inside(dir, &["config", key, evil]);
    }
    let git_dir = dir.join(".git");
    fs::create_dir_all(git_dir.join("hooks")).unwrap();
    fs::create_dir_all(git_dir.join("info")).unwrap();
    fs::copy(&script, git_dir.join("hooks/post-index-change")).unwrap();
    fs::write(git_dir.join("info/attributes"), "* filter=evil\n").unwrap();
    fs::write(git_dir.join("info/exclude"), "*\n").unwrap();
    fs::write(git_dir.join("objects/info/alternates"), "/nowhere\n").unwrap();
    fs::write(git_dir.join("index"), "not an index").unwrap();
    fs::write(git_dir.join("HEAD"), "ref: refs/heads/gone\n").unwrap();
    fs::write(git_dir.join("commondir"), "/nowhere\n").unwrap();
    fs::write(dir.join("b"), "b\n").unwrap();
    assert_eq!(changed(&worktree), ["a", "b"], "and nothing below `.git`");
    worktree.remove().unwrap();
    let is_object = |path: &Path| path.starts_with(watched.join("objects"));
    let mut after = contents(&watched);
    after.retain(|path, _| !is_object(path) || before.contains_key(path));
    assert_eq!(after, before, "by reading what it left");
    assert!(!proof.exists());
}

#[test]
fn every_kind_of_repository_gives_a_work_tree_with_its_history() {
    let scratch = Scratch::new();
    scratch.write("a", "1\n").commit("first");
    scratch.write("a", "2\n").commit("second");
    let url = format!("file://{}", scratch.root().display());
    let (shallow, bare, linked, borrowing, chained) = (
        scratch.next_to("shallow"),
        scratch.next_to("bare.git"),
        scratch.next_to("linked"),
        scratch.next_to("borrowing"),
        scratch.next_to("chained"),
    );
    let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
    scratch.git(&["clone", "-q", "--depth=1", &url, &path(&shallow)]);
    scratch.git(&["clone", "-q", "--bare", ".", &path(&bare)]);
    scratch.git(&["worktree", "add", "-q", "--detach", &path(&linked)]);
    scratch.git(&["clone", "-q", "--shared", ".", &path(&borrowing)]);
    let alternates = borrowing.join(".git/objects/info/alternates");
    fs::write(alternates, "# relative\n../../../widgets/.git/objects\n").unwrap();
    scratch.git(&[
        "clone",
        "-q",
        "--shared",
        &path(&borrowing),
        &path(&chained),
    ]);
    let sha256 = Scratch::with(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    sha256.write("a", "1\n").commit("first");
    sha256.write("a", "2\n").commit("second");
    let all = "second\nfirst";
    for (repository, log, n_objects) in [
        (&shallow, "second", 1),
        (&bare, all, 1),
        (&linked, all, 1),
        (&borrowing, all, 2),
        (&chained, all, 3),
        (&sha256.root().to_owned(), all, 1),
    ] {
        let repository = Repository::open(&git(), repository).unwrap();
        let refs = repository.refs().unwrap();
        let base = refs.get(&RefName::branch("main").unwrap()).unwrap();
        let worktree = repository.create_worktree(&checkout(base), &scratch.next_to("work"));
        let worktree = worktree.unwrap();
        let dir = worktree.dir();
        let what = repository.common_dir().display();
        assert_eq!(worktree.objects().len(), n_objects, "{what}");
        assert_eq!(inside(dir, &["log", "--format=%s"]), log, "{what}");
        assert_eq!(inside(dir, &["status", "--porcelain"]), "", "{what}");
        fs::write(dir.join("a"), "3\n").unwrap();
        inside(dir, &["commit", "-q", "-a", "-m", "third"]);
        assert_eq!(changed(&worktree), ["a"], "{what}");
        worktree.remove().unwrap();
    }
}

#[test]
fn a_path_of_objects_that_git_cannot_write_is_refused() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let objects = scratch.root().join(".git/objects");
    let alternates = objects.join("info/alternates");
    let refused = || {
        let error = scratch
            .open()
            .create_worktree(&checkout(&base), &scratch.next_to("work"))
            .unwrap_err();
        assert!(!scratch.next_to("work").exists());
        match error.problem() {
            GitProblem::UnusableObjects { path } => path.clone(),
            problem => panic!("{problem:?}"),
        }
    };
    fs::write(&alternates, "\"/quo\\nted\"\n").unwrap();
    assert_eq!(refused(), Path::new("\"/quo\\nted\""));
    fs::remove_file(&alternates).unwrap();
    let moved = scratch.next_to("ob\njects");
    fs::rename(&objects, &moved).unwrap();
    symlink(&moved, &objects).unwrap();
    assert_eq!(refused(), moved.canonicalize().unwrap());

    let broken = scratch.next_to("line\nbreak");
    scratch.git(&["init", "-q", broken.to_str().unwrap()]);
    let error = Repository::open(&git(), &broken).unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::UnusableObjects { path } if *path == broken.canonicalize().unwrap()),
        "{error:?}"
    );
}

#[test]
fn no_directory_but_one_of_objects_is_shown_to_a_run() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let alternates = scratch.root().join(".git/objects/info/alternates");
    let made = || {
        let made = scratch
            .open()
            .create_worktree(&checkout(&base), &scratch.next_to("work"));
        made.map(|worktree| worktree.remove().unwrap())
    };
    for name in ["private", "private/objects"] {
        let private = scratch.next_to(name);
        fs::create_dir_all(&private).unwrap();
        fs::write(&alternates, format!("{}\n", private.display())).unwrap();
        let error = made().unwrap_err();
        let named = private.canonicalize().unwrap();
        assert!(
            matches!(error.problem(), GitProblem::Foreign { path, .. } if *path == named),
            "{error:?}"
        );
    }
    fs::remove_file(&alternates).unwrap();
    // A thread that waits for the writer of a pipe has no time limit.
    let exclude = scratch.root().join(".git/info/exclude");
    fs::remove_file(&exclude).unwrap_or_default();
    rustix::fs::mkfifoat(rustix::fs::CWD, &exclude, rustix::fs::Mode::RWXU).unwrap();
    let error = made().unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::File { path, .. } if *path == exclude.canonicalize().unwrap()),
        "{error:?}"
    );
    fs::remove_file(&exclude).unwrap();
    made().unwrap();
}

#[test]
fn a_changed_file_is_found_whatever_its_time_and_the_settings_of_the_repository_say() {
    let scratch = Scratch::new();
    let base = scratch
        .write("a", "old\n")
        .write("b", "b\n")
        .commit("first");
    scratch.git(&["config", "core.trustCtime", "false"]);
    scratch.git(&["config", "core.checkStat", "minimal"]);
    let repository = scratch.open();
    let worktree = repository.create_worktree(&checkout(&base), &scratch.next_to("work"));
    let worktree = worktree.unwrap();
    let index = scratch.next_to("work.base");
    let metadata = fs::metadata(&index).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    // An index that is newer than all files makes git rely on their times.
    let later = metadata.modified().unwrap() + Duration::from_secs(5);
    let opened = File::options().write(true).open(&index).unwrap();
    opened.set_modified(later).unwrap();
    let file = worktree.dir().join("a");
    let before = fs::metadata(&file).unwrap();
    // The index has whole seconds, and a run begins after the last of its checkout.
    while fs::metadata(&file).unwrap().ctime() == before.ctime() {
        fs::write(&file, "new\n").unwrap();
    }
    let opened = File::options().write(true).open(&file).unwrap();
    opened.set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(changed(&worktree), ["a"]);
    assert_eq!(changed(&worktree), ["a"], "also the second time");
}

#[test]
fn only_the_records_of_work_trees_below_a_directory_are_forgotten() {
    let scratch = Scratch::new();
    scratch.commit("first");
    let (ours, theirs) = (scratch.next_to("worktrees"), scratch.next_to("theirs"));
    for dir in [ours.join("whole"), ours.join("lost"), theirs.clone()] {
        scratch.git(&["worktree", "add", "-q", "--detach", dir.to_str().unwrap()]);
    }
    fs::remove_dir_all(ours.join("lost")).unwrap();
    // The state after SIGKILL of `git worktree add` before it writes `commondir`.
    let repository = scratch.open();
    let records = repository.common_dir().join("worktrees");
    fs::create_dir(records.join("killed")).unwrap();
    let named = format!("{}/.git\n", ours.join("killed").display());
    fs::write(records.join("killed/gitdir"), named).unwrap();
    fs::write(records.join("killed/commondir"), "").unwrap();
    let left = || {
        let entries = fs::read_dir(&records).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    repository.forget_linked_worktrees(&ours).unwrap();
    assert_eq!(left(), ["theirs"]);
    repository.forget_linked_worktrees(&theirs).unwrap();
    assert!(!records.exists(), "as git leaves it");
    repository.forget_linked_worktrees(&theirs).unwrap();
}

#[test]
fn a_tree_without_write_permission_is_removed() {
    let scratch = Scratch::new();
    let place = scratch.next_to("left");
    fs::create_dir_all(place.join("locked/below")).unwrap();
    let locked = fs::Permissions::from_mode(0o500);
    fs::set_permissions(place.join("locked"), locked).unwrap();
    fs::write(scratch.next_to("file"), "").unwrap();
    for name in ["left", "file", "never there"] {
        daemon_repo::remove_tree(&scratch.next_to(name)).unwrap();
        assert!(!scratch.next_to(name).exists(), "{name}");
    }
}
