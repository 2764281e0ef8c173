//! Work trees of sparse repositories.

use std::fs;
use std::path::Path;

use daemon_repo::{GitProblem, ObjectId, Repository, TreeStart, TreeTrust, Worktree};

use crate::kept_trees::{contents, has_overlays, shell, shell_above};
use crate::scratch::{Scratch, checkout, git};

fn base(scratch: &Scratch) -> ObjectId {
    scratch
        .write("root", "root\n")
        .write("in/file", "in\n")
        .write("in/.gitignore", "*.log\n")
        .write("out/file", "out\n")
        .write("out/deep/file", "deep\n")
        .commit("first")
}

fn next(scratch: &Scratch) -> ObjectId {
    scratch
        .write("in/file", "in again\n")
        .write("in/more", "more\n")
        .write("out/file", "out again\n")
        .remove("out/deep/file")
        .commit("second")
}

fn make(
    repository: &Repository,
    start: TreeStart<'_>,
    (commit, dir): (&ObjectId, &Path),
) -> Worktree {
    repository
        .create_worktree_from(&checkout(commit), start, dir)
        .unwrap()
}

fn idle(kept: &Path) -> TreeStart<'_> {
    TreeStart::Idle {
        kept,
        trust: TreeTrust::Index,
    }
}

/// Returns the paths of the files of a directory.
fn files(dir: &Path) -> Vec<String> {
    let all = contents(dir).into_iter();
    let files = all.filter(|(_, content)| content != "directory");
    files.map(|(path, _)| path).collect()
}

/// Runs a script in a work tree, as a run does.
fn work(worktree: &Worktree, script: &str) {
    match worktree.layers() {
        None => shell(worktree.dir(), script),
        Some(_) => shell_above(worktree, script).unwrap(),
    }
}

/// Changes files, also where the patterns leave out those of the commit.
const WORK: &str = "test -z \"$(git status --porcelain)\"; find . -path ./.git -prune -o -type f -print | sort > ../seen;\n\
     echo 1 >> in/file; rm root; mkdir -p out/new; echo x > out/new/file; echo x > in/x.log";

#[test]
fn a_run_has_the_files_that_the_patterns_of_the_work_tree_select() {
    let scratch = Scratch::new();
    let (first, second) = (base(&scratch), next(&scratch));
    scratch.git(&["sparse-checkout", "set", "in"]);
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let taken = scratch.next_to("taken");
    let probe = make(
        &repository,
        idle(&kept),
        (&first, &scratch.next_to("probe")),
    );
    let mut starts = vec![
        (TreeStart::Empty, &first),
        (TreeStart::Taken(&taken), &first),
        (TreeStart::Taken(&taken), &second),
    ];
    if has_overlays(&probe) {
        starts.extend([
            (TreeStart::Shared(&kept), &first),
            (TreeStart::Shared(&kept), &second),
            (idle(&kept), &second),
        ]);
    }
    for (n, (start, commit)) in starts.into_iter().enumerate() {
        let worktree = make(
            &repository,
            start,
            (commit, &scratch.next_to(&format!("tree-{n}"))),
        );
        work(&worktree, WORK);
        let seen = fs::read_to_string(scratch.next_to("seen")).unwrap();
        let mut expected = vec!["./in/.gitignore", "./in/file", "./root"];
        if *commit == second {
            expected.insert(2, "./in/more");
        }
        assert_eq!(seen.lines().collect::<Vec<_>>(), expected, "{n}");
        let changes = worktree.changes().unwrap();
        let changed = changes.files.iter();
        let changed: Vec<_> = changed
            .map(|file| (file.path.as_str(), file.kind.is_some()))
            .collect();
        let expected = [("in/file", true), ("out/new/file", true), ("root", false)];
        assert_eq!(changed, expected, "{n}");
        match start {
            TreeStart::Taken(kept) => worktree.keep(kept).unwrap(),
            _ => worktree.remove().unwrap(),
        }
    }
    let mut kept_files = files(&taken.join("files"));
    kept_files.retain(|path| path.starts_with("out"));
    assert_eq!(kept_files, Vec::<String>::new());
}

#[test]
fn a_linked_work_tree_has_its_own_patterns_and_a_kept_tree_belongs_to_patterns() {
    let scratch = Scratch::new();
    let first = base(&scratch);
    let linked = scratch.next_to("linked");
    let linked_name = linked.to_str().unwrap();
    scratch.git(&["worktree", "add", "-q", "--detach", linked_name]);
    scratch.git(&["sparse-checkout", "set", "in"]);
    scratch.git(&[
        "-C",
        linked_name,
        "sparse-checkout",
        "set",
        "--no-cone",
        "/out/",
        "!/out/deep/",
    ]);
    let kept = scratch.next_to("kept");
    let here = scratch.open();
    let there = Repository::open(&git(), &linked).unwrap();
    let in_tree = ["in/.gitignore", "in/file", "root"];
    let table: [(&Repository, &[&str]); 3] = [
        (&here, &in_tree),
        (&there, &["out/file"]),
        (&here, &in_tree),
    ];
    for (n, (repository, expected)) in table.into_iter().enumerate() {
        let dir = scratch.next_to(&format!("tree-{n}"));
        make(repository, idle(&kept), (&first, &dir))
            .remove()
            .unwrap();
        assert_eq!(files(&kept.join("files")), expected, "{n}");
    }
    let shared = there.create_worktree_from(
        &checkout(&first),
        TreeStart::Shared(&kept),
        &scratch.next_to("shared"),
    );
    let error = shared.unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::Foreign { .. }),
        "{error:?}"
    );
    // Without the setting, the file with the patterns means nothing.
    scratch.git(&["sparse-checkout", "disable"]);
    let dir = scratch.next_to("all");
    make(&here, idle(&kept), (&first, &dir)).remove().unwrap();
    assert_eq!(files(&kept.join("files")).len(), 5);
}
