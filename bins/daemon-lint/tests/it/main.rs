//! Tests of the library over repositories on disk.

mod action;
mod catalogue;
mod cli;
mod conditions;
mod fixes;
mod fixtures;
mod formats;
mod program;
mod repositories;
#[cfg(unix)]
mod support_trees;
mod watch_events;
mod watch_kit;
mod watch_meanings;
mod watch_severities;
mod watch_words;
mod world;
