//! Work trees of large repositories: the time until the provider runs, and the space of several at once.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jiff::Timestamp;

use super::wake::{
    AGENT, FILE, began, has_ended, n_runs, newest_run, runs, send, start_alone, wait_for,
};
use crate::host::BenchHome;
use crate::kit::{Sample, settle};
use crate::report::{Row, duration, times};
use crate::repositories::{find_git, run_with};
use crate::webhook::{SECRET, SOURCES};

/// The limit of the time until the process runs, less that of the process alone, in nanoseconds.
const MOST_OVER: f64 = 250e6;
/// The limit of the same time as a part of what `git worktree add` takes.
const MOST_PART: f64 = 0.1;
/// The limit of the space of the runs at once, in checkouts.
const MOST_SPACE: f64 = 1.2;
/// The commits between the heads of two events.
const COMMITS: usize = 5;
/// The files that one commit changes.
const CHANGED: usize = 8;
/// How often `git worktree add` is measured, because it takes seconds.
const N_CHECKOUTS: usize = 3;
const N_AT_ONCE: usize = 4;
// A pause before each event, so that the work after the one before it is over.
const REST: Duration = Duration::from_millis(300);
/// Waits until the measurement is over.
const WAITING: &str = "#!/bin/sh\ncat > /dev/null\ndate +%s%N > \"$HOME/began\"\n\
     while ! [ -e \"$HOME/go\" ]; do sleep 0.05; done\n\
     echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";

pub(crate) fn wake_500() -> Result<Row> {
    wake(500, "wake-500", 12)
}

pub(crate) fn wake_50k() -> Result<Row> {
    wake(50_000, "wake-50k", 12)
}

pub(crate) fn wake_200k() -> Result<Row> {
    wake(200_000, "wake-200k", 5)
}

/// Measures events about pull requests whose heads are a few commits from one to the next.
fn wake(n_files: usize, name: &'static str, n_events: usize) -> Result<Row> {
    settle()?;
    let git = find_git()?;
    let world = BenchHome::of_bare(AGENT, SOURCES, |path| {
        make(path, n_files, n_events + 1, &["one"])
    })?;
    fs::write(world.home().join("hook-secret"), SECRET)?;
    let repository = world.path("repository");
    let host = world.serve()?;
    let address = host.address()?;
    let (mut woken, mut alone, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0.0;
    for n in 0..=n_events {
        std::thread::sleep(REST);
        let step = format!("step-{n}");
        let head = run_with(&git, &repository, &["rev-parse", &step], Vec::new())?;
        let took = wake_at(&world, address, n, &head)?;
        let bare = start_alone(&world.path("agent.sh"), &world.path(&format!("home-{n}")))?;
        if n == 0 {
            first = took;
            continue;
        }
        woken.push(took);
        alone.push(bare);
        if n <= N_CHECKOUTS {
            added.push(add_worktree(&repository, &world.path("checkout"), &head)?);
        }
    }
    host.stop()?;
    let ours = Sample::of("daemon-run", woken);
    let alone = Sample::of("the process alone", alone);
    let added = Sample::of("git worktree add", added);
    let over = ours.median - alone.median;
    let part = over / added.median;
    let row = Row::new(
        name,
        "from the answer to a webhook until the provider's process runs at a commit 5 commits from that of the run before",
        &ours,
    )
    .compared_with(&ours, &alone)
    .compared_with(&ours, &added);
    let row = match n_files {
        50_000 => row
            .must(
                format!("≤ {} over the process alone", duration(MOST_OVER)),
                duration(over.max(0.0)),
                over <= MOST_OVER,
            )
            .must(
                format!("≤ {MOST_PART} × `git worktree add`"),
                times(part),
                part <= MOST_PART,
            ),
        _ => row,
    };
    Ok(row.note(format!(
        "The repository has {n_files} files. The first run, which checks them out, took {}.",
        duration(first)
    )))
}

/// Sends an event about a pull request, and returns the nanoseconds until the provider's process of its run began.
fn wake_at(world: &BenchHome, address: &str, n: usize, head: &str) -> Result<f64> {
    let before = n_runs(world)?;
    send(address, n, Some(head))?;
    let accepted = Timestamp::now();
    let run = wait_for(|| newest_run(world, before))?;
    let began = wait_for(|| Ok(began(&world.runs().join(&run).join("session"))))?;
    wait_for(|| Ok(has_ended(&world.runs().join(&run)).then_some(())))?;
    Ok((began - accepted.as_nanosecond()) as f64)
}

/// Returns the nanoseconds that git takes to make a work tree.
fn add_worktree(repository: &Path, checkout: &Path, commit: &str) -> Result<f64> {
    let git = find_git()?;
    let checkout = checkout.to_string_lossy();
    let start = Instant::now();
    let add = ["worktree", "add", "-q", "--detach", &*checkout, commit];
    run_with(&git, repository, &add, Vec::new())?;
    let took = start.elapsed().as_nanos() as f64;
    let remove = ["worktree", "remove", "--force", &*checkout];
    run_with(&git, repository, &remove, Vec::new())?;
    Ok(took)
}

/// Measures the space of runs at once on one repository of 50,000 files.
pub(crate) fn disk() -> Result<Row> {
    settle()?;
    let names = ["one", "two", "three", "four"];
    ensure!(names.len() == N_AT_ONCE);
    let world = BenchHome::of_bare(WAITING, SOURCES, |path| make(path, 50_000, 1, &names))?;
    fs::write(world.home().join("hook-secret"), SECRET)?;
    let git = find_git()?;
    let repository = world.path("repository");
    let checkout = world.path("checkout");
    let path = checkout.to_string_lossy();
    let add = ["worktree", "add", "-q", "--detach", &*path, "main"];
    run_with(&git, &repository, &add, Vec::new())?;
    let one = space(&[checkout])?;
    let host = world.serve()?;
    send(host.address()?, 0, None)?;
    let begun = || {
        let mut n = 0;
        for run in runs(&world)? {
            n += usize::from(began(&world.runs().join(run).join("session")).is_some());
        }
        Ok((n == N_AT_ONCE).then_some(()))
    };
    wait_for(begun)?;
    let used = space(&["trees", "worktrees"].map(|name| world.home().join(name)))?;
    for run in runs(&world)? {
        fs::write(world.runs().join(run).join("session/go"), "")?;
    }
    host.stop()?;
    let part = used as f64 / one as f64;
    Ok(Row::of_space(
        "trees-disk",
        "the space of the work trees of four runs at once on a repository of 50,000 files",
        used,
        ("one checkout by git", one),
    )
    .must(
        format!("≤ {MOST_SPACE} × one checkout"),
        times(part),
        part <= MOST_SPACE,
    ))
}

/// Returns the space on disk below some paths, in bytes. A file with several names counts once.
fn space(paths: &[PathBuf]) -> Result<u64> {
    let mut acc = 0;
    let mut left = paths.to_vec();
    let mut linked = HashSet::new();
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let is_new =
                metadata.nlink() == 1 || metadata.is_dir() || linked.insert(metadata.ino());
            if is_new {
                acc += metadata.blocks() * 512;
            }
            if metadata.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(acc)
}

/// Creates a bare repository with daemons and files on `main`, and a chain of branches `step-0`, `step-1` … above it.
fn make(path: &Path, n_files: usize, n_steps: usize, daemons: &[&str]) -> Result<()> {
    let git = find_git()?;
    fs::create_dir_all(path)?;
    run_with(
        &git,
        path,
        &["init", "-q", "--bare", "-b", "main"],
        Vec::new(),
    )?;
    let mut stream = Vec::new();
    commit(&mut stream, "refs/heads/main", None);
    for daemon in daemons {
        let text = FILE.replace("id: one", &format!("id: {daemon}"));
        file(
            &mut stream,
            &format!(".agents/daemons/{daemon}/DAEMON.md"),
            &text,
        );
    }
    for n in 0..n_files {
        file(&mut stream, &name(n), &content(n, 0));
    }
    let mut parent = "refs/heads/main".to_owned();
    for step in 0..n_steps {
        let branch = format!("refs/heads/step-{step}");
        for n in 0..COMMITS {
            commit(&mut stream, &branch, (n == 0).then_some(&parent));
            for changed in 0..CHANGED {
                let index = (step * 977 + n * 101 + changed * 7919) % n_files;
                file(
                    &mut stream,
                    &name(index),
                    &content(index, step * COMMITS + n + 1),
                );
            }
        }
        parent = branch;
    }
    run_with(&git, path, &["fast-import", "--quiet", "--done"], {
        stream.extend_from_slice(b"done\n");
        stream
    })?;
    Ok(())
}

fn commit(stream: &mut Vec<u8>, branch: &str, parent: Option<&String>) {
    let mut text = format!(
        "commit {branch}\ncommitter bench <bench@example.org> 1700000000 +0000\ndata 1\nx\n"
    );
    if let Some(parent) = parent {
        writeln!(text, "from {parent}").expect("writing to a string cannot fail");
    }
    stream.extend_from_slice(text.as_bytes());
}

fn file(stream: &mut Vec<u8>, path: &str, content: &str) {
    let text = format!(
        "M 100644 inline {path}\ndata {}\n{content}\n",
        content.len()
    );
    stream.extend_from_slice(text.as_bytes());
}

fn name(n: usize) -> String {
    format!("part-{}/package-{}/file-{n}.rs", n / 2_000, (n / 20) % 100)
}

fn content(n: usize, version: usize) -> String {
    format!(
        "// File {n}, version {version}.\n{}",
        format!("fn of_{n}() -> usize {{\n    {n}\n}}\n").repeat(30)
    )
}
