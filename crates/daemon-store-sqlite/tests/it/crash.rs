//! A process killed while it writes, or whose disk fails: what was acknowledged is there.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use daemon_event::{DeliveryId, Event, EventFacts, EventId, Source};
use daemon_store::{Events as _, Hosting as _, Identity, Matching, NewEvent, Query};
use daemon_store_sqlite::SqliteStore;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::conformance::runtime;

/// Set in the child: the store it writes to until it is killed.
const CHILD: &str = "STORE_CRASH_TEST_PATH";
const SENDERS: u64 = 8;
const KILLS: u64 = 6;

fn event(n: u64) -> NewEvent {
    NewEvent {
        event: Event {
            id: EventId::new(n, [0; 10]),
            source: Source::Git,
            kind: "push".to_owned(),
            action: None,
            subject: None,
            actor: None,
            repo: None,
            time: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            delivery: format!("d-{n}").parse::<DeliveryId>().unwrap(),
            facts: EventFacts::default(),
            payload: format!("{{\"n\":{n}}}").into_bytes().into(),
        },
        happenings: Vec::new(),
        identities: vec![Identity {
            key: format!("id:{n}"),
            within: None,
        }],
        counterparts: Vec::new(),
        matching: Matching::Done,
    }
}

/// Sends events without end and prints the number of each acknowledged one; returns at once outside a child.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the parent names the store in the environment of the child, which is otherwise empty"
)]
fn child_that_is_killed() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let store = Arc::new(SqliteStore::open(PathBuf::from(path)).unwrap());
    let first = u64::from(std::process::id()) * 1_000_000;
    runtime().block_on(async {
        let mut senders = JoinSet::new();
        for sender in 0..SENDERS {
            let store = Arc::clone(&store);
            senders.spawn(async move {
                for n in (first + sender..).step_by(usize::try_from(SENDERS).unwrap()) {
                    match store.accept(vec![event(n)]).await {
                        Ok(_) => writeln!(std::io::stdout(), "acknowledged {n}").unwrap(),
                        Err(error) => {
                            writeln!(std::io::stdout(), "refused {error:?}").unwrap();
                            break;
                        }
                    }
                }
            });
        }
        while senders.join_next().await.is_some() {}
        // Only a store that refuses everything gets here.
        let answer = store.probe().await;
        writeln!(std::io::stdout(), "probed {answer:?}").unwrap();
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "the store has no supervised children; this test needs one to kill"
)]
fn start_child(path: &Path, before: &str) -> Child {
    Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{before} exec \"$0\" \"$@\""))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_that_is_killed", "--nocapture"])
        .env_clear()
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Lets a child write until it has acknowledged some events, kills it, and returns those it acknowledged. A shell runs
/// `before` in the child first.
pub(crate) fn killed_after(path: &Path, before: &str, n_lines: usize) -> Vec<u64> {
    let mut child = start_child(path, before);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    while acknowledged.len() < n_lines {
        let line = lines.next().expect("the child writes on").unwrap();
        acknowledged.extend(number(&line));
    }
    // SIGKILL: nothing of the child's own runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
    // What was still in the pipe was acknowledged as well; a torn last line counts for nothing.
    acknowledged.extend(lines.map_while(Result::ok).filter_map(|line| number(&line)));
    acknowledged
}

fn number(line: &str) -> Option<u64> {
    let (_, digits) = line.split_once("acknowledged ")?;
    // Numbers of one child have equal lengths, so a torn one shows.
    digits.parse().ok().filter(|_| digits.len() >= 7)
}

#[test]
fn every_acknowledged_event_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut acknowledged = BTreeSet::new();
    for kill in 0..KILLS {
        let of_child = killed_after(&path, "", usize::try_from(5 + 60 * kill).unwrap());
        let length = of_child.iter().map(|n| n.to_string().len()).max();
        acknowledged.extend(
            of_child
                .into_iter()
                .filter(|n| Some(n.to_string().len()) == length),
        );
    }
    let store = SqliteStore::open(&path).unwrap();
    runtime().block_on(async {
        for n in &acknowledged {
            let id = EventId::new(*n, [0; 10]);
            let stored = store.event(&id).await.unwrap();
            let stored = stored.unwrap_or_else(|| panic!("event {n} was acknowledged and is lost"));
            assert_eq!(stored.event, event(*n).event);
        }
        // At most one unacknowledged event of each sender of each child.
        let stored = store.counts().await.unwrap().events;
        let n_acknowledged = u64::try_from(acknowledged.len()).unwrap();
        assert!(
            (n_acknowledged..=n_acknowledged + KILLS * (SENDERS + 1)).contains(&stored),
            "{stored} stored, {n_acknowledged} acknowledged"
        );
        let newest = Query {
            limit: 1,
            ..Query::default()
        };
        let page = store.events(&newest).await.unwrap();
        assert_eq!(page.rows[0].seq, stored, "no gaps");
    });
}

#[test]
fn a_disk_that_fails_breaks_the_store_and_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    // No file may grow over 600 blocks of 512 bytes: a write beyond fails as on a broken disk.
    let mut child = start_child(&path, "trap '' XFSZ; ulimit -f 600;");
    let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .collect::<Result<_, _>>()
        .unwrap();
    child.wait().unwrap();
    let acknowledged: Vec<u64> = lines.iter().filter_map(|line| number(line)).collect();
    let answers: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("refused ") || line.contains("probed "))
        .collect();
    assert!(!acknowledged.is_empty(), "{lines:?}");
    assert_eq!(
        answers.len(),
        usize::try_from(SENDERS).unwrap() + 1,
        "{lines:?}"
    );
    assert!(
        answers.iter().all(|line| line.contains("Broken {")),
        "{answers:?}"
    );
    let store = SqliteStore::open(&path).unwrap();
    runtime().block_on(async {
        for n in acknowledged {
            let stored = store.event(&EventId::new(n, [0; 10])).await.unwrap();
            assert!(stored.is_some(), "event {n} was acknowledged and is lost");
        }
        store.probe().await.unwrap();
    });
}
