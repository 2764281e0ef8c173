//! The configuration of limits.

use daemon_api::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::size::ByteSize;

/// The limits of the number, rate and duration of runs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Limits")]
pub struct LimitsConfig {
    /// The maximum number of activations that run at the same time. One that only delivers its outputs does not count.
    pub host: u32,
    /// The same for the activations of one daemon.
    pub daemon: u32,
    /// The maximum number of activations of one daemon about one subject that start in an hour; more wait and are merged.
    pub rate_subject: u32,
    /// The maximum number of activations of one daemon that start in an hour.
    pub rate_daemon: u32,
    /// The maximum number of activations that start in an hour.
    pub rate_host: u32,
    /// The maximum number of active dispatched runs.
    pub emanations: u32,
    /// The maximum depth of a chain of daemons that wake each other.
    pub chain_depth: u32,
    /// The maximum duration of a run.
    pub wall: Period,
    /// The maximum time that a run may produce no output.
    pub idle: Period,
    /// The maximum number of checked-out trees of one repository that are kept between runs; with 0, each run gets a new checkout.
    pub trees: u32,
    /// The maximum disk space of the kept trees of all repositories: `8GiB`, or a number of bytes. Those in use are not removed.
    pub trees_bytes: ByteSize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            host: 4,
            daemon: 1,
            rate_subject: 6,
            rate_daemon: 60,
            rate_host: 600,
            emanations: 100,
            chain_depth: 3,
            wall: Period::from_secs(30 * 60),
            idle: Period::from_secs(10 * 60),
            trees: 4,
            trees_bytes: ByteSize::from_gib(8),
        }
    }
}
