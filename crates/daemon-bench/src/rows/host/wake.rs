//! From an accepted event to the process that handles it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;

use crate::host::BenchHome;
use crate::kit::{Sample, settle};
use crate::report::{Row, duration};
use crate::repositories::SEARCH;
use crate::webhook::{SECRET, SOURCES, Webhook};

const N_EVENTS: usize = 25;
const MOST_OVER: f64 = 10e6;
// The first run of a large repository checks it out.
const TIMEOUT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
// A pause before each event, so that the work after the one before it is over.
const REST: Duration = Duration::from_millis(100);
pub(super) const FILE: &str = "---\nid: one\npurpose: Looks at what is opened.\nwatch:\n  - when a pull request is opened\nroutines:\n  - \
     Look at it.\ndeny:\n  - Merge.\n---\n\nIt looks at pull requests.\n";
// First writes the time of its start, then works.
pub(super) const AGENT: &str = "#!/bin/sh\ndate +%s%N > \"$HOME/began.new\"\nmv \"$HOME/began.new\" \"$HOME/began\"\ncat > /dev/null\n\
     echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";

pub(crate) fn measure() -> Result<Row> {
    settle()?;
    let world = BenchHome::of_one(FILE, AGENT, SOURCES)?;
    fs::write(world.home().join("hook-secret"), SECRET)?;
    let host = world.serve()?;
    let address = host.address()?;
    let (mut woken, mut alone, mut synced) = (Vec::new(), Vec::new(), Vec::new());
    let mut log = fs::File::create(world.path("append"))?;
    for n in 0..=N_EVENTS {
        std::thread::sleep(REST);
        let before = n_runs(&world)?;
        send(address, n, None)?;
        let accepted = Timestamp::now();
        let run = wait_for(|| newest_run(&world, before))?;
        let began = wait_for(|| Ok(began(&world.runs().join(&run).join("session"))))?;
        wait_for(|| Ok(has_ended(&world.runs().join(&run)).then_some(())))?;
        let bare = start_alone(&world.path("agent.sh"), &world.path(&format!("home-{n}")))?;
        // The first event includes work that is done once, such as opening files.
        if n > 0 {
            woken.push((began - accepted.as_nanosecond()) as f64);
            alone.push(bare);
            synced.push(append(&mut log)?);
        }
    }
    host.stop()?;
    let ours = Sample::of("daemon-run", woken);
    let alone = Sample::of("the process alone", alone);
    let synced = Sample::of(
        "one append of 4 KiB and `fdatasync` on the same disk",
        synced,
    );
    let over = ours.median - alone.median;
    Ok(Row::new(
        "wake-start",
        "from the answer to a webhook until the provider's process runs, on an idle host",
        &ours,
    )
    .compared_with(&ours, &alone)
    .limited_by(&ours, &synced)
    .must(
        format!("≤ {} over the process alone", duration(MOST_OVER)),
        duration(over.max(0.0)),
        over <= MOST_OVER,
    )
    .note(
        "The process is a shell script that records its start time. In between are one commit of the store, which costs \
         at least one `fdatasync`, a work tree above the tree that the run before left, and the run folder. ext4 without a \
         journal creates files ever more slowly after many were deleted; a disk with a journal does not.",
    ))
}

/// Appends to a file as a store appends to its log, and returns the nanoseconds until that is on the disk.
fn append(log: &mut fs::File) -> Result<f64> {
    let before = Instant::now();
    log.write_all(&[b'x'; 4096])?;
    log.sync_data()?;
    Ok(before.elapsed().as_nanos() as f64)
}

/// Sends a signed webhook about a pull request with this head, and returns once it was accepted.
pub(super) fn send(address: &str, n: usize, head: Option<&str>) -> Result<()> {
    let mut body = serde_json::json!({
        "action": "opened",
        "number": n + 1,
        "pull_request": {"number": n + 1, "title": "A title", "draft": false, "merged": false, "labels": [],
            "user": {"login": "ann", "type": "User"}},
        "repository": {"id": 1, "full_name": "bench/one", "name": "one", "default_branch": "main", "owner": {"login": "bench"}},
        "sender": {"login": "ann", "id": 1, "type": "User"},
    });
    if let Some(head) = head {
        body["pull_request"]["head"] = serde_json::json!({"sha": head, "ref": "topic"});
    }
    let body = body.to_string().into_bytes();
    let status = Webhook::new("pull_request", &format!("d-{n}"), body)?.send(address)?;
    ensure!(status == 200, "the webhook was answered with {status}");
    Ok(())
}

pub(super) fn runs(world: &BenchHome) -> Result<Vec<String>> {
    let entries = match fs::read_dir(world.runs()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

pub(super) fn n_runs(world: &BenchHome) -> Result<usize> {
    Ok(runs(world)?.len())
}

/// Returns the newest run if there are more than before.
pub(super) fn newest_run(world: &BenchHome, before: usize) -> Result<Option<String>> {
    let mut names = runs(world)?;
    // Sorted by handle, which counts up; the time in a folder's name has only seconds.
    let number = |name: &String| {
        let handle = name.split('-').nth(1).unwrap_or_default();
        handle.parse::<u32>().unwrap_or(0)
    };
    names.sort_by_key(number);
    Ok(names.pop().filter(|_| names.len() + 1 > before))
}

/// Reads the start time that the script wrote, if it has.
pub(super) fn began(home: &Path) -> Option<i128> {
    let text = fs::read_to_string(home.join("began")).ok()?;
    text.trim().parse().ok()
}

pub(super) fn has_ended(run: &Path) -> bool {
    let text = fs::read_to_string(run.join("daemon.json")).unwrap_or_default();
    text.contains("\"state\": \"done\"")
}

pub(super) fn wait_for<T>(mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(Instant::now() < deadline, "waited in vain");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Starts the script without the host, and returns the nanoseconds until it ran.
pub(super) fn start_alone(script: &Path, home: &Path) -> Result<f64> {
    fs::create_dir(home)?;
    let before = Timestamp::now();
    let mut child = Command::new(script)
        .env_clear()
        .env("PATH", SEARCH)
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    child.wait()?;
    let began = began(home).context("it writes down when it began")?;
    Ok((began - before.as_nanosecond()) as f64)
}
