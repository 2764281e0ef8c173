//! Everything below a daemon's directory, as data for the rules.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use daemon_validate::{MAX_SUPPORT_DEPTH, MAX_SUPPORT_FILES, SupportEntry, SupportKind};

use crate::disk;

/// Enough to see that there are too many, however many there are.
const MAX_ENTRIES: usize = 4 * MAX_SUPPORT_FILES;

/// Enough for the first line of a script.
const HEAD_BYTES: usize = 256;

/// Lists what is below `directory`, in the order of paths.
///
/// A link that stays in the repository at `root` is what it leads to, as the host takes it; others are named and not followed.
pub(crate) fn list(directory: &Path, root: Option<&Path>) -> Vec<SupportEntry> {
    let root = root.and_then(|root| fs::canonicalize(root).ok());
    let mut acc = Vec::new();
    let mut waiting = vec![(directory.to_owned(), Vec::new(), 0, Way::Direct)];
    while let Some((location, below, depth, way)) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&location) else {
            continue;
        };
        let mut entries: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        for location in entries {
            let name = location.file_name().unwrap_or_default();
            if acc.len() >= MAX_ENTRIES {
                return acc;
            }
            let path = joined(&below, name);
            let followed = root
                .as_deref()
                .and_then(|root| follow(&location, root, way));
            let Some(entry) = entry(&location, followed.as_deref(), path.clone()) else {
                continue;
            };
            let way = if followed.is_some() { Way::Linked } else { way };
            let is_directory = entry.kind == SupportKind::Directory;
            acc.push(entry);
            // One level more than allowed shows that the limit is exceeded.
            if is_directory && depth <= MAX_SUPPORT_DEPTH {
                waiting.push((location, path, depth + 1, way));
            }
        }
    }
    acc
}

/// How a directory was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Without a link.
    Direct,
    /// Through one, so that no other directory is reached through a link from there.
    Linked,
}

/// Returns what a link leads to, if that is a file or a directory of the repository and the directory does not hold the link.
fn follow(location: &Path, root: &Path, way: Way) -> Option<PathBuf> {
    let target = fs::read_link(location).ok()?;
    let real = fs::canonicalize(location).ok()?;
    let below = real.strip_prefix(root).ok()?;
    let is_git = |part: &OsStr| part.eq_ignore_ascii_case(".git");
    if target.is_absolute() || below.iter().any(is_git) {
        return None;
    }
    let holder = fs::canonicalize(location.parent()?).ok()?;
    let is_usable = if real.is_dir() {
        way == Way::Direct && !holder.starts_with(&real)
    } else {
        real.is_file()
    };
    is_usable.then_some(real)
}

fn entry(location: &Path, followed: Option<&Path>, path: Vec<u8>) -> Option<SupportEntry> {
    let location = followed.unwrap_or(location);
    let metadata = fs::symlink_metadata(location).ok()?;
    let kind = match metadata.file_type() {
        kind if kind.is_symlink() => SupportKind::Symlink,
        kind if kind.is_file() => SupportKind::File,
        kind if kind.is_dir() && location.join(".git").exists() => SupportKind::Submodule,
        kind if kind.is_dir() => SupportKind::Directory,
        _ => SupportKind::Special,
    };
    let is_file = kind == SupportKind::File;
    Some(SupportEntry {
        path,
        kind,
        size: if is_file { metadata.len() } else { 0 },
        permissions: disk::permissions(&metadata),
        // A script that cannot be read is none whose first line could be judged.
        head: if is_file {
            disk::read_head(location, HEAD_BYTES).unwrap_or_default()
        } else {
            Vec::new()
        },
    })
}

fn joined(below: &[u8], name: &OsStr) -> Vec<u8> {
    let mut acc = below.to_vec();
    if !acc.is_empty() {
        acc.push(b'/');
    }
    acc.extend_from_slice(name.as_encoded_bytes());
    acc
}
