//! What a child may touch, in levels, each adding to the one before.

mod confinement;
mod probe;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub(crate) use confinement::Prepared;
pub use probe::{SandboxReport, probe};

/// How much stands between a child and the rest of the machine.
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
}

impl Sandbox {
    /// Returns the level this sandbox is of.
    pub fn level(&self) -> SandboxLevel {
        match self {
            Self::Contained => SandboxLevel::Contained,
            Self::Confined { .. } => SandboxLevel::Confined,
        }
    }

    /// Builds, before the fork, what the child applies after it.
    ///
    /// Fails where the kernel does not offer the level: a child never runs with less than was asked for.
    pub(crate) fn prepare(&self) -> io::Result<Option<Prepared>> {
        match self {
            Self::Contained => Ok(None),
            Self::Confined { readable, writable } => Prepared::new(readable, writable).map(Some),
        }
    }
}
