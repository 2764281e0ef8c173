//! A history of concurrent workers, and the check that it keeps the promises of leases.
//!
//! Each worker records when an operation began and when it was answered, in ticks of one counter. Two operations whose spans
//! overlap may have happened in either order, and the check demands only what holds in both.

mod check;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::Poll;

use daemon_engine::{HostEnd, HostEpoch, RunLease};
use daemon_event::ActivationId;
use jiff::{SignedDuration, Timestamp};

use self::check::violations;
use super::random::Dice;
use super::scene::{asked, at, claim, crashed, done, join_all, registered};
use crate::StoreError;
use crate::rows::ClaimRequest;
use crate::traits::Store;

const DAEMONS: [&str; 3] = ["a", "b", "c"];
/// How long leases last, in virtual seconds. A step lets a second pass.
const LEASE: i64 = 12;
/// How many of its leases a worker remembers: it also writes under those that it lost.
const REMEMBERED: usize = 4;

/// What was done and answered.
#[derive(Clone, Debug, PartialEq)]
enum Deed {
    /// A claim leased an activation until an instant.
    Claimed { until: Timestamp },
    /// A lease was renewed until an instant.
    Renewed { until: Timestamp },
    /// The attempt of a lease was ended.
    Ended,
    /// A write was refused, because its lease is not held.
    Refused,
    /// An activation was taken back at an instant.
    TakenBack { at: Timestamp },
    /// An activation was cancelled, under any lease that it had.
    Cancelled,
}

/// One answered operation on an activation.
#[derive(Clone, Debug)]
struct Entry {
    began: u64,
    answered: u64,
    activation: ActivationId,
    /// The lease that it names, or that it began.
    lease: RunLease,
    deed: Deed,
}

/// What the workers share.
struct Shared {
    ticks: AtomicU64,
    /// Virtual seconds.
    seconds: AtomicI64,
    numbers: AtomicU64,
}

impl Shared {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn pass(&self) -> Timestamp {
        at(self.seconds.fetch_add(1, Ordering::SeqCst))
    }
}

/// Lets workers claim, renew, end, take back and cancel at the same time, spread over stores with the same content, and returns
/// what in their history breaks a promise of leases.
///
/// Every store is of another host, and takes its time from the callers.
///
/// # Panics
/// If an operation fails in another way than its contract says.
pub async fn history(stores: &[&dyn Store], n_workers: u64, n_operations: u64) -> Vec<String> {
    registered(stores[0], &DAEMONS).await;
    let mut epochs = Vec::new();
    for store in stores {
        let begun = store.begin_epoch(HostEnd::Stopped, at(0)).await;
        epochs.push(begun.expect("begins"));
    }
    let shared = Shared {
        ticks: AtomicU64::new(0),
        seconds: AtomicI64::new(1),
        numbers: AtomicU64::new(1),
    };
    let workers = (0..n_workers).map(|n| {
        let place = usize::try_from(n).expect("few workers") % stores.len();
        let worker = Worker {
            store: stores[place],
            epoch: epochs[place],
            shared: &shared,
            dice: Dice(n + 1),
            held: Vec::new(),
            acc: Vec::new(),
        };
        let working: Pin<Box<dyn Future<Output = Vec<Entry>> + Send>> =
            Box::pin(worker.work(n_operations / n_workers));
        working
    });
    let entries = join_all(workers.collect()).await.concat();
    assert!(
        entries.iter().any(|one| one.deed == Deed::Refused),
        "no write came too late, so that no fence was tried"
    );
    violations(&entries)
}

struct Worker<'s> {
    store: &'s dyn Store,
    epoch: HostEpoch,
    shared: &'s Shared,
    dice: Dice,
    /// The newest leases, lost ones among them.
    held: Vec<(ActivationId, RunLease)>,
    acc: Vec<Entry>,
}

impl Worker<'_> {
    async fn work(mut self, n_operations: u64) -> Vec<Entry> {
        for _ in 0..n_operations {
            // A store without a disk answers at once, and one worker would do everything before the next.
            yield_now().await;
            match self.dice.below(100) {
                0..20 => self.enqueue().await,
                20..50 => self.claim().await,
                50..65 => self.renew().await,
                65..87 => self.end().await,
                87..97 => self.take_back().await,
                _ => self.cancel().await,
            }
        }
        self.acc
    }

    fn record(&mut self, began: u64, (activation, lease): (&ActivationId, RunLease), deed: Deed) {
        self.acc.push(Entry {
            began,
            answered: self.shared.tick(),
            activation: activation.clone(),
            lease,
            deed,
        });
    }

    /// Draws one of the newest leases.
    fn lease(&mut self) -> Option<(ActivationId, RunLease)> {
        let n = self.held.len() as u64;
        let place = usize::try_from(self.dice.below(n.max(1))).expect("small");
        self.held.get(place).cloned()
    }

    async fn enqueue(&mut self) {
        let n = self.shared.numbers.fetch_add(1, Ordering::SeqCst);
        let id = DAEMONS[usize::try_from(n % 3).expect("small")];
        let now = self.shared.pass();
        self.store.enqueue(asked(id, n, now)).await.expect("admits");
    }

    async fn claim(&mut self) {
        let now = self.shared.pass();
        let until = now + SignedDuration::from_secs(LEASE);
        let request = ClaimRequest {
            owner: self.epoch,
            lease_until: until,
            host_slots: 64,
            daemon_slots: 64,
            ..claim(now)
        };
        let began = self.shared.tick();
        let claimed = self.store.claim(&request).await.expect("claims");
        if let Some(one) = claimed {
            let lease = (one.id, one.run_lease);
            self.record(began, (&lease.0, lease.1), Deed::Claimed { until });
            self.held.insert(0, lease);
            self.held.truncate(REMEMBERED);
        }
    }

    async fn renew(&mut self) {
        let Some((id, lease)) = self.lease() else {
            return;
        };
        let until = self.shared.pass() + SignedDuration::from_secs(LEASE);
        let began = self.shared.tick();
        let lost = self.store.renew(vec![(id.clone(), lease)], until).await;
        let deed = match lost.expect("renews").is_empty() {
            true => Deed::Renewed { until },
            false => Deed::Refused,
        };
        self.record(began, (&id, lease), deed);
    }

    async fn end(&mut self) {
        let Some((id, lease)) = self.lease() else {
            return;
        };
        let now = self.shared.pass();
        // A crash makes it pending again, so that it is claimed under the next lease.
        let end = match self.dice.below(2) {
            0 => done(now),
            _ => crashed(now),
        };
        let began = self.shared.tick();
        let deed = match self.store.end_attempt(&id, lease, end).await {
            Ok(_) => Deed::Ended,
            Err(StoreError::LeaseLost) => Deed::Refused,
            Err(error) => panic!("an attempt cannot be ended: {error}"),
        };
        self.record(began, (&id, lease), deed);
    }

    async fn take_back(&mut self) {
        let now = self.shared.pass();
        let began = self.shared.tick();
        let taken = self
            .store
            .reclaim(self.epoch, now)
            .await
            .expect("takes back");
        for one in taken {
            self.record(began, (&one.id, one.lease), Deed::TakenBack { at: now });
        }
    }

    async fn cancel(&mut self) {
        let Some((id, lease)) = self.lease() else {
            return;
        };
        let now = self.shared.pass();
        let began = self.shared.tick();
        match self.store.cancel(&id, "not needed", now).await {
            Ok(_) => self.record(began, (&id, lease), Deed::Cancelled),
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("an activation cannot be cancelled: {error}"),
        }
    }
}

/// Lets the other workers go first.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| match std::mem::replace(&mut has_yielded, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// The history as a case of the suite.
pub(super) async fn a_history_of_concurrent_workers_keeps_the_promises_of_leases(
    store: &dyn Store,
) {
    assert_eq!(history(&[store], 4, 2_000).await, [""; 0]);
}
