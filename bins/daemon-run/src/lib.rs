//! The reference runtime for DAEMON.md.

#[cfg(doctest)]
mod readme;
