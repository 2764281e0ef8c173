//! What readers see while a writer writes.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use daemon_run_folder::{
    DocumentReading, Folder, Outcome, OutputStream, Owner, RunId, RunState, StopReason, Truncation,
    Writer,
};
use serde_json::json;

use crate::kit::{Home, at, document, start};

#[test]
fn readers_see_the_old_document_or_the_new_one() {
    let home = Home::new();
    let mut writer = home.run(start());
    let folder = writer.folder().clone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let seen = document(&folder).dropped.lines;
                    assert!(seen >= last, "{seen} after {last}");
                    last = seen;
                }
            });
        }
        let one = daemon_run_folder::Dropped { lines: 1, bytes: 0 };
        for n in 1..=500 {
            writer.dropped(one, at(n * 1000)).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(document(&folder).dropped.lines, 500);
}

#[test]
fn folders_are_listed_newest_first_and_other_entries_are_skipped() {
    let home = Home::new();
    let names = [
        "em-2-20260102-030405-000001",
        "em-1-20260103-000000-000000",
        "em-10-20260102-030405-ffffff",
        "notes",
        "em-1",
    ];
    for name in names {
        fs::create_dir(home.daemons().join(name)).unwrap();
    }
    let listed: Vec<String> = Folder::list(&home.daemons())
        .unwrap()
        .iter()
        .map(|folder| folder.id().to_string())
        .collect();
    assert_eq!(listed, [names[1], names[2], names[0]]);
    assert_eq!(Folder::list(&home.daemons().join("absent")).unwrap(), []);
}

#[test]
fn torn_lines_are_skipped_and_spoil_no_other() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    drop(writer);
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(folder.events())
        .unwrap();
    log.write_all(b"{\"ts\":\"2026-01-02T03:0").unwrap();
    let mut writer = Writer::adopt(folder.clone(), at(10)).unwrap();
    writer
        .output(OutputStream::Stdout, "one", Truncation::Whole, at(10))
        .unwrap();
    writer
        .output(OutputStream::Stdout, "two", Truncation::Whole, at(10))
        .unwrap();
    let log = folder.last_events(2).unwrap();
    let texts: Vec<&str> = log
        .events
        .iter()
        .filter_map(|row| row["text"].as_str())
        .collect();
    assert_eq!((texts, log.total), (vec!["one", "two"], 3));
}

#[test]
fn a_folder_has_one_writer_and_reports_it() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    assert!(folder.is_live().unwrap());
    let error = Writer::adopt(folder.clone(), at(10)).unwrap_err();
    let lock = folder.path().join(".lock");
    assert_eq!(
        error.to_string(),
        format!("cannot lock `{}`", lock.display())
    );
    drop(writer);
    assert!(!folder.is_live().unwrap());
    Writer::adopt(folder, at(10)).unwrap();
}

#[test]
fn testing_whether_a_folder_is_live_does_not_block_a_writer() {
    let home = Home::new();
    let folder = home.run(start()).folder().clone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    folder.is_live().unwrap();
                }
            });
        }
        for _ in 0..1000 {
            let writer = Writer::adopt(folder.clone(), at(10));
            is_over.fetch_or(writer.is_err(), Ordering::Relaxed);
            writer.unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_owner_is_read_back_as_it_was_written() {
    let home = Home::new();
    let writer = home.run(start());
    assert_eq!(Owner::of(&document(writer.folder())), Some(start().owner));
}

#[test]
fn an_orphan_is_done_only_if_its_whole_result_is_stored_and_no_stop_had_begun() {
    type Step = fn(&mut Writer);
    let table: [(&str, Step, &str, Option<&str>); 5] = [
        ("silent", |_| {}, "failed", None),
        (
            "ended",
            |writer| end(writer, "Fixed."),
            "done",
            Some("Fixed."),
        ),
        (
            "ended without text",
            |writer| end(writer, ""),
            "done",
            Some(""),
        ),
        (
            "tampered",
            |writer| {
                end(writer, "Fixed.");
                fs::write(writer.folder().result(), "Fixed").unwrap();
            },
            "failed",
            None,
        ),
        (
            "stopped",
            |writer| {
                writer.stopping(StopReason::Reclaim, None, at(1)).unwrap();
                end(writer, "Fixed.");
            },
            "failed",
            None,
        ),
    ];
    for (name, step, state, preview) in table {
        let home = Home::new();
        let mut writer = home.run(start());
        step(&mut writer);
        let folder = writer.folder().clone();
        drop(writer);
        let mut writer = Writer::adopt(folder.clone(), at(90_000)).unwrap();
        writer.finish_orphaned(at(90_000)).unwrap();
        let found = document(&folder);
        assert_eq!(found.state.as_str(), state, "{name}");
        assert_eq!(found.result_preview.as_deref(), preview, "{name}");
        let kind = found.error.map(|error| error.kind);
        assert_eq!(
            kind.as_deref(),
            (state == "failed").then_some("DaemonOrphaned"),
            "{name}"
        );
    }
}

fn end(writer: &mut Writer, text: &str) {
    writer.provider_ended(&Outcome::Done, text, at(2)).unwrap();
}

#[test]
fn unknown_keys_survive_a_writer() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    drop(writer);
    let path = folder.path().join("daemon.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen('{', "{\n  \"color\": {\"b\": 1, \"a\": [2]},", 1),
    )
    .unwrap();
    let mut writer = Writer::adopt(folder.clone(), at(1)).unwrap();
    writer.finish(&Outcome::Done, at(2)).unwrap();
    let color = document(&folder).unknown.remove("color");
    assert_eq!(color, Some(serde_json::json!({"b": 1, "a": [2]})));
}

#[test]
fn a_later_version_is_read_field_by_field_and_loses_nothing() {
    let home = Home::new();
    let folder = home.run(start()).folder().clone();
    let mut file = document(&folder).to_members();
    file.insert("data_version".to_owned(), json!(2));
    file.insert("state".to_owned(), json!("paused"));
    file.insert(
        "tokens".to_owned(),
        json!({"input": 5, "output": 0, "thinking": 0, "cached": 0, "audio": 1}),
    );
    file.insert("color".to_owned(), json!("red"));
    file.shift_remove("task");
    fs::write(folder.document(), json!(file).to_string()).unwrap();
    let DocumentReading::Newer(newer) = folder.read().unwrap() else {
        panic!("a later version")
    };
    assert_eq!(newer.document.state, RunState::Unknown);
    assert_eq!(
        (newer.document.backend.as_str(), newer.document.tokens.input),
        ("claude", 5)
    );
    assert_eq!(newer.document.unknown.get("color"), Some(&json!("red")));
    let verbatim = json!({"state": "paused", "task": null,
        "tokens": {"input": 5, "output": 0, "thinking": 0, "cached": 0, "audio": 1}});
    assert_eq!(json!(newer.verbatim), verbatim);
}

#[test]
fn a_folder_can_be_named_before_it_exists() {
    let home = Home::new();
    let id: RunId = "em-1-20260102-030405-0a1b2c".parse().unwrap();
    let folder = Folder::new(&home.daemons(), id);
    let missing = DocumentReading::Broken(daemon_run_folder::Broken::Missing);
    assert_eq!(folder.read().unwrap(), missing);
    assert_eq!(folder.last_events(5).unwrap().total, 0);
    assert_eq!(
        (folder.last_heartbeat(), folder.is_live().unwrap()),
        (None, false)
    );
}
