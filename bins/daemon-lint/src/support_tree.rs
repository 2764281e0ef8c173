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

/// Lists what is below `directory`, in the order of paths; links are named and not followed.
pub(crate) fn list(directory: &Path) -> Vec<SupportEntry> {
    let mut acc = Vec::new();
    let mut waiting = vec![(directory.to_owned(), Vec::new(), 0)];
    while let Some((location, below, depth)) = waiting.pop() {
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
            let Some(entry) = entry(&location, path.clone()) else {
                continue;
            };
            let is_directory = entry.kind == SupportKind::Directory;
            acc.push(entry);
            // One level more than allowed shows that the limit is exceeded.
            if is_directory && depth <= MAX_SUPPORT_DEPTH {
                waiting.push((location, path, depth + 1));
            }
        }
    }
    acc
}

fn entry(location: &Path, path: Vec<u8>) -> Option<SupportEntry> {
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
