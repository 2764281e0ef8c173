//! The store with many clients, compared with one transaction per step and with bare appends.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use daemon_engine::{
    AttemptEnd, AttemptOutcome, Gate, HostEpoch, Joining, NewTrigger, RunLease, Trigger,
};
use daemon_event::{
    ActivationId, DaemonKey, DeliveryId, Event, EventFacts, EventId, Source, TriggerKey,
};
use daemon_store::{
    ClaimRequest, DaemonRow, Identity, Matched, Matching, Modes, NewEvent, Registration, Store,
    Validity,
};
use daemon_store_sqlite::SqliteStore;
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;

use crate::kit::Sample;
use crate::report::Row;

const N_CLIENTS: u64 = 64;
const MUST_BEAT: f64 = 12.0;
const N_ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
/// The transactions of one cycle: accept, match, claim, complete.
const N_STEPS: u32 = 4;
pub(super) const PAYLOAD: usize = 1024;

pub(super) fn measure() -> Result<Row> {
    let scratch = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let store = |n_clients, steps| {
        let folder = tempfile::tempdir_in(scratch.path())?;
        runtime.block_on(drive(&folder.path().join("store.db"), n_clients, steps))
    };
    let mut times: [Vec<f64>; 3] = [const { Vec::new() }; 3];
    for _ in 0..N_ROUNDS {
        let rates = [
            store(N_CLIENTS, Steps::Joined)?,
            store(1, Steps::Single)?,
            appends(scratch.path())?,
        ];
        for (times, rate) in times.iter_mut().zip(rates) {
            times.push(1e9 / rate);
        }
    }
    let [together, alone, appended] = times;
    let ours = Sample::of("SQLite, 64 clients", together);
    let alone = Sample::of("one client, one transaction a step", alone);
    let appended = Sample::of("four appends and fdatasyncs for 64 together", appended);
    Ok(Row::new(
        "store-activations",
        "one durable accept, match, claim and complete, of 64 clients at once",
        &ours,
    )
    .compared_with(&ours, &alone)
    .limited_by(&ours, &appended)
    .must_beat(&ours, &alone, MUST_BEAT)
    .note("Events of 1 KiB for 64 daemons, every commit with `synchronous=FULL`, on the disk of the temporary directory."))
}

/// Appends as many bytes as all clients write, and syncs as often; returns cycles per second.
fn appends(folder: &Path) -> Result<f64> {
    let mut file = File::create(folder.join("append"))?;
    let item = [b'x'; PAYLOAD];
    let begun = Instant::now();
    let mut n_cycles = 0_u32;
    while begun.elapsed() < ROUND {
        for _ in 0..N_STEPS {
            let mut bytes = Vec::new();
            for _ in 0..N_CLIENTS {
                bytes.extend_from_slice(&item);
            }
            file.write_all(&bytes)?;
            file.sync_data()?;
        }
        n_cycles += u32::try_from(N_CLIENTS)?;
    }
    Ok(f64::from(n_cycles) / begun.elapsed().as_secs_f64())
}

/// Runs cycles with many clients; returns cycles per second.
async fn drive(path: &Path, n_clients: u64, steps: Steps) -> Result<f64> {
    let store = Arc::new(SqliteStore::open(path)?);
    let n_done = cycles(&store, n_clients, (steps, Until::Elapsed(ROUND))).await?;
    Ok(n_done)
}

/// When the clients of a store stop.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// After a time.
    Elapsed(Duration),
    /// After a number of cycles.
    Done(u64),
}

impl Until {
    fn is_over(self, begun: Instant, n: u64) -> bool {
        match self {
            Self::Elapsed(limit) => begun.elapsed() >= limit,
            Self::Done(limit) => n > limit,
        }
    }
}

/// Runs cycles with many clients over an empty store; returns cycles per second.
pub(super) async fn cycles<S: Store + 'static>(
    store: &Arc<S>,
    n_clients: u64,
    (steps, until): (Steps, Until),
) -> Result<f64> {
    let daemons: Vec<DaemonKey> = (0..64).map(daemon).collect::<Result<_>>()?;
    register(&**store, &daemons).await?;
    let numbers = Arc::new(AtomicU64::new(1));
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for client in 0..n_clients {
        let (store, numbers) = (Arc::clone(store), Arc::clone(&numbers));
        let daemon = daemons[usize::try_from(client)? % daemons.len()].clone();
        tasks.spawn(async move {
            let mut n_done = 0_u32;
            loop {
                let n = numbers.fetch_add(1, Ordering::Relaxed);
                if until.is_over(begun, n) {
                    return anyhow::Ok(n_done);
                }
                cycle(&*store, &daemon, n, steps).await?;
                n_done += 1;
            }
        });
    }
    let mut n_done = 0.0;
    while let Some(done) = tasks.join_next().await {
        n_done += f64::from(done??);
    }
    Ok(n_done / begun.elapsed().as_secs_f64())
}

/// Which steps share a transaction.
#[derive(Clone, Copy)]
pub(super) enum Steps {
    /// Match and claim, as in the host.
    Joined,
    /// None.
    Single,
}

async fn cycle(store: &impl Store, daemon: &DaemonKey, n: u64, steps: Steps) -> Result<()> {
    let now = instant(n)?;
    let id = EventId::new(n, [0; 10]);
    store.accept(vec![accepted(n)?]).await?;
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
        link: None,
    };
    let matched = Matched {
        n_later: 0,
        event: id,
        wanted: Vec::new(),
        triggers: vec![trigger],
    };
    let request = ClaimRequest {
        owner: HostEpoch(1),
        now: now + SignedDuration::from_hours(1),
        lease_until: now + SignedDuration::from_hours(2),
        host_slots: 256,
        daemon_slots: 1,
        rates: Default::default(),
        day_usd: None,
    };
    // Another client may have claimed this client's daemon; it then completes the cycle instead.
    let claimed = match steps {
        Steps::Joined => store.match_and_claim(&request, vec![matched]).await?.1,
        Steps::Single => {
            store.commit_matches(vec![matched], now).await?;
            store.claim(&request).await?
        }
    };
    if let Some(activation) = claimed {
        complete(store, &activation.id, activation.run_lease, now).await?;
    }
    Ok(())
}

async fn complete(
    store: &impl Store,
    id: &ActivationId,
    lease: RunLease,
    now: Timestamp,
) -> Result<()> {
    let end = AttemptEnd::new(AttemptOutcome::Done, now, 0);
    store.end_attempt(id, lease, end).await?;
    Ok(())
}

/// Returns the instant of the event with a number.
fn instant(n: u64) -> Result<Timestamp> {
    Ok(Timestamp::from_second(1_767_225_600)? + SignedDuration::from_millis(n.try_into()?))
}

/// Returns the event with a number, received at its instant.
pub(super) fn accepted(n: u64) -> Result<NewEvent> {
    event(&EventId::new(n, [0; 10]), n, instant(n)?)
}

pub(super) fn event(id: &EventId, n: u64, now: Timestamp) -> Result<NewEvent> {
    Ok(NewEvent {
        happenings: Vec::new(),
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
            facts: EventFacts::default(),
            payload: vec![b'x'; PAYLOAD].into(),
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
        counterparts: Vec::new(),
        matching: Matching::Due,
    })
}

fn daemon(n: u32) -> Result<DaemonKey> {
    Ok(DaemonKey {
        repo: "o/r".parse()?,
        id: format!("d-{n}").parse()?,
    })
}

async fn register(store: &impl Store, daemons: &[DaemonKey]) -> Result<()> {
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
        since: None,
    };
    store.register(registration).await?;
    Ok(())
}
