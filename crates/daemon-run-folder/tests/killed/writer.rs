//! A thousand readers, and a writer that is killed again and again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

use daemon_run_folder::{
    Document, DocumentReading, Dropped, Folder, Handle, Outcome, Owner, RunStart, RunState, Writer,
};
use jiff::{SignedDuration, Timestamp};

/// Set in the child: the folder it writes to until it is killed.
const CHILD: &str = "RUN_FOLDER_KILL_TEST_PATH";
const READERS: u64 = 1_000;
const READS: u64 = 2;
const ROUNDS: u64 = 4;
/// How long the task is, for a document that takes a while to write.
const TASK: usize = 4 << 10;
/// What every line that is counted weighs, so that a document of two halves shows.
const WEIGHT: u64 = 7;
/// How often a kill has to hit between the new file and its rename.
const HITS: usize = 3;
/// One in a hundred does: most of a write is the rename, which a kill waits for.
const MOST_KILLS: u64 = 5_000;

/// Seconds after the start of the run.
fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

fn document(folder: &Folder) -> Document {
    match folder.read().unwrap() {
        DocumentReading::Known(document) => *document,
        other => panic!("expected a document, got {other:?}"),
    }
}

/// Makes the folder of a run, without a writer.
fn begun(daemons: &std::path::Path) -> Folder {
    let handle: Handle = "em-1".parse().unwrap();
    let reserved = Folder::reserve(daemons, handle, at(0)).unwrap();
    let owner = Owner {
        pid: 77,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let start = RunStart::new("cli:1000", owner, "claude", &"t".repeat(TASK), Vec::new());
    Writer::start(reserved, start, at(0))
        .unwrap()
        .folder()
        .clone()
}

/// Rewrites a document without end; returns at once outside a child.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the parent tells the child through its environment, which is otherwise empty"
)]
fn child_that_is_killed() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let path = std::path::PathBuf::from(path);
    let id = path.file_name().unwrap().to_str().unwrap();
    let folder = Folder::new(path.parent().unwrap(), id.parse().unwrap());
    let mut writer = Writer::adopt(folder.clone(), at(0)).unwrap();
    let one = Dropped {
        lines: 1,
        bytes: WEIGHT,
    };
    for n in 1.. {
        // A second apart, so that none is held back.
        writer.dropped(one, at(n)).unwrap();
        if n == 1 {
            writeln!(std::io::stdout(), "writing").unwrap();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a run folder has no children; this test needs one to kill"
)]
fn start_child(folder: &Folder) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer::child_that_is_killed", "--nocapture"])
        .env_clear()
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_up = lines
        .map_while(Result::ok)
        .any(|line| line.contains("writing"));
    assert!(is_up, "the child writes");
    child
}

fn kill(mut child: Child) {
    // SIGKILL: nothing of the child's own runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Reads the document and returns how much it counts; an error for one that is not whole.
fn whole(folder: &Folder) -> Result<u64, String> {
    let reading = folder.read().map_err(|error| error.to_string())?;
    let DocumentReading::Known(seen) = reading else {
        return Err(format!("{reading:?}"));
    };
    let is_whole = seen.run_id == folder.id().to_string()
        && seen.dropped.bytes == seen.dropped.lines * WEIGHT
        && seen.task.len() == TASK;
    let lines = seen.dropped.lines;
    is_whole.then_some(lines).ok_or_else(|| format!("{seen:?}"))
}

fn temporaries(folder: &Folder) -> usize {
    let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"))
        .count()
}

#[test]
fn a_thousand_readers_see_whole_documents_while_the_writer_is_killed() {
    let daemons = tempfile::tempdir().unwrap();
    let folder = begun(daemons.path());
    let (mut last, mut hits) = (0, 0);
    for round in 0..ROUNDS {
        let child = start_child(&folder);
        let (all, n_read) = (Barrier::new(READERS as usize), AtomicU64::new(0));
        let wrong = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| {
                    let mut before = last;
                    all.wait();
                    for _ in 0..READS {
                        match whole(&folder) {
                            Ok(seen) if seen >= before => before = seen,
                            seen => wrong.lock().unwrap().push((before, seen)),
                        }
                        n_read.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            // Some readers read before the kill, some during it, some after it.
            while n_read.load(Ordering::Relaxed) < READERS * READS * (round + 1) / (ROUNDS + 1) {
                std::thread::yield_now();
            }
            kill(child);
        });
        assert_eq!(wrong.into_inner().unwrap(), []);
        last = whole(&folder).unwrap();
        hits += usize::from(temporaries(&folder) > 0);
    }
    for n in 0..MOST_KILLS {
        if hits >= HITS {
            break;
        }
        let child = start_child(&folder);
        // Each at another instant of a write.
        for _ in 0..n % 50 * 1_000 {
            std::hint::spin_loop();
        }
        kill(child);
        let seen = whole(&folder).unwrap();
        assert!(seen > last);
        last = seen;
        hits += usize::from(temporaries(&folder) > 0);
    }
    assert!(hits >= HITS, "{hits} kills hit a write");
    let mut writer = Writer::adopt(folder.clone(), at(9)).unwrap();
    assert_eq!(temporaries(&folder), 0, "the next writer clears them away");
    writer.finish(&Outcome::Done, at(10)).unwrap();
    let ended = document(&folder);
    assert_eq!((ended.state, ended.dropped.lines), (RunState::Done, last));
}
