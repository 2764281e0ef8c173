//! The repository of a caller: its uncommitted changes, and what in it refers to other places.

use std::fs;
use std::path::{Path, PathBuf};

use daemon_repo::{GitProblem, RefName, Repository};

use crate::scratch::{Scratch, git};

#[test]
fn uncommitted_changes_of_the_opened_work_tree_are_listed_and_its_index_stays() {
    let scratch = Scratch::new();
    let unborn = scratch.open();
    let problem = unborn.head_commit().unwrap_err();
    assert!(matches!(problem.problem(), GitProblem::Unborn), "{problem}");
    let first = scratch
        .write("a.md", "1\n")
        .write("b.md", "1\n")
        .commit("first");
    let linked = scratch.next_to("linked");
    scratch.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "other",
        linked.to_str().unwrap(),
    ]);
    let second = scratch.write("c.md", "1\n").commit("second");
    let main = scratch.open();
    let aside = scratch.next_to("aside");
    let uncommitted = |repository: &Repository| {
        let commit = repository.head_commit().unwrap();
        let listed = repository.uncommitted(&commit, &aside).unwrap();
        assert!(!aside.exists());
        (commit, listed)
    };
    assert_eq!(uncommitted(&main), (second, vec![]));
    scratch
        .write("a.md", "2\n")
        .write("new/d.md", "1\n")
        .remove("b.md");
    scratch.git(&["add", "a.md"]);
    scratch.write("c.md", "1\n");
    let index = fs::read(scratch.root().join(".git/index")).unwrap();
    assert_eq!(uncommitted(&main).1, ["a.md", "b.md", "new/"]);
    assert_eq!(fs::read(scratch.root().join(".git/index")).unwrap(), index);
    let other = Repository::open(&git(), &linked).unwrap();
    assert_eq!(uncommitted(&other), (first, vec![]));
    assert_eq!(
        other.head_branch().unwrap(),
        Some(RefName::branch("other").unwrap())
    );
}

#[test]
fn listing_uncommitted_changes_executes_nothing_that_the_repository_names() {
    let scratch = Scratch::new();
    let commit = scratch.write("a.md", "1\n").commit("first");
    let executed = scratch.next_to("executed");
    let filter = format!("touch '{}'; cat", executed.display());
    scratch.git(&["config", "filter.f.clean", &filter]);
    scratch.git(&["config", "core.splitIndex", "true"]);
    scratch.write(".git/info/attributes", "* filter=f\n");
    scratch.git(&["update-index", "--split-index"]);
    fs::remove_file(&executed).unwrap_or_default();
    // As long as before, so that git has to compare the content.
    scratch.write("a.md", "2\n");
    let aside = scratch.next_to("aside");
    let listed = scratch.open().uncommitted(&commit, &aside).unwrap();
    assert_eq!(
        (listed, executed.exists()),
        (vec!["a.md".to_owned()], false)
    );
}

/// Reports whether the repository that encloses `path` is contained, or what refers to another place.
fn contained(path: &Path) -> Result<(), PathBuf> {
    let repository = Repository::enclosing(&git(), path).unwrap();
    match repository.check_contained(path) {
        Ok(()) => Ok(()),
        Err(error) => match error.problem() {
            GitProblem::Foreign { path, .. } => Err(path.clone()),
            _ => panic!("{error}"),
        },
    }
}

#[test]
fn usual_repositories_refer_to_nothing_elsewhere() {
    let scratch = Scratch::new();
    scratch.write("docs/a.md", "1\n").commit("first");
    let path = |name: &str| scratch.next_to(name).to_str().unwrap().to_owned();
    scratch.git(&["worktree", "add", "-q", "--detach", &path("linked")]);
    scratch.git(&["clone", "-q", "--bare", ".", &path("bare.git")]);
    let source = scratch.root().to_str().unwrap();
    let allow = ["-c", "protocol.file.allow=always"];
    scratch.git(&[&allow[..], &["submodule", "--quiet", "add", source, "sub"]].concat());
    for path in [
        scratch.root().to_owned(),
        scratch.root().join("docs"),
        scratch.root().join("sub/docs"),
        scratch.next_to("linked/docs"),
        scratch.next_to("bare.git"),
    ] {
        assert_eq!(contained(&path), Ok(()), "{}", path.display());
    }
}

/// Changes a git directory so that it refers to another one.
type Change<'a> = &'a dyn Fn(&Path, &Path);

#[test]
fn a_repository_that_refers_to_files_elsewhere_is_named() {
    let other = Scratch::new();
    other.write("secret", "1\n").commit("first");
    let theirs = other.root().join(".git").canonicalize().unwrap();
    let link = |git: &Path, name: &str, to: &Path| {
        let path = git.join(name);
        match path.is_dir() {
            true => fs::rename(&path, git.join("moved")).unwrap(),
            false => fs::remove_file(&path).unwrap_or_default(),
        }
        std::os::unix::fs::symlink(to, path).unwrap();
    };
    let changes: [(&str, Change<'_>); 7] = [
        ("objects", &|git, to| {
            link(git, "objects", &to.join("objects"));
        }),
        ("info/exclude", &|git, to| {
            link(git, "info/exclude", &to.join("HEAD"));
        }),
        ("shallow", &|git, to| {
            link(git, "shallow", &to.join("HEAD"));
        }),
        ("packed-refs", &|git, _| {
            let pipe = git.join("packed-refs");
            rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
        }),
        ("objects/info/alternates", &|git, to| {
            let line = format!("{}\n", to.join("objects").display());
            fs::write(git.join("objects/info/alternates"), line).unwrap();
        }),
        ("commondir", &|git, to| {
            fs::write(git.join("commondir"), format!("{}\n", to.display())).unwrap();
        }),
        ("gitdir", &|git, to| {
            fs::rename(git, git.with_file_name("away")).unwrap();
            fs::write(git, format!("gitdir: {}\n", to.display())).unwrap();
        }),
    ];
    for (name, change) in changes {
        let scratch = Scratch::new();
        scratch.write("a.md", "1\n").commit("first");
        let own = scratch.root().join(".git").canonicalize().unwrap();
        assert_eq!(contained(scratch.root()), Ok(()));
        change(&own, &theirs);
        let named = match name {
            "commondir" => own,
            "gitdir" => theirs.clone(),
            name => own.join(name),
        };
        assert_eq!(contained(scratch.root()), Err(named), "{name}");
    }
}
