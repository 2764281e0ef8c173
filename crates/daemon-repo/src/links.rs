//! Symbolic links of support trees: one that stays in the repository is what it leads to.

use std::collections::BTreeMap;

use daemon_validate::{is_ancestor, resolve_link};

use crate::discover::is_support;
use crate::tree::{EntryKind, RawEntry};

/// The most entries that links add to one tree.
const MAX_ADDED: usize = 20_000;

/// A tree in which links are followed. What cannot be read is not there.
pub(crate) trait Tree {
    /// Returns the target of the link at a path, if a link is there; no link on the way is followed.
    fn target(&mut self, path: &[u8]) -> Option<Vec<u8>>;

    /// Returns what is at a path without links on the way.
    fn node(&mut self, path: &[u8]) -> Option<Node>;

    /// Returns everything below a directory, at most so many entries; links are not followed.
    fn below(&mut self, directory: &[u8], most: usize) -> Vec<RawEntry>;
}

/// What a path leads to.
pub(crate) enum Node {
    /// A directory.
    Directory,
    /// Anything else, under its own path.
    Entry(RawEntry),
}

/// Entries in which links are replaced by what they lead to.
pub(crate) struct Followed {
    /// The entries.
    pub(crate) entries: Vec<RawEntry>,
    /// The paths of contents, by the paths of entries that links made.
    pub(crate) origins: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Reports whether a link of a support tree is among entries.
pub(crate) fn is_any(entries: &[RawEntry]) -> bool {
    entries.iter().any(is_followed)
}

fn is_followed(entry: &RawEntry) -> bool {
    entry.kind == EntryKind::Symlink && is_support(&entry.path)
}

/// Replaces each link of a support tree that leads to a file or a directory of the same tree. Others stay what they are: a link
/// that leaves the tree, leads nowhere, leads to a directory that holds it, or is reached by a link and leads to a directory.
pub(crate) fn follow(entries: Vec<RawEntry>, tree: &mut impl Tree) -> Followed {
    let mut acc = Followed {
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
            Some(Node::Entry(found)) if found.kind.is_file() => acc.add(entry.path, found),
            Some(Node::Directory) if !is_ancestor(&real, &entry.path) => {
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

impl Followed {
    fn add(&mut self, path: Vec<u8>, found: RawEntry) {
        self.origins.insert(path.clone(), found.path);
        self.entries.push(RawEntry { path, ..found });
    }

    fn add_nested(&mut self, path: Vec<u8>, found: RawEntry, tree: &mut impl Tree) {
        if found.kind != EntryKind::Symlink {
            return self.add(path, found);
        }
        let real = resolve(tree, &found.path);
        match real.and_then(|real| tree.node(&real)) {
            Some(Node::Entry(file)) if file.kind.is_file() => self.add(path, file),
            Some(_) | None => self.add(path, found),
        }
    }
}

/// Follows the links of a path; `None` where they leave the tree or never end.
fn resolve(tree: &mut impl Tree, path: &[u8]) -> Option<Vec<u8>> {
    resolve_link(path, |path| tree.target(path))
}

/// All of a tree as git lists it, with the targets of its links.
pub(crate) struct Listed {
    /// By path.
    pub(crate) entries: BTreeMap<Vec<u8>, RawEntry>,
    /// By the path of the link.
    pub(crate) targets: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Listed {
    fn inside<'a>(&'a self, directory: &[u8]) -> impl Iterator<Item = &'a RawEntry> {
        let start = [directory, b"/"].concat();
        let end = [directory, b"0"].concat();
        self.entries.range(start..end).map(|(_, entry)| entry)
    }
}

impl Tree for Listed {
    fn target(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        self.targets.get(path).cloned()
    }

    fn node(&mut self, path: &[u8]) -> Option<Node> {
        match self.entries.get(path) {
            Some(entry) => Some(Node::Entry(entry.clone())),
            None => self.inside(path).next().map(|_| Node::Directory),
        }
    }

    fn below(&mut self, directory: &[u8], most: usize) -> Vec<RawEntry> {
        self.inside(directory).take(most).cloned().collect()
    }
}
