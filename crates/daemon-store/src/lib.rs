//! Store traits, the ticker, and, behind features, the in-memory twin and the conformance suite.
//!
//! A store keeps events, daemons, ticks, activations and outputs. Each method is one transaction: after a crash before it
//! returns, all of its writes exist or none; after it has returned, they survive any crash.
//!
//! ```
//! use daemon_event::{DeliveryId, Event, EventFacts, EventId, Source};
//! use daemon_store::memory::MemoryStore;
//! use daemon_store::{Events, Freshness, Identity, Matching, NewEvent};
//! use jiff::Timestamp;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let delivered = |n: u8| NewEvent {
//!     event: Event {
//!         id: EventId::new(1_700_000_000_000, [n; 10]),
//!         source: Source::Github,
//!         kind: "ping".to_owned(),
//!         action: None,
//!         subject: None,
//!         actor: None,
//!         repo: None,
//!         time: Timestamp::UNIX_EPOCH,
//!         received_at: Timestamp::UNIX_EPOCH,
//!         delivery: "72d3162e".parse::<DeliveryId>().expect("a valid id"),
//!         facts: EventFacts::default(),
//!         payload: b"{}".as_slice().into(),
//!     },
//!     identities: vec![Identity { key: "id:github:72d3162e".to_owned(), within: None }],
//!     happenings: Vec::new(),
//!     counterparts: Vec::new(),
//!     matching: Matching::Due,
//! };
//! let store = MemoryStore::new();
//! let first = store.accept(vec![delivered(1)]).await?;
//! assert_eq!(first[0].freshness, Freshness::New);
//! // A second delivery with the same identity is a duplicate of the first one.
//! let again = store.accept(vec![delivered(2)]).await?;
//! assert_eq!(again[0].freshness, Freshness::Duplicate);
//! assert_eq!(again[0].id, first[0].id);
//! # Ok::<(), daemon_store::StoreError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A store of your own proves itself by the conformance suite, each case on an empty store:
//!
//! ```
//! # #[cfg(all(feature = "conformance", feature = "memory"))] {
//! use daemon_store::conformance::CASES;
//! use daemon_store::memory::MemoryStore;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let duplicates = CASES.iter().filter(|case| case.name.contains("duplicate"));
//! for case in duplicates {
//!     case.run(&MemoryStore::new()).await;
//! }
//! # });
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//! - [`Store`] is the sum of the traits: [`Events`], [`WantedFacts`], [`Daemons`], [`Ticks`], [`Activations`], [`Outbox`],
//!   [`RosterRecords`] and [`Hosting`].
//! - [`AgentMemory`](agent_memory::AgentMemory) is the memory of one agent, in a file of its own.
//! - [`Ticker`] turns the passing of time into commits for [`Ticks::commit_ticks`].
//! - [`decide`] contains the decisions that stores share in addition to those of `daemon-engine`.
//! - [`stored`] contains the text forms of values that durable stores share, and [`transfer`] what moves rows from one to another.
//! - [`StoreError`] distinguishes a lost lease and a conflict from failures of the disk.
//!
//! # Features and versions
//! Both features are off by default and meant for dev-dependencies.
//! - `memory`: `memory::MemoryStore`, a store without a disk, with which tests compare other stores, and `memory::MemoryTwin`,
//!   the same for the memory of an agent.
//! - `conformance`: the module `conformance`, with the cases that every store must pass.
//!
//! [`jiff::Timestamp`] and the types of `daemon-engine`, `daemon-event`, `daemon-roster` and `daemon-schedule` are part of the public API. The
//! minimum supported Rust version is the `rust-version` of the manifest.
//!
//! # What this crate does not do
//! It writes to no disk (see `daemon-store-sqlite`) and matches no conditions (see `daemon-watch`). It computes calendars
//! only to divide ranges of ticks; the policies of schedules are those of `daemon-schedule`.
//!
//! # Guarantees
//! - No store decides by itself the effect of a claim, an end, a crash or a tick: all of them call the same functions, and
//!   the suite compares the queries that repeat a rule with its function.
//! - A write under a lease that is no longer held fails with [`StoreError::LeaseLost`] and changes nothing.
//! - Instants are stored to the microsecond. No method reads a clock.

pub mod agent_memory;
#[cfg(feature = "internal-testing")]
mod canary;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod decide;
mod error;
#[cfg(feature = "internal-testing")]
pub mod failpoint;
mod fleet;
mod listing;
#[cfg(feature = "memory")]
pub mod memory;
mod roster;
mod rows;
mod search;
pub mod stored;
mod ticker;
mod traits;
pub mod transfer;
mod zones;

#[cfg(feature = "internal-testing")]
pub use canary::Canary;
pub use error::StoreError;
pub use fleet::{FleetHost, FleetState, GONE_AFTER, OtherHost, StuckLease};
pub use listing::{Bounds, Listing, MAX_PAGE, Position, RUN_STATES};
pub use roster::{
    AUDIT_RETENTION, AuditQuery, CHECK_IN_RETENTION, LoadedRoster, RosterRecords, RosterVersion,
    SIGNAL_RETENTION, StoredAudit,
};
pub use rows::{
    Accepted, Bookmark, ClaimRequest, Counts, Coverage, DaemonRow, Ended, EventRow, EventTrigger,
    FoundFact, Freshness, Identity, Matched, Matching, Modes, NewEvent, OutputPlace, Page, Query,
    Rates, Reclaimed, RefCursor, Registration, RegistryChange, RunEnd, RunRow, ScheduleText,
    StoredTick, TickActivations, TickCommit, TickResult, TriedFact, Validity,
};
pub use search::{FoundIds, SEARCHED_ROWS, Search, SearchFound, SearchQuery};
pub use ticker::{
    Cursors, Loaded, Overdue, Round, TICK_SUBJECT, Ticker, TickerState, Waking, occasion,
    tick_subject,
};
pub use traits::{Activations, Daemons, Events, Hosting, Outbox, Store, Ticks, WantedFacts};
pub use zones::{SystemZones, Zones};
