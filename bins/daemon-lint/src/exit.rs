//! Exit codes.

/// Everything is as it should be.
pub const DONE: u8 = 0;
/// The files have errors.
pub const BAD_ANSWER: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// A path cannot be read.
pub const CANNOT_READ: u8 = 66;
/// A bug.
pub const BUG: u8 = 70;
/// A fixed file cannot be written.
pub const CANNOT_WRITE: u8 = 73;
