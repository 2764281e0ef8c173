use daemon_run_folder::{Handle, Outcome, Owner, RunStart, Writer};
use jiff::SignedDuration;

use super::*;

fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
    start + SignedDuration::from_secs(seconds)
}

fn begun(runs: &Path, handle: &str) -> Writer {
    let handle: Handle = handle.parse().expect("a handle");
    let owner = Owner {
        pid: 77,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let start = RunStart::new("cli:1", owner, "claude", "look", b"look".to_vec());
    let reserved = Folder::reserve(runs, handle, at(0)).expect("a folder");
    Writer::start(reserved, start, at(0)).expect("a run")
}

fn ended(runs: &Path, handle: &str) -> Writer {
    let mut writer = begun(runs, handle);
    writer.finish(&Outcome::Done, at(10)).expect("an end");
    writer
}

#[test]
fn what_ended_before_and_was_told_goes() {
    let home = tempfile::tempdir().expect("a directory");
    let runs = home.path();
    let running = begun(runs, "em-1");
    let untold = ended(runs, "em-2");
    let mut told = ended(runs, "em-3");
    told.published(7, at(11)).expect("a note");
    let mut asked = ended(runs, "em-4");
    asked.published(8, at(11)).expect("a note");
    let n = asked.ask_started(at(12)).expect("a message");
    let ids = |found: Vec<Folder>| -> Vec<String> {
        let handles = found.iter().map(|folder| folder.id().handle());
        handles.map(|handle| handle.to_string()).collect()
    };
    assert_eq!(ids(old(runs, at(10))), [""; 0], "it ended at this instant");
    assert_eq!(ids(old(runs, at(11))), ["em-3"]);
    asked
        .ask_ended(n, Ok("an answer"), at(20))
        .expect("an answer");
    assert_eq!(ids(old(runs, at(20))), ["em-3"]);
    assert_eq!(ids(old(runs, at(21))), ["em-4", "em-3"]);
    assert_eq!(asked.folder().remove().expect("a look"), Removal::Live);
    drop((running, untold, told, asked));
}

#[test]
fn a_folder_without_a_readable_document_goes_by_its_last_sign_of_life() {
    let home = tempfile::tempdir().expect("a directory");
    let writer = ended(home.path(), "em-1");
    let folder = writer.folder().clone();
    std::fs::write(folder.document(), "{").expect("a spoilt document");
    assert_eq!(old(home.path(), at(0)), []);
    let beat = folder.last_heartbeat().expect("a heartbeat");
    assert_eq!(old(home.path(), beat), []);
    assert_eq!(
        old(home.path(), beat + SignedDuration::from_secs(1)),
        std::slice::from_ref(&folder)
    );
    std::fs::write(folder.document(), "{\"data_version\": 99}").expect("a newer document");
    assert_eq!(old(home.path(), at(3_600 * 24 * 365 * 50)), []);
}
