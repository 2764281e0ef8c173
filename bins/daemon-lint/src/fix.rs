//! Applying fixes until no fix remains.

use std::io;

use daemon_spec::{Fix, apply_fixes};

use crate::disk;
use crate::lint::Linted;

// A fix can reveal another: after quoting a value has a type, and after that a rule can apply. This
// takes a few rounds; more than ten would mean that two fixes undo each other.
pub(crate) const MAX_ROUNDS: usize = 10;

/// Returns the file with its fixes and the number of fixes, or `None` without any.
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

/// Writes the fixes of a file and returns their number.
///
/// # Errors
///
/// Returns an error if the file cannot be replaced. It is then unchanged.
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
