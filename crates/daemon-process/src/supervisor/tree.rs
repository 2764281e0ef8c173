//! Assigns processes to children.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};

use crate::ProcessId;
use crate::mark::ProcessMark;
use crate::process_table::{Stat, all, is_marked};

/// One read of the machine's process table, without this process.
pub(crate) struct Snapshot {
    processes: Vec<Stat>,
    own: Stat,
}

impl Snapshot {
    pub(crate) fn take() -> io::Result<Self> {
        let own = Stat::read(getpid().as_raw_nonzero().get())?;
        let mut processes = all()?;
        processes.retain(|stat| stat.id.pid != own.id.pid);
        Ok(Self { processes, own })
    }

    /// Reaps orphans of the children's trees that were reparented to this process, by their ids.
    ///
    /// They are recognised by their session: a child of the supervisor has its own. The session's number is also read from the table, as it is
    /// 0 if its leader is outside of the namespace of this process.
    pub(crate) fn reap_orphans(&self, leaders: &Leaders) {
        let orphans = self.processes.iter().filter(|stat| {
            stat.is_zombie
                && stat.parent == self.own.id.pid
                && stat.session != self.own.session
                && !leaders.pids.contains(&stat.id.pid)
        });
        for pid in orphans.filter_map(|stat| Pid::from_raw(stat.id.pid)) {
            // These processes are dead, and reaped only under this lock, so the call neither fails nor blocks.
            waitpid(Some(pid), WaitOptions::NOHANG).unwrap_or(None);
        }
    }
}

/// The children that a supervisor of this process reaps by itself, after their trees have ended.
///
/// The table is locked while a child is started and while one is reaped, so a zombie that is not in it is an orphan.
#[derive(Debug)]
pub(crate) struct Leaders {
    pids: BTreeSet<i32>,
}

static LEADERS: Mutex<Leaders> = Mutex::new(Leaders {
    pids: BTreeSet::new(),
});

impl Leaders {
    pub(crate) fn lock() -> MutexGuard<'static, Self> {
        // Insertions and removals of a number cannot be interrupted by a panic.
        LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&mut self, pid: i32) {
        self.pids.insert(pid);
    }

    pub(crate) fn remove(&mut self, pid: i32) {
        self.pids.remove(&pid);
    }
}

/// The tree of a child: the child, its group and session, the processes with its marker or mark, and the descendants of all of these.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    leader: ProcessId,
    /// The process that keeps the child's namespaces: all processes in them descend from it, but it is not part of the tree.
    keeper: Option<ProcessId>,
    marker: String,
    mark: Option<ProcessMark>,
    /// Members seen before: they remain members after their parents have ended.
    known: HashSet<ProcessId>,
    /// Processes without marker and mark. A process can lose them later, but never gains them.
    unmarked: HashSet<ProcessId>,
}

/// The running members of a tree.
#[derive(Debug, Default)]
pub(crate) struct TreeMembers {
    pub(crate) ids: Vec<ProcessId>,
    pub(crate) resident_pages: u64,
}

impl ProcessTree {
    pub(crate) fn new(
        leader: ProcessId,
        keeper: Option<ProcessId>,
        (marker, mark): (String, Option<ProcessMark>),
    ) -> Self {
        Self {
            leader,
            keeper,
            marker,
            mark,
            known: [leader].into_iter().chain(keeper).collect(),
            unmarked: HashSet::new(),
        }
    }

    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }

    /// Returns the running members; `grouped` are members according to the child's control group.
    pub(crate) fn members(&mut self, snapshot: &Snapshot, grouped: &[i32]) -> TreeMembers {
        let present: HashSet<ProcessId> = snapshot.processes.iter().map(|stat| stat.id).collect();
        self.known.retain(|id| present.contains(id));
        self.unmarked.retain(|id| present.contains(id));
        for stat in &snapshot.processes {
            if grouped.contains(&stat.id.pid) || self.is_own(stat) {
                self.known.insert(stat.id);
            }
        }
        self.add_descendants(snapshot);
        let living = snapshot
            .processes
            .iter()
            .filter(|stat| !stat.is_zombie && self.known.contains(&stat.id))
            .filter(|stat| Some(stat.id) != self.keeper);
        living.fold(TreeMembers::default(), |mut acc, stat| {
            acc.ids.push(stat.id);
            acc.resident_pages += stat.resident_pages;
            acc
        })
    }

    fn is_own(&mut self, stat: &Stat) -> bool {
        if self.known.contains(&stat.id) {
            return true;
        }
        if stat.group == self.leader.pid || stat.session == self.leader.pid {
            return true;
        }
        if stat.is_zombie || self.unmarked.contains(&stat.id) {
            return false;
        }
        let bears = |mark| ProcessMark::of(stat.id.pid) == Some(mark);
        let marked = self.mark.is_some_and(bears) || is_marked(stat.id.pid, &self.marker);
        if !marked {
            self.unmarked.insert(stat.id);
        }
        marked
    }

    fn add_descendants(&mut self, snapshot: &Snapshot) {
        let mut pids: HashSet<i32> = self.known.iter().map(|id| id.pid).collect();
        loop {
            let n_before = pids.len();
            for stat in snapshot
                .processes
                .iter()
                .filter(|stat| pids.contains(&stat.parent))
            {
                self.known.insert(stat.id);
            }
            pids.extend(self.known.iter().map(|id| id.pid));
            if pids.len() == n_before {
                return;
            }
        }
    }
}

/// Sends a signal to each process.
pub(crate) fn signal_all(ids: &[ProcessId], signal: Signal) {
    for id in ids {
        // A process may have ended already.
        id.signal(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process_table::RUN_MARKER;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a child that nothing but its environment ties to a run cannot be started by a supervisor"
    )]
    fn what_carries_the_marker_is_a_member_though_nothing_else_ties_it_to_the_run() {
        let marker = format!("em-1-{}", std::process::id());
        let mut stray = Command::new("sleep")
            .arg("1000")
            .env_clear()
            .env(RUN_MARKER, &marker)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = i32::try_from(stray.id()).unwrap();
        let nobody = ProcessId {
            pid: i32::MAX,
            start: 0,
        };
        let members = |marker: &str| {
            let mut tree = ProcessTree::new(nobody, None, (marker.to_owned(), None));
            let found = tree.members(&Snapshot::take().unwrap(), &[]).ids;
            found.iter().map(|id| id.pid).collect::<Vec<i32>>()
        };
        let found = [members(&marker), members("em-1-another")];
        stray.kill().unwrap();
        stray.wait().unwrap();
        assert_eq!(found, [vec![pid], Vec::new()]);
    }
}
