//! Reads the process table in `/proc`.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, test_kill_process,
};

/// The name of the environment variable that marks every process of a run.
pub const RUN_MARKER: &str = "DAEMON_RUN_ID";

/// The identity of a process: unlike its id, it is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// The process id.
    pub pid: i32,
    /// The start time, in clock ticks since the machine started.
    pub start: u64,
}

impl ProcessId {
    /// Returns the identity of the calling process.
    ///
    /// # Errors
    /// Returns an error if `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        let pid = getpid().as_raw_nonzero().get();
        Ok(Stat::read(pid)?.id)
    }

    /// Whether this process is running. A zombie does not count, nor does another process with the same id.
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid).is_ok_and(|stat| stat.id == self && !stat.is_zombie)
    }

    /// Whether this process has certainly ended.
    ///
    /// Returns false if it cannot be determined, because of a limit of this process or because `/proc` hides other users' processes.
    pub(crate) fn is_gone(self) -> bool {
        match Stat::read(self.pid) {
            Ok(stat) => stat.id != self || stat.is_zombie,
            Err(error) => {
                let is_absent = error.kind() == io::ErrorKind::NotFound
                    || Errno::from_io_error(&error) == Some(Errno::SRCH);
                let pid = Pid::from_raw(self.pid);
                is_absent && pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
            }
        }
    }

    /// Sends a signal to this process if it has not ended; ignores errors.
    pub(crate) fn signal(self, signal: Signal) {
        // Whether the process ends is read from the process table, whether or not the signal could be sent.
        self.send(signal).unwrap_or(());
    }

    /// Sends a signal to this process.
    ///
    /// # Errors
    /// Returns `SRCH` if it has ended. Other errors mean that this is unknown, for example without a free descriptor, or that this
    /// process has no permission.
    pub(crate) fn send(self, signal: Signal) -> Result<(), Errno> {
        let pid = Pid::from_raw(self.pid).ok_or(Errno::SRCH)?;
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        // The descriptor refers to the process that has the id now. Its start time is compared afterwards, which avoids a race with
        // the reuse of the id.
        match Stat::read(self.pid) {
            Ok(stat) if stat.id == self && !stat.is_zombie => pidfd_send_signal(&process, signal),
            Err(error) if !self.is_gone() => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            Ok(_) | Err(_) => Err(Errno::SRCH),
        }
    }
}

/// Returns the id of the machine's current boot, without which a start time is ambiguous.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// One entry of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: ProcessId,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Whether it has ended. A process whose first thread has exited is shown as a zombie but runs while other threads do.
    pub(crate) is_zombie: bool,
    pub(crate) n_threads: usize,
    pub(crate) resident_pages: u64,
}

impl Stat {
    pub(crate) fn read(pid: i32) -> io::Result<Self> {
        let text = fs::read(format!("/proc/{pid}/stat"))?;
        Self::parse(pid, &String::from_utf8_lossy(&text)).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("/proc/{pid}/stat has an unknown form"),
            )
        })
    }

    /// Parses the fields after the command name, which is in parentheses and may contain some itself.
    fn parse(pid: i32, text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
        let n_threads = usize::try_from(number(17)?).ok()?;
        Some(Self {
            id: ProcessId {
                pid,
                start: u64::try_from(number(19)?).ok()?,
            },
            parent: i32::try_from(number(1)?).ok()?,
            group: i32::try_from(number(2)?).ok()?,
            session: i32::try_from(number(3)?).ok()?,
            is_zombie: matches!(*fields.first()?, "Z" | "X") && n_threads <= 1,
            n_threads,
            resident_pages: u64::try_from(number(21)?).ok()?,
        })
    }
}

/// Returns all processes that can be read; those that end meanwhile are left out.
pub(crate) fn all() -> io::Result<Vec<Stat>> {
    let pids = fs::read_dir("/proc")?
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    Ok(pids.filter_map(|pid| Stat::read(pid).ok()).collect())
}

/// Whether the initial environment of the process contains the marker of this run.
pub(crate) fn is_marked(pid: i32, run: &str) -> bool {
    let marker = format!("{RUN_MARKER}={run}");
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
        environ
            .split(|byte| *byte == 0)
            .filter_map(|entry| entry.strip_prefix(marker.as_bytes()))
            .any(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}

/// The result of ending the processes that a dead host left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Processes that were ended.
    pub ended: Vec<ProcessId>,
    /// Processes that survived SIGKILL.
    pub survivors: Vec<ProcessId>,
}

/// Ends the processes that a dead host left behind: `child` if it is still the same process, and all with the marker of `run`.
///
/// Blocks until all of them are dead, or until the timeout after SIGKILL.
///
/// # Errors
/// Returns an error if the process table cannot be read.
pub fn end_orphans(child: Option<ProcessId>, run: &str) -> io::Result<Orphans> {
    let mut orphans = Orphans::default();
    for _ in 0..KILL_LOOKS {
        let own = getpid().as_raw_nonzero().get();
        let living = all()?
            .into_iter()
            .filter(|stat| !stat.is_zombie && stat.id.pid != own);
        orphans.survivors = living
            .map(|stat| stat.id)
            .filter(|id| Some(*id) == child || is_marked(id.pid, run))
            .collect();
        if orphans.survivors.is_empty() {
            break;
        }
        for id in &orphans.survivors {
            id.signal(Signal::KILL);
            if !orphans.ended.contains(id) {
                orphans.ended.push(*id);
            }
        }
        std::thread::sleep(KILL_LOOK);
    }
    let Orphans { ended, survivors } = &mut orphans;
    ended.retain(|id| !survivors.contains(id));
    Ok(orphans)
}

/// The delays between checks after SIGKILL, 3 seconds in total.
pub(crate) const KILL_LOOKS: u32 = 150;
pub(crate) const KILL_LOOK: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;
    use crate::{ByteCount, Tool};

    #[test]
    fn a_command_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let text =
            "7 (a) R (b) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 30 10 1 0 99 1000 12 18446744073709551615";
        let expected = Stat {
            id: ProcessId { pid: 7, start: 99 },
            parent: 3,
            group: 4,
            session: 5,
            is_zombie: false,
            n_threads: 1,
            resident_pages: 12,
        };
        assert_eq!(Stat::parse(7, text), Some(expected));
        assert_eq!(Stat::parse(7, "7 (cut"), None);
        let is_zombie = |text: &str| Stat::parse(7, text).map(|stat| stat.is_zombie);
        let ended = text.replace(") S ", ") Z ");
        assert_eq!(
            (is_zombie(text), is_zombie(&ended)),
            (Some(false), Some(true))
        );
        let goes_on = ended.replace(" 10 1 0 99 ", " 10 2 0 99 ");
        assert_eq!(is_zombie(&goes_on), Some(false));
    }

    #[test]
    fn another_start_time_is_another_process() {
        let current = ProcessId::current().unwrap();
        let other = ProcessId {
            start: current.start + 1,
            ..current
        };
        assert_eq!((current.is_alive(), other.is_alive()), (true, false));
        assert_eq!(other.send(Signal::KILL), Err(Errno::SRCH));
    }

    /// Signals itself without a free descriptor; does nothing if run as a test.
    #[test]
    fn signals_itself_without_descriptors() {
        if std::env::var_os("WITHOUT_DESCRIPTORS").is_none() {
            return;
        }
        let me = ProcessId::current().unwrap();
        let limit = getrlimit(Resource::Nofile);
        let none = Rlimit {
            current: Some(0),
            ..limit
        };
        setrlimit(Resource::Nofile, none).unwrap();
        let sent = me.send(Signal::CONT);
        setrlimit(Resource::Nofile, limit).unwrap();
        assert_eq!(sent, Err(Errno::MFILE));
        assert_eq!(me.send(Signal::CONT), Ok(()));
    }

    #[test]
    fn a_process_that_could_not_be_signalled_without_a_descriptor_is_not_gone() {
        let output = Tool::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "process_table::tests::signals_itself_without_descriptors",
            ])
            .env("WITHOUT_DESCRIPTORS", "1")
            .run(Duration::from_secs(60), ByteCount(10_000));
        let output = output.unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("1 passed"), "{printed}");
    }
}
