//! Differences between two states of a repository's daemons.

use std::collections::BTreeMap;

use crate::path::TreePath;
use crate::support::Rev;

/// Whether a daemon may be activated, as determined by validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileValidity {
    /// The daemon may be activated.
    Valid,
    /// The file has errors, or its `id` is used by another daemon.
    Invalid,
}

/// The state of one daemon directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryState {
    /// The content hash of the daemon.
    pub rev: Rev,
    /// The result of validation.
    pub validity: FileValidity,
}

/// The states of a repository's daemon directories, by directory.
pub type DirectoryStates = BTreeMap<TreePath, DirectoryState>;

/// The difference of one daemon directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifecycleChange {
    /// The directory below `.agents/daemons`.
    pub dir: TreePath,
    /// The kind of the difference.
    pub kind: LifecycleKind,
}

/// The kind of a difference between two states of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LifecycleKind {
    /// A valid daemon was added.
    Added,
    /// An invalid daemon was added.
    AddedInvalid,
    /// The file or the support tree changed; the validity did not.
    Modified,
    /// A valid daemon became invalid.
    TurnedInvalid,
    /// An invalid daemon became valid.
    ValidAgain,
    /// The daemon was removed.
    Removed,
}

/// Compares two states of a repository; the result is sorted by directory.
///
/// A daemon that moves to another directory is removed in one and added in the other: its identity is the directory, which agrees
/// with its `id`.
///
/// ```
/// use daemon_repo::{LifecycleKind, DirectoryState, DirectoryStates, FileValidity, lifecycle};
///
/// let rev = "0".repeat(64).parse()?;
/// let after = DirectoryStates::from([("pr-helper".parse()?, DirectoryState { rev, validity: FileValidity::Valid })]);
/// let changes = lifecycle(&DirectoryStates::new(), &after);
/// assert_eq!(changes[0].kind, LifecycleKind::Added);
/// # Ok::<(), daemon_repo::InvalidName>(())
/// ```
pub fn lifecycle(before: &DirectoryStates, after: &DirectoryStates) -> Vec<LifecycleChange> {
    let appeared = after.keys().filter(|dir| !before.contains_key(*dir));
    let mut dirs: Vec<&TreePath> = before.keys().chain(appeared).collect();
    dirs.sort();
    dirs.into_iter()
        .filter_map(|dir| {
            let kind = change(before.get(dir), after.get(dir))?;
            Some(LifecycleChange {
                dir: dir.clone(),
                kind,
            })
        })
        .collect()
}

fn change(
    before: Option<&DirectoryState>,
    after: Option<&DirectoryState>,
) -> Option<LifecycleKind> {
    use FileValidity::{Invalid, Valid};
    match (before, after) {
        (None, None) => None,
        (None, Some(after)) => Some(match after.validity {
            Valid => LifecycleKind::Added,
            Invalid => LifecycleKind::AddedInvalid,
        }),
        (Some(_), None) => Some(LifecycleKind::Removed),
        (Some(before), Some(after)) => match (before.validity, after.validity) {
            (Valid, Invalid) => Some(LifecycleKind::TurnedInvalid),
            (Invalid, Valid) => Some(LifecycleKind::ValidAgain),
            _ if before.rev != after.rev => Some(LifecycleKind::Modified),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FileValidity::{Invalid, Valid};

    fn registry(daemons: &[(&str, u8, FileValidity)]) -> DirectoryStates {
        daemons
            .iter()
            .map(|(dir, seed, validity)| {
                let rev = format!("{seed:02x}").repeat(32).parse().unwrap();
                (
                    dir.parse().unwrap(),
                    DirectoryState {
                        rev,
                        validity: *validity,
                    },
                )
            })
            .collect()
    }

    #[test]
    fn every_difference_has_a_kind_and_unchanged_daemons_have_none() {
        let before = registry(&[
            ("breaks", 1, Valid),
            ("broken", 1, Invalid),
            ("duplicated", 1, Valid),
            ("edited", 1, Valid),
            ("edited-broken", 1, Invalid),
            ("goes", 1, Valid),
            ("repaired", 1, Invalid),
            ("moves", 7, Valid),
            ("same", 1, Valid),
        ]);
        let after = registry(&[
            ("breaks", 2, Invalid),
            ("broken", 1, Invalid),
            ("came", 1, Valid),
            ("came-broken", 1, Invalid),
            ("duplicated", 1, Invalid),
            ("edited", 2, Valid),
            ("edited-broken", 2, Invalid),
            ("repaired", 2, Valid),
            ("moved", 7, Valid),
            ("same", 1, Valid),
        ]);
        let changes = lifecycle(&before, &after);
        let found: Vec<_> = changes
            .iter()
            .map(|change| (change.dir.as_str(), change.kind))
            .collect();
        assert_eq!(
            found,
            [
                ("breaks", LifecycleKind::TurnedInvalid),
                ("came", LifecycleKind::Added),
                ("came-broken", LifecycleKind::AddedInvalid),
                ("duplicated", LifecycleKind::TurnedInvalid),
                ("edited", LifecycleKind::Modified),
                ("edited-broken", LifecycleKind::Modified),
                ("goes", LifecycleKind::Removed),
                ("moved", LifecycleKind::Added),
                ("moves", LifecycleKind::Removed),
                ("repaired", LifecycleKind::ValidAgain),
            ]
        );
        assert_eq!(lifecycle(&after, &after), []);
    }
}
