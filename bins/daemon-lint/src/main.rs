//! A linter for DAEMON.md files.
fn main() {}
