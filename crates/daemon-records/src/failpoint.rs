//! Places where a test makes the process die; without the feature `internal-testing`, places where nothing happens.

#[cfg(feature = "internal-testing")]
pub use daemon_store::failpoint::{hit, is_planted};

#[cfg(not(feature = "internal-testing"))]
/// Does nothing.
pub fn hit(_: &str) {}

#[cfg(not(feature = "internal-testing"))]
/// Reports that no failpoint is planted.
pub fn is_planted(_: &str) -> bool {
    false
}
