//! A home with one run, at a fixed time.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use daemon_run_folder::{Document, DocumentReading, Folder, Handle, Owner, RunStart, Writer};
use jiff::{SignedDuration, Timestamp};

/// Milliseconds after the start of every run here.
pub(crate) fn at(milliseconds: i64) -> Timestamp {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    start + SignedDuration::from_millis(milliseconds)
}

pub(crate) fn start() -> RunStart {
    let owner = Owner {
        pid: 77,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    RunStart::new(
        "cli:1000",
        owner,
        "claude",
        "repair links",
        b"Be brief.\nTask: repair links".to_vec(),
    )
}

pub(crate) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["daemons", "logs"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    pub(crate) fn daemons(&self) -> std::path::PathBuf {
        self.directory.path().join("daemons")
    }

    pub(crate) fn run(&self, start: RunStart) -> Writer {
        let handle: Handle = "em-1".parse().unwrap();
        let reserved = Folder::reserve(&self.daemons(), handle, at(0)).unwrap();
        Writer::start(reserved, start, at(0)).unwrap()
    }

    /// Replaces what differs between two homes.
    pub(crate) fn plain(&self, folder: &Folder, text: &str) -> String {
        let home = self.directory.path().to_string_lossy();
        text.replace(&folder.id().to_string(), "RUN")
            .replace(&*home, "HOME")
    }
}

pub(crate) fn document(folder: &Folder) -> Document {
    match folder.read().unwrap() {
        DocumentReading::Known(document) => *document,
        other => panic!("expected a document, got {other:?}"),
    }
}

pub(crate) fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// Lists the mode and path of everything in a folder.
pub(crate) fn listing(folder: &Folder) -> Vec<String> {
    let mut acc = Vec::new();
    let mut pending = vec![folder.path().to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
            let path = entry.path();
            let name = path
                .strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string();
            acc.push(format!("{mode:o} {name}"));
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
    acc.sort();
    acc
}
