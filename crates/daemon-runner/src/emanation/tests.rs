//! The JSON made from one run folder, byte for byte: the entry of `list`, the reply of `check`, the object and the row.

use std::time::Duration;

use daemon_provider::redact::Redactor;
use daemon_records::{RecordedRun, RunObject, refresh};
use daemon_run_folder::{
    BudgetRecord, ChildProcess, Dropped, Exit, Failure, FailureKind, Folder, Outcome, OutputStream,
    Owner, RunError, RunStart, SandboxRecord, StopReason, TokensRecord, ToolStatus, Truncation,
    Writer,
};
use expect_test::expect_file;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::CheckCall;
use super::check;
use super::find::{Found, Source};
use crate::runs::{HostPresence, Record, entry, list_entry};
use crate::test_clock::TestClock;

/// A home with one run, whose folder was written at fixed times.
struct Home {
    directory: tempfile::TempDir,
    folder: Folder,
}

fn at(milliseconds: i64) -> Timestamp {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    Timestamp::from_millisecond(start.as_millisecond() + milliseconds).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// Every parameter that a run can start with.
fn start() -> RunStart {
    let owner = Owner {
        pid: 77,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let long = "a long task, ".repeat(20);
    RunStart {
        group_id: Some("dg-20260102-030405-77aa01".parse().unwrap()),
        tools: vec!["file".to_owned()],
        call_parameters: object(
            json!({"task": long, "tools": null, "skills": ["a", "é".repeat(600)]}),
        ),
        backend_options: object(json!({"effort": "high"})),
        max_turns: Some(100),
        timeout: Some(Duration::from_secs(3600)),
        idle_timeout: Some(Duration::from_millis(2500)),
        budget: BudgetRecord {
            usd: Some(1.5),
            tokens: None,
            reserved_usd: None,
        },
        sandbox: SandboxRecord {
            level: 2,
            detail: "landlock".to_owned(),
        },
        is_reported: true,
        ..RunStart::new(
            "cli:1000",
            owner,
            "claude",
            &long,
            b"Task: a long task".to_vec(),
        )
    }
}

/// Records what a live run can record.
fn live(writer: &mut Writer) {
    let child = ChildProcess {
        pid: 4242,
        start: 99,
        pgid: 4242,
    };
    let used = TokensRecord {
        input: 75,
        output: 7,
        thinking: 3,
        cached: 25,
    };
    let whole = Truncation::Whole;
    writer
        .spawned(child, vec!["/usr/bin/claude".to_owned()], at(10))
        .unwrap();
    writer.session("s1", at(20)).unwrap();
    writer.turn(2, at(30)).unwrap();
    writer
        .output(OutputStream::Stdout, "Reading.", whole, at(1000))
        .unwrap();
    writer.tool_start("Read", "{}", at(1100)).unwrap();
    writer.tool_end("Read", ToolStatus::Ok, at(1200)).unwrap();
    writer
        .dropped(Dropped { lines: 1, bytes: 2 }, at(1300))
        .unwrap();
    writer.cli_usage(used, Some(0.25), json!({}));
}

/// Ends the run, then sends it a message that is answered and one that is not.
fn end(writer: &mut Writer, outcome: &Outcome) {
    writer
        .stopping(StopReason::Grace, Some("stayed"), at(22_000))
        .unwrap();
    writer.exited(Exit::Code(0), at(22_500)).unwrap();
    writer
        .provider_ended(outcome, "2 links repaired", at(22_600))
        .unwrap();
    writer.finish(outcome, at(22_700)).unwrap();
    writer.ask_started(at(30_000)).unwrap();
    writer.ask_ended(1, Ok("yes"), at(31_000)).unwrap();
    writer.ask_started(at(32_000)).unwrap();
    let (state, error) = RunError::of(&Outcome::Stopped(StopReason::AgentStop));
    let error = error.expect("a stopped reply has an error");
    writer
        .ask_ended(2, Err((state, error)), at(33_000))
        .unwrap();
    writer.published(41, at(34_000)).unwrap();
}

impl Home {
    fn new(record: impl FnOnce(&mut Writer)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runs = directory.path().join("daemons");
        std::fs::create_dir(&runs).unwrap();
        let reserved = Folder::reserve(&runs, "em-5".parse().unwrap(), at(0)).unwrap();
        let mut writer = Writer::start(reserved, start(), at(0)).unwrap();
        record(&mut writer);
        let folder = writer.folder().clone();
        Self { directory, folder }
    }

    /// Returns the entry of `list` and the reply of `check`, a minute after the start of the run.
    fn objects(&self) -> Value {
        let now = at(60_000);
        let run = RecordedRun::read(&self.folder, now).unwrap();
        let found = Found {
            folder: self.folder.clone(),
            source: Source::History,
            others: Vec::new(),
        };
        let wanted = CheckCall {
            id: "em-5".to_owned(),
            last: 3,
            truncate: Some(200),
            wait: None,
        };
        let reply = check::reply(&found, &wanted, HostPresence::Absent, now).unwrap();
        json!({
            "list": list_entry(&run, HostPresence::Present, now),
            "check": reply,
        })
    }

    /// Returns the row of the store, without the stamp, which depends on the file system, and the objects made from it.
    fn row(&self) -> Value {
        let record = Record::adopt(
            self.folder.clone(),
            Redactor::default(),
            TestClock::at(at(60_000)),
        )
        .unwrap();
        let row = record.row();
        let recorded = RecordedRun::new(&self.folder, record.document().clone());
        let mut object: Value = serde_json::from_str(&row.object).unwrap();
        object.as_object_mut().unwrap().shift_remove("stamp");
        let read_back = RunObject::from_row(&row);
        let runs = self.directory.path().join("daemons");
        json!({
            "state": row.state,
            "provider": row.provider,
            "object": object,
            "read_back": read_back,
            "refreshed": refresh(&runs, read_back.clone(), at(60_000)),
            "of_document": entry(&recorded, at(60_000)),
        })
    }

    /// Formats a value, with short names for the path of the home, the run's id and the longest string.
    fn plain(&self, shown: &Value) -> String {
        let home = self.directory.path().to_string_lossy().into_owned();
        let text = serde_json::to_string_pretty(shown).unwrap();
        text.replace(&home, "HOME")
            .replace(&self.folder.id().to_string(), "RUN")
            .replace(&"é".repeat(499), "(499 é)")
            + "\n"
    }
}

#[test]
fn the_json_of_a_done_run_stays_the_same() {
    let home = Home::new(|writer| {
        live(writer);
        end(writer, &Outcome::Done);
    });
    expect_file!["objects/done.json"].assert_eq(&home.plain(&home.objects()));
    expect_file!["objects/done_row.json"].assert_eq(&home.plain(&home.row()));
}

#[test]
fn the_json_of_a_failed_run_stays_the_same() {
    let failure = Failure::new(FailureKind::Exit, "exit code 1");
    let home = Home::new(|writer| end(writer, &Outcome::Failed(failure)));
    expect_file!["objects/failed.json"].assert_eq(&home.plain(&home.objects()));
    expect_file!["objects/failed_row.json"].assert_eq(&home.plain(&home.row()));
}

#[test]
fn the_json_of_a_running_run_stays_the_same() {
    let home = Home::new(live);
    expect_file!["objects/running.json"].assert_eq(&home.plain(&home.objects()));
}

#[test]
fn a_document_of_a_later_version_is_shown_as_it_is() {
    let home = Home::new(|writer| {
        live(writer);
        end(writer, &Outcome::Done);
    });
    let path = home.folder.document();
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    document["data_version"] = json!(99);
    document["state"] = json!("paused");
    document["finished_at"] = json!(7);
    document.as_object_mut().unwrap().shift_remove("task");
    std::fs::write(&path, document.to_string()).unwrap();
    expect_file!["objects/newer.json"].assert_eq(&home.plain(&home.objects()));
}
