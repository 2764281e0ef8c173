//! Helpers that parse daemon files.

use daemon_spec::{DaemonFile, Parse, parse};

/// Parses a whole file.
pub(crate) fn parsed(text: &str) -> Parse {
    parse(text.as_bytes().to_vec())
}

/// Parses a file with this front matter and a short body.
pub(crate) fn file(yaml: &str) -> DaemonFile {
    parsed(&format!("---\n{yaml}\n---\nbody\n")).file
}
