//! A control group that counts processes and threads.

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::available_parallelism;

use super::{Group, members, writable};
use crate::process_table::Stat;

/// The count of a child's processes and threads, which the kernel keeps from going above their limit.
#[derive(Debug)]
pub(super) struct ProcessCount {
    directory: PathBuf,
    /// How many processes there may be.
    processes: usize,
    /// How many processes and threads there may be at the moment.
    most: usize,
    n_refused: u64,
    own: Option<Own>,
}

/// A group of an older hierarchy, which a child enters by itself.
#[derive(Debug)]
struct Own {
    group: Group,
    /// Where a thread moves itself, which takes no time; to move a process waits for a grace period of the kernel.
    threads: OwnedFd,
}

impl ProcessCount {
    /// Limits a group that the child is made in.
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

    /// Returns whether another process was refused since this was asked last, because there were as many as there may be.
    ///
    /// The kernel counts threads as well. Those that are not the first of their process get room of their own, in addition to the
    /// room for threads to come; what is refused because they became more since this was asked last does not count.
    pub(super) fn is_exhausted(&mut self) -> bool {
        let n_refused = self.number("pids.events", "max");
        let is_refused = n_refused > self.n_refused;
        self.n_refused = n_refused;
        let stats = members(&self.directory)
            .into_iter()
            .filter_map(|pid| Stat::read(pid).ok());
        let n_more_threads: usize = stats.map(|stat| stat.n_threads.saturating_sub(1)).sum();
        let most = most(self.processes, n_more_threads);
        // Some kernels also count what the limit of a group above refused; then there never were as many here.
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

/// Returns how many processes and threads there may be, while so many threads are not the first of their process.
fn most(processes: usize, n_more_threads: usize) -> usize {
    let threads = n_more_threads.saturating_add(threads_to_come());
    processes.saturating_add(threads)
}

/// Returns how many threads there is room for until the group is looked at again. Virtual machines and compilers start some for
/// each processor at once.
fn threads_to_come() -> usize {
    static N_PROCESSORS: OnceLock<usize> = OnceLock::new();
    let n_processors = N_PROCESSORS.get_or_init(|| available_parallelism().map_or(1, usize::from));
    64 + 16 * n_processors
}

/// Sets how many processes and threads a group may have; a number that is too large for one stands for no limit.
fn limit(directory: &Path, most: usize) -> Option<()> {
    /// More than the kernel ever has.
    const MOST: usize = 1 << 22;
    let text = if most > MOST {
        "max".to_owned()
    } else {
        most.to_string()
    };
    fs::write(directory.join("pids.max"), text).ok()
}
