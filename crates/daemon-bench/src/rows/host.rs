//! Rows of the real host, with thousands of daemons and with webhooks.

mod idle;
mod intake;
mod intake_rate;
mod outage;
mod ticks;
mod trees;
mod wake;

pub(super) use idle::measure as idle;
pub(super) use intake::{large as intake_large, silent as intake_silent, slow as intake_slow};
pub(super) use intake_rate::{busy as intake_busy, measure as intake_rate};
pub(super) use outage::measure as outage;
pub(super) use ticks::measure as ticks;
pub(super) use trees::{disk as trees_disk, wake_50k, wake_200k, wake_500};
pub(super) use wake::measure as wake;
