use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use daemon_event::ActivationId;
use daemon_repo::{
    BranchStatus, CommitMark, EntryKind, GitProblem, RefName, RefPositions, Remote, Repository,
};
use jiff::Timestamp;

use crate::scratch::{Scratch, checkout, git};

pub(crate) fn mark() -> CommitMark {
    CommitMark {
        daemon: "link janitor".parse().unwrap(),
        activation: ActivationId::new(1_700_000_000_000, [7; 10]),
        output: "abcdefghijklmnopqrstuvwxyz".into(),
    }
}

pub(crate) fn at() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

#[test]
fn changes_of_a_run_are_listed_by_file() {
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
        .create_worktree(&checkout(&base), &scratch.next_to("work"))
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
}

#[test]
fn changes_of_a_run_become_one_marked_commit() {
    let scratch = Scratch::new();
    let base = scratch.write("a.md", "1\n").commit("first");
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&checkout(&base), &scratch.next_to("work"))
        .unwrap();
    fs::write(worktree.dir().join("a.md"), "1\n2\n").unwrap();
    let changes = worktree.changes().unwrap();
    let message = "Repair links\u{1b}[31m\n\nDaemon-Output: forged\n";
    let commit = worktree.commit(&changes, message, &mark(), at()).unwrap();
    let again = worktree.commit(&changes, message, &mark(), at()).unwrap();
    assert_eq!(commit, again);
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
        CommitMark::in_message(&repository.commit(&commit).unwrap().message),
        Some(mark())
    );
    worktree.remove().unwrap();
    let mut left: Vec<_> = fs::read_dir(scratch.next_to("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["widgets"], "nothing of the work tree");
}

/// Installs a filter, a file monitor and hooks that create the returned proof; returns their script and the proof.
fn install_traps(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let (script, proof) = (scratch.next_to("evil"), scratch.next_to("proof"));
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
    // The preparation itself may have run a hook.
    drop(fs::remove_file(&proof));
    (script, proof)
}

#[test]
fn git_files_rewritten_by_a_run_have_no_effect() {
    let scratch = Scratch::new();
    let base = scratch
        .write("a", "a\n")
        .write(".gitattributes", "* filter=evil\n")
        .commit("first");
    let (script, proof) = install_traps(&scratch);
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&checkout(&base), &scratch.next_to("work"))
        .unwrap();
    let dir = worktree.dir();
    fs::remove_dir_all(dir.join(".git")).unwrap();
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
fn commits_and_staged_files_of_a_run_count_as_changes() {
    let scratch = Scratch::new();
    let base = scratch.write("a", "a\n").commit("first");
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&checkout(&base), &scratch.next_to("work"))
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
fn too_many_changes_are_not_read() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let worktree = scratch
        .open()
        .create_worktree(&checkout(&base), &scratch.next_to("work"))
        .unwrap();
    fs::File::create(worktree.dir().join("big"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let error = worktree.changes().unwrap_err();
    assert!(
        matches!(
            error.problem(),
            GitProblem::TooManyChanges {
                n_paths: 1,
                bytes: 0x4000_0000
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_work_tree_needs_a_new_directory_and_an_existing_commit() {
    let scratch = Scratch::new();
    let base = scratch.commit("first");
    let repository = scratch.open();
    fs::create_dir(scratch.next_to("taken")).unwrap();
    let error = repository
        .create_worktree(&checkout(&base), &scratch.next_to("taken"))
        .unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::File { .. }),
        "{error:?}"
    );
    let absent = "12".repeat(20).parse().unwrap();
    let error = repository
        .create_worktree(&checkout(&absent), &scratch.next_to("work"))
        .unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::Failed { .. }),
        "{error:?}"
    );
    assert!(!scratch.next_to("work").exists());
}

/// Returns a commit of the daemon, in a repository with a bare remote next to it.
pub(crate) fn marked(scratch: &Scratch) -> (Repository, daemon_repo::ObjectId) {
    let base = scratch.write("a", "a\n").commit("first");
    let repository = scratch.open();
    let worktree = repository
        .create_worktree(&checkout(&base), &scratch.next_to("work"))
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
        scratch.next_to("remote.git").to_str().unwrap(),
    ]);
    (repository, commit)
}

#[test]
fn a_branch_is_created_once_and_found_again() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let remote = scratch.next_to("remote.git");
    scratch.git(&["push", "-q", remote.to_str().unwrap(), "main"]);
    let named: Remote = remote.to_str().unwrap().parse().unwrap();
    for remote in [Remote::Here, named] {
        let (branch, output) = (mark().branch(), mark().output);
        assert_eq!(
            repository.branch_status(&remote, &branch, &output).unwrap(),
            BranchStatus::Absent
        );
        repository.create_branch(&remote, &branch, &commit).unwrap();
        assert_eq!(
            repository.branch_status(&remote, &branch, &output).unwrap(),
            BranchStatus::Ours(commit.clone())
        );
        assert_eq!(
            repository.branch_status(&remote, &branch, "other").unwrap(),
            BranchStatus::Taken(commit.clone())
        );
        let error = repository
            .create_branch(&remote, &branch, &scratch.head())
            .unwrap_err();
        assert!(
            matches!(error.problem(), GitProblem::BranchTaken { .. }),
            "{error:?}"
        );
        assert_eq!(
            repository.branch_status(&remote, &branch, &output).unwrap(),
            BranchStatus::Ours(commit.clone())
        );
    }
}

#[test]
fn a_commit_with_a_copied_mark_counts_as_foreign() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    scratch.git(&["cherry-pick", commit.as_str()]);
    scratch.git(&["branch", mark().branch().short()]);
    let found = repository
        .branch_status(&Remote::Here, &mark().branch(), &mark().output)
        .unwrap();
    assert_eq!(found, BranchStatus::Taken(scratch.head()));
}

#[test]
fn a_remote_commit_is_fetched_to_read_its_mark() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let path = scratch.next_to("remote.git");
    let remote: Remote = path.to_str().unwrap().parse().unwrap();
    repository
        .create_branch(&remote, &mark().branch(), &commit)
        .unwrap();
    let (first, rest) = commit.as_str().split_at(2);
    scratch.remove(&format!(".git/objects/{first}/{rest}"));
    assert!(!repository.has_commit(&commit).unwrap());
    assert_eq!(
        repository
            .branch_status(&remote, &mark().branch(), &mark().output)
            .unwrap(),
        BranchStatus::Ours(commit)
    );
    let gone: Remote = scratch
        .next_to("gone.git")
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    repository
        .branch_status(&gone, &mark().branch(), &mark().output)
        .unwrap_err();
}

#[test]
fn a_branch_in_the_way_is_reported_as_taken() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    scratch.git(&["branch", "daemon"]);
    let error = repository
        .create_branch(&Remote::Here, &mark().branch(), &commit)
        .unwrap_err();
    match error.problem() {
        GitProblem::BranchTaken { name } => assert_eq!(&**name, "refs/heads/daemon"),
        _ => panic!("{error:?}"),
    }
}

#[test]
fn the_name_of_a_remote_is_neither_an_option_nor_a_program() {
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
fn an_event_of_a_daemons_branch_has_its_origin() {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let cursor = RefPositions::baseline(&repository.refs().unwrap());
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
