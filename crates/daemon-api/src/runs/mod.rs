//! Run folders as operations and pages show them.

mod show;
mod view;

pub(crate) use show::{TimelineEntry, read, read_after};
pub(crate) use view::{Excerpt, View};
