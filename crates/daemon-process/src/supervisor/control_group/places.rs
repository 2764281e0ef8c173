//! The places in which this process may create control groups.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The groups of this process.
#[derive(Debug, Default)]
pub(super) struct Places {
    unified: Option<PathBuf>,
    /// Whether groups in the unified hierarchy can count processes.
    counts_unified: bool,
    /// The group in the older hierarchy that counts processes.
    pids: Option<PathBuf>,
}

impl Places {
    pub(super) fn here() -> &'static Self {
        static PLACES: OnceLock<Places> = OnceLock::new();
        PLACES.get_or_init(|| {
            let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            let unified = own_group(&groups, &mounts, Hierarchy::Unified);
            let handed_down = unified
                .as_ref()
                .and_then(|place| fs::read_to_string(place.join("cgroup.subtree_control")).ok());
            Self {
                // A group with processes, such as that of this process, cannot enable a controller for its child groups: no
                // process could enter them then.
                counts_unified: handed_down
                    .is_some_and(|text| text.split_ascii_whitespace().any(|name| name == PIDS)),
                pids: own_group(&groups, &mounts, Hierarchy::Pids),
                unified,
            }
        })
    }

    pub(super) fn unified(&self) -> Option<&Path> {
        self.unified.as_deref()
    }

    pub(super) fn counts_unified(&self) -> bool {
        self.counts_unified
    }

    pub(super) fn pids(&self) -> Option<&Path> {
        self.pids.as_deref()
    }
}

/// The name of the controller that counts processes and threads.
const PIDS: &str = "pids";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hierarchy {
    Unified,
    Pids,
}

impl Hierarchy {
    /// Returns the group in a line of a process's list of groups, if it is of this hierarchy.
    fn group(self, line: &str) -> Option<&str> {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let is_own = match self {
            Self::Unified => line.starts_with("0::"),
            Self::Pids => controllers.split(',').any(|name| name == PIDS),
        };
        is_own.then_some(group)
    }

    /// Whether the second half of a mount's line is of this hierarchy.
    fn is_mounted(self, mount: &str) -> bool {
        match self {
            Self::Unified => mount.starts_with("cgroup2 "),
            Self::Pids => {
                let options = mount.split(' ').nth(2).unwrap_or_default();
                mount.starts_with("cgroup ") && options.split(',').any(|name| name == PIDS)
            }
        }
    }
}

/// Finds the directory of a process's group from its list of groups and its mounts.
fn own_group(groups: &str, mounts: &str, hierarchy: Hierarchy) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| hierarchy.group(line))?;
    let mount = mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut parts = mount.split(' ').skip(3);
        let (root, point) = (parts.next()?, parts.next()?);
        hierarchy.is_mounted(kind).then_some((root, point))
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
        let mixed = "8:cpu,pids:/b\n4:memory:/a\n0::/\n";
        let mounts = "20 1 0:18 / /proc rw - proc proc rw\n31 1 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      33 1 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,cpu,pids\n\
                      32 1 0:29 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let found = |groups, mounts, hierarchy| {
            own_group(groups, mounts, hierarchy).map(|path| path.display().to_string())
        };
        assert_eq!(
            found(mixed, mounts, Hierarchy::Unified),
            Some("/sys/fs/cgroup/unified/".to_owned())
        );
        assert_eq!(
            found(mixed, mounts, Hierarchy::Pids),
            Some("/sys/fs/cgroup/pids/b".to_owned())
        );
        let delegated = "0::/user.slice/host.service\n";
        let mounts = "32 1 0:29 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            found(delegated, mounts, Hierarchy::Unified),
            Some("/sys/fs/cgroup/host.service".to_owned())
        );
        assert_eq!(found(delegated, mounts, Hierarchy::Pids), None);
        assert_eq!(found("0::/elsewhere\n", mounts, Hierarchy::Unified), None);
        assert_eq!(found("4:memory:/a\n", mounts, Hierarchy::Unified), None);
    }
}
