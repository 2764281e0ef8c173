//! The SQLite store: one writer, group commit, migrations.
//!
//! ```
//! use daemon_engine::{Gate, HostEnd};
//! use daemon_store::{Hosting as _, Registry as _};
//! use daemon_store_sqlite::SqliteStore;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let folder = tempfile::tempdir()?;
//! let store = SqliteStore::open(folder.path().join("store.db"))?;
//! let first = store.begin_epoch(HostEnd::Stopped, jiff::Timestamp::UNIX_EPOCH).await?;
//! store.set_host_gate(Gate::Held).await?;
//! drop(store);
//!
//! // What was answered with `Ok` is there, however the process ended.
//! let store = SqliteStore::open(folder.path().join("store.db"))?;
//! assert_eq!(store.epoch().await?, first);
//! assert_eq!(store.host_gate().await?, Gate::Held);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`SqliteStore`] implements every trait of `daemon-store`. Writes queue for one thread, which commits whatever queued
//! while the last commit was being synced, up to 256 operations, each under a savepoint of its own; no operation returns
//! before the commit has. Reads go to a few connections that see the last commit.
//!
//! # What this crate does not do
//! It decides nothing: what a claim or an end means is `daemon-engine`'s and `daemon-store`'s. It does not keep two
//! hosts off one home.
//!
//! # Guarantees
//! The log is written ahead and synced with every commit (`synchronous=FULL`). A sync that fails is never tried again:
//! the store then refuses every write, and the process should end. A file that is empty, truncated, of another program,
//! of a newer version or without its log is refused, never begun anew. So is a file that is missing while its log or its
//! mark is there, and one whose log lost commits that were acknowledged: a frame in its middle is spoilt, or it ends
//! before the position in the mark, a small file in the same directory.

mod activation;
mod admission;
mod attempt;
mod claim;
mod column;
mod event;
mod facts;
mod failpoint;
mod failure;
mod hosting;
mod identity;
mod lane;
mod listing;
mod log;
mod mark;
mod memory;
mod migrate;
mod occasion;
mod open;
mod output;
mod payload;
mod pull_request;
mod reader;
mod registry;
mod repair;
mod report;
mod run;
mod seams;
mod space;
mod store;
mod tick;
mod wal;
mod wanted;
mod writer;

pub use repair::{Repaired, repair};
pub use store::SqliteStore;
