//! The records of runs: folders as they are written, and rows of the index.

mod entry;
mod follow;
mod forget;
mod index;
mod orphans;
mod record;
mod redaction;
mod row;

pub use forget::forget;
pub use orphans::end_orphan;

#[cfg(test)]
pub(crate) use entry::entry;
pub(crate) use entry::{cut, details, filled};
pub(crate) use follow::{Arrival, Following, Question, Receipt, RunInputs, RunMessage, TurnEnd};
pub(crate) use index::{
    CachedEntry, EntryText, HostPresence, ListedRun, RunIndex, entries, index, list_entry,
};
pub(crate) use orphans::{end_processes, follow_folder};
pub(crate) use record::{Attempt, Record, RecordError, Written, bound, owner};
pub(crate) use redaction::environment_secrets;
