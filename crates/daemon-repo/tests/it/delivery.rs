use daemon_repo::{Doubt, Problem, Remote, Standing};

use crate::scratch::Scratch;
use crate::worktrees::{mark, marked};

/// Delivers a branch under a configuration of `origin`, and reads it back.
fn delivers(configure: &[&[&str]]) {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let [fetched, pushed] = ["remote.git", "pushed.git"].map(|name| scratch.beside(name));
    scratch.git(&["init", "-q", "--bare", pushed.to_str().unwrap()]);
    for remote in [&fetched, &pushed] {
        scratch.git(&["push", "-q", remote.to_str().unwrap(), "main"]);
    }
    scratch.git(&["remote", "add", "origin", fetched.to_str().unwrap()]);
    for args in configure {
        let args: Vec<String> = args
            .iter()
            .map(|arg| arg.replace("PUSHED", pushed.to_str().unwrap()))
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        scratch.git(&[&["config"], args.as_slice()].concat());
    }
    let remote: Remote = "origin".parse().unwrap();
    assert_eq!(
        repository.examine_delivery(&remote).unwrap(),
        Doubt::None,
        "{configure:?}"
    );
    let (branch, output) = (mark().branch(), mark().output);
    let standing = || repository.standing(&remote, &branch, &output).unwrap();
    assert_eq!(standing(), Standing::Absent, "{configure:?}");
    repository.create_branch(&remote, &branch, &commit).unwrap();
    assert_eq!(standing(), Standing::Ours(commit.clone()), "{configure:?}");
    let error = repository
        .create_branch(&remote, &branch, &scratch.head())
        .unwrap_err();
    assert!(
        matches!(error.problem(), Problem::BranchTaken { .. }),
        "{error:?}"
    );
}

#[test]
fn a_branch_is_delivered_whatever_is_configured_for_the_remote() {
    let mirror: &[&str] = &["remote.origin.mirror", "true"];
    let all: &[&str] = &["remote.origin.fetch", "+refs/*:refs/*"];
    delivers(&[]);
    delivers(&[mirror, all]);
    delivers(&[all]);
    delivers(&[&["remote.origin.pushurl", "PUSHED"]]);
    delivers(&[&["remote.origin.push", "refs/heads/*:refs/heads/x/*"]]);
    delivers(&[&["push.default", "nothing"], &["push.followTags", "true"]]);
    delivers(&[
        &["remote.pushDefault", "nowhere"],
        &["branch.main.pushRemote", "nowhere"],
    ]);
}

#[test]
fn what_would_not_be_delivered_is_known_before() {
    let scratch = Scratch::new();
    let (repository, _) = marked(&scratch);
    let examine = |remote: &str| repository.examine_delivery(&remote.parse().unwrap());
    assert_eq!(examine(".").unwrap(), Doubt::None);
    let error = examine("nowhere").unwrap_err();
    assert!(
        matches!(error.problem(), Problem::Failed { .. }),
        "{error:?}"
    );
    scratch.git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    assert_eq!(examine(".").unwrap(), Doubt::MirrorOf("origin".to_owned()));
    // No branch can lie in another.
    scratch.git(&["branch", "daemon"]);
    let error = examine(".").unwrap_err();
    assert!(
        matches!(error.problem(), Problem::BranchTaken { .. }),
        "{error:?}"
    );
}
