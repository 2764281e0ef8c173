//! Rows about runs: their folders, start, output and end.

mod list;
mod noisy;
mod spawn;
mod stop;

pub(super) use list::measure as list;
pub(super) use noisy::measure as noisy;
pub(super) use spawn::measure as spawn;
pub(super) use stop::measure as stop;
