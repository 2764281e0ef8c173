//! A linter for DAEMON.md files.
