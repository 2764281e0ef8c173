//! What the parts of a host share: the recorded runs of a home, and the errors, clocks and random ids that they all use.
//!
//! ```
//! use daemon_records::error::{OpError, OpErrorKind};
//!
//! let error = OpError::not_found("run", "em-1-20260102-030405-0a1b2c");
//! assert_eq!(error.kind, OpErrorKind::NotFound);
//! assert_eq!((error.kind.exit_code(), error.kind.http_status()), (66, 404));
//! assert_eq!(error.to_string(), "no run `em-1-20260102-030405-0a1b2c`");
//! ```
//!
//! # Overview
//! [`RecordedRun`] is a run as its folder records it, in a document of any version; [`RunObject`] is the JSON object of it that
//! operations return and pages show. [`error`] has the error of an operation, with its exit code, HTTP status and RPC code.
//! [`clock`], [`random`] and [`environment`] are what a host takes from its machine.
//!
//! [`HeldRoster`] decides the requests to the roster of a home and commits what they change.
//!
//! # What this crate does not do
//! It starts, follows and ends no run, lists no runs, and serves nothing. Runs are carried out by `daemon-runner` and presented by
//! `daemon-api`; neither depends on the other.
//!
//! # Guarantees
//! Reading a run changes nothing. Members of a document that a later version wrote are returned as its file contains them.

pub mod clock;
pub mod environment;
pub mod error;
pub mod failpoint;
mod find;
mod object;
pub mod random;
mod recorded;
mod roster;

pub use find::folder_of;
pub use object::{RunErrorObject, RunObject, TokensObject, counted_usd, instant, refresh, second};
pub use recorded::{FOLDER_MISSING, RecordedRun, heartbeat_age, record_problem};
pub use roster::{HeldRoster, RosterError};
