//! The linter as a whole process over a large repository.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::fixtures;
use crate::kit::{Contender, measure as measure_all};
use crate::report::Row;

const N_DAEMONS: usize = 1_000;
const MOST_TIME: f64 = 120e6;
const MOST_MEMORY_KIB: u64 = 40 * 1024;
// Short compared with the run of a tenth of a second, so that the peak is seen.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

pub(super) fn measure() -> Result<Row> {
    let linter = linter()?;
    let repository = tempfile::tempdir()?;
    let paths = write_repository(repository.path())?;
    check_all_linted(&linter, repository.path())?;

    let samples = measure_all(vec![
        Contender::waiting("daemon-lint", 1, || {
            let status = lint(&linter, repository.path(), Stdio::null())
                .and_then(|mut child| Ok(child.wait()?));
            black_box(status.expect("the linter ran a moment ago"));
        }),
        Contender::waiting("reading the files", 1, || {
            for path in &paths {
                black_box(std::fs::read(path).expect("the file was written a moment ago"));
            }
        }),
    ]);
    let [ours, reading] = &samples[..] else {
        unreachable!("two contenders went in")
    };
    let peak = peak_kib(&linter, repository.path())?;
    Ok(Row::new("lint", "daemon-lint on a repository of 1,000 daemons, the whole process", ours)
        .limited_by(ours, reading)
        .must_take_at_most(ours, MOST_TIME)
        .must("≤ 40 MiB resident", format!("{:.1} MiB", peak as f64 / 1024.0), peak <= MOST_MEMORY_KIB)
        .note("The daemons are copies of fixtures/daemons with ids of their own; the output is JSON and is discarded."))
}

/// Returns the path of `daemon-lint`, which cargo builds into the folder of this program.
fn linter() -> Result<PathBuf> {
    let path = std::env::current_exe()?
        .with_file_name(format!("daemon-lint{}", std::env::consts::EXE_SUFFIX));
    ensure!(
        path.is_file(),
        "`{}` is not built; build it with the same profile",
        path.display()
    );
    Ok(path)
}

fn write_repository(root: &Path) -> Result<Vec<PathBuf>> {
    let files = fixtures::daemon_files()?;
    let mut paths = Vec::with_capacity(N_DAEMONS);
    for (n, file) in files.iter().cycle().take(N_DAEMONS).enumerate() {
        let text = std::str::from_utf8(file)?;
        let id = format!("daemon-{n:04}");
        let folder = root.join(".agents/daemons").join(&id);
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("DAEMON.md");
        std::fs::write(&path, fixtures::with_id(text, &id)?)?;
        paths.push(path);
    }
    Ok(paths)
}

fn lint(linter: &Path, repository: &Path, stdout: Stdio) -> Result<Child> {
    let mut command = Command::new(linter);
    command
        .arg(repository)
        .args(["--format", "json"])
        .env_clear();
    command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::null());
    command
        .spawn()
        .with_context(|| format!("failed to start `{}`", linter.display()))
}

fn check_all_linted(linter: &Path, repository: &Path) -> Result<()> {
    let output = lint(linter, repository, Stdio::piped())?.wait_with_output()?;
    let report: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("the linter printed no JSON")?;
    let n_daemons = report
        .pointer("/summary/daemons")
        .and_then(serde_json::Value::as_u64);
    ensure!(
        n_daemons == Some(N_DAEMONS as u64),
        "the linter saw {n_daemons:?} daemons"
    );
    Ok(())
}

/// Returns the highest resident memory of the process. It is polled until the process ends, since `/proc` has no value after
/// that.
fn peak_kib(linter: &Path, repository: &Path) -> Result<u64> {
    let mut child = lint(linter, repository, Stdio::null())?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = resident_kib(&status).unwrap_or(peak);
        std::thread::sleep(POLL_INTERVAL);
    }
    ensure!(peak > 0, "the kernel tells no `VmHWM` of a process");
    Ok(peak)
}

fn resident_kib(status: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
