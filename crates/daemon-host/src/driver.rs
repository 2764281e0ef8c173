//! The driver of a host: its components, and the loops that run them.

mod active_runs;
mod alone;
mod backlog;
mod claims;
mod conversing;
mod crons;
mod dispatch;
mod effects;
mod facts;
mod failures;
pub(crate) mod gaps;
mod host;
mod loops;
mod matching;
mod origin;
mod parts;
pub mod policies;
mod reconciling;
mod registrations;
mod renames;
pub mod repos;
mod repository_states;
mod run_directory;
mod sending;
mod signals;
mod slots;
mod ticking;
mod upkeep;

pub use alone::{Execution, run_one};
pub use claims::ClaimsPause;
pub use host::{Host, HostParts};
pub use loops::start;
pub use parts::{Checked, Checker, Naming, NotOpen, Parts, Runtime, Unopened};
pub(crate) use reconciling::PlaceState;
pub use repository_states::RepoState;
