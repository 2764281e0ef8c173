//! Which processes belong to which child.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};

use crate::ProcessId;
use crate::mark::Mark;
use crate::process_table::{Stat, all, is_marked};

/// One look at the machine's processes, without this one.
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

    /// Reaps orphans of the children's trees that were handed to this process, by their ids.
    ///
    /// Their session distinguishes them from other children of this process: a child of the supervisor has one of its own.
    /// The session's number is read from the table too, as it is 0 where its leader is outside the namespace of this process.
    pub(crate) fn reap_orphans(&self, leaders: &Leaders) {
        let orphans = self.processes.iter().filter(|stat| {
            stat.is_zombie
                && stat.parent == self.own.id.pid
                && stat.session != self.own.session
                && !leaders.pids.contains(&stat.id.pid)
        });
        for pid in orphans.filter_map(|stat| Pid::from_raw(stat.id.pid)) {
            // Such processes are dead and reaped only under this lock, so the call neither fails nor waits.
            waitpid(Some(pid), WaitOptions::NOHANG).unwrap_or(None);
        }
    }
}

/// The children that every supervisor of this process reaps itself, once their trees are dead.
///
/// The table is held while a child is forked and while one is reaped, so that a zombie which is not in it is an orphan.
#[derive(Debug)]
pub(crate) struct Leaders {
    pids: BTreeSet<i32>,
}

static LEADERS: Mutex<Leaders> = Mutex::new(Leaders {
    pids: BTreeSet::new(),
});

impl Leaders {
    pub(crate) fn lock() -> MutexGuard<'static, Self> {
        // Inserting and removing a number cannot be left half done by a panic.
        LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&mut self, pid: i32) {
        self.pids.insert(pid);
    }

    pub(crate) fn remove(&mut self, pid: i32) {
        self.pids.remove(&pid);
    }
}

/// The tree of one child: the child, its group and session, what carries its marker or bears its mark, and the descendants of all
/// of them.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: ProcessId,
    /// What holds the child's namespaces: all in them descend from it, but it is not of the tree.
    keeper: Option<ProcessId>,
    marker: String,
    mark: Option<Mark>,
    /// Members seen before: still members when their parents are gone.
    known: HashSet<ProcessId>,
    /// Processes without marker and mark. One can lose them later, but none gains them.
    unmarked: HashSet<ProcessId>,
}

/// The living members of a tree.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) ids: Vec<ProcessId>,
    pub(crate) resident_pages: u64,
}

impl Tree {
    pub(crate) fn new(
        leader: ProcessId,
        keeper: Option<ProcessId>,
        (marker, mark): (String, Option<Mark>),
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

    /// Returns the living members; `grouped` are known to be some by the child's control group.
    pub(crate) fn members(&mut self, snapshot: &Snapshot, grouped: &[i32]) -> Members {
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
        living.fold(Members::default(), |mut acc, stat| {
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
        let bears = |mark| Mark::of(stat.id.pid) == Some(mark);
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

/// Sends a signal to each of the processes.
pub(crate) fn signal_all(ids: &[ProcessId], signal: Signal) {
    for id in ids {
        // One that is gone already is as good as signalled.
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
            let mut tree = Tree::new(nobody, None, (marker.to_owned(), None));
            let found = tree.members(&Snapshot::take().unwrap(), &[]).ids;
            found.iter().map(|id| id.pid).collect::<Vec<i32>>()
        };
        let found = [members(&marker), members("em-1-another")];
        stray.kill().unwrap();
        stray.wait().unwrap();
        assert_eq!(found, [vec![pid], Vec::new()]);
    }
}
