//! The real host with thousands of daemons.

mod idle;
mod outage;
mod ticks;

pub(super) use idle::measure as idle;
pub(super) use outage::measure as outage;
pub(super) use ticks::measure as ticks;
