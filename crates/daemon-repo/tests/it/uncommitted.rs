//! A directory of the work tree that no commit has.

use std::fs;

use daemon_repo::{ObjectId, Repository, TreePath, UncommittedDirectory};

use crate::scratch::{Scratch, checkout};
use crate::worktrees::{at, mark};

const DIRECTORY: &str = ".agents/daemons/scribe";

fn with_directory(scratch: &Scratch) -> (Repository, UncommittedDirectory) {
    let repository = scratch.open();
    let directory = TreePath::from_bytes(DIRECTORY.as_bytes()).unwrap();
    let git = scratch.next_to("scratch-git");
    let written = repository.with_directory_of_work_tree(&directory, at(), &git);
    assert!(!git.exists());
    (repository, written.unwrap())
}

fn files_of(scratch: &Scratch, commit: &ObjectId) -> String {
    scratch.git(&["ls-tree", "-r", "--name-only", commit.as_str()])
}

#[test]
fn a_commit_has_the_directory_as_it_is_in_the_work_tree_and_no_ref_or_index_changes() {
    let scratch = Scratch::new();
    scratch.write("README.md", "one\n");
    scratch.write(".agents/daemons/scribe/scripts/old.sh", "old\n");
    scratch.commit("first");
    scratch.remove(".agents/daemons/scribe/scripts/old.sh");
    scratch.write(".agents/daemons/scribe/DAEMON.md", "---\nid: scribe\n---\n");
    scratch.write(".agents/daemons/other/DAEMON.md", "other\n");
    scratch.write("README.md", "changed\n");
    scratch.write(".gitignore", "DAEMON.md\n");
    let before = (
        scratch.git(&["for-each-ref"]),
        scratch.git(&["status", "--porcelain"]),
    );

    let (_, written) = with_directory(&scratch);

    assert_eq!(
        files_of(&scratch, &written.commit),
        ".agents/daemons/scribe/DAEMON.md\nREADME.md"
    );
    assert_eq!(
        scratch.git(&["rev-parse", &format!("{}^", written.commit)]),
        written.head.as_str()
    );
    assert_eq!(
        scratch.git(&["show", &format!("{}:README.md", written.commit)]),
        "one"
    );
    let after = (
        scratch.git(&["for-each-ref"]),
        scratch.git(&["status", "--porcelain"]),
    );
    assert_eq!(after, before);
}

#[test]
fn a_filter_of_the_repository_does_not_run_on_the_directory() {
    let scratch = Scratch::new();
    scratch.write("README.md", "one\n");
    scratch.commit("first");
    scratch.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    scratch.write(".gitattributes", "*.md filter=shout\n");
    scratch.write(".agents/daemons/scribe/DAEMON.md", "quiet\n");

    let (_, written) = with_directory(&scratch);

    let file = format!("{}:{DIRECTORY}/DAEMON.md", written.commit);
    assert_eq!(scratch.git(&["show", &file]), "quiet");
}

#[test]
fn changes_of_a_run_are_delivered_on_top_of_head_without_the_directory() {
    let scratch = Scratch::new();
    scratch.write("README.md", "one\n");
    scratch.commit("first");
    scratch.write(".agents/daemons/scribe/DAEMON.md", "uncommitted\n");
    let (repository, written) = with_directory(&scratch);
    let repository = repository.with_uncommitted(Some(written.clone()));
    let worktree = repository
        .create_worktree(&checkout(&written.commit), &scratch.next_to("tree"))
        .unwrap();
    fs::write(worktree.dir().join("README.md"), "two\n").unwrap();

    let changes = worktree.changes().unwrap();
    let commit = worktree.commit(&changes, "Change", &mark(), at()).unwrap();

    assert_eq!(
        scratch.git(&["rev-parse", &format!("{commit}^")]),
        written.head.as_str()
    );
    assert_eq!(files_of(&scratch, &commit), "README.md");
    assert_eq!(
        scratch.git(&["show", &format!("{commit}:README.md")]),
        "two"
    );
}
