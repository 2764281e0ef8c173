use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use daemon_repo::{GitProblem, ObjectId, RefName, Repository};

use crate::scratch::{Scratch, git};

fn name_of(repository: &Repository) -> &str {
    repository.name().as_str()
}

#[test]
fn a_work_tree_a_bare_repository_and_a_linked_work_tree_are_the_same_repository() {
    let scratch = Scratch::new();
    let commit = scratch.commit("first");
    let (linked, bare) = (scratch.next_to("linked"), scratch.next_to("bare.git"));
    scratch.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        linked.to_str().unwrap(),
    ]);
    scratch.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);

    for (path, work_tree, name) in [
        (scratch.root(), Some(scratch.root()), "widgets"),
        (&linked, Some(linked.as_path()), "widgets"),
        (&bare, None, "bare"),
    ] {
        let repository = Repository::open(&git(), path).unwrap();
        let refs = repository.refs().unwrap();
        let main = repository.default_branch(&refs).unwrap();
        assert_eq!(
            (
                repository.work_tree(),
                name_of(&repository),
                refs.get(&main)
            ),
            (work_tree, name, Some(&commit))
        );
    }
}

#[test]
fn the_name_is_from_the_url_of_origin_unless_configured() {
    let scratch = Scratch::new();
    scratch.git(&["remote", "add", "origin", "git@github.com:acme/widgets.git"]);
    assert_eq!(name_of(&scratch.open()), "acme/widgets");
    assert_eq!(
        name_of(&scratch.open().named("other".parse().unwrap())),
        "other"
    );
}

#[test]
fn a_path_that_is_not_a_repository_is_rejected_with_the_reason() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.root().join("inside")).unwrap();
    fs::write(scratch.next_to("file"), "x").unwrap();
    fs::create_dir(scratch.next_to("plain")).unwrap();
    let problem = |path: &Path| match Repository::open(&git(), path).unwrap_err().problem() {
        GitProblem::Unreadable { .. } => "unreadable",
        GitProblem::NotARepository => "not a repository",
        other => panic!("{other:?}"),
    };
    assert_eq!(problem(&scratch.next_to("absent")), "unreadable");
    assert_eq!(problem("-x".as_ref()), "unreadable");
    assert_eq!(problem(&scratch.next_to("file")), "not a repository");
    assert_eq!(problem(&scratch.next_to("plain")), "not a repository");
    assert_eq!(problem(&scratch.root().join("inside")), "not a repository");
    let enclosing = Repository::enclosing(&git(), &scratch.root().join("inside")).unwrap();
    assert_eq!(enclosing.work_tree(), Some(scratch.root()));
}

#[test]
fn a_repository_without_commits_is_reported_as_unborn() {
    let scratch = Scratch::new();
    let repository = scratch.open();
    let error = repository
        .default_branch(&repository.refs().unwrap())
        .unwrap_err();
    assert!(matches!(error.problem(), GitProblem::Unborn), "{error:?}");
}

#[test]
fn the_default_branch_is_that_of_origin_then_main_then_master_then_head() {
    let scratch = Scratch::with(&["init", "-q", "-b", "work"]);
    let commit = scratch.commit("first").to_string();
    let default = || {
        let repository = scratch.open();
        let refs = repository.refs().unwrap();
        repository
            .default_branch(&refs)
            .map(|name| name.short().to_owned())
            .map_err(|error| match error.problem() {
                GitProblem::MissingRef { name } => name.to_string(),
                other => panic!("{other:?}"),
            })
    };
    assert_eq!(default(), Ok("work".to_owned()));
    scratch.git(&["branch", "master"]);
    assert_eq!(default(), Ok("master".to_owned()));
    scratch.git(&["branch", "main"]);
    assert_eq!(default(), Ok("main".to_owned()));
    scratch.git(&["update-ref", "refs/remotes/origin/trunk", &commit]);
    scratch.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/trunk",
    ]);
    assert_eq!(default(), Err("refs/heads/trunk".to_owned()));
    scratch.git(&["branch", "trunk"]);
    assert_eq!(default(), Ok("trunk".to_owned()));
}

#[test]
fn a_detached_head_is_not_a_default_branch() {
    let scratch = Scratch::with(&["init", "-q", "-b", "work"]);
    scratch.commit("first");
    scratch.git(&["checkout", "-q", "--detach"]);
    let repository = scratch.open();
    let error = repository
        .default_branch(&repository.refs().unwrap())
        .unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::MissingRef { name } if **name == *"HEAD"),
        "{error:?}"
    );
}

#[test]
fn a_named_ref_is_looked_up_and_never_becomes_an_option() {
    let scratch = Scratch::new();
    let commit = scratch.commit("first");
    for name in ["refs/heads/-oProxy", "refs/heads/$(id)", "refs/tags/v1"] {
        scratch.git(&["update-ref", name, commit.as_str()]);
    }
    scratch.git(&["tag", "-a", "-m", "annotated", "v2"]);
    let repository = scratch.open();
    let refs = repository.refs().unwrap();
    let find = |name: &str| {
        repository
            .find_ref(name, &refs)
            .map(|found| found.to_string())
            .ok()
    };
    for (name, full) in [
        ("-oProxy", Some("refs/heads/-oProxy")),
        ("$(id)", Some("refs/heads/$(id)")),
        ("v1", Some("refs/tags/v1")),
        ("refs/heads/main", Some("refs/heads/main")),
        ("absent", None),
        ("--help", None),
        ("main\nx", None),
        ("HEAD", None),
    ] {
        assert_eq!(find(name).as_deref(), full, "{name}");
    }
    let annotated: RefName = "refs/tags/v2".parse().unwrap();
    let tag = refs.get(&annotated).unwrap();
    assert_eq!(
        (tag == &commit, repository.commit_of(tag).unwrap()),
        (false, commit.clone())
    );
    assert!(repository.has_commit(&commit).unwrap());
    assert!(
        !repository
            .has_commit(&"12".repeat(20).parse().unwrap())
            .unwrap()
    );
    let invented = (1..=300_u32).map(|n| format!("{n:040x}").parse().unwrap());
    let tree = scratch.git(&["rev-parse", "HEAD^{tree}"]);
    let asked: BTreeSet<ObjectId> = invented
        .chain([commit.clone(), tag.clone(), tree.trim().parse().unwrap()])
        .collect();
    assert_eq!(
        repository.commits_among(&asked).unwrap(),
        BTreeSet::from([commit, tag.clone()]),
        "a tag leads to its commit, as it does elsewhere"
    );
    assert_eq!(
        repository.commits_among(&BTreeSet::new()).unwrap(),
        BTreeSet::new()
    );
}

#[test]
fn hooks_and_settings_of_the_repository_start_no_program() {
    let scratch = Scratch::new();
    scratch
        .write(".agents/daemons/a/DAEMON.md", "a")
        .write(".gitattributes", "* filter=evil diff=evil\n");
    let commit = scratch.commit("first");
    let (script, proof) = (scratch.next_to("evil"), scratch.next_to("proof"));
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}\ncat\n", proof.display()),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.external",
        "diff.evil.command",
        "core.pager",
        "core.sshCommand",
        "core.askPass",
        "core.editor",
        "gpg.program",
    ] {
        scratch.git(&["config", key, script]);
    }
    let repository = scratch.open();
    let refs = repository.refs().unwrap();
    repository.default_branch(&refs).unwrap();
    assert_eq!(repository.discover(&commit).unwrap().daemons.len(), 1);
    assert!(!proof.exists());
}

#[test]
fn refs_equal_those_that_git_lists_in_every_storage_format() {
    let scratch = Scratch::new();
    let agrees = |what: &str| {
        let refs = scratch.open().refs().unwrap();
        let ours: Vec<_> = refs
            .iter()
            .map(|(name, at)| format!("{at} {name}"))
            .collect();
        let listed = scratch.git(&[
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/heads",
            "refs/tags",
        ]);
        assert_eq!(ours, listed.lines().collect::<Vec<_>>(), "{what}");
        (ours.len(), refs.origin_head().map(ToString::to_string))
    };
    assert_eq!(agrees("none"), (0, None));
    let first = scratch.commit("first");
    scratch.git(&["tag", "-a", "-m", "annotated", "v1"]);
    scratch.git(&["branch", "deep/er/branch"]);
    assert_eq!(agrees("loose"), (3, None));
    scratch.git(&["pack-refs", "--all"]);
    assert_eq!(agrees("packed"), (3, None));
    scratch.commit("second");
    scratch.git(&["tag", "-d", "v1"]);
    scratch.git(&["update-ref", "refs/remotes/origin/trunk", first.as_str()]);
    scratch.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/trunk",
    ]);
    scratch.write(".git/refs/heads/being-written.lock", "");
    assert_eq!(
        agrees("loose over packed"),
        (2, Some("refs/heads/trunk".to_owned()))
    );
    scratch.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    assert_eq!(agrees("symbolic"), (3, Some("refs/heads/trunk".to_owned())));
}

#[test]
fn the_path_of_a_repository_need_not_be_utf8() {
    let scratch = Scratch::new();
    let commit = scratch
        .write(".agents/daemons/a/DAEMON.md", "a")
        .commit("first");
    let odd = scratch
        .root()
        .with_file_name(OsStr::from_bytes(b"odd \xff name"));
    fs::rename(scratch.root(), &odd).unwrap();
    let repository = Repository::open(&git(), &odd).unwrap();
    assert_eq!(
        (repository.work_tree(), name_of(&repository)),
        (Some(odd.as_path()), "odd \u{fffd} name")
    );
    assert_eq!(repository.discover(&commit).unwrap().daemons.len(), 1);
}
