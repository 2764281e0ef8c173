//! The memory of an agent: the contract of every memory, and what only its file can suffer.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::{fs, thread};

use daemon_store::agent_memory::{AgentMemory as _, MemoryEntry, RecallWords, Remembered};
use daemon_store::conformance::{MEMORY_CASES, MemoryCase, compare_memories};
use daemon_store::memory::MemoryTwin;
use daemon_store_sqlite::SqliteMemory;
use jiff::Timestamp;

use crate::conformance::runtime;

fn note(name: &str, content: &str) -> MemoryEntry {
    MemoryEntry::new("note", name, content, &[]).unwrap()
}

async fn names(memory: &SqliteMemory, query: &str) -> Vec<String> {
    let found = memory.recall(&RecallWords::parse(query), 10).await.unwrap();
    let names = found.into_iter().map(|found| found.entry.name().to_owned());
    names.collect()
}

#[test]
fn sqlite_does_what_every_memory_must_do() {
    let has_failed = |case: &&MemoryCase| {
        thread::scope(|scope| {
            let runs = scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                let memory = SqliteMemory::new(folder.path().join("a.db"));
                runtime().block_on(case.run(&memory));
            });
            runs.join().is_err()
        })
    };
    let failed = MEMORY_CASES.iter().filter(has_failed);
    assert_eq!(failed.map(|case| case.name).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn sqlite_agrees_with_the_twin_over_random_entries_and_across_openings() {
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let twin = MemoryTwin::new();
        for opening in 0..4 {
            // Another value reads the frequencies from the file.
            let memory = SqliteMemory::new(folder.path().join("a.db"));
            let seed = seed * 100 + opening;
            runtime().block_on(compare_memories(&twin, &memory, seed, 60));
        }
    }
}

#[test]
fn what_is_kept_is_found_after_a_new_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let at = Timestamp::UNIX_EPOCH;
    runtime().block_on(async {
        let memory = SqliteMemory::new(path.clone());
        memory.remember(note("a", "first"), at).await.unwrap();
        let again = memory.remember(note("a", "second"), at).await.unwrap();
        assert_eq!(again, Remembered::Replaced);
        drop(memory);
        let memory = SqliteMemory::new(path);
        assert_eq!(names(&memory, "second").await, ["a"]);
        assert_eq!(names(&memory, "first").await, [""; 0]);
    });
}

#[test]
fn only_an_entry_makes_the_file_and_only_its_owner_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    runtime().block_on(async {
        let memory = SqliteMemory::new(path.clone());
        assert_eq!(names(&memory, "a").await, [""; 0]);
        memory.forget("note", "a").await.unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let kept = memory.remember(note("a", "b"), Timestamp::UNIX_EPOCH).await;
        kept.unwrap();
        let modes = fs::read_dir(folder.path()).unwrap().map(|entry| {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            mode & 0o777
        });
        assert_eq!(modes.collect::<Vec<_>>(), [0o600; 3]);
    });
}

#[test]
fn entries_of_many_tasks_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Arc::new(SqliteMemory::new(folder.path().join("a.db")));
    runtime().block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..40 {
            let memory = Arc::clone(&memory);
            tasks.spawn(async move {
                let entry = note(&format!("n{n}"), "shared text");
                memory.remember(entry, Timestamp::UNIX_EPOCH).await.unwrap()
            });
        }
        assert_eq!(tasks.join_all().await, [Remembered::Added; 40]);
        let found = memory.recall(&RecallWords::parse("shared"), 100).await;
        assert_eq!(found.unwrap().len(), 40);
    });
}

fn refusal(path: &Path) -> String {
    let memory = SqliteMemory::new(path.to_owned());
    let kept = runtime().block_on(memory.remember(note("a", "b"), Timestamp::UNIX_EPOCH));
    let message = kept.unwrap_err().to_string();
    message.replace(&path.display().to_string(), "PATH")
}

#[test]
fn files_that_are_no_memory_are_refused_and_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    for (content, expected) in [
        (
            b"".as_slice(),
            "the store is damaged: `PATH`: it is empty; restore it from a backup, or remove it to begin anew",
        ),
        (
            b"# notes",
            "the store is damaged: `PATH`; restore it from a backup",
        ),
    ] {
        fs::write(&path, content).unwrap();
        assert_eq!(refusal(&path), expected);
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    drop(daemon_store_sqlite::SqliteStore::open(folder.path().join("state.db")).unwrap());
    assert_eq!(
        refusal(&folder.path().join("state.db")),
        "the store is damaged: `PATH`: it belongs to another program; move it away; restore it from a backup"
    );
}

#[test]
fn a_failed_write_keeps_nothing_and_the_memory_is_used_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let memory = SqliteMemory::new(path.clone());
    runtime().block_on(async {
        let at = Timestamp::UNIX_EPOCH;
        memory.remember(note("a", "b"), at).await.unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = memory.remember(note("c", "d"), at).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "failed to reach the store: keep an entry in `{}`",
                path.display()
            )
        );
        drop(other);
        assert_eq!(names(&memory, "d").await, [""; 0]);
        memory.remember(note("c", "d"), at).await.unwrap();
        assert_eq!(names(&memory, "d").await, ["c"]);
    });
}
