//! The parameters of a supervised child.

use std::ffi::OsString;
use std::fmt;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getpriority_process, setpriority_process, setrlimit};

use crate::sandbox::Sandbox;

/// A program to supervise, with everything it receives.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program's path, as returned by [`resolve_program`](crate::resolve_program).
    pub program: PathBuf,
    /// The arguments, without the program's name.
    pub args: Vec<OsString>,
    /// The whole environment; only the marker is added.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The content of standard input.
    pub stdin: Vec<u8>,
    /// The value of [`RUN_MARKER`](crate::RUN_MARKER) in the environment, by which descendants are found.
    ///
    /// Children of one run that must not end with each other have markers of their own below the run's: `run/part`. They end with the run
    /// (`run`) but not with each other.
    pub marker: String,
    /// The limits of the process tree.
    pub limits: ChildLimits,
    /// The directories whose total size is limited by [`ChildLimits::disk_bytes`]. Other children must not write to them.
    pub disk: Vec<PathBuf>,
    /// The files, processes and connections that it can reach.
    pub sandbox: Sandbox,
    /// Serves ports of the child's own network, which needs [`Network::Loopback`](crate::Network::Loopback); `None` serves none.
    pub ports: Option<Arc<dyn PortServer>>,
}

/// Accepts connections on ports of a child's own network, in this process.
pub trait PortServer: fmt::Debug + Send + Sync {
    /// Returns the ports of `127.0.0.1`, each once. They are open before the child starts.
    fn ports(&self) -> Vec<u16>;

    /// Takes over the listening sockets of the ports, in their order and in non-blocking mode, when the child has started.
    ///
    /// What this returns is dropped at the end of the child, and has to end the serving: an open socket keeps the child's network in memory.
    fn serve(&self, sockets: Vec<TcpListener>) -> Box<dyn Send + Sync>;
}

/// How the pipes of a child are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wiring {
    /// By the supervising thread: input comes from the launch, output becomes events.
    Captured,
    /// Standard input and output by the caller; standard error becomes events.
    Connected,
}

/// The resource limits of a child and its descendants.
///
/// Processes are counted in the child's tree: the kernel's own limit counts all processes of the user, so one run could starve
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// The maximum number of open files per process.
    pub open_files: u64,
    /// The maximum size of one file, in bytes.
    pub file_bytes: u64,
    /// The maximum resident memory of the tree in bytes, checked once a second.
    pub memory_bytes: u64,
    /// The maximum number of processes in the tree. A tree that exceeds it, or is refused more, is killed without SIGTERM. See
    /// [`process_limit`](crate::process_limit).
    pub processes: usize,
    /// The maximum total size of [`Launch::disk`] in bytes, checked about once a second; large directories less often.
    pub disk_bytes: u64,
    /// The nice value, from 0 to 19; a higher value of this process is kept.
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
    /// Sets the limits that the kernel enforces for the calling process, except that on open files. Makes only system calls.
    pub(crate) fn apply(&self) -> Result<(), Errno> {
        lower(Resource::Fsize, self.file_bytes)?;
        // Too small for a file. With 0, the kernel would start the machine's own program for crashes, as root, with the memory of the
        // child, which holds its keys; with 1 it does not.
        lower(Resource::Core, 1)
    }

    /// Limits the open files of the calling process. Makes only system calls.
    ///
    /// The files of the host are open until the program is executed. With more of them than the limit, no step that opens a file
    /// can follow.
    pub(crate) fn limit_open_files(&self) -> Result<(), Errno> {
        lower(Resource::Nofile, self.open_files)
    }

    /// Lowers the priority of the calling process, unless it is lower already: an unprivileged process cannot raise it again. Makes
    /// only system calls.
    ///
    /// This is the last step before the program: the host waits for all steps, and a process of low priority would delay it.
    pub(crate) fn lower_priority(&self) -> Result<(), Errno> {
        let inherited = getpriority_process(None)?;
        setpriority_process(None, self.nice.max(inherited))
    }

    /// Limits the processes and threads of the calling process's user namespace. Makes only system calls.
    ///
    /// Only for a namespace of the child's own: otherwise the kernel counts all processes of the user.
    pub(crate) fn apply_to_namespace(&self) -> Result<(), Errno> {
        let most = self.processes.saturating_add(MORE_IN_NAMESPACE);
        lower(Resource::Nproc, u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// The additional processes and threads allowed in a namespace beyond the child's limit of processes. The kernel counts both together,
/// and the limit cannot be raised while the child runs, so it has to suffice for all threads that a program ever has.
const MORE_IN_NAMESPACE: usize = 1024;

/// Sets a limit, or keeps a lower one of this process.
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
