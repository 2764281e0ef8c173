//! Starts a child that shares the memory of its parent until it runs its own program.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::process::Pid;

/// The size of the stack for a child's code, which makes system calls and little else.
const STACK_BYTES: usize = 128 << 10;

/// The stack of a child; all other memory is shared with the parent.
pub(crate) struct Stack(Vec<u128>);

impl Stack {
    pub(crate) fn new() -> Self {
        Self(vec![0; STACK_BYTES / size_of::<u128>()])
    }
}

/// The code of a child between its start and its program.
///
/// It runs in the memory of its parent: it may change only what is meant for both, must not allocate, take a lock or panic. All
/// other state of a process (descriptors, directory, limits, credentials) is its own.
pub(crate) trait Body {
    /// Runs the code; the child exits with the returned code.
    fn run(&self) -> c_int;
}

extern "C" fn enter<B: Body>(body: *mut c_void) -> c_int {
    #[expect(
        unsafe_code,
        reason = "the kernel hands the child a pointer, and nothing else"
    )]
    // SAFETY: `clone_and_wait` passes a body that outlives the child's use of this memory.
    let body = unsafe { &*body.cast::<B>() };
    body.run()
}

/// A control group that a child enters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entrance<'a> {
    /// The directory of the group.
    pub(crate) group: BorrowedFd<'a>,
    /// The file to which a process writes 0 to enter the group.
    pub(crate) processes: BorrowedFd<'a>,
}

/// A child that enters its control group by itself, which takes a grace period of the kernel: some 10 ms on an idle machine.
struct Entering<'a, B> {
    entrance: Entrance<'a>,
    body: &'a B,
}

impl<B: Body> Body for Entering<'_, B> {
    fn run(&self) -> c_int {
        // A child that cannot enter the group is supervised as on a machine without control groups.
        rustix::io::write(self.entrance.processes, b"0").unwrap_or(0);
        self.body.run()
    }
}

/// Starts a child in the new namespaces of `flags`, and in a control group if there is one. Returns when the child runs its program
/// or has ended.
///
/// Signals are blocked meanwhile: a handler of this process must not run in the child.
pub(crate) fn clone_and_wait<B: Body>(
    flags: c_int,
    entrance: Option<Entrance<'_>>,
    stack: &mut Stack,
    body: &B,
) -> io::Result<Pid> {
    let _held = HeldSignals::hold()?;
    let Some(entrance) = entrance else {
        return clone(flags, stack, body);
    };
    // Kernels before 5.7 cannot start a child in a group, and some containers forbid the call.
    clone_into(flags, entrance.group, stack, body)
        .or_else(|_| clone(flags, stack, &Entering { entrance, body }))
}

#[expect(
    unsafe_code,
    reason = "`fork` copies the page tables of the whole process, and the standard library can only fork"
)]
fn clone<B: Body>(flags: c_int, stack: &mut Stack, body: &B) -> io::Result<Pid> {
    let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let top = stack.0.as_mut_ptr_range().end;
    let body = std::ptr::from_ref(body).cast_mut().cast::<c_void>();
    // SAFETY: the stack is 16-byte aligned, grows downwards from its end, and is the child's alone. This thread waits until
    // the child no longer uses this memory, so that `body` and the stack outlive its use of them.
    let pid = unsafe { libc::clone(enter::<B>, top.cast(), flags, body) };
    let started = (pid > 0).then(|| Pid::from_raw(pid)).flatten();
    started.ok_or_else(io::Error::last_os_error)
}

/// The arguments of `clone3`, as the kernel reads them.
#[cfg(target_arch = "x86_64")]
#[derive(Default)]
#[repr(C)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Like [`clone`], but the child is in a control group from its first instruction.
#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "libraries call `clone3` for a child with a copy of the memory only"
)]
fn clone_into<B: Body>(
    flags: c_int,
    group: BorrowedFd<'_>,
    stack: &mut Stack,
    body: &B,
) -> io::Result<Pid> {
    const INTO_CGROUP: u64 = 1 << 33;
    let bits = |number: c_int| u64::from(number.cast_unsigned());
    let arguments = CloneArguments {
        flags: bits(flags | libc::CLONE_VM | libc::CLONE_VFORK) | INTO_CGROUP,
        exit_signal: bits(libc::SIGCHLD),
        stack: stack.0.as_mut_ptr() as u64,
        stack_size: STACK_BYTES as u64,
        cgroup: bits(group.as_raw_fd()),
        ..CloneArguments::default()
    };
    let body = std::ptr::from_ref(body).cast_mut().cast::<c_void>();
    let answer: i64;
    // SAFETY: the kernel sets the child's stack pointer to the end of the stack, which is 16-byte aligned and the child's
    // alone; the child calls `enter` there and ends without coming back. This thread waits until the child no longer uses
    // this memory, so that `arguments`, `body` and the stack outlive its use of them.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov rdi, {body}",
            "call {enter}",
            "mov edi, eax",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            body = in(reg) body,
            enter = in(reg) enter::<B> as extern "C" fn(*mut c_void) -> c_int,
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone3 => answer,
            in("rdi") &raw const arguments,
            in("rsi") size_of::<CloneArguments>(),
            out("rcx") _,
            out("r11") _,
        );
    }
    let number = i32::try_from(answer).map_err(io::Error::other)?;
    let started = (number > 0).then(|| Pid::from_raw(number)).flatten();
    started.ok_or_else(|| io::Error::from_raw_os_error(-number))
}

#[cfg(not(target_arch = "x86_64"))]
fn clone_into<B: Body>(_: c_int, _: BorrowedFd<'_>, _: &mut Stack, _: &B) -> io::Result<Pid> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Blocks all signals of this thread until it is dropped.
struct HeldSignals(libc::sigset_t);

impl HeldSignals {
    #[expect(unsafe_code, reason = "no wrapper holds signals back")]
    fn hold() -> io::Result<Self> {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the first call fills `all`, and the second, where it succeeds, `before`.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            match libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) {
                0 => Ok(Self(before.assume_init())),
                code => Err(io::Error::from_raw_os_error(code)),
            }
        }
    }
}

impl Drop for HeldSignals {
    #[expect(unsafe_code, reason = "no wrapper lets signals through again")]
    fn drop(&mut self) {
        // SAFETY: the set is the one this thread had.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut());
        }
    }
}

/// The treatment of signals in the child's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildSignals {
    /// Every signal has its default action.
    Usual,
    /// Like the default, but children of the program leave no zombies.
    ReapNothing,
}

/// Resets every signal of the calling child to its default action, and unblocks signals. Makes only system calls.
#[expect(unsafe_code, reason = "no wrapper sets the answer to a signal")]
pub(crate) fn reset_signals(signals: ChildSignals) {
    const LAST: c_int = 64;
    // SAFETY: zeroes are an empty set and a default action; the call fails for a number that is not a signal.
    unsafe {
        let mut answer: libc::sigaction = MaybeUninit::zeroed().assume_init();
        answer.sa_sigaction = libc::SIG_DFL;
        for signal in 1..=LAST {
            libc::sigaction(signal, &answer, std::ptr::null_mut());
        }
        if signals == ChildSignals::ReapNothing {
            answer.sa_sigaction = libc::SIG_IGN;
            libc::sigaction(libc::SIGCHLD, &answer, std::ptr::null_mut());
        }
        let none: libc::sigset_t = MaybeUninit::zeroed().assume_init();
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Marks every descriptor except the first three to be closed by the child's program. Makes only a system call.
///
/// Descriptors of this process are marked already. This is for those that a library or a parent left open.
#[expect(unsafe_code, reason = "no wrapper marks a range of descriptors")]
pub(crate) fn inherit_no_descriptors() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes three numbers. A kernel without the call ignores the request.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}
