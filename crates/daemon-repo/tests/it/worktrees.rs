use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use daemon_event::ActivationId;
use daemon_repo::{
    EntryKind, Mark, Problem, RefCursor, RefName, Remote, Repository, Standing, WorktreeRecord,
};
use jiff::Timestamp;

use crate::scratch::{Scratch, git};

pub(crate) fn mark() -> Mark {
    Mark {
        daemon: "link janitor".parse().unwrap(),
        activation: ActivationId::new(1_700_000_000_000, [7; 10]),
        output: "abcdefghijklmnopqrstuvwxyz".into(),
    }
}

fn at() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

#[test]
fn changes_of_a_run_become_one_marked_commit() {
    let scratch = Scratch::new();
    let base = scratch
        .write("docs/a.md", "1\n2\n3\n")
        .write("gone.md", "x\n")
        .write("run.sh", "#!/bin/sh\n")
        .write("same.md", "same\n")
        .write(".gitignore", "target/\n")
        .commit("first");
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&base, &scratch.beside("work"))
        .unwrap();
    assert!(worktree.changes().unwrap().is_empty());

    let dir = worktree.dir();
    fs::write(dir.join("docs/a.md"), "1\ntwo\n3\n4\n").unwrap();
    fs::remove_file(dir.join("gone.md")).unwrap();
    fs::set_permissions(dir.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.join("new file.bin"), b"\0\x01").unwrap();
    fs::create_dir(dir.join("target")).unwrap();
    fs::write(dir.join("target/out"), "ignored").unwrap();
    symlink("/etc/passwd", dir.join("link")).unwrap();
    let changes = worktree.changes().unwrap();
    let files: Vec<_> = changes
        .files
        .iter()
        .map(|file| {
            (
                file.path.as_str(),
                file.kind,
                file.insertions,
                file.deletions,
                file.is_text,
            )
        })
        .collect();
    assert_eq!(
        files,
        [
            ("docs/a.md", Some(EntryKind::File), 2, 1, true),
            ("gone.md", None, 0, 1, true),
            ("link", Some(EntryKind::Symlink), 1, 0, true),
            ("new file.bin", Some(EntryKind::File), 0, 0, false),
            ("run.sh", Some(EntryKind::Executable), 0, 0, true),
        ]
    );
    assert_eq!(
        (changes.lines(), changes.unusable.as_slice()),
        (5, [].as_slice())
    );

    let commit = worktree
        .commit(
            &changes,
            "Repair links\u{1b}[31m\n\nDaemon-Output: forged\n",
            &mark(),
            at(),
        )
        .unwrap();
    assert_eq!(
        commit,
        worktree
            .commit(
                &changes,
                "Repair links\u{1b}[31m\n\nDaemon-Output: forged\n",
                &mark(),
                at()
            )
            .unwrap()
    );
    assert_eq!(
        scratch.git(&[
            "show",
            "-s",
            "--format=%an <%ae> %cn <%ce> %ct %P%n%B",
            commit.as_str()
        ]),
        format!(
            "link%20janitor (daemon) <link%20janitor@daemon.invalid> link%20janitor (daemon) <link%20janitor@daemon.invalid> \
             1767323045 {base}\nRepair links[31m\n\nDaemon-Output: forged\n\nDaemon-Id: link%20janitor\n\
             Daemon-Activation: {}\nDaemon-Output: abcdefghijklmnopqrstuvwxyz",
            mark().activation
        )
    );
    assert_eq!(
        Mark::in_message(&repository.commit(&commit).unwrap().message),
        Some(mark())
    );
    worktree.remove().unwrap();
    assert_eq!(
        (
            scratch.beside("work").exists(),
            scratch.beside("work.index").exists()
        ),
        (false, false)
    );
    assert_eq!(repository.worktree_records().unwrap(), []);
    let records = repository.common_dir().join("worktrees");
    assert!(!records.exists(), "as git leaves it");
}

#[test]
fn a_run_gains_nothing_by_rewriting_what_git_keeps_in_its_work_tree() {
    let scratch = Scratch::new();
    let base = scratch
        .write("a", "a\n")
        .write(".gitattributes", "* filter=evil\n")
        .commit("first");
    let (script, proof) = (scratch.beside("evil"), scratch.beside("proof"));
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}\ncat\n", proof.display()),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for key in ["filter.evil.smudge", "filter.evil.clean", "core.fsmonitor"] {
        scratch.git(&["config", key, script.to_str().unwrap()]);
    }
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        scratch.executable(
            &format!(".git/hooks/{hook}"),
            &format!("#!/bin/sh\ntouch {}\n", proof.display()),
        );
    }
    // Setting the traps may have sprung them.
    drop(fs::remove_file(&proof));
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&base, &scratch.beside("work"))
        .unwrap();
    let dir = worktree.dir();
    fs::remove_file(dir.join(".git")).unwrap();
    let evil = Scratch::new();
    evil.write("b", "b").commit("evil");
    evil.git(&["config", "core.fsmonitor", script.to_str().unwrap()]);
    fs::rename(evil.root().join(".git"), dir.join(".git")).unwrap();
    fs::create_dir(dir.join("nested")).unwrap();
    let nested = Scratch::new();
    nested.write("c", "c").commit("nested");
    fs::rename(nested.root().join(".git"), dir.join("nested/.git")).unwrap();
    fs::write(dir.join("bad\nname"), "x").unwrap();
    fs::write(dir.join("a"), "changed\n").unwrap();

    let changes = worktree.changes().unwrap();
    let files: Vec<_> = changes
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(
        (files, changes.unusable.as_slice()),
        (
            vec!["a"],
            ["bad\nname".to_owned(), "nested/".to_owned()].as_slice()
        )
    );
    let commit = worktree.commit(&changes, "", &mark(), at()).unwrap();
    repository
        .create_branch(&Remote::Here, &mark().branch(), &commit)
        .unwrap();
    worktree.remove().unwrap();
    assert!(!proof.exists());
}

#[test]
fn commits_and_staged_files_of_the_run_itself_are_changes_like_any_other() {
    let scratch = Scratch::new();
    let base = scratch.write("a", "a\n").commit("first");
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&base, &scratch.beside("work"))
        .unwrap();
    let dir = worktree.dir().to_str().unwrap();
    fs::write(worktree.dir().join("b"), "b\n").unwrap();
    scratch.git(&["-C", dir, "add", "b"]);
    scratch.git(&["-C", dir, "commit", "-q", "-m", "by the run"]);
    fs::write(worktree.dir().join("a"), "aa\n").unwrap();
    scratch.git(&["-C", dir, "update-index", "--assume-unchanged", "a"]);
    let changes = worktree.changes().unwrap();
    assert_eq!(
        changes
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
}

#[test]
fn a_flood_of_changes_is_not_read() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let worktree = scratch
        .open()
        .create_worktree(&base, &scratch.beside("work"))
        .unwrap();
    fs::File::create(worktree.dir().join("big"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let error = worktree.changes().unwrap_err();
    assert!(
        matches!(
            error.problem(),
            Problem::TooManyChanges {
                n_paths: 1,
                bytes: 0x4000_0000
            }
        ),
        "{error:?}"
    );
}

#[test]
fn leftover_work_trees_are_found_and_removed_whatever_is_left_of_them() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let repository = scratch.open();
    let parent = scratch.beside("worktrees");
    fs::create_dir(&parent).unwrap();
    for name in ["whole", "directory lost"] {
        repository
            .create_worktree(&base, &parent.join(name))
            .unwrap();
    }
    fs::remove_dir_all(parent.join("directory lost")).unwrap();
    fs::create_dir_all(parent.join("never recorded/locked")).unwrap();
    fs::set_permissions(
        parent.join("never recorded/locked"),
        fs::Permissions::from_mode(0o500),
    )
    .unwrap();
    let records = repository.worktree_records().unwrap();
    let mut found: Vec<_> = records.into_iter().map(|record| record.dir).collect();
    found.sort();
    assert_eq!(
        found,
        ["directory lost", "whole"].map(|name| Some(parent.join(name)))
    );
    for name in ["whole", "directory lost", "never recorded", "never there"] {
        repository.remove_worktree(&parent.join(name)).unwrap();
    }
    assert_eq!(repository.worktree_records().unwrap(), []);
    assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
}

#[test]
fn a_work_tree_whose_making_was_killed_does_not_stop_the_repository() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let repository = scratch.open();
    let parent = scratch.beside("worktrees");
    fs::create_dir(&parent).unwrap();
    let dir = parent.join("killed");
    // What `git worktree add` has written where SIGKILL meets it before it has written `commondir`.
    let record = repository.common_dir().join("worktrees/killed");
    fs::create_dir_all(&record).unwrap();
    fs::write(record.join("locked"), "initializing").unwrap();
    fs::write(record.join("gitdir"), format!("{}/.git\n", dir.display())).unwrap();
    fs::write(record.join("HEAD"), format!("{}\n", base.as_str())).unwrap();
    fs::write(record.join("commondir"), "").unwrap();
    // Before that, not even the directory is recorded.
    let earlier = repository.common_dir().join("worktrees/earlier");
    fs::create_dir_all(&earlier).unwrap();
    fs::write(earlier.join("locked"), "initializing").unwrap();
    let error = repository
        .create_worktree(&base, &parent.join("next"))
        .unwrap_err();
    let told = error.problem().to_string();
    assert!(
        told.contains("fatal: ") && !told.contains("hint: "),
        "git's own words: {told}"
    );
    // Another work tree can be removed all the same.
    repository.remove_worktree(&parent.join("next")).unwrap();
    let mut records = repository.worktree_records().unwrap();
    records.sort_by(|a, b| a.name.cmp(&b.name));
    let record = |name: &str, dir| WorktreeRecord {
        name: name.into(),
        dir,
    };
    let half_made = record("earlier", None);
    assert_eq!(
        records,
        [half_made.clone(), record("killed", Some(dir.clone()))]
    );
    repository.forget_worktree(&half_made).unwrap();
    repository.remove_worktree(&dir).unwrap();
    assert_eq!(repository.worktree_records().unwrap(), []);
    repository
        .create_worktree(&base, &parent.join("next"))
        .unwrap();
}

#[test]
fn a_work_tree_needs_a_new_directory_and_a_commit_that_is_there() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let repository = scratch.open();
    fs::create_dir(scratch.beside("taken")).unwrap();
    let error = repository
        .create_worktree(&base, &scratch.beside("taken"))
        .unwrap_err();
    assert!(matches!(error.problem(), Problem::File { .. }), "{error:?}");
    let absent = "12".repeat(20).parse().unwrap();
    let error = repository
        .create_worktree(&absent, &scratch.beside("work"))
        .unwrap_err();
    assert!(
        matches!(error.problem(), Problem::Failed { .. }),
        "{error:?}"
    );
    assert!(!scratch.beside("work").exists());
}

/// A commit of the daemon, in a repository with a bare remote beside it.
pub(crate) fn marked(scratch: &Scratch) -> (Repository, daemon_repo::ObjectId) {
    let base = scratch.write("a", "a\n").commit("first");
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&base, &scratch.beside("work"))
        .unwrap();
    fs::write(worktree.dir().join("a"), "b\n").unwrap();
    let commit = worktree
        .commit(&worktree.changes().unwrap(), "change", &mark(), at())
        .unwrap();
    worktree.remove().unwrap();
    scratch.git(&[
        "init",
        "-q",
        "--bare",
        scratch.beside("remote.git").to_str().unwrap(),
    ]);
    (repository, commit)
}

#[test]
fn a_branch_is_created_once_and_found_again() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let remote = scratch.beside("remote.git");
    scratch.git(&["push", "-q", remote.to_str().unwrap(), "main"]);
    let named: Remote = remote.to_str().unwrap().parse().unwrap();
    for remote in [Remote::Here, named] {
        let (branch, output) = (mark().branch(), mark().output);
        assert_eq!(
            repository.standing(&remote, &branch, &output).unwrap(),
            Standing::Absent
        );
        repository.create_branch(&remote, &branch, &commit).unwrap();
        assert_eq!(
            repository.standing(&remote, &branch, &output).unwrap(),
            Standing::Ours(commit.clone())
        );
        assert_eq!(
            repository.standing(&remote, &branch, "other").unwrap(),
            Standing::Taken(commit.clone())
        );
        let error = repository
            .create_branch(&remote, &branch, &scratch.head())
            .unwrap_err();
        assert!(
            matches!(error.problem(), Problem::BranchTaken { .. }),
            "{error:?}"
        );
        assert_eq!(
            repository.standing(&remote, &branch, &output).unwrap(),
            Standing::Ours(commit.clone())
        );
    }
}

#[test]
fn a_copied_mark_is_not_ours() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    scratch.git(&["cherry-pick", commit.as_str()]);
    scratch.git(&["branch", mark().branch().short()]);
    let found = repository
        .standing(&Remote::Here, &mark().branch(), &mark().output)
        .unwrap();
    assert_eq!(found, Standing::Taken(scratch.head()));
}

#[test]
fn the_remote_is_read_when_its_commit_is_not_here() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let path = scratch.beside("remote.git");
    let remote: Remote = path.to_str().unwrap().parse().unwrap();
    repository
        .create_branch(&remote, &mark().branch(), &commit)
        .unwrap();
    let (first, rest) = commit.as_str().split_at(2);
    scratch.remove(&format!(".git/objects/{first}/{rest}"));
    assert!(!repository.has_commit(&commit).unwrap());
    assert_eq!(
        repository
            .standing(&remote, &mark().branch(), &mark().output)
            .unwrap(),
        Standing::Ours(commit)
    );
    let gone: Remote = scratch
        .beside("gone.git")
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    repository
        .standing(&gone, &mark().branch(), &mark().output)
        .unwrap_err();
}

#[test]
fn a_branch_in_the_way_is_a_refusal() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    scratch.git(&["branch", "daemon"]);
    let error = repository
        .create_branch(&Remote::Here, &mark().branch(), &commit)
        .unwrap_err();
    assert!(
        matches!(error.problem(), Problem::BranchTaken { .. }),
        "{error:?}"
    );
}

#[test]
fn the_name_of_a_remote_is_no_option_and_no_program() {
    for text in [
        "",
        "-oProxyCommand=x",
        "--upload-pack=x",
        "ext::sh -c x",
        "a\nb",
    ] {
        assert!(text.parse::<Remote>().is_err(), "{text}");
    }
    assert_eq!(".".parse(), Ok(Remote::Here));
}

#[test]
fn the_branch_of_a_daemon_is_told_with_its_origin() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let cursor = RefCursor::baseline(&repository.refs().unwrap());
    repository
        .create_branch(&Remote::Here, &mark().branch(), &commit)
        .unwrap();
    let refs = repository.refs().unwrap();
    let (_, moves) = cursor.advance(&refs);
    let main = RefName::branch("main").unwrap();
    let tip = refs.get(&main).unwrap();
    let events = repository.events_of(&moves[0], (&main, tip)).unwrap();
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.kind, event.origin.clone()))
        .collect();
    assert_eq!(told, ["create", "push"].map(|kind| (kind, Some(mark()))));
    assert_eq!(git().program().file_name().unwrap(), "git");
}
