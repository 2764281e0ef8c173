//! Run folders, as the host writes and shows them.

mod follow;
mod forget;
mod record;
mod redaction;
mod show;

pub(crate) use follow::{Course, Ended, Following};
pub(crate) use forget::forget;
pub(crate) use record::{Attempt, Record, RecordError, bound, owner};
pub(crate) use redaction::environment_secrets;
pub(crate) use show::{end_orphan, read, refresh};
