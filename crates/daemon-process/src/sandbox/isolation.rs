//! Level 3: namespaces, and what holds them.

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
use crate::spawn::{Child, Entrance, Failed, Image, Stack, clone_and_wait, end, null, pipe, reap};

/// What keeps the namespaces: it reads until this process closes the other end of its input, by will or by dying.
const KEEPERS: [&str; 2] = ["/bin/cat", "/usr/bin/cat"];

/// Namespaces that are ready to be made for one child.
#[derive(Debug)]
pub(crate) struct Isolation {
    pub(super) root: Root,
    pub(super) network: Network,
    /// How the one user and the one group of the child are called inside: as outside.
    pub(super) users: String,
    pub(super) groups: String,
    confinement: Confinement,
    keeper: Image,
}

/// The first process of a child's namespaces, with whose end all others end.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) pid: Pid,
    // Closed when this process is gone, however that came.
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

    /// Makes the namespaces and starts a child in them, returning it and what holds them.
    pub(crate) fn start(
        &self,
        child: &Child<'_>,
        entrance: Option<Entrance<'_>>,
    ) -> io::Result<(Pid, Keeper)> {
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
        // The builder is this process's child only until both of its own are, which it starts in its parent's name.
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
                Keeper {
                    pid: keeper,
                    _life: life,
                },
            )),
            (child, keeper, error) => {
                // The keeper's end waits for that of all others to be seen.
                for pid in child.into_iter().chain(keeper) {
                    end(pid)?;
                }
                Err(error.unwrap_or_else(|| unsupported("the namespaces were not made")))
            }
        }
    }
}
