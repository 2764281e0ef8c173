//! A control group for each child, where this process may make some.
//!
//! It tells what belongs to a child whatever that did to its session, parent and environment, and ends all of it at once.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use crate::ProcessId;
use crate::spawn::Entrance;

/// The first part of a group's name; the others are its owner's process namespace, number and start, and a count.
const NAME: &str = "daemon-run";

/// A control group with one child in it.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    path: PathBuf,
    directory: OwnedFd,
    processes: OwnedFd,
}

impl ControlGroup {
    /// Makes a group, where this process may.
    pub(crate) fn make() -> Option<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let owner = Owner::current().ok()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = owner.group(count);
        let path = place()?.join(name);
        fs::create_dir(&path).ok()?;
        let open =
            |path: &Path, flags| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
        let directory = open(&path, OFlags::PATH | OFlags::DIRECTORY);
        let processes = open(&path.join("cgroup.procs"), OFlags::WRONLY);
        let (Ok(directory), Ok(processes)) = (directory, processes) else {
            fs::remove_dir(&path).unwrap_or(());
            return None;
        };
        Some(Self {
            path,
            directory,
            processes,
        })
    }

    /// Returns what a child enters by.
    pub(crate) fn entrance(&self) -> Entrance<'_> {
        Entrance {
            group: self.directory.as_fd(),
            processes: self.processes.as_fd(),
        }
    }

    /// Returns the processes in it.
    pub(crate) fn members(&self) -> Vec<i32> {
        members(&self.path)
    }

    /// Kills everything in it.
    pub(crate) fn kill(&self) {
        kill(&self.path);
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.kill();
        // What is still dying keeps it; the next process that looks for a place takes it away.
        fs::remove_dir(&self.path).unwrap_or(());
    }
}

fn members(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn kill(group: &Path) {
    // Older kernels have no such file; the signals to the tree end it there.
    let opened = fs::File::options()
        .write(true)
        .open(group.join("cgroup.kill"));
    opened
        .and_then(|mut file| file.write_all(b"1"))
        .unwrap_or(());
}

/// Returns the group that this process is in, if it can make others below.
fn place() -> Option<&'static Path> {
    static PLACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let place = own_group(
            &fs::read_to_string("/proc/self/cgroup").ok()?,
            &fs::read_to_string("/proc/self/mountinfo").ok()?,
        )?;
        sweep(&place).ok()?;
        Some(place)
    };
    PLACE.get_or_init(find).as_deref()
}

/// Takes away what dead owners left, with everything that still runs in it.
///
/// Of owners in other process namespaces nothing is known here: their groups are theirs.
fn sweep(place: &Path) -> io::Result<()> {
    let me = Owner::current()?;
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name();
        let owner = name.to_str().and_then(Owner::parse);
        if owner.is_some_and(|owner| owner.namespace == me.namespace && !owner.id.is_alive()) {
            kill(&entry.path());
            fs::remove_dir(entry.path()).unwrap_or(());
        }
    }
    Ok(())
}

/// The process that made a group, as its name tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    /// The process namespace in which its number is its own.
    namespace: u64,
    id: ProcessId,
}

impl Owner {
    fn current() -> io::Result<Self> {
        Ok(Self {
            namespace: fs::metadata("/proc/self/ns/pid")?.ino(),
            id: ProcessId::current()?,
        })
    }

    fn group(&self, count: u64) -> String {
        let Self { namespace, id } = self;
        format!("{NAME}.{namespace}.{}.{}.{count}", id.pid, id.start)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(NAME)?.strip_prefix('.')?.split('.');
        Some(Self {
            namespace: parts.next()?.parse().ok()?,
            id: ProcessId {
                pid: parts.next()?.parse().ok()?,
                start: parts.next()?.parse().ok()?,
            },
        })
    }
}

/// Finds the directory of a process's group of the unified hierarchy, by its list of groups and its mounts.
fn own_group(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut parts = mount.split(' ').skip(3);
        let (root, point) = (parts.next()?, parts.next()?);
        kind.starts_with("cgroup2 ").then_some((root, point))
    });
    let (root, point) = mount?;
    let below = Path::new(group).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_in_a_mixed_and_in_a_delegated_hierarchy() {
        let mixed = "4:memory:/a\n0::/\n";
        let mounts = "20 1 0:18 / /proc rw - proc proc rw\n31 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n\
                      32 1 0:29 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let found =
            |groups, mounts| own_group(groups, mounts).map(|path| path.display().to_string());
        assert_eq!(
            found(mixed, mounts),
            Some("/sys/fs/cgroup/unified/".to_owned())
        );
        let delegated = "0::/user.slice/host.service\n";
        let mounts = "32 1 0:29 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            found(delegated, mounts),
            Some("/sys/fs/cgroup/host.service".to_owned())
        );
        assert_eq!(found("0::/elsewhere\n", mounts), None);
        assert_eq!(found("4:memory:/a\n", mounts), None);
    }

    #[test]
    fn only_the_groups_of_dead_owners_are_nobodys() {
        let me = Owner::current().unwrap();
        assert_eq!(Owner::parse(&me.group(7)), Some(me));
        assert_eq!(Owner::parse("daemon-runner.1.2.3.4"), None);
        assert_eq!(Owner::parse("system.slice"), None);
        let place = tempfile::tempdir().unwrap();
        let dead = ProcessId {
            start: me.id.start + 1,
            ..me.id
        };
        let elsewhere = me.namespace + 1;
        let groups = [
            me.group(1),
            Owner { id: dead, ..me }.group(2),
            Owner {
                id: dead,
                namespace: elsewhere,
            }
            .group(3),
            "other".to_owned(),
        ];
        for group in &groups {
            fs::create_dir(place.path().join(group)).unwrap();
        }
        // What ends the processes of a group is a file that the kernel makes, and here there are none.
        sweep(place.path()).unwrap();
        let left: Vec<bool> = groups
            .iter()
            .map(|group| place.path().join(group).exists())
            .collect();
        assert_eq!(left, [true, false, true, true]);
    }
}
