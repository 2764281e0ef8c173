//! Child processes that cannot outlive, flood or deadlock the process that started them.
//!
//! A [`Tool`] is a short synchronous program, such as git: it runs to its end, or is ended as a group at its deadline.
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
//! # Ok::<(), daemon_process::ToolError>(())
//! ```
//!
//! # What this crate does not do
//! It knows no protocol, no provider and no folder. It has no wall clock: deadlines are durations, and a caller that needs the
//! time of an event reads its own clock. It runs on Linux only.
//!
//! # Guarantees
//! Starting a child takes as long in a large process as in a small one: no page table is copied.
//!
//! A child starts with an empty environment plus what it is given, in a process group of its own, and receives SIGKILL when
//! the process that started it dies. Both output pipes are always read together, so a child that fills one never blocks on
//! the other, and what is kept of them is bounded. Every child started here is reaped here, by its id.

mod abort;
mod allocator;
mod mark;
mod nonblocking;
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
pub use process_table::{Orphans, ProcessId, RUN_MARKER, boot_id, end_orphans};
pub use program::{ProgramError, resolve_program};
pub use sandbox::{
    Enclosure, Network, Sandbox, SandboxLevel, SandboxReport, SystemGrant, probe, system_grant,
};
pub use status::ExitStatus;
pub use supervisor::{
    ChildEvent, ChildLimits, Connection, Launch, LimitReached, Line, OutputPipe, ProcessLimit,
    SpawnError, SupervisedChild, Supervisor, process_limit,
};
pub use tool::{ByteCount, Tool, ToolError, ToolOutput};
