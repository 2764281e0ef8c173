//! Random bytes, and the ids that are made of them.

use std::fmt::Write as _;

use daemon_event::{ActivationId, EventId};
use daemon_roster::TokenHash;
use jiff::Timestamp;

/// Returns `n` random bytes in hexadecimal.
///
/// # Panics
/// If the system has no randomness, without which no secret can be made.
pub fn hex(n: usize) -> String {
    let mut bytes = vec![0; n];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
        .iter()
        .fold(String::with_capacity(2 * n), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string cannot fail");
            text
        })
}

/// Returns three random bytes, which the id of a group of runs contains.
///
/// # Panics
/// If the system has no randomness.
pub fn three() -> [u8; 3] {
    let mut bytes = [0; 3];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// Draws the hash of the token of an agent that a host starts. The token itself is never made: the host knows such an agent by the
/// grants of its run, so that it needs no secret of its own.
///
/// # Panics
/// If the system has no randomness.
pub fn agent_token() -> TokenHash {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    TokenHash(bytes)
}

/// Returns ten random bytes, as an identifier needs.
///
/// # Panics
/// If the system has no randomness.
pub fn ten() -> [u8; 10] {
    let mut bytes = [0; 10];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// Returns a number drawn uniformly, for spreading retries.
///
/// # Panics
/// If the system has no randomness.
pub fn jitter() -> u32 {
    getrandom::u32().expect("the system gives randomness")
}

fn millis(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}

/// Makes an event id.
pub fn event_id(now: Timestamp) -> EventId {
    EventId::new(millis(now), ten())
}

/// Makes an activation id.
pub fn activation_id(now: Timestamp) -> ActivationId {
    ActivationId::new(millis(now), ten())
}

/// Draws 128 random bits for the boundary of a context.
///
/// # Panics
/// If the system has no randomness.
pub fn boundary() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    u128::from_be_bytes(bytes)
}
