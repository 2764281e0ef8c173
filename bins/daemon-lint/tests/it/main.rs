//! The linter through its library, over repositories on disk.

mod catalogue;
mod cli;
mod conditions;
mod fixes;
mod fixtures;
mod formats;
mod program;
mod repositories;
mod watch_rules;
mod world;
