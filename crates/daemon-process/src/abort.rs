//! Records that this process aborted, in a file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::c_int;

const NOTE: &[u8] = b"aborted\n";
const NOWHERE: c_int = -1;

/// The descriptor that the handler writes to.
static FILE: AtomicI32 = AtomicI32::new(NOWHERE);

/// A guard: while it exists, an abort of the process appends the line `aborted` to a file.
///
/// A panic during unwinding, a stack overflow and a failed allocation all end in an abort. A SIGABRT from another process is
/// not recorded. Only one guard is active at a time; a new one replaces the former.
#[derive(Debug)]
pub struct AbortNote {
    file: File,
}

impl AbortNote {
    /// Installs the handler, with a file that is open for appending.
    ///
    /// # Errors
    /// Returns an error if the signal handler cannot be installed.
    pub fn in_file(file: File) -> io::Result<Self> {
        handle_abort()?;
        FILE.store(file.as_raw_fd(), Ordering::SeqCst);
        Ok(Self { file })
    }
}

impl Drop for AbortNote {
    fn drop(&mut self) {
        // A newer guard stays active.
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
        action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK | libc::SA_SIGINFO;
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
extern "C" fn on_abort(signal: c_int, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    let file = FILE.load(Ordering::SeqCst);
    // SAFETY: the kernel passes the details of the signal, which name a sender if a thread was the receiver. The functions are
    // async-signal-safe. The line is a static of that length, and the call fails for a closed descriptor. The default action is
    // restored before, so the signal ends the process when the handler returns.
    unsafe {
        // `abort` signals its own thread; `kill` of another process signals the whole process.
        let is_own = (*info).si_code == libc::SI_TKILL && (*info).si_pid() == libc::getpid();
        if is_own && file != NOWHERE {
            libc::write(file, NOTE.as_ptr().cast(), NOTE.len());
        }
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::{ByteCount, Tool};

    /// The variable with the file for the process started by `ends_itself`.
    const NOTES: &str = "NOTES_OF_THE_TEST";

    /// Runs this test program as a process with a guard, and returns what was recorded.
    fn noted(end: &str) -> String {
        let scratch = tempfile::tempdir().unwrap();
        let notes = scratch.path().join("notes");
        fs::write(&notes, "").unwrap();
        let program = std::env::current_exe().unwrap();
        let output = Tool::new(&program)
            .args(["--exact", "abort::tests::ends_itself", "--nocapture"])
            .env(NOTES, notes.as_os_str())
            .env("END_OF_THE_TEST", end)
            .run(Duration::from_secs(60), ByteCount(10_000))
            .unwrap();
        assert_eq!(output.status.code(), None, "{output:?}");
        fs::read_to_string(notes).unwrap()
    }

    /// The process that the other tests start; does nothing if run as a test.
    #[test]
    fn ends_itself() {
        let Some(notes) = std::env::var_os(NOTES) else {
            return;
        };
        let file = File::options()
            .append(true)
            .open(Path::new(&notes))
            .unwrap();
        let _note = AbortNote::in_file(file).unwrap();
        if std::env::var_os("END_OF_THE_TEST").is_some_and(|end| end == "abort") {
            std::process::abort();
        }
        let script = format!("kill -ABRT {}", std::process::id());
        Tool::new("/bin/sh")
            .args(["-c", &script])
            .run(Duration::from_secs(60), ByteCount(1000))
            .unwrap();
        // The signal is pending; nothing else ends this thread.
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn an_abort_is_noted_and_a_signal_of_another_process_is_not() {
        assert_eq!(noted("abort"), "aborted\n");
        assert_eq!(noted("signal"), "");
    }
}
