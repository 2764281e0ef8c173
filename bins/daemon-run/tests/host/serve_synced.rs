//! When a webhook is acknowledged, by the system calls of the host: its event was written to the log of the store and synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fields::Shown as _;
use crate::http::{pull_request_opened, try_raw, webhook};
use crate::serve_crash::setting;
use crate::serve_traced::can_trace;
use crate::world::{Host, SECRET, World, until};

/// How many senders there are, so that commits take several events.
const SENDERS: u32 = 8;
/// The calls by which a host receives, stores and answers.
const CALLS: &str =
    "trace=read,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,fsync,fdatasync";
/// The beginning of the delivery ids; a number of six digits follows.
const DELIVERY: &str = "synced-";

/// A finished call: the lines of the trace on which it began and ended.
struct Call {
    began: usize,
    ended: usize,
    text: String,
}

/// What happened to one webhook, by lines of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Handled {
    received: Option<usize>,
    /// The id is in the log of the store.
    written: Option<usize>,
    answered: Option<usize>,
}

/// What the calls of a host show about webhooks.
#[derive(Default)]
struct Trace {
    /// The calls of threads that have not returned.
    open: BTreeMap<String, (usize, String)>,
    /// The delivery that each socket brought.
    sockets: BTreeMap<String, String>,
    handled: BTreeMap<String, Handled>,
    /// Where each sync of the log of the store began and ended.
    syncs: Vec<(usize, usize)>,
}

impl Trace {
    fn read(lines: impl Iterator<Item = String>) -> Self {
        let mut trace = Self::default();
        for (number, line) in lines.enumerate() {
            if let Some((thread, rest)) = line.split_once(' ')
                && let Some(call) = trace.finished(number, thread, rest.trim_start())
            {
                trace.note(&call);
            }
        }
        trace
    }

    /// Returns the call that a line ends.
    fn finished(&mut self, number: usize, thread: &str, rest: &str) -> Option<Call> {
        if let Some(text) = rest.strip_suffix(" <unfinished ...>") {
            let begun = (number, text.to_owned());
            self.open.insert(thread.to_owned(), begun);
            return None;
        }
        let (began, text) = match rest.strip_prefix("<... ") {
            Some(resumed) => {
                let (began, text) = self.open.remove(thread)?;
                (began, text + resumed.split_once(" resumed>")?.1)
            }
            None => (number, rest.to_owned()),
        };
        Some(Call {
            began,
            ended: number,
            text,
        })
    }

    fn note(&mut self, call: &Call) {
        let text = call.text.as_str();
        let descriptor = text
            .split_once('<')
            .and_then(|(_, rest)| rest.split_once('>'));
        let (Some((name, _)), Some((file, _))) = (text.split_once('('), descriptor) else {
            return;
        };
        let is_log = file.ends_with("/state.db-wal");
        match name {
            "fsync" | "fdatasync" if is_log && text.ends_with(" = 0") => {
                self.syncs.push((call.began, call.ended));
            }
            "pwrite64" | "pwritev" | "write" if is_log => {
                for delivery in deliveries(text) {
                    let handled = self.handled.entry(delivery).or_default();
                    handled.written.get_or_insert(call.ended);
                }
            }
            "read" | "recvfrom" | "recvmsg" if text.contains("\"POST /webhooks/") => {
                for delivery in deliveries(text) {
                    self.sockets.insert(file.to_owned(), delivery.clone());
                    self.handled.entry(delivery).or_default().received = Some(call.ended);
                }
            }
            "write" | "writev" | "sendto" | "sendmsg" if text.contains("\"HTTP/1.1 200 ") => {
                if let Some(delivery) = self.sockets.remove(file) {
                    self.handled.entry(delivery).or_default().answered = Some(call.began);
                }
            }
            _ => {}
        }
    }

    /// Returns the webhooks that were not synced between their arrival and their answer.
    fn early(&self) -> Vec<(&String, &Handled)> {
        let is_synced = |handled: &Handled| {
            let (received, written) = (handled.received?, handled.written?);
            let answered = handled.answered?;
            let mut syncs = self.syncs.iter();
            let is_between =
                |(began, ended): &(usize, usize)| *began > written && *ended < answered;
            (received < written && syncs.any(is_between)).then_some(())
        };
        let handled = self.handled.iter();
        handled
            .filter(|(_, handled)| is_synced(handled).is_none())
            .collect()
    }
}

/// Returns the delivery ids in the text of a call.
fn deliveries(text: &str) -> impl Iterator<Item = String> {
    let ids = text.match_indices(DELIVERY).filter_map(|(at, _)| {
        let id = text.get(at..at + DELIVERY.len() + 6)?;
        let digits = &id[DELIVERY.len()..];
        digits.bytes().all(|c| c.is_ascii_digit()).then_some(id)
    });
    ids.map(str::to_owned)
}

#[test]
fn an_answer_before_the_sync_of_its_event_is_seen_in_a_trace() {
    let one = |number: u32, answer: &str, rest: &[&str]| {
        let received = format!(
            "7 recvfrom(9<socket:[{number}]>, \"POST /webhooks/github HTTP/1.1\\r\\nX-GitHub-Delivery: synced-{number:06}\\r\\n\", 8192, 0, NULL, NULL) = 99"
        );
        let lines = rest.iter().map(|line| (*line).to_owned());
        let lines = std::iter::once(received).chain(lines);
        let answer =
            format!("7 writev(9<socket:[{number}]>, [{{iov_base=\"HTTP/1.1 {answer} \"}}], 1) = 9");
        lines.chain([answer]).collect::<Vec<_>>()
    };
    let all = [
        one(
            1,
            "200",
            &[
                "8 pwrite64(3</h/state.db-wal>, \"\\0synced-000001\\5\", 4096, 24 <unfinished ...>",
                "8 <... pwrite64 resumed>) = 4096",
                "8 fdatasync(3</h/state.db-wal>) = 0",
            ],
        ),
        // The sync began before the event was written.
        one(
            2,
            "200",
            &[
                "9 fdatasync(3</h/state.db-wal> <unfinished ...>",
                "8 pwrite64(3</h/state.db-wal>, \"synced-000001synced-000002\", 4096, 24) = 4096",
                "9 <... fdatasync resumed>) = 0",
            ],
        ),
        // It had not returned, failed, or was that of another file.
        one(
            3,
            "200",
            &[
                "8 pwrite64(3</h/state.db-wal>, \"synced-000003\", 4096, 24) = 4096",
                "9 fdatasync(3</h/state.db>) = 0",
                "9 fdatasync(3</h/state.db-wal>) = -1 EIO (Input/output error)",
                "9 fdatasync(3</h/state.db-wal> <unfinished ...>",
            ],
        ),
        one(4, "503", &[]),
    ]
    .concat();
    let trace = Trace::read(all.into_iter());
    let early: Vec<&str> = trace.early().iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(early, ["synced-000002", "synced-000003", "synced-000004"]);
}

/// Sends webhooks from all senders at once, and returns how many were acknowledged.
fn send(host: &Host, n_hooks: u32) -> u32 {
    let (next, n_acknowledged) = (AtomicU32::new(0), AtomicU32::new(0));
    let one = |number: u32| {
        let body = pull_request_opened(number).to_string();
        let delivery = format!("{DELIVERY}{number:06}");
        let kind = ("pull_request", delivery.as_str());
        let request = webhook(host.address(), kind, SECRET, body.as_bytes());
        try_raw(host.address(), &request).is_some_and(|answer| answer.status == 200)
    };
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= n_hooks {
                        return;
                    }
                    n_acknowledged.fetch_add(one(number).into(), Ordering::Relaxed);
                }
            });
        }
    });
    n_acknowledged.into_inner()
}

/// Returns the trace of a host that takes in webhooks.
fn traced(n_hooks: u32, env: &[(&str, &str)]) -> Trace {
    let world = World::new(&[]);
    let file = world.beside("trace");
    let host = world.serve_traced(&file, &["-e", CALLS], env);
    let pid = host.pid();
    assert_eq!(send(&host, n_hooks), n_hooks);
    assert_eq!(host.stop().0, Some(0));
    // strace writes ids at least five characters wide.
    let end = format!("\n{pid:<5} +++ exited with 0 +++\n");
    until("the trace is complete", || end_of(&file).contains(&end));
    let file = BufReader::new(File::open(&file).expect("a trace"));
    Trace::read(file.lines().map(|line| line.expect("a line of text")))
}

/// Returns the last lines of a file that may be large.
fn end_of(file: &Path) -> String {
    let mut file = File::open(file).expect("a trace");
    let n_bytes = file.metadata().expect("its size").len();
    let begin = SeekFrom::Start(n_bytes.saturating_sub(1 << 16));
    file.seek(begin).expect("it is within the file");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("lines of text");
    text
}

/// P1.
#[test]
fn a_webhook_is_acknowledged_after_the_sync_of_its_event() {
    if !can_trace() {
        return;
    }
    let n_hooks = setting("DAEMON_TEST_TRACED_HOOKS", 40);
    let trace = traced(n_hooks, &[]);
    assert_eq!(trace.handled.len(), usize::try_from(n_hooks).expect("few"));
    let early = trace.early();
    assert!(early.is_empty(), "{} of {n_hooks}: {early:#?}", early.len());
}

/// Makes one sync of the log of the store fail, the `nth`, while webhooks come. Returns how the host ended, if it did, and the
/// acknowledged events that the next host does not have.
fn failed_sync(nth: u32, env: &[(&str, &str)]) -> (Option<i32>, Vec<String>) {
    let world = World::new(&[]);
    let log = world.home.join("state.db-wal").display().to_string();
    let fault = format!("inject=fdatasync:error=EIO:when={nth}");
    let trace = ["-e", "trace=fdatasync", "-e", &fault, "-P", &log];
    let mut host = world.serve_traced(&world.beside("trace"), &trace, env);
    let mut acknowledged = Vec::new();
    let is_over = (0..200).any(|number| {
        let delivery = format!("{DELIVERY}{number:06}");
        let body = pull_request_opened(number).to_string();
        let kind = ("pull_request", delivery.as_str());
        let request = webhook(host.address(), kind, SECRET, body.as_bytes());
        match try_raw(host.address(), &request) {
            Some(answer) if answer.status == 200 => {
                acknowledged.push(answer.json().text("event_ids.0"));
            }
            Some(answer) => assert_eq!(answer.status, 503, "{}", answer.body),
            None => return true,
        }
        false
    });
    let code = if is_over {
        host.wait().0
    } else {
        host.kill();
        None
    };
    let host = world.serve();
    let known: BTreeSet<String> = host.list("events").iter().map(|it| it.text("id")).collect();
    acknowledged.retain(|id| !known.contains(id));
    (code, acknowledged)
}

/// P20: after a sync that failed, the kernel may have dropped the pages and report the next one as a success.
#[test]
fn a_failed_sync_of_the_store_ends_the_host_and_nothing_acknowledged_is_lost() {
    if !can_trace() {
        return;
    }
    for nth in [9, 17, 40] {
        assert_eq!(failed_sync(nth, &[]), (Some(73), Vec::new()), "sync {nth}");
    }
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_repeats_a_failed_sync_is_found_out() {
    if can_trace() {
        let (code, _) = failed_sync(9, &[("DAEMON_CANARY", "retry-fsync")]);
        assert_eq!(code, None);
    }
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_host_that_answers_before_the_commit_is_found_out() {
    if !can_trace() {
        return;
    }
    let trace = traced(40, &[("DAEMON_CANARY", "answer-before-commit")]);
    assert!(trace.early().len() > 20, "{:#?}", trace.early());
}
