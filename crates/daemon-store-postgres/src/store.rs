//! The store as its users hold it.

use std::sync::Arc;
use std::time::Duration;

use daemon_store::StoreError;
use jiff::Timestamp;
use tokio::sync::{Mutex, Notify, OnceCell};

use crate::accept::Accepting;
use crate::attempt::Ending;
use crate::claim::Claiming;
use crate::column::{Columns as _, micros};
use crate::connection::{Address, Pool};
use crate::failure::TxResult;
use crate::group::GroupQueue;
use crate::migrate::{STEPS, check_to_read, migrate};
use crate::options::{LeaseClock, MAX_CONNECTIONS, PostgresOptions};
use crate::transaction::{Tries, Tx, TxKind};
use crate::wakeup::{Wakeup, Wakeups};
use crate::{import, partition};

/// How long a session that listens may be broken before it is made again.
const LISTENING: Duration = Duration::from_secs(5);

/// The store of one host in a PostgreSQL database, which it may share with other hosts.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) link: Arc<ServerLink>,
    pub(crate) accepting: GroupQueue<Accepting>,
    pub(crate) claiming: GroupQueue<Claiming>,
    pub(crate) ending: GroupQueue<Ending>,
    /// Notified by operations that make work.
    pub(crate) own_work: Arc<Notify>,
    /// Made by the first wait for other hosts: a command needs no session that listens.
    wakeups: OnceCell<Mutex<Wakeups>>,
}

/// The way to the database.
#[derive(Debug)]
pub(crate) struct ServerLink {
    pub(crate) address: Address,
    pub(crate) pool: Pool,
    pub(crate) own: Arc<Own>,
}

/// What operations know of the host that they run for.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) host: String,
    pub(crate) lease_clock: LeaseClock,
}

impl PostgresStore {
    /// Connects to the database and brings its schema up to date.
    ///
    /// # Errors
    /// `Newer` if the schema does not admit this version; `Unavailable` if the database cannot be reached, the options are wrong,
    /// or an import has not ended.
    pub async fn open(options: &PostgresOptions) -> Result<Self, StoreError> {
        let address = options.resolve()?;
        let mut tries = Tries::new("open the database");
        loop {
            match prepare(&address).await {
                Ok(()) => return Ok(Self::at(address, options)),
                Err(error) => tries.again(error).await?,
            }
        }
    }

    /// Connects to a database whose schema is up to date. Opening it changes nothing, and a server that does not answer is not
    /// waited for.
    ///
    /// # Errors
    /// As [`open`](Self::open); `Unavailable` also for an older schema, and for a database without one.
    pub async fn open_to_read(options: &PostgresOptions) -> Result<Self, StoreError> {
        let address = options.resolve()?;
        let checked = async {
            let (client, driver) = address.client().await?;
            check_to_read(&client, STEPS).await?;
            drop(driver);
            TxResult::Ok(())
        };
        match checked.await {
            Ok(()) => Ok(Self::at(address, options)),
            Err(error) => Err(error.into_error("open the database")),
        }
    }

    fn at(address: Address, options: &PostgresOptions) -> Self {
        // One is for the hints.
        let n_connections = options.connections.clamp(2, MAX_CONNECTIONS) - 1;
        let link = Arc::new(ServerLink {
            pool: Pool::new(n_connections),
            address,
            own: Arc::new(Own {
                host: options.host.clone(),
                lease_clock: options.lease_clock,
            }),
        });
        Self {
            accepting: GroupQueue::new(Arc::clone(&link)),
            claiming: GroupQueue::new(Arc::clone(&link)),
            ending: GroupQueue::new(Arc::clone(&link)),
            link,
            own_work: Arc::default(),
            wakeups: OnceCell::new(),
        }
    }

    /// Returns the hints that there may be work, which come at least once in an interval. A host needs one of them.
    pub fn wakeups(&self, interval: Duration) -> Wakeups {
        Wakeups::new(
            self.link.address.clone(),
            interval,
            Arc::clone(&self.own_work),
        )
    }

    /// Returns when a host, this one or another, has stored something that can be worked on.
    pub(crate) async fn wait_for_work(&self) {
        let made = async || Mutex::new(self.wakeups(LISTENING));
        let mut wakeups = self.wakeups.get_or_init(made).await.lock().await;
        // Each concern of a host polls at its own interval.
        while wakeups.next().await == Wakeup::Polled {}
    }

    /// Returns the version of the schema that every opened store has at least.
    pub fn schema_version() -> i64 {
        i64::try_from(STEPS.len()).expect("few steps")
    }

    /// Makes the partitions of the coming months, and removes those that hold nothing that is to be kept.
    pub(crate) async fn turn_partitions(
        &self,
        payloads: Timestamp,
        ticks: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tries = Tries::new("turn partitions");
        loop {
            let turned = async {
                let connection = self.link.pool.lend(&self.link.address).await?;
                partition::prepare(&connection.client).await?;
                partition::remove(&connection.client, (payloads, ticks)).await?;
                connection.give_back();
                TxResult::Ok(())
            };
            match turned.await {
                Ok(()) => return Ok(()),
                Err(error) => tries.again(error).await?,
            }
        }
    }

    /// Begins a transaction of an operation.
    pub(crate) async fn begin(&self, tries: &mut Tries, kind: TxKind) -> Result<Tx, StoreError> {
        loop {
            match Tx::begin(&self.link, kind).await {
                Ok(tx) => return Ok(tx),
                Err(error) => tries.again(error).await?,
            }
        }
    }

    /// Ends a transaction; `None` if the operation is to be done again.
    pub(crate) async fn end<T>(
        &self,
        tries: &mut Tries,
        tx: Tx,
        done: TxResult<T>,
    ) -> Option<Result<T, StoreError>> {
        tries.end(&self.link, tx, done).await
    }
}

async fn prepare(address: &Address) -> TxResult<()> {
    let (client, driver) = address.client().await?;
    migrate(&client, STEPS).await?;
    import::check_client(&client).await?;
    partition::prepare(&client).await?;
    drop(driver);
    Ok(())
}

/// The instant of the clock of the database, in microseconds.
pub(crate) const NOW: &str =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now";

impl Tx {
    /// Returns the instant, in microseconds, that leases are compared with.
    pub(crate) async fn lease_now(&self, now: Timestamp) -> TxResult<i64> {
        match self.own.lease_clock {
            LeaseClock::Caller => Ok(micros(now)),
            LeaseClock::Database => self.row(NOW, &[]).await?.number("now"),
        }
    }
}

/// When a renewed lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseDeadline {
    /// At an instant, in microseconds.
    At(i64),
    /// As long from now on, by the clock of the database, as it was claimed for.
    OfDatabase,
}

impl Tx {
    /// Returns when a lease ends that the host renews until an instant of its own clock.
    pub(crate) fn lease_deadline(&self, until: Timestamp) -> LeaseDeadline {
        match self.own.lease_clock {
            LeaseClock::Caller => LeaseDeadline::At(micros(until)),
            LeaseClock::Database => LeaseDeadline::OfDatabase,
        }
    }
}
