//! The exit codes of the linter, after `sysexits.h`.

/// The files have no errors.
pub const DONE: u8 = 0;
/// A file has an error, or a warning with `--deny-warnings`.
pub const BAD_ANSWER: u8 = 1;
/// The command line is invalid.
pub const USAGE: u8 = 64;
/// A path cannot be read.
pub const CANNOT_READ: u8 = 66;
/// The program has a bug and panicked.
pub const BUG: u8 = 70;
/// A fixed file cannot be written.
pub const CANNOT_WRITE: u8 = 73;
