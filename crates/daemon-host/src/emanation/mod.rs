//! Emanations: runs that a caller dispatches, lists, checks, asks and reclaims, and the notices of their ends.
//!
//! Each file holds one thing: the call as it is read (`call`, `fields`, `options`, `tools`), what a run is given (`plan`,
//! `prompt`), its course (`dispatch`, `running`, `live`), what is told of it (`entry`, `shelf`, `list`, `check`, `notice`),
//! and what a dead host left (`boot`).

mod advisory;
mod ask;
mod boot;
mod call;
mod check;
mod dispatch;
mod entry;
mod fault;
mod fields;
mod find;
mod list;
mod live;
mod notice;
mod options;
mod plan;
mod prompt;
mod publish;
mod reclaim;
mod running;
mod serve;
mod shelf;
mod tools;

#[cfg(test)]
mod tests;

pub use serve::offline;

pub(crate) use entry::of_document;
pub(crate) use live::Emanations;
pub(crate) use publish::{DIRECTORY as NOTICES, run as publish};
pub(crate) use serve::{answer, drain};
pub(crate) use shelf::{Stamp, heartbeat_age, seen};
