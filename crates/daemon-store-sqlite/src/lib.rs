//! Storage in SQLite: one writer thread, one commit for a group of operations, schema migrations.
//!
//! ```
//! use daemon_engine::{Gate, HostEnd};
//! use daemon_store::{Daemons as _, Hosting as _};
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
//! // Every operation that returned `Ok` is durable, however the process ended.
//! let store = SqliteStore::open(folder.path().join("store.db"))?;
//! assert_eq!(store.epoch().await?, first);
//! assert_eq!(store.host_gate().await?, Gate::Held);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`SqliteStore`] implements every trait of `daemon-store`. [`SqliteStore::open`] opens a file, [`SqliteStore::in_memory`]
//! makes a store that writes none, and [`repair`] gives up the lost end of a damaged log.
//!
//! [`SqliteMemory`] is the memory of one agent, in a file of its own. [`SqliteExport`] reads a whole store for an import into another.
//!
//! Writes of a store queue for one thread. It commits all operations that queued while the last commit was being synced, up to 256;
//! one that fails takes back only itself, and none returns before its commit. Reads use a few connections that see the
//! last commit.
//!
//! # What this crate does not do
//! It makes no decisions: the effect of a claim or an end is decided in `daemon-engine` and `daemon-store`. It does not
//! prevent two hosts from opening one file; a host locks its home for that.
//!
//! # Guarantees
//! - The log is written ahead and synced with every commit (`synchronous=FULL`).
//! - A failed sync is never retried: the store refuses every later write, and the process should end.
//! - A file that is empty, truncated, of another program, of a newer version or without its log is refused and never
//!   replaced. So is a missing file whose log or mark exists.
//! - A log that lost acknowledged commits is noticed: a frame in its middle is damaged, or it ends before the position in
//!   the mark, a small file in the same directory.

mod activation;
mod admission;
mod agent_memory;
mod attempt;
mod bookmark;
mod claim;
mod column;
mod event;
mod event_block;
mod export;
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
mod open;
mod output;
mod payload;
mod pull_request;
mod reader;
mod recent;
mod registry;
mod repair;
mod report;
mod roster;
mod run;
mod seams;
mod search;
mod snapshot;
mod space;
mod store;
mod tick;
mod wal;
mod wanted;
mod writer;

pub use agent_memory::SqliteMemory;
pub use export::{Batch, Move, SqliteExport, tables};
pub use repair::{Repaired, repair};
pub use snapshot::snapshot;
pub use store::SqliteStore;
