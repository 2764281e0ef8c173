//! What changed between two states of a repository's daemons.

use std::collections::BTreeMap;

use crate::path::TreePath;
use crate::support::Rev;

/// Whether a daemon may be woken, as whoever validates files has judged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Validity {
    /// It may.
    Valid,
    /// Its file has errors, or shares its `id` with another.
    Invalid,
}

/// One daemon directory as it was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The content hash.
    pub rev: Rev,
    /// The judgement.
    pub validity: Validity,
}

/// The registered daemons of one repository, by directory.
pub type Registry = BTreeMap<TreePath, Registration>;

/// What happened to one daemon directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifecycleChange {
    /// The directory below `.agents/daemons`.
    pub dir: TreePath,
    /// What happened.
    pub kind: LifecycleKind,
}

/// What happened to a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LifecycleKind {
    /// It appeared, and may wake.
    Added,
    /// It appeared, and may not.
    AddedInvalid,
    /// Its file or support tree changed, its validity did not.
    Modified,
    /// It may no longer wake.
    TurnedInvalid,
    /// It may wake again.
    ValidAgain,
    /// It went.
    Removed,
}

/// Compares two states of one repository, in the order of the directories.
///
/// A daemon that moves to another directory is removed in one place and added in the other: nothing but its directory and
/// `id`, which agree, makes it the same daemon.
///
/// ```
/// use daemon_repo::{LifecycleKind, Registration, Registry, Validity, lifecycle};
///
/// let rev = "0".repeat(64).parse()?;
/// let after = Registry::from([("pr-helper".parse()?, Registration { rev, validity: Validity::Valid })]);
/// let changes = lifecycle(&Registry::new(), &after);
/// assert_eq!(changes[0].kind, LifecycleKind::Added);
/// # Ok::<(), daemon_repo::InvalidName>(())
/// ```
pub fn lifecycle(before: &Registry, after: &Registry) -> Vec<LifecycleChange> {
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

fn change(before: Option<&Registration>, after: Option<&Registration>) -> Option<LifecycleKind> {
    use Validity::{Invalid, Valid};
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
    use Validity::{Invalid, Valid};

    fn registry(daemons: &[(&str, u8, Validity)]) -> Registry {
        daemons
            .iter()
            .map(|(dir, seed, validity)| {
                let rev = format!("{seed:02x}").repeat(32).parse().unwrap();
                (
                    dir.parse().unwrap(),
                    Registration {
                        rev,
                        validity: *validity,
                    },
                )
            })
            .collect()
    }

    #[test]
    fn every_change_has_a_name_and_the_unchanged_has_none() {
        let before = registry(&[
            ("breaks", 1, Valid),
            ("broken", 1, Invalid),
            ("duplicated", 1, Valid),
            ("edited", 1, Valid),
            ("edited-broken", 1, Invalid),
            ("goes", 1, Valid),
            ("mended", 1, Invalid),
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
            ("mended", 2, Valid),
            ("moved", 7, Valid),
            ("same", 1, Valid),
        ]);
        let changes = lifecycle(&before, &after);
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.dir.as_str(), change.kind))
            .collect();
        assert_eq!(
            told,
            [
                ("breaks", LifecycleKind::TurnedInvalid),
                ("came", LifecycleKind::Added),
                ("came-broken", LifecycleKind::AddedInvalid),
                ("duplicated", LifecycleKind::TurnedInvalid),
                ("edited", LifecycleKind::Modified),
                ("edited-broken", LifecycleKind::Modified),
                ("goes", LifecycleKind::Removed),
                ("mended", LifecycleKind::ValidAgain),
                ("moved", LifecycleKind::Added),
                ("moves", LifecycleKind::Removed),
            ]
        );
        assert_eq!(lifecycle(&after, &after), []);
    }
}
