//! Work trees of partial clones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use daemon_repo::{GitProblem, ObjectId, Repository};

use crate::kept_trees::contents;
use crate::scratch::{Scratch, checkout, git};

/// A repository that serves partial clones, and a clone without the content of most files.
struct Clone {
    served: Scratch,
    path: PathBuf,
    commit: ObjectId,
}

impl Clone {
    fn new(options: &[&str]) -> Self {
        let served = Scratch::new();
        served.git(&["config", "uploadpack.allowFilter", "true"]);
        served.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        served
            .write("root", "root\n")
            .write("in/file", "in\n")
            .write("out/file", "out\n")
            .write("out/deep/file", "deep\n");
        let commit = served.commit("first");
        let path = served.next_to("clone");
        let url = format!("file://{}", served.root().display());
        let clone = ["clone", "-q", "--no-checkout"];
        let places = [url.as_str(), path.to_str().unwrap()];
        served.git(&[&clone[..], options, &places].concat());
        Self {
            served,
            path,
            commit,
        }
    }

    fn git(&self, args: &[&str]) -> String {
        let here = ["-C", self.path.to_str().unwrap()];
        self.served.git(&[&here[..], args].concat())
    }

    fn open(&self) -> Repository {
        let repository = Repository::open(&git(), &self.path).unwrap();
        repository.with_store(&self.served.next_to("store"))
    }

    /// Returns the files of a work tree that is made from the clone, and checks that nothing changes there.
    fn check_out(&self, name: &str) -> Vec<String> {
        let before = bytes(&self.path);
        let repository = self.open().with_files(&self.commit).unwrap();
        let dir = self.served.next_to(name);
        let worktree = repository
            .create_worktree(&checkout(&self.commit), &dir)
            .unwrap();
        assert_eq!(bytes(&self.path), before);
        fs::write(dir.join("fresh"), "fresh\n").unwrap();
        let changes = worktree.changes().unwrap();
        let changed: Vec<&str> = changes
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(changed, ["fresh"]);
        fs::remove_file(dir.join("fresh")).unwrap();
        let files = contents(&dir).into_iter();
        let files = files.filter(|(_, content)| content != "directory");
        let files = files.map(|(path, _)| path).collect();
        worktree.remove().unwrap();
        files
    }

    fn n_fetched(&self) -> usize {
        let packs = fs::read_dir(self.served.next_to("store/objects/pack"));
        let packs = packs.into_iter().flatten().flatten();
        packs
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "pack"))
            .count()
    }
}

/// Returns every file of a directory with its bytes.
fn bytes(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut acc = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => drop(acc.insert(path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    acc
}

const ALL: [&str; 4] = ["in/file", "out/deep/file", "out/file", "root"];

#[test]
fn missing_files_are_fetched_into_the_store_once() {
    for options in [["--filter=blob:none"], ["--filter=tree:0"]] {
        let clone = Clone::new(&options);
        assert_eq!(clone.check_out("first"), ALL, "{options:?}");
        assert_eq!(clone.n_fetched(), 1, "{options:?}");
        // The remote is not asked again.
        fs::rename(clone.served.root(), clone.served.next_to("gone")).unwrap();
        let repository = clone.open();
        let repository = repository.with_files(&clone.commit).unwrap();
        let dir = clone.served.next_to("second");
        let made = repository.create_worktree(&checkout(&clone.commit), &dir);
        made.unwrap().remove().unwrap();
    }
}

#[test]
fn files_that_the_patterns_leave_out_are_not_fetched() {
    let clone = Clone::new(&["--filter=blob:none"]);
    clone.git(&["sparse-checkout", "set", "in"]);
    clone.git(&["checkout", "-q", "main"]);
    fs::rename(clone.served.root(), clone.served.next_to("gone")).unwrap();
    let dir = clone.served.next_to("first");
    let repository = clone.open().with_files(&clone.commit).unwrap();
    let worktree = repository
        .create_worktree(&checkout(&clone.commit), &dir)
        .unwrap();
    assert!(dir.join("in/file").exists() && !dir.join("out").exists());
    fs::write(dir.join("in/file"), "changed\n").unwrap();
    let changes = worktree.changes().unwrap();
    let changed: Vec<&str> = changes
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(changed, ["in/file"]);
    assert_eq!(clone.n_fetched(), 0);
}

#[test]
fn an_error_names_a_file_that_cannot_be_had_and_why() {
    let clone = Clone::new(&["--filter=blob:none"]);
    let gone = format!("file://{}", clone.served.next_to("gone").display());
    clone.git(&["remote", "set-url", "origin", &gone]);
    let missing = |repository: Repository| {
        let error = repository.with_files(&clone.commit).unwrap_err();
        match error.problem() {
            GitProblem::MissingFiles {
                n_files, path, why, ..
            } => (*n_files, path.to_string(), why.to_string()),
            other => panic!("{other:?}"),
        }
    };
    let (n_files, path, why) = missing(clone.open());
    assert_eq!((n_files, &*path), (4, "in/file"));
    assert!(
        why.starts_with("they cannot be fetched from `origin`: "),
        "{why}"
    );
    let without_store = Repository::open(&git(), &clone.path).unwrap();
    assert_eq!(
        missing(without_store).2,
        "there is no store to fetch them into"
    );
    clone.git(&["config", "--unset", "remote.origin.promisor"]);
    assert_eq!(missing(clone.open()).2, "it has no promisor remote");
}

#[test]
fn a_repository_that_is_not_partial_is_not_read() {
    let scratch = Scratch::new();
    scratch.write("root", "root\n").commit("first");
    let missing = "1".repeat(40).parse().unwrap();
    let found = scratch.open().with_files(&missing).unwrap();
    assert_eq!(found.common_dir(), scratch.open().common_dir());
}
