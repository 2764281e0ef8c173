//! Level 3: namespaces, and the process that keeps them.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::{Pid, getegid, geteuid};

use super::Network;
use super::confinement::{Confinement, Processes, unsupported};
use super::namespaces::{Builder, KeeperChild};
use super::root::Root;
use crate::process_table::RUN_MARKER;
use crate::spawn::{
    ChildStart, Entrance, Failed, Image, Stack, clone_and_wait, end, null, pipe, reap,
};

/// The program of the keeper: it reads until this process closes the other end of its input, or ends.
const KEEPERS: [&str; 2] = ["/bin/cat", "/usr/bin/cat"];

/// The namespaces prepared for one child.
#[derive(Debug)]
pub(crate) struct Isolation {
    pub(super) root: Root,
    pub(super) network: Network,
    /// The maps of the child's only user and group, which have the same numbers inside and outside.
    pub(super) users: String,
    pub(super) groups: String,
    confinement: Confinement,
    keeper: Image,
}

/// The first process of a child's namespaces; when it ends, the kernel ends all others.
#[derive(Debug)]
pub(crate) struct NamespaceKeeper {
    pub(crate) pid: Pid,
    // Closed when this process ends, in any way.
    _life: OwnedFd,
}

impl Isolation {
    pub(super) fn new(
        readable: &[PathBuf],
        writable: &[PathBuf],
        network: Network,
        marker: &str,
    ) -> io::Result<Self> {
        let keeper = KEEPERS.iter().map(Path::new).find(|path| path.exists());
        let keeper = keeper.ok_or_else(|| unsupported("there is no `cat` to hold namespaces"))?;
        let marker = (OsString::from(RUN_MARKER), OsString::from(marker));
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Ok(Self {
            root: Root::new(readable, writable)?,
            network,
            users: format!("{user} {user} 1\n"),
            groups: format!("{group} {group} 1\n"),
            confinement: Confinement::new(readable, writable, Processes::Own)?,
            keeper: Image::new(keeper, &[], &[marker], None)?,
        })
    }

    pub(super) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Creates the namespaces and starts a child in them; returns the child and the keeper.
    pub(crate) fn start(
        &self,
        child: &ChildStart<'_>,
        entrance: Option<Entrance<'_>>,
    ) -> io::Result<(Pid, NamespaceKeeper)> {
        let (reading, life) = pipe()?;
        let null = null(OFlags::RDWR)?;
        let builder = Builder {
            isolation: self,
            keeper: KeeperChild {
                image: &self.keeper,
                processes: &self.root.processes,
                input: reading.as_fd(),
                null: null.as_fd(),
                failed: Failed::default(),
            },
            child,
            stack: Cell::new(Some(Stack::new())),
            keeper_pid: Cell::new(None),
            child_pid: Cell::new(None),
            failed: Failed::default(),
        };
        let mut flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
        if self.network == Network::Loopback {
            flags |= libc::CLONE_NEWNET;
        }
        // The builder starts both processes as children of its parent, and is a child of this process itself only until then.
        reap(clone_and_wait(
            flags,
            entrance,
            &mut Stack::new(),
            &builder,
        )?)?;
        let failed = [&builder.failed, &builder.keeper.failed, &child.failed];
        let error = failed.iter().find_map(|failed| failed.error());
        match (builder.child_pid.get(), builder.keeper_pid.get(), error) {
            (Some(child), Some(keeper), None) => Ok((
                child,
                NamespaceKeeper {
                    pid: keeper,
                    _life: life,
                },
            )),
            (child, keeper, error) => {
                // The keeper ends only after the kernel has ended all others.
                for pid in child.into_iter().chain(keeper) {
                    end(pid)?;
                }
                Err(error.unwrap_or_else(|| unsupported("the namespaces were not made")))
            }
        }
    }
}
