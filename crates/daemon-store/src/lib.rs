//! Store traits, the in-memory twin, and the conformance suite.

pub mod decide;
mod error;
mod listing;
pub mod memory;
mod rows;
mod traits;

pub use error::StoreError;
pub use listing::{Bounds, Listing, MAX_PAGE, Position};
pub use rows::{
    Accepted, ClaimRequest, Counts, Coverage, DaemonRow, Ended, EventRow, EventTrigger, Freshness,
    Identity, Matched, Matching, Modes, NewEvent, Page, Query, Reclaimed, RefCursor, Registration,
    RegistryChange, RunRow, ScheduleText, StoredTick, TickActivations, TickCommit, TickResult,
    Validity,
};
pub use traits::{Activations, Events, Hosting, Outbox, Registry, Store, Ticks};
