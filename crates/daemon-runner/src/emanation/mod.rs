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

pub use live::Emanations;
pub use publish::run as publish;
pub use serve::{answer, drain, offline};
pub use shelf::{heartbeat_age, seen};

pub(crate) use entry::of_document;
pub(crate) use shelf::Stamp;
