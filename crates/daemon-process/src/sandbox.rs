//! What a child may touch, in levels, each adding to the one before.

mod changes;
mod confinement;
mod isolation;
mod namespaces;
mod probe;
mod root;
mod system;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub(crate) use confinement::Confinement;
use confinement::Processes;
pub(crate) use isolation::{Isolation, Keeper};
pub use probe::{SandboxReport, probe};
pub use system::{SystemGrant, system_grant};

/// How far a child is isolated from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxLevel {
    /// Nothing.
    None,
    /// A clean environment, limits and a process group of its own.
    Contained,
    /// Also files by Landlock, no capabilities, no new privileges, and a system-call filter.
    Confined,
    /// Also mount and process namespaces.
    Isolated,
}

impl SandboxLevel {
    /// Returns the number of this level, from 0 to 3.
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

/// What one child may touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sandbox {
    /// Level 1: whatever its user may.
    #[default]
    Contained,
    /// Level 2: the system's programs and libraries for reading, and these paths.
    ///
    /// Paths that do not exist are left out. The child can reach no Unix socket by path, signal no process outside, and
    /// read neither memory nor environment of one. Network connections are not restricted.
    Confined {
        /// Files and directories it may also read and execute.
        readable: Vec<PathBuf>,
        /// Files and directories it may also change.
        writable: Vec<PathBuf>,
    },
    /// Level 3: as level 2, in mount, process and user namespaces of its own: of files it sees nothing but these paths, of
    /// processes nothing but its own tree, which ends as one.
    Isolated {
        /// Files and directories it may also read and execute.
        readable: Vec<PathBuf>,
        /// Files and directories it may also change.
        writable: Vec<PathBuf>,
        /// What it can connect to.
        network: Network,
    },
}

/// What an isolated child can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Network {
    /// Whatever this machine can.
    #[default]
    Shared,
    /// Its own tree, over a loopback of its own.
    Loopback,
}

/// How the children of a run are isolated, before it is known which paths are theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Enclosure {
    /// Level 1.
    #[default]
    Contained,
    /// Level 2.
    Confined,
    /// Level 3.
    Isolated(Network),
}

impl Enclosure {
    /// Returns the level of it.
    pub fn level(self) -> SandboxLevel {
        match self {
            Self::Contained => SandboxLevel::Contained,
            Self::Confined => SandboxLevel::Confined,
            Self::Isolated(_) => SandboxLevel::Isolated,
        }
    }

    /// Returns the sandbox of a child that may read and change these paths, where paths matter.
    pub fn around(self, readable: Vec<PathBuf>, writable: Vec<PathBuf>) -> Sandbox {
        match self {
            Self::Contained => Sandbox::Contained,
            Self::Confined => Sandbox::Confined { readable, writable },
            Self::Isolated(network) => Sandbox::Isolated {
                readable,
                writable,
                network,
            },
        }
    }
}

/// What is prepared for one child before it starts.
#[derive(Debug)]
pub(crate) enum Prepared {
    Contained,
    Confined(Confinement),
    Isolated(Box<Isolation>),
}

impl Prepared {
    /// Returns what the child applies to itself.
    pub(crate) fn confinement(&self) -> Option<&Confinement> {
        match self {
            Self::Contained => None,
            Self::Confined(confinement) => Some(confinement),
            Self::Isolated(isolation) => Some(isolation.confinement()),
        }
    }
}

impl Sandbox {
    /// Returns the level this sandbox is of.
    pub fn level(&self) -> SandboxLevel {
        match self {
            Self::Contained => SandboxLevel::Contained,
            Self::Confined { .. } => SandboxLevel::Confined,
            Self::Isolated { .. } => SandboxLevel::Isolated,
        }
    }

    /// Builds what a child of the run that `marker` names applies when it starts.
    ///
    /// Fails where the kernel does not offer the level: a child never runs with less than was asked for.
    pub(crate) fn prepare(&self, marker: &str) -> io::Result<Prepared> {
        Ok(match self {
            Self::Contained => Prepared::Contained,
            Self::Confined { readable, writable } => {
                Prepared::Confined(Confinement::new(readable, writable, Processes::Shared)?)
            }
            Self::Isolated {
                readable,
                writable,
                network,
            } => {
                let isolation = Isolation::new(readable, writable, *network, marker)?;
                Prepared::Isolated(Box::new(isolation))
            }
        })
    }
}
