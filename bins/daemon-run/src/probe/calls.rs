//! System calls without a safe wrapper.

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// Shared memory of System V, removed when dropped.
#[derive(Debug)]
pub(super) struct SharedMemory {
    pub(super) id: i32,
}

impl SharedMemory {
    #[expect(unsafe_code, reason = "no wrapper makes such memory")]
    pub(super) fn new() -> io::Result<Self> {
        let flags = libc::IPC_CREAT | 0o600;
        // SAFETY: the call takes no pointer.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, 1, flags) };
        succeeded(id).map(|()| Self { id })
    }
}

impl Drop for SharedMemory {
    #[expect(unsafe_code, reason = "no wrapper removes such memory")]
    fn drop(&mut self) {
        // A failure leaves one page, until the machine stops.
        // SAFETY: this command ignores its pointer.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Attaches shared memory for reading, and detaches it.
#[expect(unsafe_code, reason = "no wrapper attaches such memory")]
pub(super) fn attach_memory(id: Option<i32>) -> io::Result<()> {
    let id = id.ok_or_else(|| io::Error::other("this machine has no such memory"))?;
    // SAFETY: with a null pointer the kernel chooses a free address.
    let address = unsafe { libc::shmat(id, std::ptr::null(), libc::SHM_RDONLY) };
    if address.addr() == usize::MAX {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the address was attached above, and nothing refers to it.
    succeeded(unsafe { libc::shmdt(address) })
}

/// A message queue, removed when dropped.
#[derive(Debug)]
pub(super) struct MessageQueue {
    name: CString,
}

impl MessageQueue {
    pub(super) fn new(name: &str) -> io::Result<Self> {
        let name = CString::new(name)?;
        open(&name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
        Ok(Self { name })
    }
}

impl Drop for MessageQueue {
    #[expect(unsafe_code, reason = "no wrapper removes such a queue")]
    fn drop(&mut self) {
        // A failure leaves an empty queue, until the machine stops.
        // SAFETY: the name is null-terminated.
        unsafe { libc::syscall(libc::SYS_mq_unlink, self.name.as_ptr()) };
    }
}

/// Opens a message queue, and closes it.
pub(super) fn open_queue(name: &str) -> io::Result<()> {
    open(&CString::new(name)?, libc::O_RDWR)
}

#[expect(unsafe_code, reason = "no wrapper opens such a queue")]
fn open(name: &CString, flags: i32) -> io::Result<()> {
    const MODE: libc::c_uint = 0o600;
    let attributes: *const libc::mq_attr = std::ptr::null();
    // SAFETY: the name is null-terminated, and without attributes the kernel uses its own.
    let opened =
        unsafe { libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, MODE, attributes) };
    let descriptor = i32::try_from(opened).map_err(io::Error::other)?;
    succeeded(descriptor)?;
    // SAFETY: the descriptor was opened above, and nothing else has it.
    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
    Ok(())
}

/// Begins to trace a process, until this one ends.
#[expect(unsafe_code, reason = "no wrapper traces a process")]
pub(super) fn trace(pid: i32) -> io::Result<()> {
    const NONE: usize = 0;
    // SAFETY: this request uses neither of its pointers.
    let answer = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, NONE, NONE) };
    succeeded(i32::try_from(answer).unwrap_or(-1))
}

fn succeeded(answer: i32) -> io::Result<()> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
