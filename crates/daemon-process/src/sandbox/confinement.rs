//! Level 2: Landlock, no new privileges, and a system-call filter.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use seccompiler::{BpfProgram, apply_filter};

use super::filter::{Processes, filter};
use super::root::Access;
use super::system;

/// The oldest version of Landlock that can deny truncation of a file.
pub(super) const OLDEST_ABI: i32 = 3;
/// The oldest version of Landlock that can restrict TCP connections.
pub(super) const NETWORK_ABI: i32 = 4;

pub(super) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Landlock rules and a filter, built before the child starts, so that the child makes only system calls.
#[derive(Debug)]
pub(crate) struct Confinement {
    rules: OwnedFd,
    filter: BpfProgram,
    later: Vec<LaterRule>,
}

/// A rule about a path that is mounted after the rules are built; the child adds it.
#[derive(Debug)]
struct LaterRule {
    path: CString,
    access: BitFlags<AccessFs>,
}

impl Confinement {
    pub(super) fn new(
        readable: &[PathBuf],
        writable: &[PathBuf],
        ports: Option<&[u16]>,
        processes: Processes,
    ) -> io::Result<Self> {
        if landlock_abi().is_none_or(|abi| abi < OLDEST_ABI) {
            return Err(unsupported("Landlock is missing or too old"));
        }
        let mut made = Self {
            rules: rules(readable, writable, ports).map_err(io::Error::other)?,
            filter: filter(processes, ports)?,
            later: Vec::new(),
        };
        if processes == Processes::Own {
            made.permit_later(Path::new("/proc"), Access::Read)?;
        }
        Ok(made)
    }

    /// Permits access to what is mounted at a path when the child is confined. Rules are about inodes: one about the directory that a mount
    /// covers says nothing about the mount.
    pub(super) fn permit_later(&mut self, path: &Path, access: Access) -> io::Result<()> {
        let access = match access {
            Access::Write => AccessFs::from_all(ABI::V3),
            Access::Read | Access::Device => AccessFs::from_read(ABI::V1),
        };
        let path = CString::new(path.as_os_str().as_bytes())?;
        self.later.push(LaterRule { path, access });
        Ok(())
    }

    /// Confines the calling process permanently. Makes only system calls.
    pub(crate) fn apply(&self) -> Result<(), Errno> {
        give_up_privileges()?;
        for LaterRule { path, access } in &self.later {
            // A link could lead to a path that is visible but not permitted.
            let path = system::open_found(&**path, OFlags::PATH)?;
            add_rule(&self.rules, &path, *access)?;
        }
        restrict_self(&self.rules)?;
        apply_filter(&self.filter).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
            }
            _ => Errno::INVAL,
        })
    }
}

/// Drops all capabilities of the calling process, and the ways to regain them. Makes only system calls.
pub(super) fn give_up_privileges() -> Result<(), Errno> {
    set_no_new_privs(true)?;
    // Root can read the environment of any process in spite of Landlock; without capabilities it is like any other user.
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets)
}

pub(super) fn unsupported(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

fn rules(
    readable: &[PathBuf],
    writable: &[PathBuf],
    ports: Option<&[u16]>,
) -> Result<OwnedFd, Box<dyn std::error::Error + Send + Sync>> {
    let abi = ABI::V6;
    let mut handled = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))?
        .scope(Scope::from_all(abi))?;
    if ports.is_some() {
        // A kernel without this right ignores it, and permits all connections.
        handled = handled.handle_access(AccessNet::ConnectTcp)?;
    }
    let permitted = ports.into_iter().flatten();
    let permitted = permitted.map(|port| Ok(NetPort::new(*port, AccessNet::ConnectTcp)));
    let created = handled
        .create()?
        .add_rules(permitted.collect::<Vec<Result<NetPort, RulesetError>>>())?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(abi)))?
        .add_rules(path_beneath_rules(DEVICES, AccessFs::from_file(abi)))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(abi)))?;
    let descriptor: Option<OwnedFd> = created.into();
    let rules = descriptor.ok_or_else(|| unsupported("Landlock is missing"))?;
    let read = AccessFs::from_read(ABI::V1);
    for path in system::fixed() {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        allow(&rules, rustix::fs::open(path, flags, Mode::empty()), read)?;
    }
    for found in system::found() {
        for path in &found.whole {
            allow(&rules, system::open_found(path, OFlags::PATH), read)?;
        }
        for path in &found.listed {
            let opened = system::open_found(path, OFlags::PATH);
            allow(&rules, opened, AccessFs::ReadDir.into())?;
        }
    }
    Ok(rules)
}

/// Adds a rule for a path; ignores a path that cannot be opened. The wrapper of the `landlock` crate determines the kind of each path
/// twice, which takes as long as the rules themselves.
fn allow(
    rules: &OwnedFd,
    opened: Result<OwnedFd, Errno>,
    access: BitFlags<AccessFs>,
) -> Result<(), Errno> {
    let Ok(path) = opened else {
        return Ok(());
    };
    match add_rule(rules, &path, access) {
        // Some of the rights do not apply to a file.
        Err(Errno::INVAL) => add_rule(rules, &path, access & AccessFs::from_file(ABI::V1)),
        added => added,
    }
}

/// Returns the version of Landlock; `None` if the kernel has none.
#[expect(
    unsafe_code,
    reason = "no wrapper asks for the version without building rules"
)]
pub(super) fn landlock_abi() -> Option<i32> {
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the kernel accepts a null pointer of size 0 and returns a number.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    i32::try_from(abi).ok().filter(|abi| *abi > 0)
}

#[expect(
    unsafe_code,
    reason = "the wrapper consumes the rules and allocates, which a child that borrows memory may not"
)]
fn restrict_self(rules: &OwnedFd) -> Result<(), Errno> {
    const NO_FLAGS: libc::c_long = 0;
    // SAFETY: the call takes a descriptor, which `rules` keeps open, and no pointer.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_restrict_self,
            rules.as_raw_fd(),
            NO_FLAGS,
        )
    };
    succeeded(answer)
}

/// A rule about a path, in the form that the kernel reads.
#[repr(C, packed)]
struct PathRule {
    allowed: u64,
    parent: i32,
}

/// Adds a rule about one path. Makes only system calls.
#[expect(
    unsafe_code,
    reason = "the wrapper takes rules only before they are handed out, and some paths are mounted after that"
)]
fn add_rule(rules: &OwnedFd, path: &OwnedFd, access: BitFlags<AccessFs>) -> Result<(), Errno> {
    const PATH_BENEATH: libc::c_long = 1;
    const NO_FLAGS: libc::c_long = 0;
    let rule = PathRule {
        allowed: access.bits(),
        parent: path.as_raw_fd(),
    };
    // SAFETY: both descriptors are open, and the structure has the layout of this kind of rule.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            NO_FLAGS,
        )
    };
    succeeded(answer)
}

fn succeeded(answer: libc::c_long) -> Result<(), Errno> {
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}
