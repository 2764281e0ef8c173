//! Level 3: namespaces, and the process that keeps them.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::{Pid, getegid, geteuid};

use super::confinement::{Confinement, unsupported};
use super::filter::Processes;
use super::listeners;
use super::namespaces::{Builder, KeeperChild};
use super::root::Root;
use super::{Network, OverlayMount, VisibleUser};
use crate::process_table::RUN_MARKER;
use crate::spawn::{
    ChildStart, Entrance, Failed, Image, Stack, clone_and_wait, end, null, pipe, reap,
};

/// The program of the keeper: it reads until this process closes the other end of its input, or ends.
const KEEPERS: [&str; 2] = ["/bin/cat", "/usr/bin/cat"];

/// The user and group `nobody`. Linux systems list it in `/etc/passwd`; some programs fail if their user is not listed there.
const NOBODY: u32 = 65534;

/// The namespaces prepared for one child.
#[derive(Debug)]
pub(crate) struct Isolation {
    pub(super) root: Root,
    pub(super) network: Network,
    /// Ports of the child's network on which this process accepts connections.
    pub(super) served: Vec<u16>,
    /// The maps of the child's only user and group from inside to outside.
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
        overlays: &[OverlayMount],
        network: Network,
        marker: &str,
    ) -> io::Result<Self> {
        let keeper = KEEPERS.iter().map(Path::new).find(|path| path.exists());
        let keeper = keeper.ok_or_else(|| unsupported("there is no `cat` to hold namespaces"))?;
        let marker = (OsString::from(RUN_MARKER), OsString::from(marker));
        let mut confinement = Confinement::new(readable, writable, None, Processes::Own)?;
        for overlay in overlays {
            confinement.permit_later(&overlay.target, overlay.access())?;
        }
        Ok(Self {
            root: Root::new(readable, writable, overlays)?,
            network,
            served: Vec::new(),
            users: map(None, geteuid().as_raw()),
            groups: map(None, getegid().as_raw()),
            confinement,
            keeper: Image::new(keeper, &[], &[marker], None)?,
        })
    }

    /// Makes this process accept connections on ports of the child's network.
    pub(super) fn serve(&mut self, ports: &[u16]) {
        self.served = ports.to_vec();
    }

    /// Sets the user that the child sees itself as.
    pub(super) fn identify(&mut self, identity: VisibleUser) {
        let is_changed = identity == VisibleUser::Ordinary && geteuid().is_root();
        let inside = is_changed.then_some(NOBODY);
        self.users = map(inside, geteuid().as_raw());
        self.groups = map(inside, getegid().as_raw());
    }

    pub(super) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Creates the namespaces and starts a child in them; returns the child, the keeper, and the sockets of the served ports.
    pub(crate) fn start(
        &self,
        child: &ChildStart<'_>,
        entrance: Option<Entrance<'_>>,
    ) -> io::Result<(Pid, NamespaceKeeper, Vec<TcpListener>)> {
        let (reading, life) = pipe()?;
        let (sending, receiving) = listeners::passage()?;
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
            passage: sending.as_fd(),
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
        let listeners = match error {
            None => listeners::receive(self.served.len(), receiving.as_fd()),
            Some(error) => Err(error),
        };
        match (builder.child_pid.get(), builder.keeper_pid.get(), listeners) {
            (Some(child), Some(keeper), Ok(listeners)) => {
                let keeper = NamespaceKeeper {
                    pid: keeper,
                    _life: life,
                };
                Ok((child, keeper, listeners))
            }
            (child, keeper, listeners) => {
                // The keeper ends only after the kernel has ended all others.
                for pid in child.into_iter().chain(keeper) {
                    end(pid)?;
                }
                let unmade = |_| Err(unsupported("the namespaces were not made"));
                listeners.map_or_else(Err, unmade)
            }
        }
    }
}

/// Returns the map of one user or group, with the same number inside unless another is given.
fn map(inside: Option<u32>, outside: u32) -> String {
    format!("{} {outside} 1\n", inside.unwrap_or(outside))
}
