//! Webhooks: large ones concurrently, and small ones while other clients hold connections open.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::host::{BenchHome, BenchHost};
use crate::kit::{Sample, settle};
use crate::report::{Row, duration};
use crate::webhook::{SECRET, SOURCES, Webhook};

/// For rows in which no run starts.
pub(super) const NO_AGENT: &str = "#!/bin/sh\n";
const MIB: usize = 1024 * 1024;
const N_LARGE: usize = 8;
const N_ROUNDS: usize = 3;
// A little less than the limit of 25 MiB.
pub(super) const LARGE: usize = 23 * MIB;
const MOST_MEMORY_KIB: u64 = 400 * 1024;
const MOST_LEFT_KIB: u64 = 150 * 1024;
// The memory is read again after this time, to detect what is not freed.
const LATER: Duration = Duration::from_secs(10);
const N_SMALL: usize = 1_000;
const SLOWEST: f64 = 100e6;
// The daemon watches releases, and the row sends issues: no run must start.
const FILE: &str = "---\nid: one\npurpose: Looks at what is released.\nwatch:\n  - when a release is published\nroutines:\n  - \
     Look at it.\ndeny:\n  - Merge.\n---\n\nIt looks at releases.\n";

/// Returns a home that accepts webhooks, and whose runs are this script.
pub(super) fn world(agent: &str) -> Result<BenchHome> {
    settle()?;
    let world = BenchHome::of_one(FILE, agent, SOURCES)?;
    fs::write(world.home().join("hook-secret"), SECRET)?;
    Ok(world)
}

/// Returns the webhook of an opened issue with this description.
pub(super) fn issue(n: usize, text: &str) -> Result<Webhook> {
    let body = json!({
        "action": "opened",
        "issue": {"number": n + 1, "title": "A title", "body": text, "user": {"login": "ann", "type": "User"}},
        "repository": {"id": 1, "full_name": "bench/one", "name": "one", "default_branch": "main", "owner": {"login": "bench"}},
        "sender": {"login": "ann", "id": 1, "type": "User"},
    });
    Webhook::new("issues", &format!("d-{n}"), body.to_string().into_bytes())
}

/// Sends a webhook, and returns the nanoseconds until the response and its status.
pub(super) fn timed(webhook: &Webhook, address: &str) -> Result<(f64, u16)> {
    let began = Instant::now();
    let status = webhook.send(address)?;
    Ok((began.elapsed().as_secs_f64() * 1e9, status))
}

pub(crate) fn large() -> Result<Row> {
    let world = world(NO_AGENT)?;
    let host = world.serve()?;
    let address = host.address()?;
    let text = "some text \\ with \"quotes\"\n".repeat(LARGE / 30);
    let before = host.usage()?;
    let mut sent: Vec<(f64, u16)> = Vec::new();
    for round in 0..N_ROUNDS {
        let first = round * N_LARGE;
        let webhooks = (first..first + N_LARGE).map(|n| issue(n, &text));
        let webhooks: Vec<Webhook> = webhooks.collect::<Result<_>>()?;
        sent.extend(at_once(&webhooks, address)?);
    }
    thread::sleep(LATER);
    let after = host.usage()?;
    host.stop()?;
    ensure!(
        sent.iter().all(|(_, status)| *status == 200),
        "the webhooks were answered with {sent:?}"
    );
    let store = rusqlite::Connection::open(world.home().join("state.db"))?;
    let n_stored: u32 = store.query_row("SELECT count(*) FROM event", [], |row| row.get(0))?;
    ensure!(
        usize::try_from(n_stored)? == sent.len(),
        "{n_stored} webhooks are stored"
    );
    let ours = Sample::of(
        "daemon-run",
        sent.into_iter().map(|(took, _)| took).collect(),
    );
    let mebibytes = |kib: u64| format!("{:.0} MiB", kib as f64 / 1024.0);
    Ok(Row::new(
        "intake-large",
        "eight signed webhooks of 23 MiB at a time, three times, each until it is stored",
        &ours,
    )
    .must("≤ 400 MiB at the most", mebibytes(after.peak_kib), after.peak_kib <= MOST_MEMORY_KIB)
    .must("≤ 150 MiB ten seconds later", mebibytes(after.resident_kib), after.resident_kib <= MOST_LEFT_KIB)
    .note(format!(
        "Resident memory of the real host, {} before. The description of an issue is long, with escapes.",
        mebibytes(before.resident_kib)
    )))
}

/// Sends webhooks concurrently, and returns the nanoseconds and the status of each.
fn at_once(webhooks: &[Webhook], address: &str) -> Result<Vec<(f64, u16)>> {
    thread::scope(|scope| {
        let senders = webhooks
            .iter()
            .map(|one| scope.spawn(|| timed(one, address)));
        let senders: Vec<_> = senders.collect();
        let ends = senders
            .into_iter()
            .map(|one| one.join().expect("a sender does not panic"));
        ends.collect()
    })
}

pub(crate) fn silent() -> Result<Row> {
    let lengths: Vec<usize> = [25 * MIB; 10].into_iter().chain([6 * MIB]).collect();
    beset(
        "intake-silent",
        "a signed webhook while 11 sockets announce 256 MiB and send none of it",
        &lengths,
        b"",
    )
}

pub(crate) fn slow() -> Result<Row> {
    beset(
        "intake-slow",
        "a signed webhook while 128 sockets have sent one byte of 1 KiB",
        &[1_024; 128],
        b"{",
    )
}

/// Measures webhooks while other clients repeatedly announce bodies of these lengths and send only their beginning.
fn beset(name: &'static str, what: &'static str, lengths: &[usize], begin: &[u8]) -> Result<Row> {
    let world = world(NO_AGENT)?;
    let host = world.serve()?;
    let (alone, refused) = deliver("no other socket", &host, 0)?;
    ensure!(
        refused == 0,
        "{refused} webhooks were refused by an idle host"
    );
    let over = AtomicBool::new(false);
    let (ours, refused) = thread::scope(|scope| {
        for length in lengths {
            scope.spawn(|| hold(&host, *length, begin, &over));
        }
        thread::sleep(Duration::from_secs(1));
        let delivered = deliver("daemon-run", &host, N_SMALL);
        over.store(true, Ordering::Relaxed);
        delivered
    })?;
    host.stop()?;
    let (sample, p99) = ours;
    Ok(Row::new(name, what, &sample)
        .compared_with(&sample, &alone.0)
        .must(
            "every webhook is answered with 200",
            format!("{refused} of {N_SMALL} are not"),
            refused == 0,
        )
        .must(
            format!("≤ {} for 99 of 100", duration(SLOWEST)),
            duration(p99),
            p99 <= SLOWEST,
        )
        .note("A connection that the host closes is opened again at once."))
}

/// Sends webhooks one after the other. Returns their times, the 99th percentile, and how many were refused.
fn deliver(name: &'static str, host: &BenchHost, first: usize) -> Result<((Sample, f64), usize)> {
    let (mut took, mut n_refused) = (Vec::with_capacity(N_SMALL), 0);
    for n in first..first + N_SMALL {
        let (time, status) = timed(&issue(n, "A description")?, host.address()?)?;
        took.push(time);
        n_refused += usize::from(status != 200);
    }
    took.sort_by(f64::total_cmp);
    let p99 = took[N_SMALL * 99 / 100];
    Ok(((Sample::of(name, took), p99), n_refused))
}

/// Announces a body and sends its beginning, and repeats that whenever the host closes the connection.
fn hold(host: &BenchHost, length: usize, begin: &[u8], over: &AtomicBool) -> Result<()> {
    let head = format!(
        "POST /webhooks/github HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\n\
         X-GitHub-Delivery: none\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: {length}\r\n\r\n"
    );
    while !over.load(Ordering::Relaxed) {
        let mut stream = TcpStream::connect(host.address()?)?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(begin)?;
        // The status does not matter: the connection is over.
        stream.read_to_end(&mut Vec::new()).unwrap_or_default();
    }
    Ok(())
}
