//! The resources that a child can reach, in levels of which each includes the former.

mod changes;
mod confinement;
mod filter;
mod isolation;
mod listeners;
mod namespaces;
mod overlay;
mod probe;
mod root;
mod system;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub(crate) use confinement::Confinement;
use confinement::unsupported;
use filter::Processes;
pub(crate) use isolation::{Isolation, NamespaceKeeper};
pub use overlay::{OverlayMount, UpperDirectory};
pub use probe::{SandboxReport, probe, probe_overlays};
pub use system::{SystemGrant, system_grant};

/// The degree of isolation of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxLevel {
    /// No isolation.
    None,
    /// A clean environment, limits and a process group of its own.
    Contained,
    /// In addition: access to files limited by Landlock, no capabilities, no new privileges, and a system-call filter.
    Confined,
    /// In addition: mount and process namespaces.
    Isolated,
}

impl SandboxLevel {
    /// Returns the level as a number from 0 to 3.
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Contained => 1,
            Self::Confined => 2,
            Self::Isolated => 3,
        }
    }
}

impl fmt::Display for SandboxLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// The resources that one child can reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sandbox {
    /// Level 1: everything that its user can reach.
    #[default]
    Contained,
    /// Level 2: programs and libraries of the system for reading, and these paths.
    ///
    /// Paths that do not exist are ignored. The child cannot connect to a Unix socket by its path, signal a process outside of its tree,
    /// or read the memory or environment of one.
    Confined {
        /// Files and directories that it can also read and execute.
        readable: Vec<PathBuf>,
        /// Files and directories that it can also change.
        writable: Vec<PathBuf>,
        /// The ports to which it can make TCP connections, of any host; `None` permits all. Kernels before 6.7 permit all, and none
        /// restricts UDP. With an empty list it has no network, on any kernel.
        ports: Option<Vec<u16>>,
    },
    /// Level 3: as level 2, in mount, process and user namespaces of its own. It sees no files except these paths and no processes except
    /// its own tree, which ends as a whole.
    Isolated {
        /// Files and directories that it can also read and execute.
        readable: Vec<PathBuf>,
        /// Files and directories that it can also change.
        writable: Vec<PathBuf>,
        /// Directories that it sees as one; a mount at one of the paths above takes its place.
        overlays: Vec<OverlayMount>,
        /// The connections that it can make.
        network: Network,
        /// The user that it sees itself as.
        identity: VisibleUser,
    },
}

/// The user that an isolated child sees itself as. Outside of its namespace it always is the user of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum VisibleUser {
    /// The user of this process.
    #[default]
    Same,
    /// An ordinary user if this process runs as root: some programs refuse to run as root.
    Ordinary,
}

/// The connections that an isolated child can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Network {
    /// All connections that this machine can make.
    #[default]
    Shared,
    /// Connections within its own tree, over a loopback interface of its own.
    Loopback,
}

/// The isolation of a run's children, independent of their paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Enclosure {
    /// Level 1, without paths.
    #[default]
    Contained,
    /// Level 2, with files limited to the run's paths.
    Confined,
    /// Level 3, with this network access.
    Isolated(Network),
}

impl Enclosure {
    /// Returns the level as an enum.
    pub fn level(self) -> SandboxLevel {
        match self {
            Self::Contained => SandboxLevel::Contained,
            Self::Confined => SandboxLevel::Confined,
            Self::Isolated(_) => SandboxLevel::Isolated,
        }
    }

    /// Returns the sandbox of a child that can read and change these paths; level 1 ignores them.
    pub fn around(self, readable: Vec<PathBuf>, writable: Vec<PathBuf>) -> Sandbox {
        match self {
            Self::Contained => Sandbox::Contained,
            Self::Confined => Sandbox::Confined {
                readable,
                writable,
                ports: None,
            },
            Self::Isolated(network) => Sandbox::Isolated {
                readable,
                writable,
                overlays: Vec::new(),
                network,
                identity: VisibleUser::Same,
            },
        }
    }
}

/// The sandbox prepared for one child before it starts.
#[derive(Debug)]
pub(crate) enum PreparedSandbox {
    Contained,
    Confined(Confinement),
    Isolated(Box<Isolation>),
}

impl PreparedSandbox {
    /// Returns the part that the child applies to itself.
    pub(crate) fn confinement(&self) -> Option<&Confinement> {
        match self {
            Self::Contained => None,
            Self::Confined(confinement) => Some(confinement),
            Self::Isolated(isolation) => Some(isolation.confinement()),
        }
    }
}

impl Sandbox {
    /// Returns the level of this sandbox.
    pub fn level(&self) -> SandboxLevel {
        match self {
            Self::Contained => SandboxLevel::Contained,
            Self::Confined { .. } => SandboxLevel::Confined,
            Self::Isolated { .. } => SandboxLevel::Isolated,
        }
    }

    /// Prepares the sandbox of a child of the run with this `marker`, with ports of its own network that this process serves.
    ///
    /// Fails if the kernel does not support the level: a child never runs with less isolation than requested.
    pub(crate) fn prepare(&self, marker: &str, ports: &[u16]) -> io::Result<PreparedSandbox> {
        let has_own_network = matches!(
            self,
            Self::Isolated {
                network: Network::Loopback,
                ..
            }
        );
        if !ports.is_empty() && !has_own_network {
            return Err(unsupported("ports are served only in a network of its own"));
        }
        Ok(match self {
            Self::Contained => PreparedSandbox::Contained,
            Self::Confined {
                readable,
                writable,
                ports,
            } => {
                let ports = ports.as_deref();
                let confinement = Confinement::new(readable, writable, ports, Processes::Shared)?;
                PreparedSandbox::Confined(confinement)
            }
            Self::Isolated {
                readable,
                writable,
                overlays,
                network,
                identity,
            } => {
                let mut isolation = Isolation::new(readable, writable, overlays, *network, marker)?;
                isolation.serve(ports);
                isolation.identify(*identity);
                PreparedSandbox::Isolated(Box::new(isolation))
            }
        })
    }
}
