//! The files of `deploy/`, checked by the tools that read them, where those are installed.

#![expect(
    clippy::print_stdout,
    reason = "it is how a test reports that it is skipped"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy")
        .join(name)
}

/// Runs a tool; `None` if it is not installed, which is reported as a skipped test.
fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: {}: {error}", command.get_program().display());
            None
        }
    }
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn systemd_understands_every_line_of_the_unit() {
    let directory = tempfile::tempdir().unwrap();
    let unit = fs::read_to_string(file("daemon-run.service")).unwrap();
    // It checks that the program is there, too.
    let copy = directory.path().join("daemon-run.service");
    fs::write(
        &copy,
        unit.replace("/usr/local/bin/daemon-run", "/bin/true"),
    )
    .unwrap();
    let mut command = Command::new("systemd-analyze");
    let Some(output) = run(command.args(["verify", "--man=no"]).arg(&copy)) else {
        return;
    };
    let complaints = text(&output.stderr);
    assert!(
        output.status.success() && !complaints.contains("daemon-run.service"),
        "{complaints}"
    );
}

#[test]
fn compose_reads_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("compose.yaml");
    fs::copy(file("compose.yaml"), &copy).unwrap();
    let mut command = Command::new("docker-compose");
    let Some(output) = run(command.arg("-f").arg(&copy).args(["config", "--quiet"])) else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn kubernetes_accepts_every_object() {
    let mut command = Command::new("kubernetes-validate");
    let Some(output) = run(command.arg("--strict").arg(file("kubernetes.yaml"))) else {
        return;
    };
    let found = text(&output.stdout) + &text(&output.stderr);
    assert!(
        output.status.success() && found.matches("passed").count() == 3,
        "{found}"
    );
}

#[test]
fn the_container_and_the_unit_start_the_same_command() {
    let read = |name| fs::read_to_string(file(name)).unwrap();
    assert!(
        read("daemon-run.service").contains("\nExecStart=/usr/local/bin/daemon-run serve --json\n")
    );
    assert!(read("Containerfile").contains("\nCMD [\"serve\", \"--json\"]\n"));
    assert!(read("kubernetes.yaml").contains("args: [\"serve\", \"--json\"]\n"));
}
