//! Reads refs from git's files, where their format is simple.
//!
//! Starting git takes about as long as listing a tree, and a host reads the refs of every repository repeatedly.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::object::{ObjectId, RefName};
use crate::refs::RefSnapshot;

/// The maximum size of a loose ref, in bytes; git writes an object name and a line feed.
const MAX_LOOSE_REF: u64 = 4 << 10;
/// The maximum size of the packed refs file that is read here, in bytes.
const MAX_PACKED_REFS: u64 = 64 << 20;
const MAX_DEPTH: usize = 64;

/// Reads the refs. Returns `None` where only git can: other storage formats, symbolic refs, broken files, unusual names.
///
/// Loose files are read before the packed file. Git packs a ref before it deletes the loose file, and does the reverse to unpack
/// it, so each ref is read with a value that it had at some time during the reading.
pub(crate) fn read_ref_files(common_dir: &Path) -> Option<RefSnapshot> {
    if common_dir.join("reftable").exists() {
        return None;
    }
    let mut loose = Vec::new();
    for space in ["refs/heads", "refs/tags"] {
        read_loose(&common_dir.join(space), space, MAX_DEPTH, &mut loose)?;
    }
    let mut refs = RefSnapshot::default();
    let packed = read_capped(&common_dir.join("packed-refs"), MAX_PACKED_REFS)
        .ok()?
        .unwrap_or_default();
    for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
        let (object, name) = line.split_once(' ')?;
        if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
            refs.insert(name.parse().ok()?, object.parse().ok()?);
        }
    }
    // A loose file overrides the packed entry of the same ref.
    for (name, object) in loose {
        refs.insert(name, object);
    }
    let origin_head =
        read_capped(&common_dir.join("refs/remotes/origin/HEAD"), MAX_LOOSE_REF).ok()?;
    if let Some(text) = origin_head {
        let target = text.strip_prefix("ref: refs/remotes/origin/")?;
        refs.set_origin_head(RefName::branch(target.trim_end()).ok()?);
    }
    Some(refs)
}

fn read_loose(
    dir: &Path,
    space: &str,
    depth: usize,
    acc: &mut Vec<(RefName, ObjectId)>,
) -> Option<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(()),
        other => other.ok()?,
    };
    for entry in entries {
        let entry = entry.ok()?;
        let file_name = entry.file_name();
        let name = std::str::from_utf8(file_name.as_bytes()).ok()?;
        // The lock file of a writer.
        if name.ends_with(".lock") {
            continue;
        }
        let (path, full) = (entry.path(), format!("{space}/{name}"));
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            read_loose(&path, &full, depth.checked_sub(1)?, acc)?;
        } else if kind.is_file()
            && let Some(text) = read_capped(&path, MAX_LOOSE_REF).ok()?
        {
            acc.push((full.parse().ok()?, text.strip_suffix('\n')?.parse().ok()?));
        } else if !kind.is_file() {
            return None;
        }
    }
    Some(())
}

/// Reads a whole file of at most `cap` bytes of UTF-8; returns `None` if it does not exist. Anything but a file is an error: the
/// open of a pipe would wait for its writer.
pub(crate) fn read_capped(path: &Path, cap: u64) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(found) if !found.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
        found => found.map(drop)?,
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut text = String::new();
    file.take(cap + 1).read_to_string(&mut text)?;
    if text.len() as u64 > cap {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(text))
}
