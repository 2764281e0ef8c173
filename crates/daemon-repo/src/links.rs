//! Follows symbolic links of support trees within the repository.

use std::collections::BTreeMap;

use daemon_validate::{is_ancestor, resolve_link};

use crate::discover::is_support;
use crate::tree::{EntryKind, RawEntry};

/// The maximum number of entries that links add to a tree.
const MAX_ADDED: usize = 20_000;

/// A tree in which links are followed. An entry that cannot be read counts as missing.
pub(crate) trait LinkTree {
    /// Returns the target of the link at a path; links in the directories of the path are not followed.
    fn target(&mut self, path: &[u8]) -> Option<Vec<u8>>;

    /// Returns the entry at a path whose directories are not links.
    fn node(&mut self, path: &[u8]) -> Option<LinkTarget>;

    /// Returns the entries below a directory, at most `most`; links are not followed.
    fn below(&mut self, directory: &[u8], most: usize) -> Vec<RawEntry>;
}

/// The entry that a path leads to.
pub(crate) enum LinkTarget {
    /// A directory.
    Directory,
    /// A file or link, with its own path.
    Entry(RawEntry),
}

/// A list of entries after links were followed.
pub(crate) struct FollowedEntries {
    /// The entries, with those that links lead to in place of the links.
    pub(crate) entries: Vec<RawEntry>,
    /// The paths at which contents are read, by the paths of the entries that replace links.
    pub(crate) origins: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Whether the entries include a link of a support tree.
pub(crate) fn is_any(entries: &[RawEntry]) -> bool {
    entries.iter().any(is_followed)
}

fn is_followed(entry: &RawEntry) -> bool {
    entry.kind == EntryKind::Symlink && is_support(&entry.path)
}

/// Replaces each link of a support tree that leads to a file or a directory of the same tree. Other links stay: those that leave
/// the tree, that are broken, that lead to a directory containing them, and links to directories that are reached by a link.
pub(crate) fn follow(entries: Vec<RawEntry>, tree: &mut impl LinkTree) -> FollowedEntries {
    let mut acc = FollowedEntries {
        entries: Vec::with_capacity(entries.len()),
        origins: BTreeMap::new(),
    };
    for entry in entries {
        if !is_followed(&entry) {
            acc.entries.push(entry);
            continue;
        }
        let left = MAX_ADDED.saturating_sub(acc.origins.len());
        let Some(real) = resolve(tree, &entry.path).filter(|_| left > 0) else {
            acc.entries.push(entry);
            continue;
        };
        match tree.node(&real) {
            Some(LinkTarget::Entry(found)) if found.kind.is_file() => acc.add(entry.path, found),
            // A link to a directory above it would repeat itself without end.
            Some(LinkTarget::Directory) if !is_ancestor(&real, &entry.path) => {
                for found in tree.below(&real, left) {
                    let path = [&entry.path, &found.path[real.len()..]].concat();
                    acc.add_nested(path, found, tree);
                }
            }
            Some(_) | None => acc.entries.push(entry),
        }
    }
    acc
}

impl FollowedEntries {
    fn add(&mut self, path: Vec<u8>, found: RawEntry) {
        self.origins.insert(path.clone(), found.path);
        self.entries.push(RawEntry { path, ..found });
    }

    fn add_nested(&mut self, path: Vec<u8>, found: RawEntry, tree: &mut impl LinkTree) {
        if found.kind != EntryKind::Symlink {
            return self.add(path, found);
        }
        let real = resolve(tree, &found.path);
        match real.and_then(|real| tree.node(&real)) {
            Some(LinkTarget::Entry(file)) if file.kind.is_file() => self.add(path, file),
            Some(_) | None => self.add(path, found),
        }
    }
}

/// Follows the links of a path; returns `None` if they leave the tree or form a loop.
fn resolve(tree: &mut impl LinkTree, path: &[u8]) -> Option<Vec<u8>> {
    resolve_link(path, |path| tree.target(path))
}

/// A whole tree as listed by git, with the targets of its links.
pub(crate) struct ListedTree {
    /// The entries by path.
    pub(crate) entries: BTreeMap<Vec<u8>, RawEntry>,
    /// The targets by the path of the link.
    pub(crate) targets: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl ListedTree {
    fn inside<'a>(&'a self, directory: &[u8]) -> impl Iterator<Item = &'a RawEntry> {
        let start = [directory, b"/"].concat();
        // `0` is the byte after `/`, so the range contains exactly the paths below the directory.
        let end = [directory, b"0"].concat();
        self.entries.range(start..end).map(|(_, entry)| entry)
    }
}

impl LinkTree for ListedTree {
    fn target(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        self.targets.get(path).cloned()
    }

    fn node(&mut self, path: &[u8]) -> Option<LinkTarget> {
        match self.entries.get(path) {
            Some(entry) => Some(LinkTarget::Entry(entry.clone())),
            None => self.inside(path).next().map(|_| LinkTarget::Directory),
        }
    }

    fn below(&mut self, directory: &[u8], most: usize) -> Vec<RawEntry> {
        self.inside(directory).take(most).cloned().collect()
    }
}
