//! The folder in which a run is recorded: its format, its one writer, its many readers.
//!
//! ```
//! use daemon_run_folder::{Folder, Handle, Outcome, Owner, Reading, RunState, Start, Writer, sha256};
//! use jiff::Timestamp;
//!
//! let home = tempfile::tempdir()?;
//! let now: Timestamp = "2026-01-02T03:04:05Z".parse()?;
//! let reserved = Folder::reserve(home.path(), "em-1".parse::<Handle>()?, now)?;
//! let owner = Owner { pid: 1, boot_id: "b7c0".to_owned(), start: 42 };
//! let start = Start::new("cli:1000", owner, "builtin", "repair links", b"Task: repair links".to_vec());
//!
//! let mut writer = Writer::start(reserved, start, now)?;
//! writer.provider_ended(&Outcome::Done, "2 links repaired", now)?;
//! assert_eq!(writer.finish(&Outcome::Done, now)?, RunState::Done);
//!
//! let folder = &Folder::list(home.path())?[0];
//! let Reading::Known(document) = folder.read()? else { panic!("a document of this version") };
//! assert_eq!(document.result_preview.as_deref(), Some("2 links repaired"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Writer`] holds the folder's lock from [`Writer::start`] to its drop; [`Folder`] reads, lists and rebuilds;
//! [`Folder::log_tail`] and [`Folder::log_after`] follow a log while it is written.
//! [`Writer::adopt`] takes over a folder that has no writer: its owner is dead, or has recorded the end of the run.
//!
//! # What this crate does not do
//! It starts nothing, publishes nothing and knows no secret: what it is handed to write must be free of them. It has no
//! clock: each write takes the time of what it records.
//!
//! # Guarantees
//! A reader sees the old `daemon.json` or the new one, never a part. A run has one end: the first that was durable. A reason
//! to stop is durable before [`Writer::stopping`] returns, and wins over whatever the provider says later. Keys of
//! `daemon.json` that this crate does not know are kept, and a document of a later version is never rewritten.

mod disk;
mod document;
mod error;
mod folder;
mod hash;
mod log;
mod notice;
mod output_log;
mod reader;
mod rebuild;
mod remove;
mod tail;
mod time;
mod word;
mod writer;

pub use daemon_lifecycle::{
    ErrorClass, Exit, Failure, FailureKind, GroupId, Handle, Outcome, OutputStream, ParseIdError,
    RunId, RunState, StopReason, ToolStatus,
};
pub use disk::{Action, FolderError};
pub use document::{
    ActivationLink, Budget, Child, CliTokens, DATA_VERSION, Document, Dropped, ExitRecord,
    Followup, Migration, SandboxRecord, Termination, Tokens,
};
pub use error::RunError;
pub use folder::{Folder, Reserved};
pub use hash::sha256;
pub use log::Speaker;
pub use notice::{Marked, Notice};
pub use reader::{Broken, EventLog, Reading};
pub use remove::Removal;
pub use tail::{LogPart, LogPlace, OutputPlace, UnknownPlace};
pub use writer::{FinishError, Owner, Preset, Start, Truncation, Writer};
