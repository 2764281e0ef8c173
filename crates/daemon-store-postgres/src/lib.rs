//! Storage in PostgreSQL: many hosts on one database, few connections, operations that are done again where another was faster.
//!
//! ```
//! use daemon_store_postgres::{PostgresOptions, PostgresStore};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! // A server that requires TLS is used only if its certificate can be checked.
//! let options = PostgresOptions::new("host=db.example sslmode=require", "host-a");
//! let refused = PostgresStore::open(&options).await.expect_err("no authorities are named");
//! assert!(refused.to_string().ends_with("use TLS without a file of authorities"));
//! # });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a server:
//!
//! ```no_run
//! use daemon_engine::HostEnd;
//! use daemon_store::Hosting as _;
//! use daemon_store_postgres::{PostgresOptions, PostgresStore};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let options = PostgresOptions::new("host=/run/postgresql dbname=daemons", "host-a");
//! let store = PostgresStore::open(&options).await?;
//! let epoch = store.begin_epoch(HostEnd::Stopped, jiff::Timestamp::UNIX_EPOCH).await?;
//! assert_eq!(store.epoch().await?, epoch);
//! # Ok::<(), daemon_store::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`PostgresStore`] implements every trait of `daemon-store` except the memory of agents, which stays with its home.
//! [`PostgresOptions`] name the database and the host, and [`Wakeups`] say when there may be work. [`PostgresImport`] fills an empty
//! database with the content of another store.
//!
//! # Transactions
//! Each operation is one transaction; accepting, claiming and ending share one with what waited meanwhile. It runs with the isolation level "read committed" and locks what it decides over: the row of a
//! daemon in `lane` before the activations of that daemon, and the number of the newest event before the queries about new
//! events. A claim skips lanes that others have locked as long as another lane has a ready activation. Deadlocks and lost races
//! are done again, a bounded number of times, after random pauses.
//!
//! An operation whose connection breaks before its commit runs again on another connection. If the connection breaks during the commit,
//! the store looks up whether it is durable: each commit writes its number into a row of its connection, and the lookup removes
//! that row, without which a commit that is still on its way fails.
//!
//! # Time
//! Leases begin and end by the clock of the database, for as long as the caller asked: hosts whose clocks differ do not take
//! each other's leases. All other instants are those of the caller.
//!
//! # Hosts
//! An epoch names one process of one host. A host takes back what its own earlier processes left, and from other hosts only what has
//! an expired lease. Gates, slots and the rule that one suspect runs at a time hold for each host; rates and
//! budgets hold for all hosts together.
//!
//! # What this crate does not do
//! It makes no decisions: the effect of a claim or an end is decided in `daemon-engine` and `daemon-store`.
//!
//! # Guarantees
//! - A commit is acknowledged after it is durable on the server, also where the default of the server is not to wait.
//! - A schema that does not admit this version is refused; one of a later version that admits it is used as it is.
//! - At most [`MAX_CONNECTIONS`] connections are open. A host that stops within a transaction keeps its locks for ten seconds.
//! - No advisory locks. Tables of a repository have it in every key, so that they can be distributed by it. Events, payloads, reports
//!   and ticks are partitioned by month; the keys that identify repetitions are not.
//! - A NUL character in a string, which PostgreSQL cannot store, is read back as U+FFFD; payloads are bytes and stay as they are.

mod accept;
mod activation;
mod admission;
mod attempt;
mod claim;
mod column;
mod connection;
mod event;
mod failure;
mod fleet;
mod group;
mod hosting;
mod identity;
mod import;
mod lane;
mod listing;
mod memory;
mod migrate;
mod options;
mod output;
mod partition;
mod registry;
mod roster;
mod run;
mod seams;
mod search;
mod store;
mod tick;
mod transaction;
mod wakeup;
mod wanted;

pub use import::{ImportState, PostgresImport};
pub use options::{
    AddressError, LeaseClock, MAX_CONNECTIONS, Password, PostgresOptions, check_address,
};
pub use store::PostgresStore;
pub use wakeup::{Wakeup, Wakeups};
