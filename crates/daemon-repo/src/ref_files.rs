//! Refs read from the files git keeps them in, where those are of the plain kind.
//!
//! Starting git costs about as much as listing a tree, and a host looks at the refs of every repository again and again.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::object::{ObjectId, RefName};
use crate::refs::RefSnapshot;

/// The most bytes of a loose ref; git writes a name and a line feed.
const MAX_LOOSE_REF: u64 = 4 << 10;
/// The largest packed file that is read here.
const MAX_PACKED_REFS: u64 = 64 << 20;
const MAX_DEPTH: usize = 64;

/// Reads the refs, or returns `None` for whatever only git can tell: another storage, links, broken files, odd names.
///
/// Loose files are read before the packed one. Git packs a ref before it deletes the loose file and unpacks it the other way
/// round, so each ref is seen as it was at some moment of the reading.
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
        // A writer's lock, there while it writes.
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

/// Reads a whole file of at most `cap` bytes of UTF-8; one that is not there is `None`.
fn read_capped(path: &Path, cap: u64) -> io::Result<Option<String>> {
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
