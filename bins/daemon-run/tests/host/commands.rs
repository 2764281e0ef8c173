//! Commands of programs that a test starts, or skips.

pub(crate) use crate::world::cleared as of_program;

/// Says why a test is skipped.
#[expect(
    clippy::print_stdout,
    reason = "`cargo xtask test` counts what is skipped by this line"
)]
pub(crate) fn skipped(why: &str) {
    println!("skipped: {why}");
}
