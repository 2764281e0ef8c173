//! The tools `write` and `edit`.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::Path;

use rustix::fs::OFlags;
use serde::Deserialize;

use super::file::read_at_most;
use super::path::{Missing, SafePath};
use daemon_provider::tool_loop::{ToolError, ToolOutput};

/// The most bytes of a file that is written.
const MOST_WRITTEN: usize = 1 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct Write {
    pub(super) path: String,
    content: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Edit {
    pub(super) path: String,
    old: String,
    new: String,
}

/// Writes a whole file.
pub(super) fn write(root: &Path, wanted: &Write) -> Result<ToolOutput, ToolError> {
    let path = SafePath::parse(&wanted.path)?;
    path.check_change()?;
    check_size(&path, wanted.content.len())?;
    let file = path.open_file(root, OFlags::WRONLY | OFlags::CREATE, Missing::Create)?;
    replace(&path, file, &wanted.content)?;
    Ok(format!("wrote {} bytes to `{path}`", wanted.content.len()))
}

/// Replaces the only occurrence of `old`; fails if it does not occur exactly once.
pub(super) fn edit(root: &Path, wanted: &Edit) -> Result<ToolOutput, ToolError> {
    let path = SafePath::parse(&wanted.path)?;
    path.check_change()?;
    let mut file = path.open_file(root, OFlags::RDWR, Missing::Fail)?;
    let failed =
        |error: std::io::Error| ToolError::new(format!("`{path}` cannot be read: {error}"));
    let bytes = read_at_most(&mut file, MOST_WRITTEN + 1).map_err(failed)?;
    check_size(&path, bytes.len())?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(ToolError::new(format!("`{path}` is not UTF-8 text")));
    };
    // Exactly once: replacing the first of several would often change a place that the model did not mean.
    let found = text.matches(&wanted.old).count();
    if found != 1 {
        return Err(ToolError::new(format!(
            "the text occurs {found} times in `{path}`; it must occur exactly once"
        )));
    }
    let text = text.replacen(&wanted.old, &wanted.new, 1);
    check_size(&path, text.len())?;
    replace(&path, file, &text)?;
    Ok(format!("changed `{path}`"))
}

fn check_size(path: &SafePath, length: usize) -> Result<(), ToolError> {
    if length > MOST_WRITTEN {
        let message = format!("`{path}` would be, or is, larger than 1 MiB");
        return Err(ToolError::new(message));
    }
    Ok(())
}

fn replace(path: &SafePath, mut file: File, text: &str) -> Result<(), ToolError> {
    // Written in place, not renamed over: the open descriptor was checked against symbolic links, the name may have changed.
    let written = (|| {
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())
    })();
    written.map_err(|error: std::io::Error| {
        ToolError::new(format!("`{path}` cannot be written: {error}"))
    })
}
