//! Durable acceptance of events, compared with bare appends on the same disk.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use daemon_event::EventId;
use daemon_store::Events as _;
use daemon_store_sqlite::SqliteStore;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::store::{PAYLOAD, event};
use crate::kit::Sample;
use crate::report::{Row, times};

/// Each takes its turn for this long: disks drift.
const TURN: Duration = Duration::from_secs(1);
const N_TURNS: usize = 7;
const SENDERS: [u64; 4] = [1, 2, 4, 8];
const MANY_SENDERS: u64 = 64;
const MUST_REACH: f64 = 0.6;
const MUST_ACCEPT: f64 = 15_000.0;

/// A store that accepts, and a file that is appended to.
struct Contest {
    runtime: Runtime,
    store: Arc<SqliteStore>,
    file: File,
    next: Arc<AtomicU64>,
}

pub(super) fn measure() -> Result<Row> {
    let scratch = tempfile::tempdir()?;
    let mut contest = Contest::new(scratch.path())?;
    let mut shares = Vec::new();
    let mut samples = None;
    for n_senders in SENDERS {
        let (ours, bare) = contest.alternate(n_senders)?;
        shares.push((n_senders, bare.median / ours.median));
        samples = Some((ours, bare));
    }
    let (ours, bare) = samples.expect("there are senders");
    let (many, _) = contest.alternate(MANY_SENDERS)?;
    let rate = 1e9 / many.median;
    let mut row = Row::new(
        "store-accept",
        "one durable accept of an event of 1 KiB, of eight senders at once",
        &ours,
    )
    .limited_by(&ours, &bare);
    for (n_senders, share) in shares {
        row = row.must(
            format!("≥ {MUST_REACH} × the appends, {n_senders} senders"),
            times(share),
            share >= MUST_REACH,
        );
    }
    Ok(row
        .must(
            format!("≥ {MUST_ACCEPT:.0} a second, {MANY_SENDERS} senders"),
            format!("{rate:.0} a second"),
            rate >= MUST_ACCEPT,
        )
        .note("The store and the file take turns of a second on the same disk. An append has the bytes of as many events as there are senders."))
}

impl Contest {
    fn new(folder: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            runtime,
            store: Arc::new(SqliteStore::open(folder.join("store.db"))?),
            file: File::create(folder.join("append"))?,
            next: Arc::new(AtomicU64::new(1)),
        })
    }

    /// Returns the time of one accepted event, and of one that is only appended.
    fn alternate(&mut self, n_senders: u64) -> Result<(Sample, Sample)> {
        let (mut accepted, mut appended) = (Vec::new(), Vec::new());
        for _ in 0..N_TURNS {
            accepted.push(self.accept(n_senders)?);
            appended.push(self.append(n_senders)?);
        }
        let ours = Sample::of("SQLite", accepted);
        let bare = Sample::of("one append and `fdatasync` for all senders", appended);
        Ok((ours, bare))
    }

    fn accept(&self, n_senders: u64) -> Result<f64> {
        let begun = Instant::now();
        let senders: JoinSet<Result<u32>> = self.runtime.block_on(async {
            let mut senders = JoinSet::new();
            for _ in 0..n_senders {
                let (store, next) = (Arc::clone(&self.store), Arc::clone(&self.next));
                senders.spawn(async move {
                    let mut n_accepted = 0;
                    while begun.elapsed() < TURN {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let new = event(&EventId::new(n, [0; 10]), n, Timestamp::UNIX_EPOCH)?;
                        store.accept(vec![new]).await?;
                        n_accepted += 1;
                    }
                    Ok(n_accepted)
                });
            }
            senders
        });
        let mut n_accepted = 0.0;
        for sent in self.runtime.block_on(senders.join_all()) {
            n_accepted += f64::from(sent?);
        }
        Ok(nanoseconds(begun) / n_accepted)
    }

    fn append(&mut self, n_senders: u64) -> Result<f64> {
        let bytes = vec![b'x'; PAYLOAD * usize::try_from(n_senders)?];
        let begun = Instant::now();
        let mut n_appended = 0;
        while begun.elapsed() < TURN {
            self.file.write_all(&bytes)?;
            self.file.sync_data()?;
            n_appended += n_senders;
        }
        Ok(nanoseconds(begun) / n_appended as f64)
    }
}

fn nanoseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e9
}
