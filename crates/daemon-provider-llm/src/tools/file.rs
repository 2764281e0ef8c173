//! The group `file`: read, list, search, write, edit.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use daemon_provider::{Permissions, RunRequest};
use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::{Value, json};

use super::edits::{self, Edit, Write};
use super::path::{Missing, SafePath};
use super::search::{self, Search};
use super::walk::{Kind, WHOLE_TREE, walk};
use super::{read, spec};
use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec};

/// The most bytes of a file that one call reads.
const MOST_READ: usize = 256 << 10;
/// The most entries that one call lists.
const MOST_LISTED: usize = 1000;

/// Tools for the files of a run's worktree, and for reading those of its context.
#[derive(Debug, Clone)]
pub(crate) struct FileTools {
    worktree: PathBuf,
    context: Option<PathBuf>,
    changes: Changes,
    /// The files of the worktree that the run has read or written: it edits no other.
    known: Arc<Mutex<BTreeSet<String>>>,
}

/// Whether files may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changes {
    Refused,
    Allowed,
}

/// The directory that a path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Root {
    /// The worktree.
    #[default]
    Worktree,
    /// The context directory: the daemon file, the trigger and the support tree.
    Context,
}

#[derive(Debug, Deserialize)]
struct ReadFile {
    path: String,
    #[serde(default, rename = "in")]
    root: Root,
    #[serde(default)]
    offset: u64,
}

#[derive(Debug, Deserialize)]
struct List {
    #[serde(default)]
    path: String,
    #[serde(default, rename = "in")]
    root: Root,
    #[serde(default)]
    recursive: bool,
}

impl FileTools {
    pub(crate) fn new(request: &RunRequest) -> Self {
        Self {
            worktree: request.worktree.clone(),
            context: request.context.clone(),
            changes: if request.permissions >= Permissions::Propose {
                Changes::Allowed
            } else {
                Changes::Refused
            },
            known: Arc::default(),
        }
    }

    fn root(&self, root: Root) -> Result<&Path, ToolError> {
        match (root, &self.context) {
            (Root::Worktree, _) => Ok(&self.worktree),
            (Root::Context, Some(context)) => Ok(context),
            (Root::Context, None) => Err(ToolError::new("this run has no context directory")),
        }
    }

    fn run(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        match name {
            "read" => self.read(&read(arguments)?),
            "list" => self.list(&read(arguments)?),
            "search" => {
                let wanted: Search = read(arguments)?;
                search::run(self.root(wanted.root)?, &wanted)
            }
            "write" => {
                let wanted: Write = read(arguments)?;
                let written = edits::write(&self.worktree, &wanted)?;
                self.note_known(&SafePath::parse(&wanted.path)?);
                Ok(written)
            }
            _ => {
                let wanted: Edit = read(arguments)?;
                let path = SafePath::parse(&wanted.path)?;
                path.check_change()?;
                if !self.known_files().contains(&path.to_string()) {
                    let message = format!("`{path}` was not read in this run: read it first");
                    return Err(ToolError::new(message));
                }
                edits::edit(&self.worktree, &wanted)
            }
        }
    }

    fn known_files(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.known.lock().expect("no holder panics")
    }

    fn note_known(&self, path: &SafePath) {
        self.known_files().insert(path.to_string());
    }

    fn read(&self, wanted: &ReadFile) -> Result<ToolOutput, ToolError> {
        let path = SafePath::parse(&wanted.path)?;
        let mut file = path.open_file(self.root(wanted.root)?, OFlags::RDONLY, Missing::Fail)?;
        let failed =
            |error: std::io::Error| ToolError::new(format!("`{path}` cannot be read: {error}"));
        let length = file.metadata().map_err(failed)?.len();
        file.seek(SeekFrom::Start(wanted.offset)).map_err(failed)?;
        let mut bytes = read_at_most(&mut file, MOST_READ).map_err(failed)?;
        let is_cut = wanted.offset.saturating_add(bytes.len() as u64) < length;
        if is_cut {
            // The limit may split a character. It is left out here and returned by the next call, because the rest of the code
            // would report a file that is not UTF-8.
            let whole = bytes.utf8_chunks().map(|chunk| chunk.valid().len()).next();
            if let Some(whole) = whole.filter(|whole| bytes.len() - whole < 4) {
                bytes.truncate(whole);
            }
        }
        let next = wanted.offset + bytes.len() as u64;
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(ToolError::new(format!("`{path}` is not UTF-8 text")));
        };
        if wanted.root == Root::Worktree {
            self.note_known(&path);
        }
        Ok(if is_cut {
            format!("{text}\n...[truncated: {length} bytes in all; go on with offset {next}]")
        } else {
            text
        })
    }

    fn list(&self, wanted: &List) -> Result<ToolOutput, ToolError> {
        let path = SafePath::parse(&wanted.path)?;
        let directory = path.open_directory(self.root(wanted.root)?)?;
        let mut lines = Vec::new();
        let depth = if wanted.recursive { WHOLE_TREE } else { 1 };
        let walked = walk(&directory, "", depth, &mut |entry| {
            if lines.len() == MOST_LISTED {
                return ControlFlow::Break(());
            }
            lines.push(match entry.kind {
                Kind::Directory => format!("{}/", entry.path),
                Kind::Link => format!("{}@", entry.path),
                Kind::File => entry.path.to_owned(),
            });
            ControlFlow::Continue(())
        });
        if walked.is_break() {
            lines.push(format!(
                "...[truncated: more than {MOST_LISTED} entries; list a directory below]"
            ));
        }
        Ok(if lines.is_empty() {
            "(empty)".to_owned()
        } else {
            lines.join("\n")
        })
    }
}

/// Reads at most `most` bytes.
pub(super) fn read_at_most(file: &mut File, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[async_trait]
impl ToolSource for FileTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let root = if self.context.is_some() {
            json!({"type": "string", "enum": ["worktree", "context"],
                "description": "context holds DAEMON.md, the trigger and the support tree"})
        } else {
            json!({"type": "string", "enum": ["worktree"]})
        };
        let path = json!({"type": "string", "description": "relative, without `..`"});
        let mut acc = vec![
            spec(
                "read",
                "Reads a text file, up to 256 KiB from a byte offset.",
                &["path"],
                json!({"path": path, "in": root, "offset": {"type": "integer", "minimum": 0}}),
            ),
            spec(
                "list",
                "Lists a directory, up to 1000 entries; directories end in `/`, symbolic links in `@`.",
                &[],
                json!({"path": path, "in": root, "recursive": {"type": "boolean"}}),
            ),
            spec(
                "search",
                "Finds the lines of files that match a regular expression, up to 200.",
                &["pattern"],
                json!({"pattern": {"type": "string"}, "path": path, "in": root,
                    "glob": {"type": "string", "description": "only files whose path fits, such as `**/*.md`"}}),
            ),
        ];
        if self.changes == Changes::Allowed {
            acc.push(spec(
                "write",
                "Writes a file of the worktree, whole, up to 1 MiB; directories on the way are made.",
                &["path", "content"],
                json!({"path": path, "content": {"type": "string"}}),
            ));
            acc.push(spec(
                "edit",
                "Replaces a text in a file of the worktree that was read before; it must occur exactly once.",
                &["path", "old", "new"],
                json!({"path": path, "old": {"type": "string", "minLength": 1}, "new": {"type": "string"}}),
            ));
        }
        acc
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let (tools, name) = (self.clone(), name.to_owned());
        // File operations block, and a search may read up to 256 MiB.
        let done = tokio::task::spawn_blocking(move || tools.run(&name, arguments)).await;
        done.unwrap_or_else(|error| Err(ToolError::new(format!("the tool broke: {error}"))))
    }
}
