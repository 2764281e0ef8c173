//! Run folders, as the host writes and shows them.

mod record;
mod show;

pub(crate) use record::Record;
pub(crate) use show::{end_orphan, read, refresh};
