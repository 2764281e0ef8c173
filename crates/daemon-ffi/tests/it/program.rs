//! A C program that is compiled against the header and linked with the static and the shared library.

use std::path::{Path, PathBuf};
use std::process::Command;

const DAEMON: &str = "---\nid: tidy\npurpose: Keeps issues tidy.\nwatch:\n  - when an issue is opened\nroutines:\n  - label it\n\
                      owner: me\ndeny:\n  - close issues\n---\n## Limits\n- Ten.\n";

/// Returns the folder where cargo puts the libraries of this crate.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a program");
    test.parent().expect("it is in a folder").to_owned()
}

/// Compiles the example with the arguments that link the library.
fn compile(folder: &Path, link: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("daemon_md");
    let output = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-I",
        ])
        .arg(root.join("include"))
        .arg(root.join("examples/daemon_md.c"))
        .arg("-o")
        .arg(&program)
        .args(link)
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// Runs the example on a daemon file, and returns the lines of its output.
fn run(program: &Path, folder: &Path) -> Vec<String> {
    let file = folder.join("DAEMON.md");
    std::fs::write(&file, DAEMON).expect("a file");
    let output = Command::new(program)
        .env("LD_LIBRARY_PATH", libraries())
        .arg(&file)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

fn check(lines: &[String]) {
    let parts = [
        ("version ", env!("CARGO_PKG_VERSION")),
        ("parse ", r#""completeness":"whole""#),
        ("lint ", r#""code":"D100","severity":"error""#),
        ("interpret ", r#""status":"mapped""#),
        (
            "next ",
            r#"["2026-11-23T13:30:00Z","2026-11-24T13:30:00Z"]"#,
        ),
        ("refused ", r#""error":{"code":"D201""#),
    ];
    assert_eq!(lines.len(), parts.len(), "{lines:?}");
    for (line, (name, part)) in lines.iter().zip(parts) {
        assert!(line.starts_with(name) && line.contains(part), "{line}");
    }
}

#[test]
fn a_c_program_is_linked_with_the_static_library() {
    let folder = tempfile::tempdir().unwrap();
    let library = libraries().join("libdaemon_ffi.a");
    let library = library.to_str().unwrap();
    let program = compile(folder.path(), &[library, "-lm", "-lpthread", "-ldl"]);
    check(&run(&program, folder.path()));
}

#[test]
fn a_c_program_is_linked_with_the_shared_library() {
    let folder = tempfile::tempdir().unwrap();
    let libraries = libraries();
    let program = compile(
        folder.path(),
        &["-L", libraries.to_str().unwrap(), "-ldaemon_ffi"],
    );
    check(&run(&program, folder.path()));
}
