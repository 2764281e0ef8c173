//! Applies fixes until none is left.

use std::io;

use daemon_spec::{Fix, apply_fixes};

use crate::disk;
use crate::lint::Linted;

/// More rounds than fixes ever uncover further fixes; beyond, two of them undo each other.
pub(crate) const MAX_ROUNDS: usize = 10;

/// The text of a file with its fixes, and how many they were; `None` when there is none to apply.
pub(crate) fn fixed(linted: &Linted) -> Option<(Vec<u8>, usize)> {
    let bytes = linted.source()?.as_bytes();
    let fixes: Vec<&Fix> = linted
        .diagnostics
        .iter()
        .filter_map(|found| found.fix.as_ref())
        .collect();
    let result = apply_fixes(bytes, fixes);
    (result.applied > 0 && result.bytes != bytes).then_some((result.bytes, result.applied))
}

/// Writes the fixes of one file; returns how many were applied.
///
/// # Errors
/// When the file cannot be replaced; it is then as it was.
pub(crate) fn write(linted: &Linted) -> io::Result<usize> {
    let (Some(location), Some(source)) = (&linted.location, linted.source()) else {
        return Ok(0);
    };
    match fixed(linted) {
        None => Ok(0),
        Some((bytes, applied)) => {
            disk::replace(location, source.as_bytes(), &bytes)?;
            Ok(applied)
        }
    }
}
