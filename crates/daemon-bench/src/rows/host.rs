//! The real host with thousands of daemons.

mod idle;
mod outage;
mod ticks;
mod wake;

pub(super) use idle::measure as idle;
pub(super) use outage::measure as outage;
pub(super) use ticks::measure as ticks;
pub(super) use wake::measure as wake;
