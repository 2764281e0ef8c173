//! The linter through its library, over repositories on disk.

mod cli;
mod conditions;
mod fixes;
mod formats;
mod program;
mod repositories;
mod world;
