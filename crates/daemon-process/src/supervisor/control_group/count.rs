//! A control group that counts processes and threads.

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::available_parallelism;

use super::{Group, members, writable};
use crate::process_table::Stat;

/// The limit of a child's processes and threads, which the kernel enforces.
#[derive(Debug)]
pub(super) struct ProcessCount {
    directory: PathBuf,
    /// The maximum number of processes.
    processes: usize,
    /// The current limit of processes and threads together.
    most: usize,
    n_refused: u64,
    own: Option<Own>,
}

/// A group in an older hierarchy, which a child enters by itself.
#[derive(Debug)]
struct Own {
    group: Group,
    /// The file for moving a thread, which is immediate; moving a process waits for a grace period of the kernel.
    threads: OwnedFd,
}

impl ProcessCount {
    /// Limits a group in which the child is created.
    pub(super) fn begin(directory: PathBuf, processes: usize) -> Option<Self> {
        let most = most(processes, 0);
        limit(&directory, most)?;
        Some(Self {
            directory,
            processes,
            most,
            n_refused: 0,
            own: None,
        })
    }

    /// Limits a group that the child has to enter.
    pub(super) fn enter(group: Group, processes: usize) -> Option<Self> {
        let threads = writable(&group.path.join("tasks"))?;
        let count = Self::begin(group.path.clone(), processes)?;
        let own = Some(Own { group, threads });
        Some(Self { own, ..count })
    }

    pub(super) fn threads(&self) -> Option<BorrowedFd<'_>> {
        self.own.as_ref().map(|own| own.threads.as_fd())
    }

    pub(super) fn own_group(&self) -> Option<&Path> {
        self.own.as_ref().map(|own| own.group.path.as_path())
    }

    /// Whether another process was refused since the last call because the limit of processes was reached.
    ///
    /// The kernel also counts threads. Threads other than the first of a process get room of their own, plus room for new ones; a refusal
    /// because their number grew since the last call does not count.
    pub(super) fn is_exhausted(&mut self) -> bool {
        let n_refused = self.number("pids.events", "max");
        let is_refused = n_refused > self.n_refused;
        self.n_refused = n_refused;
        let stats = members(&self.directory)
            .into_iter()
            .filter_map(|pid| Stat::read(pid).ok());
        let n_more_threads: usize = stats.map(|stat| stat.n_threads.saturating_sub(1)).sum();
        let most = most(self.processes, n_more_threads);
        // Some kernels also count refusals by the limit of a parent group; the number of processes was lower then.
        let peak = fs::read_to_string(self.directory.join("pids.peak"));
        let peak = peak.ok().and_then(|text| text.trim().parse::<usize>().ok());
        let was_full = peak.is_none_or(|peak| peak >= self.most);
        if is_refused && was_full && most <= self.most {
            return true;
        }
        if most != self.most && limit(&self.directory, most).is_some() {
            self.most = most;
        }
        false
    }

    /// Reads the number after a word in a file of the group.
    fn number(&self, file: &str, word: &str) -> u64 {
        let text = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        let mut words = text.split_ascii_whitespace();
        let number = words
            .find(|found| *found == word)
            .and_then(|_| words.next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

/// Returns the limit of processes and threads together, given the number of threads that are not the first of their process.
fn most(processes: usize, n_more_threads: usize) -> usize {
    let threads = n_more_threads.saturating_add(threads_to_come());
    processes.saturating_add(threads)
}

/// Returns the room for new threads until the next check. Virtual machines and compilers start several for each processor at once.
fn threads_to_come() -> usize {
    static N_PROCESSORS: OnceLock<usize> = OnceLock::new();
    let n_processors = N_PROCESSORS.get_or_init(|| available_parallelism().map_or(1, usize::from));
    64 + 16 * n_processors
}

/// Sets the limit of a group; a number above the maximum means no limit.
fn limit(directory: &Path, most: usize) -> Option<()> {
    /// More than the kernel ever allows.
    const MOST: usize = 1 << 22;
    let text = if most > MOST {
        "max".to_owned()
    } else {
        most.to_string()
    };
    fs::write(directory.join("pids.max"), text).ok()
}
