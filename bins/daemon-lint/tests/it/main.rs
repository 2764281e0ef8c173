//! The linter through its library, over repositories on disk.

mod cli;
mod fixes;
mod formats;
mod repositories;
mod world;
