//! Places where a test makes the process die.

#[cfg(feature = "internal-testing")]
pub(crate) use daemon_store::failpoint::hit;

#[cfg(not(feature = "internal-testing"))]
/// Does nothing.
pub(crate) fn hit(_: &str) {}
