//! Commands of programs that a test starts, or skips.

use std::process::Command;

#[expect(
    clippy::disallowed_methods,
    reason = "the server is a program of the test, not a child of a host"
)]
pub(crate) fn of_program(name: &str) -> Command {
    Command::new(name)
}

/// Says why a test is skipped.
pub(crate) fn skipped(why: &str) {
    println!("skipped: {why}");
}
