//! Measures the store beside one transaction per step and beside bare appends, on the disk of a given folder.
//!
//! `cargo run --release -p daemon-store-sqlite --example throughput [FOLDER] [SECONDS]`
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock; the store itself does not"
)]

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use daemon_engine::{
    AttemptEnd, AttemptOutcome, Gate, HostEpoch, Joining, NewTrigger, RunLease, Trigger,
};
use daemon_event::{
    ActivationId, DaemonKey, DeliveryId, Event, EventId, Facts, Source, TriggerKey,
};
use daemon_store::{
    Activations as _, ClaimRequest, DaemonRow, Events as _, Identity, Matched, Matching, Modes,
    NewEvent, Registration, Registry as _, Validity,
};
use daemon_store_sqlite::SqliteStore;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

/// One durable step after another, by one client of many.
#[derive(Clone, Copy)]
enum Work {
    /// Accepts events of 1 KiB.
    Accept,
    /// Accepts an event, matches it, claims an activation and ends it.
    Cycle,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = match arguments.next() {
        None => 3,
        Some(text) => text.to_string_lossy().parse()?,
    };
    let span = Duration::from_secs(seconds);
    let folder = tempfile::tempdir_in(folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let ours = |clients, work| -> Result<f64, Failure> {
        let path = folder.path().join("store.db");
        let rate = runtime.block_on(drive(&path, clients, work, span))?;
        std::fs::remove_file(&path)?;
        Ok(rate)
    };

    println!("durable accept of 1 KiB, events a second");
    for clients in [1, 8, 64] {
        let bare = appends(folder.path(), clients, 1024, span)?;
        let rate = ours(clients, Work::Accept)?;
        println!(
            "  {clients:>2} senders     {rate:>8.0}   bare append + fdatasync of as many {bare:>8.0}   {:>3.0} %",
            100.0 * rate / bare
        );
    }

    println!("accept, match, claim, complete: cycles a second");
    let alone = ours(1, Work::Cycle)?;
    println!("   1 client, one transaction per step   {alone:>8.0}");
    let together = ours(64, Work::Cycle)?;
    println!("  64 clients, grouped                   {together:>8.0}");
    println!(
        "  ratio                                 {:>8.1}",
        together / alone
    );
    Ok(())
}

/// Appends batches as large as a full group and syncs each; returns items a second.
fn appends(folder: &Path, batch: u64, size: usize, span: Duration) -> Result<f64, Failure> {
    let mut file = File::create(folder.join("append"))?;
    let item = vec![b'x'; size];
    let begun = Instant::now();
    let mut n_items = 0_u32;
    while begun.elapsed() < span {
        let mut bytes = Vec::new();
        for _ in 0..batch {
            bytes.extend_from_slice(&item);
            n_items += 1;
        }
        file.write_all(&bytes)?;
        file.sync_data()?;
    }
    Ok(f64::from(n_items) / begun.elapsed().as_secs_f64())
}

async fn drive(path: &Path, clients: u64, work: Work, span: Duration) -> Result<f64, Failure> {
    let store = Arc::new(SqliteStore::open(path)?);
    let daemons: Vec<DaemonKey> = (0..64).map(daemon).collect::<Result<_, _>>()?;
    register(&store, &daemons).await?;
    let numbers = Arc::new(AtomicU64::new(1));
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let (store, numbers) = (Arc::clone(&store), Arc::clone(&numbers));
        let daemon = daemons[usize::try_from(client)? % daemons.len()].clone();
        tasks.spawn(async move {
            let mut n_done = 0_u32;
            while begun.elapsed() < span {
                let n = numbers.fetch_add(1, Ordering::Relaxed);
                step(&store, &daemon, n, work).await?;
                n_done += 1;
            }
            Ok::<u32, Failure>(n_done)
        });
    }
    let mut n_done = 0.0;
    while let Some(done) = tasks.join_next().await {
        n_done += f64::from(done??);
    }
    Ok(n_done / begun.elapsed().as_secs_f64())
}

async fn step(store: &SqliteStore, daemon: &DaemonKey, n: u64, work: Work) -> Result<(), Failure> {
    let now = Timestamp::from_second(1_767_225_600)? + SignedDuration::from_millis(n.try_into()?);
    let id = EventId::new(n, [0; 10]);
    store.accept(vec![event(&id, n, now)?]).await?;
    if let Work::Accept = work {
        return Ok(());
    }
    let trigger = NewTrigger {
        daemon: daemon.clone(),
        rev: "rev".to_owned(),
        subject: None,
        trigger: Trigger {
            key: TriggerKey::Event(id.clone()),
            conditions: vec![0],
            by: None,
            occasion: None,
            recorded_at: now,
        },
        activation_id: ActivationId::new(n, [1; 10]),
        not_before: now,
        joining: Joining::Separate,
    };
    let matched = Matched {
        event: id,
        wanted: Vec::new(),
        triggers: vec![trigger],
    };
    store.commit_matches(vec![matched], now).await?;
    let request = ClaimRequest {
        owner: HostEpoch(1),
        now: now + SignedDuration::from_hours(1),
        lease_until: now + SignedDuration::from_hours(2),
        host_slots: 256,
        daemon_slots: 1,
        rates: Default::default(),
        day_usd: None,
    };
    // Another client may be running this client's daemon: then it has taken its turn for us.
    if let Some(activation) = store.claim(&request).await? {
        complete(store, &activation.id, activation.run_lease, now).await?;
    }
    Ok(())
}

async fn complete(
    store: &SqliteStore,
    id: &ActivationId,
    lease: RunLease,
    now: Timestamp,
) -> Result<(), Failure> {
    let end = AttemptEnd {
        outcome: AttemptOutcome::Done,
        outputs: Vec::new(),
        state: Vec::new(),
        tokens: None,
        cost_usd: None,
        summary: None,
        at: now,
        jitter: 0,
    };
    store.end_attempt(id, lease, end).await?;
    Ok(())
}

fn event(id: &EventId, n: u64, now: Timestamp) -> Result<NewEvent, Failure> {
    Ok(NewEvent {
        event: Event {
            id: id.clone(),
            source: Source::Github,
            kind: "push".to_owned(),
            action: None,
            subject: None,
            actor: None,
            repo: Some("o/r".parse()?),
            time: now,
            received_at: now,
            delivery: format!("{n}").parse::<DeliveryId>()?,
            facts: Facts::default(),
            payload: vec![b'x'; 1024].into(),
        },
        identities: ["id", "body"]
            .map(|kind| Identity {
                key: format!(
                    "{kind}:github:{:016x}",
                    n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                ),
                within: None,
            })
            .into(),
        matching: Matching::Due,
    })
}

fn daemon(n: u32) -> Result<DaemonKey, Failure> {
    Ok(DaemonKey {
        repo: "o/r".parse()?,
        id: format!("d-{n}").parse()?,
    })
}

async fn register(store: &SqliteStore, daemons: &[DaemonKey]) -> Result<(), Failure> {
    let row = |key: &DaemonKey| DaemonRow {
        key: key.clone(),
        path: format!(".agents/daemons/{}/DAEMON.md", key.id),
        rev: "rev".to_owned(),
        commit: "c0ffee".to_owned(),
        purpose: String::new(),
        validity: Validity::Valid,
        diagnostics: "[]".to_owned(),
        definition: "{}".to_owned(),
        modes: Modes::default(),
        schedule: None,
        gate: Gate::Open,
        failures: 0,
        since_seq: 0,
        registered_at: Timestamp::UNIX_EPOCH,
    };
    let registration = Registration {
        repo: "o/r".parse()?,
        commit: "c0ffee".to_owned(),
        daemons: daemons.iter().map(row).collect(),
        now: Timestamp::UNIX_EPOCH,
    };
    store.register(registration).await?;
    Ok(())
}
