//! Documents made again.

use std::fs;
use std::io::Write as _;

use daemon_run_folder::{
    Broken, DocumentReading, ErrorClass, Failure, FailureKind, Folder, Outcome, RunState,
};
use expect_test::expect;

use crate::kit::{Home, at, document, start, text};

fn broken(folder: &Folder) -> Broken {
    match folder.read().unwrap() {
        DocumentReading::Broken(reason) => reason,
        other => panic!("expected a broken document, got {other:?}"),
    }
}

/// A run that failed, without a writer.
fn failed(home: &Home) -> Folder {
    let mut writer = home.run(start());
    let error = Failure {
        kind: FailureKind::Exit,
        message: "exit code 3".to_owned(),
        class: ErrorClass::Final,
    };
    writer.finish(&Outcome::Failed(error), at(7500)).unwrap();
    writer.folder().clone()
}

#[test]
fn every_kind_of_damage_is_detected_and_rebuilt() {
    let table = [
        (None, "daemon_json_missing"),
        (Some("{\"data_version\": 1, "), "daemon_json_invalid"),
        (
            Some("{\"data_version\": 1, \"handle\": 5}"),
            "daemon_json_invalid",
        ),
        (Some("[1]"), "daemon_json_not_object"),
        (
            Some("{\"data_version\": 0}"),
            "daemon_json_data_version_mismatch",
        ),
        (Some("{}"), "daemon_json_data_version_mismatch"),
    ];
    for (damage, reason) in table {
        let home = Home::new();
        let folder = failed(&home);
        let path = folder.path().join("daemon.json");
        match damage {
            Some(damage) => fs::write(&path, damage).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert_eq!(broken(&folder).as_str(), reason);
        let rebuilt = folder.rebuild(broken(&folder), at(60_000)).unwrap();
        assert_eq!(document(&folder), rebuilt);
        let migration = rebuilt
            .migration
            .map(|migration| (migration.reason, migration.rebuilt_at));
        assert_eq!(migration, Some((reason.to_owned(), at(60_000))));
        assert_eq!(
            (rebuilt.state, &*rebuilt.task),
            (RunState::Failed, "repair links")
        );
        assert_eq!(
            (rebuilt.started_at, rebuilt.finished_at),
            (at(0), Some(at(7000)))
        );
        assert_eq!(rebuilt.elapsed_s, 7.5);
        let error = rebuilt.error.map(|error| (error.kind, error.message));
        assert_eq!(error, Some(("exit".to_owned(), "exit code 3".to_owned())));
    }
}

#[test]
fn old_fields_and_unknown_keys_are_kept_and_wrong_ones_are_not() {
    let home = Home::new();
    let folder = failed(&home);
    let old = r#"{"data_version": 0, "color": "red", "backend": "codex", "turn": "many", "state": "running"}"#;
    fs::write(folder.path().join("daemon.json"), old).unwrap();
    let rebuilt = folder.rebuild(broken(&folder), at(60_000)).unwrap();
    assert_eq!((&*rebuilt.backend, rebuilt.turn), ("codex", 0));
    assert_eq!(rebuilt.state, RunState::Failed, "the log knows better");
    assert_eq!(
        rebuilt.unknown.get("color"),
        Some(&serde_json::json!("red"))
    );
}

#[test]
fn a_result_without_a_log_means_done_and_an_empty_folder_means_unknown() {
    let home = Home::new();
    let id = "em-3-20260102-030405-0a1b2c".parse().unwrap();
    let folder = Folder::new(&home.daemons(), id);
    fs::create_dir(folder.path()).unwrap();
    let rebuilt = folder.rebuild(Broken::Missing, at(60_000)).unwrap();
    let found = (
        rebuilt.state,
        rebuilt.started_at,
        rebuilt.finished_at,
        rebuilt.result_path,
    );
    assert_eq!(found, (RunState::Unknown, at(0), None, None));

    fs::remove_file(folder.document()).unwrap();
    fs::write(folder.result(), "Fixed.").unwrap();
    let rebuilt = folder.rebuild(Broken::Missing, at(60_000)).unwrap();
    assert_eq!(rebuilt.state, RunState::Done);
    assert_eq!(rebuilt.result_preview.as_deref(), Some("Fixed."));
    assert_eq!(
        rebuilt.result_path,
        Some(folder.result().display().to_string())
    );
}

#[test]
fn a_long_log_is_read_from_its_end() {
    let home = Home::new();
    let folder = failed(&home);
    let end = text(folder.events());
    let line = "{\"ts\":\"2026-01-01T00:00:00Z\",\"event\":\"daemon_done\",\"elapsed_s\":1.0}\n";
    let mut log = fs::File::create(folder.events()).unwrap();
    let megabyte = line.repeat((1 << 20) / line.len());
    for _ in 0..100 {
        log.write_all(megabyte.as_bytes()).unwrap();
    }
    log.write_all(end.as_bytes()).unwrap();
    drop(log);
    // A document that is there would be taken as it is, and the log left unread.
    fs::remove_file(folder.document()).unwrap();
    let before = bytes_read();
    let rebuilt = folder.rebuild(Broken::Missing, at(60_000)).unwrap();
    let n_read = bytes_read() - before;
    assert_eq!(
        (rebuilt.state, rebuilt.started_at, rebuilt.finished_at),
        (RunState::Failed, at(0), Some(at(7000)))
    );
    let error = rebuilt.error.map(|error| (error.kind, error.message));
    assert_eq!(error, Some(("exit".to_owned(), "exit code 3".to_owned())));
    let reason = rebuilt.migration.map(|migration| migration.reason);
    assert_eq!(reason.as_deref(), Some("daemon_json_missing"));
    // The last 64 KiB of the log, and the other, small files.
    assert!(n_read < 256 << 10, "{n_read} bytes were read");
}

/// Returns how many bytes this thread has read so far.
fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_later_version_and_a_live_folder_are_not_rebuilt() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    let error = folder.rebuild(Broken::Invalid, at(60_000)).unwrap_err();
    expect!["cannot lock `HOME/daemons/RUN/.lock`"]
        .assert_eq(&home.plain(&folder, &error.to_string()));
    drop(writer);
    let newer = r#"{"data_version": 2, "handle": 5}"#;
    fs::write(folder.path().join("daemon.json"), newer).unwrap();
    let DocumentReading::Newer(newer) = folder.read().unwrap() else {
        panic!("a later version")
    };
    assert_eq!(newer.verbatim.get("handle"), Some(&serde_json::json!(5)));
}

#[test]
fn a_document_that_became_readable_is_not_overwritten() {
    let home = Home::new();
    let writer = home.run(start());
    let folder = writer.folder().clone();
    drop(writer);
    let stored = document(&folder);
    let rebuilt = folder.rebuild(Broken::Missing, at(99)).unwrap();
    assert_eq!(rebuilt, stored);
    assert_eq!(document(&folder), stored);
}
