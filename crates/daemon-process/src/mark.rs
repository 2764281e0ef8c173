//! A mark that every descendant of a child inherits, even with a new session, parent or environment.
//!
//! The mark is the resource limit of file locks, which Linux keeps and inherits but does not enforce. Its two numbers name the
//! process that started the child and the child's number.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use crate::ProcessId;
use crate::process_table::{KILL_LOOK, KILL_LOOKS, all};
use crate::supervisor::end_groups_of_the_dead;

/// The process that starts the children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessOwner {
    /// The process namespace of its process id.
    pub(crate) namespace: u32,
    pub(crate) id: ProcessId,
}

impl ProcessOwner {
    pub(crate) fn current() -> io::Result<Self> {
        let namespace = fs::metadata("/proc/self/ns/pid")?.ino();
        Ok(Self {
            namespace: u32::try_from(namespace).map_err(io::Error::other)?,
            id: ProcessId::current()?,
        })
    }

    /// Whether `me` can determine that this owner is dead: processes of another namespace are not visible.
    pub(crate) fn is_dead_for(&self, me: &Self) -> bool {
        self.namespace == me.namespace && self.id.is_gone()
    }
}

/// The mark of one child's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessMark {
    pub(crate) owner: ProcessOwner,
    /// The number of the child among those of its owner.
    pub(crate) count: u32,
}

/// A bit that is set in the upper number, so that it is larger than the lower one, as the kernel requires.
const UPPER: u64 = 1 << 62;
/// The number of bits for the start time of a process: enough for some 350 years.
const START_BITS: u32 = 40;
const PID_BITS: u32 = 22;
const NAMESPACE_BITS: u32 = 32;
const COUNT_BITS: u32 = 29;

impl ProcessMark {
    /// Creates the mark of the next child of this process.
    pub(crate) fn next() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            owner: ProcessOwner::current()?,
            count: count % (1 << COUNT_BITS),
        })
    }

    /// Marks the calling process. Makes only system calls.
    ///
    /// An unprivileged process can only lower a limit. If the limit is lower already, the process stays unmarked, and is found by
    /// its marker, session and parents instead.
    pub(crate) fn apply(&self) {
        let (current, maximum) = self.numbers();
        let limit = Rlimit {
            current: Some(current),
            maximum: Some(maximum),
        };
        setrlimit(Resource::Locks, limit).unwrap_or(());
    }

    fn numbers(&self) -> (u64, u64) {
        let ProcessOwner { namespace, id } = self.owner;
        let pid = u64::from(id.pid.unsigned_abs());
        let start = id.start & ((1 << START_BITS) - 1);
        let lower = u64::from(self.count) << NAMESPACE_BITS | u64::from(namespace);
        (lower, UPPER | pid << START_BITS | start)
    }

    fn of_numbers(lower: u64, upper: u64) -> Option<Self> {
        let number = upper.checked_sub(UPPER)?;
        let pid = i32::try_from(number >> START_BITS).ok()?;
        let mask = (1 << NAMESPACE_BITS) - 1;
        (pid < 1 << PID_BITS).then_some(())?;
        let owner = ProcessOwner {
            namespace: u32::try_from(lower & mask).ok()?,
            id: ProcessId {
                pid,
                start: number & ((1 << START_BITS) - 1),
            },
        };
        let count = u32::try_from(lower >> NAMESPACE_BITS).ok()?;
        (count < 1 << COUNT_BITS).then_some(Self { owner, count })
    }

    /// Returns the mark of a process, if it has one.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        Self::of_limits(&limits)
    }

    fn of_limits(limits: &str) -> Option<Self> {
        let mut lines = limits.lines();
        let numbers = lines.find_map(|line| line.strip_prefix("Max file locks"))?;
        let mut numbers = numbers.split_ascii_whitespace().map(str::parse);
        Self::of_numbers(numbers.next()?.ok()?, numbers.next()?.ok()?)
    }
}

/// Ends every process that a dead supervisor on this machine left behind, of any run, and returns those that were found.
///
/// Blocks until all of them are dead, or until the timeout after SIGKILL. Processes that this one may not signal are left out,
/// and so are those of the run that this process itself belongs to.
///
/// # Errors
/// Returns an error if the process table cannot be read.
pub fn end_strays() -> io::Result<Vec<ProcessId>> {
    let me = ProcessOwner::current()?;
    let own = ProcessMark::of(me.id.pid).map(|mark| mark.owner);
    let is_stray = |pid: i32| {
        ProcessMark::of(pid)
            .is_some_and(|mark| Some(mark.owner) != own && mark.owner.is_dead_for(&me))
    };
    let mut found = Vec::new();
    let mut others = HashSet::new();
    for _ in 0..KILL_LOOKS {
        found.extend(end_groups_of_the_dead(&me));
        let mut n_left = 0;
        for stat in all()?.into_iter().filter(|stat| !stat.is_zombie) {
            if stat.id == me.id || others.contains(&stat.id) {
                continue;
            }
            if !is_stray(stat.id.pid) {
                others.insert(stat.id);
                continue;
            }
            match stat.id.send(Signal::KILL) {
                // The process may have ended already.
                Ok(()) | Err(Errno::SRCH) => found.push(stat.id),
                Err(Errno::PERM) => {
                    others.insert(stat.id);
                    continue;
                }
                // A failure, for example without a free descriptor, is retried at the next look.
                Err(_) => {}
            }
            n_left += 1;
        }
        if n_left == 0 {
            break;
        }
        sleep(KILL_LOOK);
    }
    found.sort_unstable_by_key(|id| (id.pid, id.start));
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: ProcessMark = ProcessMark {
        owner: ProcessOwner {
            namespace: 4_026_531_836,
            id: ProcessId {
                pid: (1 << PID_BITS) - 1,
                start: (1 << START_BITS) - 1,
            },
        },
        count: (1 << COUNT_BITS) - 1,
    };

    #[test]
    fn a_mark_is_read_as_it_was_made_and_is_a_limit() {
        let small = ProcessMark {
            owner: ProcessOwner {
                namespace: 1,
                id: ProcessId { pid: 1, start: 7 },
            },
            count: 0,
        };
        for mark in [MARK, small] {
            let (lower, upper) = mark.numbers();
            assert!(lower <= upper);
            assert_eq!(ProcessMark::of_numbers(lower, upper), Some(mark));
            let limits = format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax file locks            {lower} {upper} locks\n"
            );
            assert_eq!(ProcessMark::of_limits(&limits), Some(mark));
        }
    }

    #[test]
    fn other_limits_are_no_marks() {
        let (lower, upper) = MARK.numbers();
        for (one, other) in [
            ("unlimited".to_owned(), "unlimited".to_owned()),
            (lower.to_string(), "unlimited".to_owned()),
            ("1024".to_owned(), "1024".to_owned()),
            (upper.to_string(), upper.to_string()),
            (lower.to_string(), (upper << 1).to_string()),
        ] {
            let limits = format!("Max file locks  {one} {other} locks\n");
            assert_eq!(ProcessMark::of_limits(&limits), None, "{limits}");
        }
        assert_eq!(ProcessMark::of_limits("Max cpu time 1 2 seconds\n"), None);
    }
}
