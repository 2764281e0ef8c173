//! A writer that is killed in the middle of a write, under a thousand readers.
//!
//! A test binary of its own: a child inherits the locks of concurrent tests for the moment between fork and exec.

#[cfg(test)]
mod writer;
