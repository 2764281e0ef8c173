//! Logs that lost something: what was acknowledged is never missed in silence.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use daemon_engine::{HostEnd, HostEpoch};
use daemon_store::{Activations as _, Hosting as _, StoreError};
use daemon_store_sqlite::{SqliteStore, repair};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::conformance::runtime;

const SUFFIXES: [&str; 3] = ["", "-wal", "-mark"];

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Makes a store with a commit for each of some epochs, and copies it as SIGKILL would leave it.
fn killed_after(n_epochs: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    runtime().block_on(async {
        for _ in 0..n_epochs {
            let begun = store.begin_epoch(HostEnd::Stopped, Timestamp::UNIX_EPOCH);
            begun.await.unwrap();
            // A transaction that changes nothing adds nothing to the log, and the mark must not lead.
            let taken = store.reclaim(HostEpoch(0), Timestamp::UNIX_EPOCH);
            assert_eq!(taken.await.unwrap(), []);
        }
    });
    let copy = folder.path().join("copy.db");
    for suffix in SUFFIXES {
        fs::copy(beside(&path, suffix), beside(&copy, suffix)).unwrap();
    }
    drop(store);
    (folder, copy)
}

fn epoch(path: &Path) -> Result<HostEpoch, StoreError> {
    let store = SqliteStore::open(path)?;
    runtime().block_on(store.epoch())
}

/// Sums up the files of a store; one that is empty counts as none.
fn sums(path: &Path) -> Vec<Option<u64>> {
    let sum = |bytes: Vec<u8>| {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    };
    let contents = SUFFIXES
        .iter()
        .map(|suffix| fs::read(beside(path, suffix)).ok());
    contents
        .map(|bytes| bytes.filter(|bytes| !bytes.is_empty()).map(sum))
        .collect()
}

/// The expected state of a store whose log was changed.
enum Then {
    /// It opens with this number of epochs.
    Opens(u64),
    /// It is refused with an error that contains these words, and has this number of epochs after a repair.
    Refused(&'static str, u64),
}

/// Changes the log of a killed store of twenty epochs.
fn check(what: &str, change: impl FnOnce(&mut Vec<u8>, &Path), then: &Then) {
    let (folder, path) = killed_after(20);
    let log = beside(&path, "-wal");
    let mut changed = fs::read(&log).unwrap();
    change(&mut changed, &path);
    fs::write(&log, changed).unwrap();
    let before = sums(&path);
    let (words, readable) = match then {
        Then::Opens(n) => {
            assert_eq!(epoch(&path).unwrap(), HostEpoch(*n), "{what}");
            return;
        }
        Then::Refused(words, readable) => (words, readable),
    };
    let error = epoch(&path).expect_err(what);
    assert!(
        matches!(&error, StoreError::LogDamaged { context } if context.contains(words)),
        "{what}: {error}"
    );
    assert_eq!(sums(&path), before, "{what}: it was left as it was");
    let keep = folder.path().join("kept");
    let repaired = repair(&path, &keep).unwrap().expect(what);
    assert!(repaired.loss.contains(words), "{what}: {repaired:?}");
    assert_eq!(sums(&repaired.kept.join("copy.db")), before, "{what}");
    assert_eq!(epoch(&path).unwrap(), HostEpoch(*readable), "{what}");
    assert_eq!(repair(&path, &folder.path().join("again")).unwrap(), None);
}

fn spoil(log: &mut [u8], at: usize) {
    for byte in &mut log[at..at + 64] {
        *byte ^= 0xA5;
    }
}

/// Finds the frames of a log: where each begins, and whether it ends a commit.
fn frames(log: &[u8]) -> Vec<(usize, bool)> {
    (32..log.len())
        .step_by(24 + 4_096)
        .map(|at| (at, log[at + 4..at + 8] != [0; 4]))
        .collect()
}

#[test]
fn a_torn_end_is_fine() {
    check("nothing", |_, _| {}, &Then::Opens(20));
    let cut = |log: &mut Vec<u8>, _: &Path| log.truncate(log.len() - 10);
    check("a cut last frame", cut, &Then::Opens(19));
    let in_last = |log: &mut Vec<u8>, _: &Path| {
        let at = log.len() - 100;
        spoil(log, at);
    };
    check("a spoilt last frame", in_last, &Then::Opens(19));
    // A transaction that was begun and not ended.
    let begun = |log: &mut Vec<u8>, _: &Path| {
        let (start, _) = frames(log)[0];
        let mut frame = log[start..start + 24 + 4_096].to_vec();
        frame[4..8].fill(0);
        log.extend(frame);
    };
    check("frames without an end", begun, &Then::Opens(20));
}

#[test]
fn a_log_that_lost_its_end_is_refused_and_repaired() {
    let half = |log: &mut Vec<u8>, _: &Path| {
        let commits: Vec<usize> = frames(log)
            .iter()
            .filter(|frame| frame.1)
            .map(|frame| frame.0)
            .collect();
        // The first commit is of the opening.
        log.truncate(commits[10] + 24 + 4_096 + 99);
    };
    check(
        "half",
        half,
        &Then::Refused("its write-ahead log ends after 11 commits", 10),
    );
    let emptied = |log: &mut Vec<u8>, _: &Path| log.clear();
    check(
        "nothing left",
        emptied,
        &Then::Refused("(`-wal`) is missing", 0),
    );
    // Without the mark, a log that was shortened cannot be distinguished from a short one.
    let unmarked = |log: &mut Vec<u8>, path: &Path| {
        half(log, path);
        fs::remove_file(beside(path, "-mark")).unwrap();
    };
    check("half, without a mark", unmarked, &Then::Opens(10));
}

#[test]
fn a_spoilt_log_is_refused_and_repaired() {
    for place in [3, 2] {
        let middle = |log: &mut Vec<u8>, _: &Path| {
            let at = log.len() / place;
            spoil(log, at);
        };
        let (folder, path) = killed_after(20);
        let log = fs::read(beside(&path, "-wal")).unwrap();
        drop(folder);
        let whole = frames(&log)
            .iter()
            .filter(|(at, is_commit)| *is_commit && at + 24 + 4_096 <= log.len() / place)
            .count();
        let readable = u64::try_from(whole).unwrap() - 1;
        let words = "its write-ahead log is damaged at byte";
        check("64 bytes", middle, &Then::Refused(words, readable));
    }
    let header = |log: &mut Vec<u8>, _: &Path| spoil(log, 0);
    check(
        "the header",
        header,
        &Then::Refused("its write-ahead log is damaged at byte 0: 0 commits", 0),
    );
    // Without a failure of power, what was written is there in its order.
    let in_last = |log: &mut Vec<u8>, _: &Path| {
        let last = frames(log).len() - 2;
        let (at, is_commit) = frames(log)[last];
        assert!(!is_commit, "the last commit has several frames");
        spoil(log, at + 1_000);
    };
    check(
        "the last commit",
        in_last,
        &Then::Refused("1 behind it cannot", 19),
    );
    let after_power_failed = |log: &mut Vec<u8>, path: &Path| {
        in_last(log, path);
        let mark = beside(path, "-mark");
        let text = fs::read_to_string(&mark).unwrap();
        let (_, position) = text.split_once(' ').unwrap();
        fs::write(&mark, format!("another-boot {position}")).unwrap();
    };
    check(
        "the last commit, after another boot",
        after_power_failed,
        &Then::Opens(19),
    );
}

#[test]
fn a_log_that_began_again_keeps_old_frames_behind_and_is_whole() {
    let (_folder, path) = killed_after(1_200);
    let log = fs::read(beside(&path, "-wal")).unwrap();
    let salts = |at: usize| log[at + 8..at + 16].to_vec();
    let n_old = frames(&log)
        .iter()
        .filter(|(at, _)| salts(*at) != log[16..24])
        .count();
    assert!(n_old > 0, "the log began again");
    assert_eq!(epoch(&path).unwrap(), HostEpoch(1_200));
}

#[test]
fn a_restored_backup_opens_beside_a_later_mark() {
    let (folder, path) = killed_after(20);
    let (_other, old) = killed_after(5);
    for suffix in ["", "-wal"] {
        fs::copy(beside(&old, suffix), beside(&path, suffix)).unwrap();
    }
    assert_eq!(epoch(&path).unwrap(), HostEpoch(5));
    drop(folder);
}
