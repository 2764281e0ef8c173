//! The package in a fresh virtual environment, with the module that cargo has built. `cargo xtask wheel` tests it as a wheel.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a program and returns both of its streams if it succeeds.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("{command:?}: {}: {text}", output.status)),
    }
}

#[test]
fn the_tests_of_the_package_pass_in_a_fresh_virtual_environment() {
    let folder = tempfile::tempdir().unwrap();
    let environment = folder.path().join("environment");
    let mut create = Command::new("python3");
    create
        .args(["-m", "venv", "--without-pip"])
        .arg(&environment);
    if let Err(reason) = run(&mut create) {
        println!("skipped: no virtual environment of Python: {reason}");
        return;
    }
    let python = environment.join("bin/python");
    let site = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    let site = run(Command::new(&python).args(["-c", site])).unwrap();
    let package = Path::new(site.trim()).join("daemon_md");
    fs::create_dir_all(&package).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(root.join("python/daemon_md")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).unwrap();
        }
    }
    let test = std::env::current_exe().unwrap();
    let module = test.parent().unwrap().join("libdaemon_python.so");
    fs::copy(module, package.join("_native.abi3.so")).unwrap();
    let tests = root.join("tests/test_daemon_md.py");
    // `-I` keeps the folder of the tests and the variables of the caller out of the path.
    let printed = run(Command::new(&python).args(["-I", "-B"]).arg(tests)).unwrap();
    assert!(printed.contains("Ran 12 tests"), "{printed}");
    assert!(printed.trim_end().ends_with("OK"), "{printed}");
}
