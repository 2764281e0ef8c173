//! Ten thousand run folders, listed by a host and without one.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use daemon_run_folder::{Folder, Handle, Outcome, Owner, RunId, RunStart, Writer};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::host::BenchHome;
use crate::kit::{Contender, measure as measure_all};
use crate::report::{Row, duration};

const N_FOLDERS: u32 = 10_000;
const MOST_KNOWN: f64 = 200e6;
const MOST_SCANNED: f64 = 2e9;
// At its start, a host checks the runs of the one before it; that must be over.
const SETTLE: Duration = Duration::from_secs(3);
/// Matches one run in a hundred.
const LIST: [&str; 6] = ["emanate", "list", "--contains", "RUN 42 ", "--last", "50"];
const AGENT: &str = "#!/bin/sh\ncat > /dev/null\n";

pub(crate) fn measure() -> Result<Row> {
    let world = BenchHome::bare(AGENT)?;
    fs::create_dir(world.runs())?;
    let folders = fill(&world.runs())?;
    let unserved = world.unserved()?;
    let scanned = world.ask(&unserved, &LIST)?;
    let host = world.serve()?;
    std::thread::sleep(SETTLE);
    let known = world.call(&LIST)?;
    ensure!(
        known["total_before_filter"] == N_FOLDERS && known["total_matches"] == N_FOLDERS / 100,
        "{} of {} runs match",
        known["total_matches"],
        known["total_before_filter"]
    );
    ensure!(ids(&known) == ids(&scanned), "the two lists differ");

    let listed = |reply: Result<Value>| {
        black_box(reply.expect("it was listed a moment ago"));
    };
    let samples = measure_all(vec![
        Contender::waiting("daemon-run emanate list", 1, || listed(world.call(&LIST))),
        Contender::waiting("without a host", 1, || {
            listed(world.ask(&unserved, &LIST));
        }),
        Contender::waiting("reading every daemon.json, one after another", 1, || {
            for folder in &folders {
                black_box(fs::read(folder.document()).expect("it was written a moment ago"));
            }
        }),
    ]);
    host.stop()?;
    let [ours, unserved, reading] = &samples[..] else {
        unreachable!("three were measured");
    };
    Ok(Row::new(
        "run-list",
        "list 10,000 run folders with a filter, the whole command; the host has listed them before",
        ours,
    )
    .compared_with(ours, unserved)
    .limited_by(ours, reading)
    .must_take_at_most(ours, MOST_KNOWN)
    .must(
        format!("≤ {} without a host", duration(MOST_SCANNED)),
        duration(unserved.median),
        unserved.median <= MOST_SCANNED,
    )
    .note("Both commands return the same runs; the folders were read before, so they are in the page cache."))
}

/// Returns the ids of the runs in a list. Their paths differ, since each home has its own.
fn ids(list: &Value) -> Vec<&Value> {
    let entries = list["emanations"].as_array().into_iter().flatten();
    entries.map(|entry| &entry["run_id"]).collect()
}

/// Creates the folders of ended runs.
fn fill(runs: &Path) -> Result<Vec<Folder>> {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse()?;
    let model = ended(runs, start)?;
    let text = fs::read_to_string(model.document())?;
    let mut folders = Vec::new();
    for n in 0..N_FOLDERS {
        let handle: Handle = format!("em-{}", n % 100 + 1).parse()?;
        let id = RunId::new(
            handle,
            start + SignedDuration::from_secs(i64::from(n) + 1),
            [0; 3],
        );
        let folder = Folder::new(runs, id);
        fs::create_dir_all(folder.path().join("logs"))?;
        fs::copy(model.events(), folder.events())?;
        fs::copy(model.result(), folder.result())?;
        let text = text.replace(&model.id().to_string(), &id.to_string());
        fs::write(
            folder.document(),
            text.replace("Run 0 ", &format!("Run {} ", n % 100)),
        )?;
        folders.push(folder);
    }
    fs::remove_dir_all(model.path())?;
    Ok(folders)
}

/// Creates the folder of a run that succeeded and whose end was announced.
fn ended(runs: &Path, start: Timestamp) -> Result<Folder> {
    let reserved = Folder::reserve(runs, "em-1".parse()?, start)?;
    let owner = Owner {
        pid: 1,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let task = format!(
        "Run 0 looks through the documents. {}",
        "It says why. ".repeat(20)
    );
    let mut first = RunStart::new("cli:0", owner, "sh", &task, task.clone().into_bytes());
    let parameters = serde_json::json!({"task": task, "tools": ["file"], "cwd": "/srv/repository"});
    let Value::Object(parameters) = parameters else {
        unreachable!("it is written as an object");
    };
    first.call_parameters = parameters;
    let mut writer = Writer::start(reserved, first, start)?;
    let end = start + SignedDuration::from_secs(60);
    writer.provider_ended(&Outcome::Done, &"Two links were repaired. ".repeat(20), end)?;
    writer
        .finish(&Outcome::Done, end)
        .context("a fresh run ends")?;
    writer.published(1, end)?;
    Ok(writer.folder().clone())
}
