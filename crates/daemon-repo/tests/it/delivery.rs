use daemon_repo::{BranchDoubt, BranchStatus, GitProblem, Remote};

use crate::scratch::Scratch;
use crate::worktrees::{mark, marked};

/// Delivers a branch under a configuration of `origin`, and reads it back.
fn delivers(configure: &[&[&str]]) {
    let scratch = Scratch::new();
    let (repository, commit) = marked(&scratch);
    let [fetched, pushed] = ["remote.git", "pushed.git"].map(|name| scratch.next_to(name));
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
        BranchDoubt::None,
        "{configure:?}"
    );
    let (branch, output) = (mark().branch(), mark().output);
    let branch_status = || repository.branch_status(&remote, &branch, &output).unwrap();
    assert_eq!(branch_status(), BranchStatus::Absent, "{configure:?}");
    repository.create_branch(&remote, &branch, &commit).unwrap();
    assert_eq!(
        branch_status(),
        BranchStatus::Ours(commit.clone()),
        "{configure:?}"
    );
    let error = repository
        .create_branch(&remote, &branch, &scratch.head())
        .unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::BranchTaken { .. }),
        "{error:?}"
    );
}

#[test]
fn a_branch_is_delivered_under_any_configuration_of_the_remote() {
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
fn obstacles_to_a_delivery_are_found_in_advance() {
    let scratch = Scratch::new();
    let (repository, _) = marked(&scratch);
    let examine = |remote: &str| repository.examine_delivery(&remote.parse().unwrap());
    assert_eq!(examine(".").unwrap(), BranchDoubt::None);
    let error = examine("nowhere").unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::Failed { .. }),
        "{error:?}"
    );
    scratch.git(&["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    assert_eq!(
        examine(".").unwrap(),
        BranchDoubt::MirrorOf("origin".to_owned())
    );
    // No branch can be below another one.
    scratch.git(&["branch", "daemon"]);
    let error = examine(".").unwrap_err();
    assert!(
        matches!(error.problem(), GitProblem::BranchTaken { .. }),
        "{error:?}"
    );
}
