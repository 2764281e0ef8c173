//! The registry depends on the tree only, not on its history.

use std::collections::BTreeMap;
use std::fs;

use daemon_repo::{
    DaemonContent, DirectoryState, DirectoryStates, Discovery, FileValidity, LifecycleKind,
    TreePath, discover_working_tree, lifecycle,
};
use proptest::prelude::*;

use crate::scratch::Scratch;

#[derive(Clone, Debug)]
enum Action {
    Write { dir: u8, content: u8 },
    Script { dir: u8, content: u8 },
    Delete { dir: u8 },
    Rename { from: u8, to: u8 },
    ForceBack { commits: u8 },
    Revert,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0u8..4, 0u8..4).prop_map(|(dir, content)| Action::Write { dir, content }),
        2 => (0u8..4, 0u8..4).prop_map(|(dir, content)| Action::Script { dir, content }),
        2 => (0u8..4).prop_map(|dir| Action::Delete { dir }),
        2 => (0u8..4, 0u8..4).prop_map(|(from, to)| Action::Rename { from, to }),
        1 => (1u8..3).prop_map(|commits| Action::ForceBack { commits }),
        1 => Just(Action::Revert),
    ]
}

fn dir(scratch: &Scratch, number: u8) -> std::path::PathBuf {
    scratch.root().join(format!(".agents/daemons/d{number}"))
}

fn act(scratch: &Scratch, action: &Action) {
    match *action {
        Action::Write { dir, content } => {
            scratch.write(
                &format!(".agents/daemons/d{dir}/DAEMON.md"),
                &format!("text {content}"),
            );
        }
        Action::Script { dir, content } => {
            scratch.executable(
                &format!(".agents/daemons/d{dir}/scripts/run"),
                &format!("#!/bin/sh\n{content}"),
            );
        }
        Action::Delete { dir: number } => drop(fs::remove_dir_all(dir(scratch, number))),
        Action::Rename { from, to } if from != to && dir(scratch, from).exists() => {
            drop(fs::remove_dir_all(dir(scratch, to)));
            fs::rename(dir(scratch, from), dir(scratch, to)).unwrap();
        }
        Action::Rename { .. } => {}
        Action::ForceBack { commits } => {
            scratch.commit("kept aside");
            let n_commits: u8 = scratch
                .git(&["rev-list", "--count", "HEAD"])
                .parse()
                .unwrap();
            let back = commits.min(n_commits - 1);
            scratch.git(&["reset", "-q", "--hard", &format!("HEAD~{back}")]);
        }
        Action::Revert => {
            scratch.commit("to be reverted");
            if scratch.git(&["rev-list", "--count", "HEAD"]) != "1" {
                let parent = scratch.git(&["rev-parse", "HEAD~1^{tree}"]);
                scratch.git(&["read-tree", "-u", "--reset", &parent]);
            }
        }
    }
}

/// Validates as this test does: content that ends with an even digit is valid.
fn registry(found: &Discovery) -> DirectoryStates {
    let register = |daemon: &daemon_repo::DaemonSource| {
        let DaemonContent::Text(text) = &daemon.content else {
            panic!("{daemon:?}")
        };
        let is_even = text.last().is_some_and(|digit| digit % 2 == 0);
        let validity = if is_even {
            FileValidity::Valid
        } else {
            FileValidity::Invalid
        };
        (
            daemon.dir.clone(),
            DirectoryState {
                rev: daemon.rev.clone(),
                validity,
            },
        )
    };
    found.daemons.iter().map(register).collect()
}

/// Applies the listed differences; everything else must be equal.
fn apply(
    registry: &DirectoryStates,
    changes: &BTreeMap<TreePath, LifecycleKind>,
    after: &DirectoryStates,
) -> DirectoryStates {
    let mut acc = registry.clone();
    for (dir, kind) in changes {
        match kind {
            LifecycleKind::Removed => acc.remove(dir),
            _ => acc.insert(dir.clone(), after[dir].clone()),
        };
    }
    acc
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn after_each_commit_the_registry_equals_the_tree(actions in prop::collection::vec(action(), 1..10)) {
        let scratch = Scratch::new();
        scratch.commit("first");
        let repository = scratch.open();
        let mut told = DirectoryStates::new();
        for action in &actions {
            act(&scratch, action);
            let commit = scratch.commit("next");
            let found = repository.discover(&commit).unwrap();
            prop_assert_eq!(&found, &discover_working_tree(scratch.root(), repository.format()).unwrap());
            let now = registry(&found);
            let changes: BTreeMap<_, _> =
                lifecycle(&told, &now).into_iter().map(|change| (change.dir, change.kind)).collect();
            told = apply(&told, &changes, &now);
            prop_assert_eq!(&told, &now);
        }
    }
}
