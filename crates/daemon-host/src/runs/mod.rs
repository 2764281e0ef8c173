//! Run folders, as the host writes and shows them.

mod follow;
mod forget;
mod record;
mod redaction;
mod show;
mod view;

pub(crate) use follow::{Arrival, Course, Ended, Following, Message, Question, Receipt};
pub(crate) use forget::forget;
pub(crate) use record::{Attempt, Record, RecordError, Written, bound, owner};
pub(crate) use redaction::environment_secrets;
pub(crate) use show::{TimelineEntry, end_orphan, end_processes, read, read_after, refresh};
pub(crate) use view::{Excerpt, View};
