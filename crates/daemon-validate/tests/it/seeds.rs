//! The fixtures: good files have no diagnostics, and each bad file has its code.

use std::path::{Path, PathBuf};

use daemon_spec::{Severity, parse};
use daemon_validate::{Profile, Subject, registrable, validate};

use super::{CLEAN, codes, lint};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn sorted(folder: PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the fixtures are there");
    let path = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("and can be listed").path();
    let mut acc: Vec<PathBuf> = entries.map(path).collect();
    acc.sort();
    acc
}

#[test]
fn the_file_that_other_tests_change_has_no_diagnostics_under_either_profile() {
    assert_eq!(lint(CLEAN), []);
    let parse = super::read(CLEAN);
    assert_eq!(
        validate(
            &Subject::new(&parse).in_directory("pr-helper"),
            Profile::Strict
        ),
        []
    );
}

#[test]
fn complete_daemon_files_have_neither_errors_nor_warnings() {
    let folders = sorted(fixtures().join("daemons/.agents/daemons"));
    assert!(folders.len() > 3, "the examples are there");
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let parse = parse(std::fs::read(folder.join("DAEMON.md")).unwrap());
        let found = validate(&Subject::new(&parse).in_directory(name), Profile::Spec);
        let heavy: Vec<_> = found
            .iter()
            .filter(|one| one.severity > Severity::Advice)
            .collect();
        assert!(heavy.is_empty(), "{name}: {heavy:#?}");
        assert!(registrable(&found));
    }
}

#[test]
fn each_bad_file_has_the_code_in_its_name() {
    let mut n_files = 0;
    for path in sorted(fixtures().join("daemons-bad")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let code = name.get(..4).unwrap();
        // Codes of conditions need the verdicts of an interpreter.
        if code.starts_with("D3") {
            continue;
        }
        let found = validate(
            &Subject::new(&parse(std::fs::read(&path).unwrap())),
            Profile::Spec,
        );
        assert!(
            codes(&found).contains(&code.to_owned()),
            "{name}: {found:#?}"
        );
        n_files += 1;
    }
    assert!(n_files > 50);
}
