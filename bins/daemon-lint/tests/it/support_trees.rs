//! Diagnostics of support trees on disk: limits, links and directories that cannot be listed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::world::{CLEAN, World};

const DAEMON: &str = ".agents/daemons/tidy";

/// Returns the code and message of each diagnostic of the daemon.
fn found(world: &World) -> Vec<String> {
    let report = world.run(&["--json"]).json();
    let found = report["files"][0]["diagnostics"].as_array();
    let found = found.expect("a list of diagnostics").iter();
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    found
        .map(|found| format!("{} {}", text(&found["code"]), text(&found["message"])))
        .collect()
}

fn write(world: &World, path: &str, bytes: &[u8]) {
    world.write(&format!("{DAEMON}/{path}"), bytes);
}

/// Creates a link in the daemon's directory.
fn link(world: &World, target: &str, path: &str) {
    let path = world.root().join(DAEMON).join(path);
    fs::create_dir_all(path.parent().expect("a link has a directory"))
        .expect("room for a directory");
    symlink(target, path).expect("room for a link");
}

#[test]
fn every_depth_above_the_limit_is_reported_once() {
    for n_directories in [1, 7, 8, 9, 10, 20, 200] {
        let world = World::of_daemon(CLEAN);
        let above: String = (1..n_directories).map(|n| format!("{n}/")).collect();
        let paths = ["a.md", "b.md"].map(|name| format!("references/{above}{name}"));
        for path in &paths {
            write(&world, path, b"x");
        }
        let expected = format!("D504 `{}` is more than 8 directories deep", paths[0]);
        let expected = Vec::from_iter((n_directories > 8).then_some(expected));
        assert_eq!(found(&world), expected, "{n_directories}");
    }
}

#[test]
fn files_beside_the_support_tree_do_not_hide_it() {
    let world = World::of_daemon(CLEAN);
    for n in 0..1_000 {
        write(&world, &format!("vendor/{n}/x.md"), b"x");
    }
    for n in 0..300 {
        write(&world, &format!("a{n}.md"), b"x");
    }
    for n in 0..=200 {
        write(&world, &format!("references/{n}.md"), b"x");
    }
    let found = found(&world);
    assert_eq!(
        found.last().map(String::as_str),
        Some("D504 the support tree has 201 files, more than 200")
    );
}

#[test]
fn each_limit_is_reported_also_if_another_is_exceeded_first() {
    let world = World::of_daemon(CLEAN);
    for n in 0..1_500 {
        write(&world, &format!("references/{n}.md"), b"x");
    }
    for n in 0..1_000 {
        let empty = world.root().join(DAEMON).join(format!("scripts/{n}"));
        fs::create_dir_all(empty).expect("room for a directory");
    }
    write(&world, "references/z/1/2/3/4/5/6/7/8/9/deep.md", b"x");
    write(&world, "references/zz.csv", &[b'x'; 1024 * 1024 + 1]);
    link(&world, "..", "references/loop");
    assert_eq!(
        found(&world),
        [
            "D500 `references/loop` is a symbolic link that is not followed",
            "D504 `references/zz.csv` has 1048577 bytes, more than 1 MiB",
            "D504 the support tree has 1502 files, more than 200",
            "D504 `references/z/1/2/3/4/5/6/7/8/9/deep.md` is more than 8 directories deep",
        ]
    );
}

#[test]
fn a_listing_that_ends_early_is_reported() {
    let world = World::of_daemon(CLEAN);
    let references = world.root().join(DAEMON).join("references");
    fs::create_dir(&references).expect("room for a directory");
    for n in 0..20_001 {
        fs::write(references.join(format!("{n}.md")), "").expect("room for a file");
    }
    let found = found(&world);
    assert_eq!(
        found.last().map(String::as_str),
        Some("D504 `references` has entries that were not listed")
    );
}

#[test]
fn a_path_that_is_too_long_for_the_system_is_reported() {
    let world = World::of_daemon(CLEAN);
    let long = format!("{}/", "n".repeat(250)).repeat(9);
    write(&world, &format!("references/{long}a/x"), b"x");
    let below = world.root().join("below");
    world.write(&format!("below/{long}x"), b"x");
    let references = world.root().join(DAEMON).join("references");
    fs::remove_dir_all(references.join(&long).join("a")).expect("the file is removed");
    fs::rename(below, references.join(&long).join("b")).expect("the directory is moved");
    let found = found(&world);
    let [found] = found.as_slice() else {
        panic!("one diagnostic: {found:?}");
    };
    assert!(found.starts_with("D504 `references/nnn"), "{found}");
    assert!(
        found.ends_with("` has entries that were not listed"),
        "{found}"
    );
}

#[test]
fn a_directory_that_cannot_be_listed_is_reported() {
    let world = World::of_daemon(CLEAN);
    write(&world, "references/private/x.md", b"x");
    let private = world.root().join(DAEMON).join("references/private");
    let set_mode = |mode| fs::set_permissions(&private, fs::Permissions::from_mode(mode));
    set_mode(0o000).expect("a mode is set");
    // The superuser can list every directory.
    let is_listed = fs::read_dir(&private).is_ok();
    let found = found(&world);
    set_mode(0o755).expect("a mode is set");
    let expected = "D504 `references/private` has entries that were not listed";
    let expected = Vec::from_iter((!is_listed).then(|| expected.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_link_within_the_repository_is_followed_wherever_it_is() {
    let rows: [(&str, &str, Option<&str>); 10] = [
        ("../../../docs", "references", None),
        ("../DAEMON.md", "scripts/l", None),
        ("../../../../docs", "references/docs", None),
        ("../../../../docs/a.md", "references/a.md", None),
        (".", "references", Some("references")),
        ("..", "scripts/l", Some("scripts/l")),
        ("nothing", "references", Some("references")),
        ("/etc", "references", Some("references")),
        ("/etc/hosts", "scripts/l", Some("scripts/l")),
        ("../../../../outside", "references", Some("references")),
    ];
    for (target, path, reported) in rows {
        let world = World::of_daemon(CLEAN);
        world.write("docs/a.md", b"x");
        link(&world, target, path);
        let message = |path| format!("D500 `{path}` is a symbolic link that is not followed");
        assert_eq!(
            found(&world),
            Vec::from_iter(reported.map(message)),
            "{path} -> {target}"
        );
    }
}

#[test]
fn a_link_to_a_large_directory_of_the_repository_counts_as_its_files() {
    let world = World::of_daemon(CLEAN);
    for n in 0..201 {
        world.write(&format!("docs/{n}.md"), b"x");
    }
    link(&world, "../../../docs", "references");
    assert_eq!(
        found(&world),
        ["D504 the support tree has 201 files, more than 200"]
    );
}
