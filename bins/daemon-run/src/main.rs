//! The reference runtime for DAEMON.md.
fn main() {}
