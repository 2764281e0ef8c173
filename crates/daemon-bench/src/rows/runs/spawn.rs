//! The start of a supervised run, compared with that of a bare process.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use daemon_process::{ChildEvent, ChildLimits, Launch, Sandbox, SandboxLevel, Supervisor, probe};
use daemon_run_folder::{ChildProcess, Folder, Owner, RunStart, Writer};
use jiff::Timestamp;

use crate::kit::{Sample, settle};
use crate::report::{Row, duration};

const N_STARTS: u32 = 200;
// In practice runs start rarely, and some system calls are slower after a pause.
const REST: Duration = Duration::from_millis(40);
const MOST_OVER: f64 = 5e6;
// The cheapest program, so that the start dominates.
const PROGRAM: &str = "/bin/true";
// About the size of a `daemon.json`.
const DOCUMENT: usize = 2048;
// ext4 does not reuse a deleted inode for this long, and skips all of them whenever it creates a file. After the thousands of
// files that this row or another created and deleted, that takes up to 30 times as long.
const DELETED: Duration = Duration::from_secs(60);

pub(crate) fn measure() -> Result<Row> {
    settle()?;
    std::thread::sleep(DELETED);
    let scratch = tempfile::tempdir()?;
    let supervisor = Supervisor::start()?;
    let mut times: [Vec<f64>; 3] = [const { Vec::new() }; 3];
    for _ in 0..N_STARTS {
        std::thread::sleep(REST);
        let took = [
            supervised(&supervisor, scratch.path())?,
            bare(scratch.path())?,
            synced(scratch.path())?,
        ];
        for (times, took) in times.iter_mut().zip(took) {
            times.push(took.as_secs_f64() * 1e9);
        }
    }
    let [ours, bare, synced] = times;
    let ours = Sample::of("Supervisor and run folder", ours);
    let bare = Sample::of("std::process::Command", bare);
    let synced = Sample::of("one file written, synced and put in place", synced);
    let over = ours.median - bare.median;
    Ok(Row::new(
        "run-spawn",
        "start a run: its folder, a process under supervision, the process in the folder",
        &ours,
    )
    .compared_with(&ours, &bare)
    .limited_by(&ours, &synced)
    .must(
        format!("≤ {} over a bare process", duration(MOST_OVER)),
        duration(over.max(0.0)),
        over <= MOST_OVER,
    )
    .note(format!(
        "All three on the disk of the temporary directory, one after another in each round, with a pause between rounds. \
         The row waits for {} s first: after thousands of files were deleted, ext4 creates others more slowly for about that \
         long.",
        DELETED.as_secs(),
    )))
}

fn supervised(supervisor: &Supervisor, runs: &Path) -> Result<Duration> {
    let began = Instant::now();
    let now = Timestamp::now();
    let reserved = Folder::reserve(runs, "em-1".parse()?, now)?;
    let owner = Owner {
        pid: 1,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let prompt = "x".repeat(DOCUMENT).into_bytes();
    let start = RunStart::new("cli:0", owner, "sh", "a task", prompt.clone());
    let mut writer = Writer::start(reserved, start, now)?;
    let sandbox = if probe().level >= SandboxLevel::Confined {
        Sandbox::Confined {
            readable: Vec::new(),
            writable: vec![writer.folder().path().to_owned()],
            ports: None,
        }
    } else {
        Sandbox::Contained
    };
    let mut child = supervisor.spawn(Launch {
        program: PathBuf::from(PROGRAM),
        args: Vec::new(),
        env: Vec::new(),
        cwd: runs.to_owned(),
        stdin: prompt,
        marker: writer.folder().id().to_string(),
        limits: ChildLimits::default(),
        disk: Vec::new(),
        sandbox,
        ports: None,
    })?;
    let id = child.id();
    let child_of_run = ChildProcess {
        pid: id.pid,
        start: id.start,
        pgid: id.pid,
    };
    writer.spawned(child_of_run, vec![PROGRAM.to_owned()], Timestamp::now())?;
    let took = began.elapsed();
    while let Some(event) = child.next_blocking() {
        if matches!(event, ChildEvent::Exited { .. }) {
            break;
        }
    }
    Ok(took)
}

fn bare(cwd: &Path) -> Result<Duration> {
    let began = Instant::now();
    let mut child = Command::new(PROGRAM)
        .env_clear()
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start `{PROGRAM}`"))?;
    let took = began.elapsed();
    child.wait()?;
    Ok(took)
}

fn synced(folder: &Path) -> Result<Duration> {
    let (beside, place) = (folder.join("document.tmp"), folder.join("document"));
    let began = Instant::now();
    let mut file = File::create(&beside)?;
    file.write_all(&[b'x'; DOCUMENT])?;
    file.sync_all()?;
    fs::rename(&beside, &place)?;
    File::open(folder)?.sync_all()?;
    let took = began.elapsed();
    fs::remove_file(place)?;
    Ok(took)
}
