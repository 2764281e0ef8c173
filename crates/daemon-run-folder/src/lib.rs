//! The run folder: the files that record one run, with a single writer and any number of concurrent readers.
//!
//! ```
//! use daemon_run_folder::{DocumentReading, Folder, Handle, Outcome, Owner, RunStart, RunState, Writer, sha256};
//! use jiff::Timestamp;
//!
//! let home = tempfile::tempdir()?;
//! let now: Timestamp = "2026-01-02T03:04:05Z".parse()?;
//! let reserved = Folder::reserve(home.path(), "em-1".parse::<Handle>()?, now)?;
//! let owner = Owner { pid: 1, boot_id: "b7c0".to_owned(), start: 42 };
//! let start = RunStart::new("cli:1000", owner, "builtin", "repair links", b"Task: repair links".to_vec());
//!
//! let mut writer = Writer::start(reserved, start, now)?;
//! writer.provider_ended(&Outcome::Done, "2 links repaired", now)?;
//! assert_eq!(writer.finish(&Outcome::Done, now)?, RunState::Done);
//!
//! let folder = &Folder::list(home.path())?[0];
//! let DocumentReading::Known(document) = folder.read()? else { panic!("a document of this version") };
//! assert_eq!(document.result_preview.as_deref(), Some("2 links repaired"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//! - [`Writer`] records a run. It holds the folder's lock from [`Writer::start`] until it is dropped, and has one method for
//!   each kind of event. [`Writer::adopt`] takes over the folder of a dead owner, or of a run that has ended.
//! - [`Folder`] names, lists, reads, rebuilds and removes folders. [`Folder::log_tail`] and [`Folder::log_after`] follow a
//!   log while it is written.
//! - [`Document`] is the content of `daemon.json`; [`DocumentReading`] also covers documents of later versions and broken ones.
//! - [`RunError`] is the recorded error of a run. The states, reasons and ids come from `daemon-lifecycle`, and the ones that
//!   signatures here use are re-exported.
//!
//! | file | content |
//! |---|---|
//! | `daemon.json` | identity and live status: the [`Document`] |
//! | `.prompt`, `result.txt`, `followup-<n>.txt` | the prompt, the final text, the reply to follow-up *n* |
//! | `logs/events.jsonl`, `logs/output.{1,2}.jsonl` | the event log, and the output after its first 8 MiB |
//! | `history/`, `logs/token_ledger.jsonl` | the transcript and the model calls of a provider that calls a model itself |
//! | `.heartbeat`, `.lock`, `.notified` | the owner's last sign of life, the writer's lock, the published end |
//!
//! # What this crate does not do
//! It starts no process and publishes nothing. It does not redact: a caller removes secrets from everything that it passes
//! in. It reads no clock: each method receives the time of the event that it records.
//!
//! # Guarantees
//! - A reader sees the old `daemon.json` or the new one, never a part of one.
//! - A run has one end: the first that was durable. Later calls of [`Writer::finish`] fail.
//! - A stop reason is durable before [`Writer::stopping`] returns, and takes precedence over the provider's outcome.
//! - Unknown keys of `daemon.json` are kept, and a document of a later version is never rewritten.
//!
//! # Features and versions
//! The crate has no features. It locks files and syncs directories as Unix systems do. The minimum supported Rust version is
//! the `rust-version` of its manifest.

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
    ChildProcess, ErrorClass, Exit, Failure, FailureKind, GroupId, Handle, NetworkUse, Outcome,
    OutputStream, ParseIdError, RunId, RunState, Speaker, StopReason, ToolStatus, Truncation,
};
pub use disk::{Action, FolderError, write_atomic};
pub use document::{
    ActivationLink, BudgetRecord, ChildRecord, CliTokens, DATA_VERSION, Document, Dropped,
    ExitRecord, Followup, Migration, SandboxRecord, Termination, TokensRecord,
};
pub use error::RunError;
pub use folder::{Folder, Reserved};
pub use hash::sha256;
pub use notice::{Marked, RunNotice};
pub use reader::{Broken, DocumentReading, EventLog, NewerDocument};
pub use remove::Removal;
pub use tail::{LogPart, LogPlace, OutputLogPlace, UnknownPlace};
pub use writer::{FinishError, Owner, PresetRecord, RunStart, UnsyncedStart, Writer};
