//! Control groups for children, where this process may create them.
//!
//! A group contains every process of a child, even with a new session, parent and environment. It kills all of them at once, and
//! limits their number if the controller for that is available.

mod count;
mod places;

use std::fs;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;

use crate::ProcessId;
use crate::mark::{ProcessMark, ProcessOwner};
use crate::process_table::Stat;
use crate::spawn::Entrance;
use count::ProcessCount;
use places::Places;

/// The first part of a group's name; the other parts are its owner's process namespace, id and start time, and a count.
const NAME: &str = "daemon-run";

/// The control groups of a child.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    /// The group in the unified hierarchy.
    whole: Option<Entered>,
    count: Option<ProcessCount>,
}

/// A group that a child enters when it is created.
#[derive(Debug)]
struct Entered {
    group: Group,
    directory: OwnedFd,
    processes: OwnedFd,
}

/// A group's directory.
#[derive(Debug)]
struct Group {
    path: PathBuf,
}

/// The mechanism that limits the number of processes in a child's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessLimit {
    /// The kernel counts them in a control group.
    Enforced,
    /// The supervising thread counts them frequently.
    Watched,
}

/// Determines by a trial how the number of processes is limited on this machine.
pub fn process_limit() -> ProcessLimit {
    static FOUND: OnceLock<ProcessLimit> = OnceLock::new();
    let find = || {
        let groups = ProcessMark::next()
            .ok()
            .and_then(|mark| ControlGroup::make(mark, usize::MAX));
        match groups {
            Some(ControlGroup { count: Some(_), .. }) => ProcessLimit::Enforced,
            Some(_) | None => ProcessLimit::Watched,
        }
    };
    *FOUND.get_or_init(find)
}

impl ControlGroup {
    /// Creates groups for a child with this limit of processes, if this process may.
    pub(crate) fn make(mark: ProcessMark, processes: usize) -> Option<Self> {
        let places = Places::here();
        let name = name(mark);
        let whole = places
            .unified()
            .and_then(|place| Entered::make(place, &name));
        let count = if places.counts_unified() {
            let group = whole.as_ref().map(|whole| whole.group.path.clone());
            group.and_then(|group| ProcessCount::begin(group, processes))
        } else {
            let group = places.pids().and_then(|place| Group::make(place, &name));
            group.and_then(|group| ProcessCount::enter(group, processes))
        };
        (whole.is_some() || count.is_some()).then_some(Self { whole, count })
    }

    /// Returns the group in which the child is created.
    pub(crate) fn entrance(&self) -> Option<Entrance<'_>> {
        self.whole.as_ref().map(|whole| Entrance {
            group: whole.directory.as_fd(),
            processes: whole.processes.as_fd(),
        })
    }

    /// Returns the file to which the child writes 0 in order to be counted.
    pub(crate) fn counter(&self) -> Option<BorrowedFd<'_>> {
        self.count.as_ref()?.threads()
    }

    /// Returns the processes in the groups.
    pub(crate) fn members(&self) -> Vec<i32> {
        self.groups().flat_map(members).collect()
    }

    /// Kills all processes in the groups.
    pub(crate) fn kill(&self) {
        self.groups().for_each(kill);
    }

    /// Whether the child was refused another process since the last call because it had reached its limit.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        self.count.as_mut().is_some_and(ProcessCount::is_exhausted)
    }

    fn groups(&self) -> impl Iterator<Item = &Path> {
        let whole = self.whole.as_ref().map(|whole| whole.group.path.as_path());
        whole
            .into_iter()
            .chain(self.count.as_ref().and_then(ProcessCount::own_group))
    }
}

impl Entered {
    fn make(place: &Path, name: &str) -> Option<Self> {
        let group = Group::make(place, name)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&group.path, flags, Mode::empty()).ok()?;
        let processes = writable(&group.path.join("cgroup.procs"))?;
        Some(Self {
            group,
            directory,
            processes,
        })
    }
}

impl Group {
    fn make(place: &Path, name: &str) -> Option<Self> {
        let path = place.join(name);
        fs::create_dir(&path).ok()?;
        Some(Self { path })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(&self.path);
        // A process that is still dying keeps the group; the next sweep for strays removes it.
        fs::remove_dir(&self.path).unwrap_or(());
    }
}

fn writable(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

fn members(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn kill(group: &Path) {
    let opened = fs::File::options()
        .write(true)
        .open(group.join("cgroup.kill"));
    if opened.and_then(|mut file| file.write_all(b"1")).is_ok() {
        return;
    }
    // Older kernels and older hierarchies have no such file. Processes started meanwhile are found by the next read of the table.
    for id in ids(group) {
        id.signal(Signal::KILL);
    }
}

fn ids(group: &Path) -> impl Iterator<Item = ProcessId> {
    members(group).into_iter().filter_map(|pid| {
        let stat = Stat::read(pid).ok()?;
        (!stat.is_zombie).then_some(stat.id)
    })
}

/// Kills the processes in groups of dead owners, removes the groups that are empty, and returns the processes.
pub(crate) fn end_groups_of_the_dead(me: &ProcessOwner) -> Vec<ProcessId> {
    let places = Places::here();
    let mut found = Vec::new();
    for place in [places.unified(), places.pids()].into_iter().flatten() {
        for group in groups_of_the_dead(place, me) {
            found.extend(ids(&group));
            kill(&group);
            fs::remove_dir(&group).unwrap_or(());
        }
    }
    found
}

fn groups_of_the_dead(place: &Path, me: &ProcessOwner) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let is_dead = |name: &str| owner(name).is_some_and(|owner| owner.is_dead_for(me));
    let dead = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_dead));
    dead.map(|entry| entry.path()).collect()
}

fn name(mark: ProcessMark) -> String {
    let ProcessOwner { namespace, id } = mark.owner;
    format!("{NAME}.{namespace}.{}.{}.{}", id.pid, id.start, mark.count)
}

/// Parses the creator from a group's name.
fn owner(name: &str) -> Option<ProcessOwner> {
    let mut parts = name.strip_prefix(NAME)?.strip_prefix('.')?.split('.');
    Some(ProcessOwner {
        namespace: parts.next()?.parse().ok()?,
        id: ProcessId {
            pid: parts.next()?.parse().ok()?,
            start: parts.next()?.parse().ok()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_groups_of_dead_owners_are_removed() {
        let me = ProcessOwner::current().unwrap();
        let group = |owner, count| name(ProcessMark { owner, count });
        assert_eq!(owner(&group(me, 7)), Some(me));
        assert_eq!(owner("daemon-runner.1.2.3.4"), None);
        assert_eq!(owner("system.slice"), None);
        let place = tempfile::tempdir().unwrap();
        let id = ProcessId {
            start: me.id.start + 1,
            ..me.id
        };
        let dead = ProcessOwner { id, ..me };
        let namespace = me.namespace + 1;
        let groups = [
            group(me, 1),
            group(dead, 2),
            group(ProcessOwner { namespace, ..dead }, 3),
            "other".to_owned(),
        ];
        for group in &groups {
            fs::create_dir(place.path().join(group)).unwrap();
        }
        let expected = place.path().join(&groups[1]);
        assert_eq!(groups_of_the_dead(place.path(), &me), [expected]);
    }
}
