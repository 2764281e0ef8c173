//! The reference runtime for DAEMON.md.
