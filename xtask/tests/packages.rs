//! The packages of the published crates: each is made, and includes no file from outside of itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Packs every published crate, without a build of it.
fn packed() -> (TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().expect("a directory is made");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pack = |more: &[&str]| {
        Command::new(env!("CARGO"))
            .args(["package", "--workspace", "--no-verify", "--allow-dirty"])
            .args(["--locked", "--target-dir"])
            .arg(directory.path())
            .args(more)
            .current_dir(&root)
            .output()
            .expect("cargo is started")
    };
    // What the build has fetched is enough as a rule, and the registry may be out of reach.
    let mut output = pack(&["--offline"]);
    if !output.status.success() {
        output = pack(&[]);
    }
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");
    let files = fs::read_dir(directory.path().join("package")).expect("packages are made");
    let files = files.map(|entry| entry.expect("it is listed").path());
    let packages = files.filter(|path| path.extension().is_some_and(|end| end == "crate"));
    let packages = packages.collect();
    (directory, packages)
}

/// Returns the Rust files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it is a directory") {
        let path = entry.expect("it is listed").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// Whether a file is compiled for tests only: those of a module, and documents with examples.
fn is_of_tests(source: &Path) -> bool {
    let is_named = |name: &str| source.components().any(|part| part.as_os_str() == name);
    is_named("tests") || is_named("tests.rs") || is_named("documents.rs")
}

/// Returns the paths that a file includes at compile time.
fn included(text: &str) -> Vec<&str> {
    let of = |start: &'static str| {
        let parts = text.split(start).skip(1);
        parts.filter_map(|rest| rest.split_once('"').map(|(path, _)| path))
    };
    [
        "include_str!(\"",
        "include_bytes!(\"",
        "include!(\"",
        // The directory of many files.
        "include_str!(concat!(\"",
    ]
    .into_iter()
    .flat_map(of)
    .collect()
}

#[test]
fn every_published_crate_is_packed_with_all_that_it_includes() {
    let (directory, packages) = packed();
    assert!(packages.len() > 30, "{packages:?}");
    let mut missing = Vec::new();
    for package in &packages {
        let unpacked = Command::new("tar")
            .arg("-xzf")
            .arg(package)
            .arg("-C")
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(unpacked.success(), "{}", package.display());
        let name = package.file_stem().unwrap();
        let crate_directory = directory.path().join(name);
        let sources = sources(&crate_directory.join("src")).into_iter();
        for source in sources.filter(|source| !is_of_tests(source)) {
            let text = fs::read_to_string(&source).unwrap();
            let place = source.parent().unwrap();
            let absent = included(&text)
                .into_iter()
                .filter(|path| !place.join(path).exists());
            missing.extend(absent.map(|path| format!("{}: {path}", source.display())));
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}
