//! Child processes that cannot outlive, flood or block the process that started them. Linux only.
//!
//! A [`Tool`] is a short program, such as git, that is run to its end:
//!
//! ```
//! use daemon_process::{ByteCount, Tool};
//! use std::time::Duration;
//!
//! let output = Tool::new("/bin/sh")
//!     .args(["-c", "cat; echo no >&2; exit 3"])
//!     .stdin("hello")
//!     .run(Duration::from_secs(10), ByteCount(1024))?;
//! assert_eq!(output.stdout, b"hello");
//! assert_eq!(output.stderr, b"no\n");
//! assert_eq!(output.status.code(), Some(3));
//! # Ok::<(), daemon_process::ToolRunError>(())
//! ```
//!
//! # Overview
//!
//! - [`Tool`] runs a program with a deadline and a cap on its output. It blocks.
//! - A [`Supervisor`] starts long-lived children from a [`Launch`] and reports their lines, limits and end as
//!   [`ChildEvent`]s. [`SupervisedChild::next`] works on any async executor.
//! - [`ChildLimits`] limit a child's whole tree, and a [`Sandbox`] limits the files, processes and connections that it can
//!   reach. The level that this machine supports is determined by starting children, never assumed.
//! - [`resolve_program`] finds a program outside of untrusted directories; [`end_orphans`] ends the processes that a dead
//!   host left behind.
//!
//! # What this crate does not do
//!
//! It knows no protocol, no provider and no run folder. It reads no wall clock: deadlines are durations.
//!
//! # Guarantees
//!
//! - Starting a child takes as long in a large process as in a small one: no page table is copied.
//! - A child starts with an empty environment plus the given variables, in a process group of its own, and receives SIGKILL
//!   when the process that started it dies.
//! - Both output pipes are read together, so a child that fills one of them does not block on the other. The output that is
//!   kept is bounded.
//! - Every child started here is reaped here, by its id.

mod abort;
mod allocator;
mod mark;
mod nonblocking;
mod open_files;
mod process_table;
mod program;
mod sandbox;
mod spawn;
mod status;
mod supervisor;
mod tool;

pub use abort::AbortNote;
pub use allocator::{limit_kept_memory, return_freed_memory};
pub use mark::end_strays;
pub use open_files::{most_open_files, raise_open_files};
pub use process_table::{Orphans, ProcessId, RUN_MARKER, boot_id, end_orphans};
pub use program::{ProgramError, resolve_program};
pub use sandbox::{
    Enclosure, Network, OverlayMount, Sandbox, SandboxLevel, SandboxReport, SystemGrant,
    UpperDirectory, VisibleUser, probe, probe_overlays, system_grant,
};
pub use status::ExitStatus;
pub use supervisor::{
    ChildEvent, ChildLimits, ChildLine, ChildPipes, Launch, LimitReached, OutputPipe, PortServer,
    ProcessLimit, SpawnError, SupervisedChild, Supervisor, process_limit,
};
pub use tool::{ByteCount, CapturedOutput, Tool, ToolRunError};
