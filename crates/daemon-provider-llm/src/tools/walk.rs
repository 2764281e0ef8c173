//! Walks a directory by descriptors, so that it never follows a symbolic link.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, FileType};

use super::path::below;

/// One entry of a walk.
pub(super) struct Entry<'w> {
    /// The path relative to the start of the walk.
    pub(super) path: &'w str,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Directory,
    File,
    Link,
}

/// The most levels of a recursive walk, since each holds a descriptor open.
pub(super) const WHOLE_TREE: usize = 64;

/// Walks a directory in the order of names. Skips `.git`, and everything but files, directories and symbolic links.
pub(super) fn walk(
    directory: &OwnedFd,
    prefix: &str,
    depth: usize,
    visit: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (name, kind) in entries(directory) {
        let path = format!("{prefix}{name}");
        visit(&Entry { path: &path, kind })?;
        if kind == Kind::Directory
            && depth > 1
            && let Ok(inner) = below(directory, &name)
        {
            walk(&inner, &format!("{path}/"), depth - 1, visit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns the entries of a directory, or no entry if it cannot be read.
fn entries(directory: &OwnedFd) -> Vec<(String, Kind)> {
    let Ok(found) = Dir::read_from(directory) else {
        return Vec::new();
    };
    let known = found.filter_map(Result::ok).filter_map(|entry| {
        let kind = match entry.file_type() {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            _ => return None,
        };
        Some((entry.file_name().to_str().ok()?.to_owned(), kind))
    });
    let is_open = |name: &str| !matches!(name, "." | "..") && !name.eq_ignore_ascii_case(".git");
    let mut acc: Vec<(String, Kind)> = known.filter(|(name, _)| is_open(name)).collect();
    acc.sort();
    acc
}
