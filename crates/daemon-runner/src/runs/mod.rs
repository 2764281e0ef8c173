//! The records of runs: folders as they are written, and rows of the index.

mod find;
mod follow;
mod forget;
mod object;
mod orphans;
mod record;
mod redaction;

pub use forget::forget;
pub use object::{RunErrorObject, RunObject, TokensObject, instant, refresh, state_word};
pub use orphans::end_orphan;

pub(crate) use find::folder_of;
pub(crate) use follow::{Arrival, Course, Following, Question, Receipt, RunMessage, TurnEnd};
pub(crate) use orphans::end_processes;
pub(crate) use record::{Attempt, Record, RecordError, Written, bound, owner};
pub(crate) use redaction::environment_secrets;
