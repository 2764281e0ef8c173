//! Reads run folders for operations and pages.

mod show;
mod view;

pub(crate) use show::{TimelineEntry, read, read_after};
pub(crate) use view::{Excerpt, View};
