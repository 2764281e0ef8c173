//! The files of `deploy/`, checked by the tools that read them, where those are installed.

#![expect(
    clippy::print_stdout,
    reason = "it is how a test reports that it is skipped"
)]

use std::collections::BTreeSet;
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

/// Returns the names of metrics in a string: words that begin with `daemon_`, behind one of some beginnings.
fn metrics(text: &str, beginnings: &[&str], is_metric: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for beginning in beginnings {
        for part in text.split(beginning).skip(1) {
            let end = part.find(|c: char| !c.is_ascii_lowercase() && c != '_');
            let name = &part[..end.unwrap_or(part.len())];
            if name.starts_with("daemon_") && is_metric(name) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

fn sources(directory: &Path, acc: &mut String) {
    for entry in fs::read_dir(directory).expect("a directory of the crate") {
        let path = entry.expect("can be read").path();
        if path.is_dir() {
            sources(&path, acc);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            acc.push_str(&fs::read_to_string(path).expect("a text"));
        }
    }
}

#[test]
fn the_dashboard_shows_every_metric_of_the_host_and_no_other() {
    let mut code = String::new();
    for krate in fs::read_dir(file("../crates")).unwrap() {
        sources(&krate.unwrap().path().join("src"), &mut code);
    }
    let mut counted = metrics(&code, &["\""], |name| name.ends_with("_total"));
    counted.extend(metrics(&code, &["gauge!(\"", "histogram!(\""], |_| true));
    let dashboard = fs::read_to_string(file("grafana.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let expressions = targets
        .flatten()
        .map(|target| target["expr"].as_str().unwrap());
    let shown = expressions.collect::<Vec<_>>().join(" ");
    let shown = metrics(&shown, &["(", " "], |_| true);
    assert_eq!(shown, counted);
}
