//! The corpus of good and bad daemon files.

use std::fs;
use std::path::PathBuf;

use daemon_spec::parse;

use crate::world::World;

const PATH: &str = ".agents/daemons/sample/DAEMON.md";

fn fixtures(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(name)
}

/// Returns the bad files, each with the code in its name.
fn bad_files() -> Vec<(String, Vec<u8>)> {
    let mut acc: Vec<_> = fs::read_dir(fixtures("daemons-bad"))
        .expect("the fixtures are there")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let code = path.file_name().expect("a name").to_string_lossy()[..4].to_owned();
            (code, fs::read(path).expect("a readable fixture"))
        })
        .collect();
    acc.sort();
    acc
}

fn world_with(bytes: &[u8]) -> World {
    let world = World::new("");
    world.write(PATH, bytes);
    world
}

#[test]
fn the_good_repository_has_no_errors() {
    let world = World::new("");
    let root = fixtures("daemons");
    let report = world.run(&["--json", root.to_str().unwrap()]).json();
    let summary = &report["summary"];
    assert_eq!(
        (&report["ok"], &summary["errors"]),
        (&true.into(), &0.into()),
        "{report:#}"
    );
    assert!(summary["files"].as_u64() >= Some(18), "{summary}");
    assert_eq!(summary["files"], summary["daemons"]);
}

#[test]
fn every_bad_file_has_the_code_in_its_name() {
    for (code, bytes) in bad_files() {
        let findings = world_with(&bytes).run(&["--json"]).findings();
        let expected = format!("{PATH} {code} ");
        assert!(
            findings.iter().any(|found| found.starts_with(&expected)),
            "{code}: {findings:?}"
        );
    }
}

#[test]
fn fixing_terminates_keeps_the_words_and_changes_nothing_the_second_time() {
    for (code, bytes) in bad_files() {
        let world = world_with(&bytes);
        let first = world.run(&["--fix", "--json"]).json();
        assert_eq!(
            first["summary"]["fixable"], 0,
            "{code}: what has a fix is mended"
        );
        let once = fs::read(world.root().join(PATH)).unwrap();
        let second = world.run(&["--fix", "--json"]).json();
        assert_eq!(
            (&second["summary"]["fixed"], &second["files"]),
            (&0.into(), &first["files"]),
            "{code}"
        );
        assert_eq!(fs::read(world.root().join(PATH)).unwrap(), once, "{code}");
        let visible = |bytes: &[u8]| -> String {
            let file = parse(bytes.to_vec()).file;
            file.body_text().chars().filter(char::is_ascii).collect()
        };
        // If the body was part of the front matter by mistake, it has no words to compare.
        if !visible(&bytes).is_empty() {
            assert_eq!(
                visible(&once),
                visible(&bytes),
                "{code}: the body's words stay"
            );
        }
    }
}
