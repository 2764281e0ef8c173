//! Places where a test makes the process die; without the feature `internal-testing`, empty functions.

#[cfg(feature = "internal-testing")]
pub(crate) use daemon_store::failpoint::{hit, is_planted};

#[cfg(not(feature = "internal-testing"))]
pub(crate) fn hit(_: &str) {}

#[cfg(not(feature = "internal-testing"))]
pub(crate) fn is_planted(_: &str) -> bool {
    false
}
