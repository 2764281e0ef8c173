//! Emanations: runs that a caller dispatches, lists, checks, asks and reclaims, and the notices of their ends.
//!
//! The files: the call and its validation (`call`, `fields`, `options`, `tools`), the place of a run (`isolation`,
//! `own_place`), its input (`plan`, `prompt`), its MCP servers (`servers`), its execution (`dispatch`, `running`, `live`), the replies about it
//! (`list`, `check`) and the wait for its end (`waiting`), its notices (`notice`, `publish`), recovery after a crash of the host
//! (`boot`), and the runs of standing daemons (`standing`).

mod advisory;
mod ask;
mod boot;
mod call;
mod check;
mod dispatch;
mod fault;
mod fields;
mod find;
mod isolation;
mod list;
mod live;
mod notice;
mod options;
mod own_place;
mod plan;
mod prompt;
mod publish;
mod reclaim;
mod running;
mod serve;
mod servers;
pub mod standing;
mod tools;
mod waiting;

#[cfg(test)]
mod tests;

pub use ask::deliver;
pub use fault::without_folder;
pub use live::Emanations;
pub use publish::{dismiss_notices, notices, run as publish};
pub use serve::{answer, drain, offline};
pub use waiting::{CallReply, RunWait};

#[cfg(test)]
pub(crate) use call::{History, List};
#[cfg(test)]
pub(crate) use list::{Room, reply as list_reply};
