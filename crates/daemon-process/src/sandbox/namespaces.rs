//! Creates namespaces in memory shared with this process; makes only system calls.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, chdir, pivot_root, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::Network;
use super::confinement::give_up_privileges;
use super::isolation::Isolation;
use super::listeners;
use super::root::{Access, MOST_MOUNTS, Place, Root, Source};
use crate::spawn::{
    Body, ChildSignals, ChildStart, Failed, Image, Stack, StartStep, clone_and_wait, die_with,
    inherit_no_descriptors, reset_signals,
};

/// The process that creates the namespaces and starts two processes in them, as children of its own parent.
pub(super) struct Builder<'a> {
    pub(super) isolation: &'a Isolation,
    pub(super) keeper: KeeperChild<'a>,
    pub(super) child: &'a ChildStart<'a>,
    /// Where it sends the sockets of the served ports.
    pub(super) passage: BorrowedFd<'a>,
    pub(super) stack: Cell<Option<Stack>>,
    pub(super) keeper_pid: Cell<Option<Pid>>,
    pub(super) child_pid: Cell<Option<Pid>>,
    pub(super) failed: Failed,
}

impl Body for Builder<'_> {
    fn run(&self) -> c_int {
        // Taken out and put back, because the memory belongs to the parent.
        let Some(mut stack) = self.stack.take() else {
            return 1;
        };
        let built = self.build(&mut stack);
        self.stack.set(Some(stack));
        match built {
            Ok(()) => 0,
            Err((step, error)) => {
                self.failed.note(step, error);
                1
            }
        }
    }
}

impl Builder<'_> {
    fn build(&self, stack: &mut Stack) -> Result<(), (StartStep, Errno)> {
        let at = |step| move |error| (step, error);
        keep_identity(self.isolation).map_err(at(StartStep::Identity))?;
        unshare_processes().map_err(at(StartStep::Namespaces))?;
        let root = &self.isolation.root;
        build_root(root)?;
        // The first process of a process namespace. It alone can mount the namespace's table, while the old one is visible.
        let keeper = start(stack, &self.keeper).map_err(at(StartStep::Keep))?;
        self.keeper_pid.set(Some(keeper));
        if self.keeper.failed.is_noted() {
            return Ok(());
        }
        enter(root).map_err(at(StartStep::Enter))?;
        if self.isolation.network == Network::Loopback {
            start_loopback().map_err(at(StartStep::Loopback))?;
        }
        // Before the child starts, so that it finds them open, and no process of its own can take a port first.
        for port in &self.isolation.served {
            listeners::serve(*port, self.passage).map_err(at(StartStep::Serve))?;
        }
        let child = start(stack, self.child).map_err(at(StartStep::Start))?;
        self.child_pid.set(Some(child));
        Ok(())
    }
}

/// Starts a process as a child of the calling process's parent.
fn start<B: Body>(stack: &mut Stack, body: &B) -> Result<Pid, Errno> {
    let started = clone_and_wait(libc::CLONE_PARENT, None, stack, body);
    started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}

/// Maps the user and group of the calling process to the same numbers inside its user namespace.
fn keep_identity(isolation: &Isolation) -> Result<(), Errno> {
    write(c"/proc/self/setgroups", "deny")?;
    write(c"/proc/self/uid_map", &isolation.users)?;
    write(c"/proc/self/gid_map", &isolation.groups)
}

fn write(path: &CStr, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(|_| ())
}

/// Moves the future children of the calling process into a new process namespace.
#[expect(
    unsafe_code,
    reason = "the wrapper is unsafe too, for flags that are not used here"
)]
fn unshare_processes() -> Result<(), Errno> {
    // SAFETY: this flag changes nothing that the calling process shares with others.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWPID) };
    succeeded(answer)
}

fn succeeded(answer: c_int) -> Result<(), Errno> {
    if answer == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}

/// Mounts everything at its place below the new root.
fn build_root(root: &Root) -> Result<(), (StartStep, Errno)> {
    let at = |step| move |error| (step, error);
    // The new root may hide some of the sources, so all of them are opened before.
    let mut sources = [const { None }; MOST_MOUNTS];
    for (source, mount) in sources.iter_mut().zip(&root.mounts) {
        *source = Some(match &mount.source {
            Source::Path(path, access) => hold(path, *access).map_err(at(StartStep::Sources))?,
            Source::Overlay(overlay) => overlay.hold()?,
        });
    }
    let propagation = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(c"/", propagation).map_err(at(StartStep::Root))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = c"mode=755,size=4m";
    mount(c"tmpfs", &*root.base, c"tmpfs", flags, options).map_err(at(StartStep::Root))?;
    for place in &root.places {
        make(place).map_err(at(StartStep::Places))?;
    }
    for (source, mount) in sources.iter().zip(&root.mounts) {
        let Some(source) = source else { continue };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(source, c"", CWD, &*mount.target, flags).map_err(at(StartStep::Mounts))?;
    }
    Ok(())
}

/// Opens a part of the file system as a mount to be attached later.
fn hold(path: &CStr, access: Access) -> Result<OwnedFd, Errno> {
    const READ_ONLY: u64 = 1;
    const NO_SETUID: u64 = 2;
    const NO_DEVICES: u64 = 4;
    const NO_EXECUTION: u64 = 8;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags)?;
    let attributes = match access {
        Access::Read => READ_ONLY | NO_SETUID | NO_DEVICES,
        Access::Write => NO_SETUID | NO_DEVICES,
        Access::Device => NO_SETUID | NO_EXECUTION,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    set_attributes(tree.as_fd(), c"", flags, attributes)?;
    Ok(tree)
}

/// The attributes of a mount, in the form that the kernel reads.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

#[expect(unsafe_code, reason = "no wrapper sets the attributes of a mount")]
fn set_attributes(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: c_int,
    set: u64,
) -> Result<(), Errno> {
    let attributes = MountAttributes {
        set,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    // SAFETY: the path is null-terminated, and the attributes have the layout and the size that the call reads.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    succeeded(if answer == 0 { 0 } else { -1 })
}

fn make(place: &Place) -> Result<(), Errno> {
    let made = match place {
        Place::Directory(path) => rustix::fs::mkdir(&**path, Mode::from_raw_mode(0o755)),
        Place::File(path) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
            rustix::fs::open(&**path, flags, Mode::from_raw_mode(0o644)).map(drop)
        }
        Place::Link { to, at } => rustix::fs::symlink(&**to, &**at),
    };
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

/// Makes the new root the root directory and detaches the old one.
fn enter(root: &Root) -> Result<(), Errno> {
    const READ_ONLY: u64 = 1;
    chdir(&*root.base)?;
    // `pivot_root` stacks the old root on the new one, from where it is detached.
    pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    chdir(c"/")?;
    set_attributes(CWD, c"/", 0, READ_ONLY)
}

/// Activates the loopback interface of the calling process's network namespace.
#[expect(unsafe_code, reason = "no wrapper changes the flags of an interface")]
fn start_loopback() -> Result<(), Errno> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: zeroes are a request about an interface without a name.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (place, byte) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *place = byte.cast_signed() as libc::c_char;
    }
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = up as libc::c_short;
    // SAFETY: the request is about the flags of an interface, which the call reads.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    succeeded(answer)
}

/// The process that becomes the keeper.
pub(super) struct KeeperChild<'a> {
    pub(super) image: &'a Image,
    pub(super) processes: &'a CString,
    pub(super) input: BorrowedFd<'a>,
    pub(super) null: BorrowedFd<'a>,
    pub(super) failed: Failed,
}

impl Body for KeeperChild<'_> {
    fn run(&self) -> c_int {
        let error = match self.prepare() {
            Ok(()) => {
                // Orphans of the namespace become children of the keeper, which never waits for a child.
                reset_signals(ChildSignals::ReapNothing);
                (StartStep::Keep, self.image.run())
            }
            Err(error) => error,
        };
        self.failed.note(error.0, error.1);
        1
    }
}

impl KeeperChild<'_> {
    fn prepare(&self) -> Result<(), (StartStep, Errno)> {
        let at = |step| move |error| (step, error);
        die_with(None).map_err(at(StartStep::Tie))?;
        setsid().map_err(at(StartStep::Group))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(c"proc", &**self.processes, c"proc", flags, None)
            .map_err(at(StartStep::Processes))?;
        dup2_stdin(self.input)
            .and_then(|()| dup2_stdout(self.null))
            .and_then(|()| dup2_stderr(self.null))
            .map_err(at(StartStep::Streams))?;
        inherit_no_descriptors();
        give_up_privileges().map_err(at(StartStep::Confine))
    }
}
