//! Places where a test makes the process die; without the feature `internal-testing`, empty functions.

#[cfg(feature = "internal-testing")]
pub(crate) use daemon_store::failpoint::hit;

#[cfg(not(feature = "internal-testing"))]
pub(crate) fn hit(_: &str) {}
