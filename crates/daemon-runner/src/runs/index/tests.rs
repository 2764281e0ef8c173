use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use daemon_records::clock;
use daemon_run_folder::{DocumentReading, Folder, Outcome, Owner, RunId, RunStart, Writer};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::emanation::{History, List, Room, list_reply};

/// The document of a run that was done.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let home = tempfile::tempdir().unwrap();
    let now = clock::now();
    let reserved = Folder::reserve(home.path(), "em-1".parse().unwrap(), now).unwrap();
    let owner = Owner {
        pid: 1,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let start = RunStart::new(
        "cli:7",
        owner,
        "builtin",
        "a task",
        b"Task: a task".to_vec(),
    );
    let mut writer = Writer::start(reserved, start, now).unwrap();
    writer
        .provider_ended(&Outcome::Done, "2 links", now)
        .unwrap();
    writer.finish(&Outcome::Done, now).unwrap();
    serde_json::to_value(writer.document()).unwrap()
});

const GROUPS: [&str; 2] = ["dg-20260102-030405-000001", "dg-20260102-030405-000002"];
const STATES: [&str; 5] = ["running", "done", "failed", "cancelled", "timeout"];
/// How many runs there may be.
const N_RUNS: u8 = 6;

/// A change of one folder between two listings.
#[derive(Clone, Debug)]
enum Change {
    /// Its host writes it and a row of the store.
    Recorded(Fields),
    /// Another process replaces the document.
    Replaced(Fields),
    /// Another process writes into the document.
    Overwritten(Fields),
    Removed,
    Spoilt(&'static str),
    DocumentRemoved,
    Newer(Fields),
    /// Its log contains an end.
    Logged(&'static str),
    /// The store loses its row.
    RowLost,
    /// The host starts again, with the entries of the store.
    Restarted,
}

#[derive(Clone, Debug)]
struct Fields {
    state: &'static str,
    group: Option<&'static str>,
    seq: Option<u64>,
    task: String,
}

fn fields() -> impl Strategy<Value = Fields> {
    let state = prop::sample::select(&STATES[..]);
    let group = prop::option::of(prop::sample::select(&GROUPS[..]));
    let task = "[a-cA-CßÄİ\"\\\\ ]{1,12}";
    (state, group, prop::option::of(0..6_u64), task).prop_map(|(state, group, seq, task)| Fields {
        state,
        group,
        seq,
        task,
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => fields().prop_map(Change::Recorded),
        2 => fields().prop_map(Change::Replaced),
        2 => fields().prop_map(Change::Overwritten),
        1 => Just(Change::Removed),
        1 => prop::sample::select(&["", "{\"data_", "[1]", "{\"data_version\":0}", "{\"data_version\":1}"][..])
            .prop_map(Change::Spoilt),
        1 => Just(Change::DocumentRemoved),
        1 => fields().prop_map(Change::Newer),
        1 => prop::sample::select(&["daemon_done", "daemon_error", "daemon_timeout"][..]).prop_map(Change::Logged),
        1 => Just(Change::RowLost),
        1 => Just(Change::Restarted),
    ]
}

fn wanted() -> impl Strategy<Value = List> {
    let history = prop_oneof![Just(History::Included), Just(History::Left)];
    (
        prop::option::of("[a-cA-Cßäi\"]{1,2}|TASK|migration|em-[1-6]"),
        prop::option::of(prop::sample::select(&STATES[..])),
        prop::option::of(prop::sample::select(&GROUPS[..])),
        prop::option::of(0..6_u64),
        history,
        1..8_usize,
    )
        .prop_map(|(contains, status, group, after_seq, history, last)| List {
            contains,
            status: status.map(str::to_owned),
            group_id: group.map(str::to_owned),
            after_seq,
            history,
            last,
        })
}

/// A home with the rows that its store would hold.
struct Home {
    directory: tempfile::TempDir,
    rows: std::collections::BTreeMap<String, String>,
    /// Makes the length of every document unique, so that stamps differ even within one step of the file system's clock.
    n_written: usize,
}

impl Home {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            rows: std::collections::BTreeMap::new(),
            n_written: 0,
        }
    }

    fn runs(&self) -> PathBuf {
        self.directory.path().join("daemons")
    }

    fn folder(&self, n: u8) -> Folder {
        let id: RunId = format!("em-{}-20260102-0304{n:02}-0000{n:02x}", n + 1)
            .parse()
            .unwrap();
        Folder::new(&self.runs(), id)
    }

    fn document(&mut self, folder: &Folder, fields: &Fields) -> Map<String, Value> {
        self.n_written += 1;
        let mut document = DOCUMENT.as_object().unwrap().clone();
        for (name, value) in [
            ("run_id", json!(folder.id().to_string())),
            ("handle", json!(folder.id().handle().to_string())),
            ("state", json!(fields.state)),
            ("group_id", json!(fields.group)),
            ("notified_seq", json!(fields.seq)),
            ("task", json!(fields.task)),
            ("model", json!("m".repeat(self.n_written))),
        ] {
            document.insert(name.to_owned(), value);
        }
        document
    }

    fn change(&mut self, n: u8, change: &Change, index: &mut RunIndex) {
        let folder = self.folder(n);
        let path = folder.document();
        fs::create_dir_all(folder.path().join("logs")).unwrap();
        match change {
            Change::Recorded(fields) => {
                let document = self.document(&folder, fields);
                replace(&path, &json!(document).to_string());
                let recorded = serde_json::from_value(json!(document)).unwrap();
                let entry = entry(&RecordedRun::new(&folder, recorded), clock::now());
                let row = json!({"id": folder.id().to_string(), "stamp": Stamp::of(&folder), "entry": entry});
                self.rows.insert(folder.id().to_string(), row.to_string());
            }
            Change::Replaced(fields) => {
                let document = self.document(&folder, fields);
                replace(&path, &json!(document).to_string());
            }
            Change::Overwritten(fields) => {
                let document = self.document(&folder, fields);
                fs::write(&path, json!(document).to_string()).unwrap();
            }
            Change::Removed => fs::remove_dir_all(folder.path()).unwrap(),
            Change::Spoilt(text) => fs::write(&path, text).unwrap(),
            Change::DocumentRemoved => fs::remove_file(&path).unwrap_or(()),
            Change::Newer(fields) => {
                let mut document = self.document(&folder, fields);
                document.insert("data_version".to_owned(), json!(99));
                replace(&path, &json!(document).to_string());
            }
            Change::Logged(event) => {
                let line = json!({"ts": "2026-01-02T03:05:00Z", "event": event, "elapsed_s": 1.5,
                    "exception": "exit", "message": "gone"});
                fs::write(folder.events(), format!("{line}\n")).unwrap();
            }
            Change::RowLost => drop(self.rows.remove(&folder.id().to_string())),
            Change::Restarted => *index = self.stored(),
        }
    }

    fn stored(&self) -> RunIndex {
        let rows = self.rows.iter();
        rows.filter_map(|(id, object)| CachedEntry::of_row(&self.runs(), id, object))
            .collect()
    }

    /// Answers a list by an index, and brings the index up to date.
    fn list(&self, index: &mut RunIndex, list: &List, now: Timestamp) -> Value {
        let read = entries(&self.runs(), index, HostPresence::Present, now).unwrap();
        *index = super::index(&read);
        let room = Room {
            running: None,
            most: 100,
        };
        Value::Object(list_reply(&read, list, room))
    }
}

fn replace(path: &Path, text: &str) {
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, path).unwrap();
}

/// A time at which everything written before is long ago.
fn later() -> Timestamp {
    clock::now() + SignedDuration::from_hours(1)
}

fn all() -> List {
    List {
        contains: None,
        status: None,
        group_id: None,
        after_seq: None,
        history: History::Included,
        last: 50,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_index_lists_the_same_entries_as_a_scan_after_any_changes(
        rounds in prop::collection::vec(
            (prop::collection::vec((0..N_RUNS, change()), 0..6), wanted()), 1..8),
    ) {
        let mut home = Home::new();
        let mut index = RunIndex::new();
        for (changes, wanted) in rounds {
            for (n, change) in &changes {
                home.change(*n, change, &mut index);
            }
            let now = later();
            let by_index = home.list(&mut index, &wanted, now);
            let by_scan = home.list(&mut RunIndex::new(), &wanted, now);
            prop_assert_eq!(by_index, by_scan, "after {:?}", changes);
        }
    }
}

fn done(task: &str) -> Fields {
    Fields {
        state: "done",
        group: None,
        seq: None,
        task: task.to_owned(),
    }
}

fn tasks(reply: &Value) -> Vec<&str> {
    let shown = reply["emanations"].as_array().unwrap().iter();
    shown.map(|entry| entry["task"].as_str().unwrap()).collect()
}

#[test]
fn a_document_that_is_unchanged_is_not_read_again() {
    let mut home = Home::new();
    let mut index = RunIndex::new();
    home.change(0, &Change::Recorded(done("as the store says")), &mut index);
    // Only the row contains this task, so that a listing that shows it has not read the folder.
    for row in home.rows.values_mut() {
        *row = row.replace("as the store says", "remembered");
    }
    let mut index = home.stored();
    let shown = home.list(&mut index, &all(), later());
    assert_eq!(tasks(&shown), ["remembered"]);
    assert_eq!(
        tasks(&home.list(&mut index, &all(), later())),
        ["remembered"]
    );

    home.change(
        0,
        &Change::Overwritten(done("as the folder says")),
        &mut index,
    );
    let shown = home.list(&mut index, &all(), later());
    assert_eq!(tasks(&shown), ["as the folder says"]);
}

#[test]
fn a_document_that_changed_this_instant_is_read_again() {
    let mut home = Home::new();
    let mut index = RunIndex::new();
    home.change(0, &Change::Replaced(done("a task")), &mut index);
    home.list(&mut index, &all(), clock::now());
    assert!(index.is_empty(), "{index:?}");
    home.list(&mut index, &all(), later());
    assert_eq!(index.len(), 1);
}

#[test]
fn a_row_of_a_home_that_was_moved_is_not_believed() {
    let mut home = Home::new();
    home.change(0, &Change::Recorded(done("a task")), &mut RunIndex::new());
    assert_eq!(home.stored().len(), 1);
    let elsewhere = Path::new("/elsewhere/daemons");
    let (id, object) = home.rows.first_key_value().unwrap();
    assert!(CachedEntry::of_row(elsewhere, id, object).is_none());
}

#[test]
fn more_folders_than_one_thread_takes_are_listed_newest_first() {
    let home = Home::new();
    let n_folders = 3 * SHARE + 1;
    let ids: Vec<RunId> = (0..n_folders)
        .map(|n| {
            let (minute, second) = (n / 60, n % 60);
            format!("em-1-20260102-03{minute:02}{second:02}-000000")
                .parse()
                .unwrap()
        })
        .collect();
    for id in &ids {
        let folder = Folder::new(&home.runs(), *id);
        fs::create_dir_all(folder.path()).unwrap();
        let mut document = DOCUMENT.as_object().unwrap().clone();
        document.insert("run_id".to_owned(), json!(id.to_string()));
        fs::write(folder.document(), json!(document).to_string()).unwrap();
        assert!(matches!(folder.read().unwrap(), DocumentReading::Known(_)));
    }
    let read = entries(
        &home.runs(),
        &RunIndex::new(),
        HostPresence::Absent,
        later(),
    )
    .unwrap();
    let listed: Vec<RunId> = read.iter().map(|seen| seen.id).collect();
    assert_eq!(listed, ids.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn the_entry_of_a_broken_document_in_a_locked_folder_is_not_cached() {
    let mut home = Home::new();
    let mut index = RunIndex::new();
    home.change(0, &Change::Spoilt("{"), &mut index);
    let lock = fs::File::create(home.folder(0).path().join(".lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let status = |index: &mut RunIndex| {
        let reply = home.list(index, &all(), later());
        reply["emanations"][0]["status"].clone()
    };
    assert_eq!(status(&mut index), "unknown");
    fs::write(home.folder(0).result(), "2 links").unwrap();
    assert_eq!(status(&mut index), "done");
}

#[test]
fn a_folder_whose_run_is_about_to_begin_is_neither_shown_nor_written() {
    let home = tempfile::tempdir().unwrap();
    let now = clock::now();
    let reserved = Folder::reserve(home.path(), "em-1".parse().unwrap(), now).unwrap();
    let folder = reserved.folder().clone();
    let shown_at = |now| {
        let read = entries(home.path(), &RunIndex::new(), HostPresence::Present, now).unwrap();
        read.len()
    };
    assert_eq!(shown_at(now), 0);
    assert!(folder.is_blank(), "looking at it wrote nothing");
    assert_eq!(shown_at(now + SignedDuration::from_secs(61)), 1);
}
