//! Links of a support tree: the linter refuses those that the host refuses, however many links are on the way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::world::World;

/// The way from `references/` to the repository.
const UP: &str = "../../../..";

/// A link, the target of which may begin with `UP` or `ROOT`, and whether it is refused.
const LINKS: [(&str, &str, bool); 17] = [
    ("inside", "own.md", false),
    ("inside-inside", "inside", false),
    ("far-inside", "UP/docs/inside.md", false),
    ("through-directory", "UP/docs/directory/deep.md", false),
    (
        "up-from-directory",
        "UP/docs/directory/../real/deep.md",
        false,
    ),
    ("directory", "UP/docs/real", false),
    ("directory-of-directory", "UP/docs/directory", false),
    ("outside", "/etc/passwd", true),
    ("inside-outside", "UP/docs/outside.md", true),
    ("outside-inside", "UP/docs/there-and-back.md", true),
    ("inside-absolute", "UP/docs/absolute.md", true),
    ("absolute", "ROOT/docs/style.md", true),
    ("git", "UP/docs/git.md", true),
    ("dangling", "UP/docs/nothing.md", true),
    ("loop", "loop-back", true),
    ("loop-back", "loop", true),
    ("holder", "..", true),
];
/// Links outside of the support tree.
const MORE: [(&str, &str); 7] = [
    ("docs/inside.md", "style.md"),
    ("docs/directory", "real"),
    ("docs/outside.md", "/etc/passwd"),
    ("docs/there-and-back.md", "../../back"),
    ("docs/absolute.md", "ROOT/docs/style.md"),
    ("docs/git.md", "../.git/config"),
    ("docs/nothing.md", "gone.md"),
];
/// The length of the chain of links, one more than is followed.
const N_CHAIN: usize = 50;
const MAX_HOPS: usize = 40;

/// Returns the paths that are refused as no part of a support tree.
fn refused(diagnostics: &Value) -> BTreeSet<String> {
    let found = diagnostics.as_array().expect("a list").iter();
    let found = found.filter(|found| found["code"] == "D500");
    let path = |found: &Value| {
        let message = found["message"].as_str().expect("a message");
        message.split('`').nth(1).expect("a path").to_owned()
    };
    found.map(path).collect()
}

#[test]
fn the_linter_and_the_host_refuse_the_same_chains_of_links() {
    let world = World::pushed();
    let references = world.repo.join(".agents/daemons/pusher/references");
    let root = world.repo.display().to_string();
    let outside = world.beside("back");
    symlink(world.repo.join("docs/style.md"), &outside).expect("a link");
    let up = |target: &str| target.replace("UP", UP).replace("ROOT", &root);
    world.write("docs/style.md", "house style\n");
    world.write("docs/real/deep.md", "deep\n");
    world.write(".agents/daemons/pusher/references/own.md", "own\n");
    for (name, target) in MORE {
        symlink(up(target), world.repo.join(name)).expect("a link");
    }
    let mut expected = BTreeSet::new();
    for (name, target, is_refused) in LINKS {
        symlink(up(target), references.join(name)).expect("a link");
        if is_refused {
            expected.insert(format!("references/{name}"));
        }
    }
    for n in 0..N_CHAIN {
        let target = match n {
            0 => "own.md".to_owned(),
            n => format!("chain-{}", n - 1),
        };
        symlink(target, references.join(format!("chain-{n}"))).expect("a link");
        if n >= MAX_HOPS {
            expected.insert(format!("references/chain-{n}"));
        }
    }
    assert!(fs::read(world.repo.join("docs/there-and-back.md")).is_ok());
    world.commit("link them");
    let file = ".agents/daemons/pusher/DAEMON.md";
    let linted = world.run(&[
        "lint",
        "--json",
        &world.repo.join(file).display().to_string(),
    ]);
    let linted: Value = serde_json::from_slice(&linted.stdout).expect("it prints one object");
    let linted = refused(&linted["files"][0]["diagnostics"]);
    let host = world.serve();
    let hosted = refused(&host.get("daemons/pusher")["daemon"]["diagnostics"]);
    assert_eq!(hosted, expected, "the host");
    assert_eq!(linted, expected, "the linter");
}
