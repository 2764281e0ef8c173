//! What a supervised child is started from.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getpriority_process, setpriority_process, setrlimit};

use crate::sandbox::Sandbox;

/// A program to supervise, with everything it receives.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program, as [`resolve_program`](crate::resolve_program) gives it.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment, to which only the marker is added.
    pub env: Vec<(OsString, OsString)>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// What it reads before its standard input ends.
    pub stdin: Vec<u8>,
    /// The value of [`RUN_MARKER`](crate::RUN_MARKER) in its environment, by which its descendants are found.
    ///
    /// Children of one run that must not end with each other are marked as its parts: `run/part`. They belong to the run
    /// (`run`) and not to each other.
    pub marker: String,
    /// How much it may take.
    pub limits: ChildLimits,
    /// The directories that may hold [`ChildLimits::disk_bytes`] together; those of others do not belong here.
    pub disk: Vec<PathBuf>,
    /// What it may touch.
    pub sandbox: Sandbox,
}

/// Who reads and writes the pipes of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wiring {
    /// The supervising thread: input is given with the launch, output comes as events.
    Captured,
    /// Whoever asked for the child talks to it; its standard error comes as events.
    Connected,
}

/// How much a child and its descendants may take.
///
/// Processes are counted over the child's tree: the kernel's own limit counts all processes of the user, and would let one
/// run starve another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// Open files per process.
    pub open_files: u64,
    /// Bytes in one file.
    pub file_bytes: u64,
    /// Resident bytes of the tree, looked at once a second.
    pub memory_bytes: u64,
    /// Processes in the tree; one that has more, or was refused more, is killed without a warning. See
    /// [`process_limit`](crate::process_limit).
    pub processes: usize,
    /// Bytes in the directories of [`Launch::disk`], measured about once a second; large ones are measured less often.
    pub disk_bytes: u64,
    /// The nice value, from 0 to 19; a higher one that this process has is kept.
    pub nice: i32,
}

impl Default for ChildLimits {
    /// 1,024 files, 1 GiB a file, 4 GiB of memory, 256 processes, 2 GiB in its directories, priority 10.
    fn default() -> Self {
        Self {
            open_files: 1024,
            file_bytes: 1 << 30,
            memory_bytes: 4 << 30,
            processes: 256,
            disk_bytes: 2 << 30,
            nice: 10,
        }
    }
}

impl ChildLimits {
    /// Applies to the calling process what the kernel enforces; makes system calls only.
    pub(crate) fn apply(&self) -> Result<(), Errno> {
        let limit = |bound| Rlimit {
            current: Some(bound),
            maximum: Some(bound),
        };
        lower(Resource::Nofile, self.open_files)?;
        lower(Resource::Fsize, self.file_bytes)?;
        setrlimit(Resource::Core, limit(0))
    }

    /// Lowers the priority of the calling process, unless it is lower already, which an unprivileged process cannot undo; makes
    /// system calls only.
    ///
    /// It is the last step before the program: the host waits for all steps, and would wait for a process of low priority.
    pub(crate) fn lower_priority(&self) -> Result<(), Errno> {
        let inherited = getpriority_process(None)?;
        setpriority_process(None, self.nice.max(inherited))
    }

    /// Has the kernel count the processes and threads of the calling process's user namespace; makes system calls only.
    ///
    /// Only where the namespace is the child's own: otherwise the kernel counts all processes of the user.
    pub(crate) fn apply_to_namespace(&self) -> Result<(), Errno> {
        let most = self.processes.saturating_add(MORE_IN_NAMESPACE);
        lower(Resource::Nproc, u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// How many more processes and threads a namespace may have than its child may have processes. The kernel counts both as one,
/// and nothing can raise this limit while the child runs, so it has to be enough for all threads that a program ever has.
const MORE_IN_NAMESPACE: usize = 1024;

/// Sets a limit, or keeps a lower one that this process already has.
fn lower(resource: Resource, bound: u64) -> Result<(), Errno> {
    let bound = rustix::process::getrlimit(resource)
        .maximum
        .map_or(bound, |most| most.min(bound));
    setrlimit(
        resource,
        Rlimit {
            current: Some(bound),
            maximum: Some(bound),
        },
    )
}
