//! A note that this process aborted, left by the last code that it runs.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::c_int;

const NOTE: &[u8] = b"aborted\n";
const NOWHERE: c_int = -1;

/// The descriptor that the handler writes to.
static FILE: AtomicI32 = AtomicI32::new(NOWHERE);

/// While this is held, an abort of the process appends the line `aborted` to a file.
///
/// A panic while another one unwinds, a stack overflow and a failed allocation all end in an abort. One note is held at a
/// time; a later one takes the place of an earlier.
#[derive(Debug)]
pub struct AbortNote {
    file: File,
}

impl AbortNote {
    /// Has an abort noted in a file that is open for appending.
    ///
    /// # Errors
    /// If the signal cannot be handled.
    pub fn in_file(file: File) -> io::Result<Self> {
        handle_abort()?;
        FILE.store(file.as_raw_fd(), Ordering::SeqCst);
        Ok(Self { file })
    }
}

impl Drop for AbortNote {
    fn drop(&mut self) {
        // A later note keeps its place.
        let own = self.file.as_raw_fd();
        FILE.compare_exchange(own, NOWHERE, Ordering::SeqCst, Ordering::SeqCst)
            .unwrap_or_default();
    }
}

#[expect(
    unsafe_code,
    reason = "a handler of SIGABRT is the only code that runs between an abort and the end of the process"
)]
fn handle_abort() -> io::Result<()> {
    // SAFETY: the structure is plain data for which zeroes are valid; the handler only calls functions that are safe in
    // handlers, on the alternate stack where the thread has one, since an overflow of the stack ends in an abort too.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_abort as *const () as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGABRT, &raw const action, std::ptr::null_mut())
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[expect(
    unsafe_code,
    reason = "`write` and `raise` are called as C functions, which is what may be done inside a handler"
)]
extern "C" fn on_abort(signal: c_int) {
    let file = FILE.load(Ordering::SeqCst);
    // SAFETY: both are async-signal-safe; the note is a static of that length, and a descriptor that was closed meanwhile
    // is refused. The default action is in place again, so that the signal ends the process once the handler returns.
    unsafe {
        if file != NOWHERE {
            libc::write(file, NOTE.as_ptr().cast(), NOTE.len());
        }
        libc::raise(signal);
    }
}
