//! The path of a run folder and of the files in it.

use std::fs;
use std::path::{Path, PathBuf};

use daemon_lifecycle::{Handle, RunId};
use jiff::Timestamp;

use crate::disk::{Action, FolderError, create_directory, failed};

/// The folder of one run. The value names it; the folder need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    id: RunId,
    path: PathBuf,
}

/// A new folder for a run that has not started.
///
/// Dropping it removes the folder; [`Writer::start`](crate::Writer::start) keeps it.
#[derive(Debug)]
pub struct Reserved {
    folder: Folder,
    is_kept: bool,
}

impl Folder {
    /// Names the folder of a run in the directory `daemons`.
    pub fn new(daemons: &Path, id: RunId) -> Self {
        Self {
            path: daemons.join(id.to_string()),
            id,
        }
    }

    /// Creates a folder with a new id, for a run that starts at `now`.
    ///
    /// # Errors
    /// The directory could not be created, or the system returned no random bytes.
    pub fn reserve(
        daemons: &Path,
        handle: Handle,
        now: Timestamp,
    ) -> Result<Reserved, FolderError> {
        let mut tries = 0;
        loop {
            let mut random = [0; 3];
            getrandom::fill(&mut random)
                .map_err(|error| failed(Action::Create, daemons)(std::io::Error::other(error)))?;
            let folder = Self::new(daemons, RunId::new(handle, now, random));
            match create_directory(&folder.path) {
                Ok(()) => {
                    return Ok(Reserved {
                        folder,
                        is_kept: false,
                    });
                }
                // Another run with this handle drew the same bytes within the same second.
                Err(error)
                    if error.source.kind() == std::io::ErrorKind::AlreadyExists && tries < 8 =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the run's id.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of an activation's context.
    pub fn context(&self) -> PathBuf {
        self.path.join("context")
    }

    /// Returns the file a child appends proposed outputs to.
    pub fn outputs(&self) -> PathBuf {
        self.path.join("outputs.jsonl")
    }

    /// Returns the directory that is the child's `HOME`.
    pub fn session(&self) -> PathBuf {
        self.path.join("session")
    }

    /// Returns the child's temporary directory; nothing in it is kept.
    pub fn temporary(&self) -> PathBuf {
        // Not the home itself: `codex` refuses to put its sandbox helper into a home that is the temporary directory.
        self.session().join("tmp")
    }

    /// Returns the directory for files with secrets; it is removed when the run ends.
    pub fn private(&self) -> PathBuf {
        self.path.join("private")
    }

    /// Returns the file of the full final text.
    pub fn result(&self) -> PathBuf {
        self.path.join("result.txt")
    }

    /// Returns the file of the reply to the message with this number.
    pub fn reply(&self, n: u32) -> PathBuf {
        self.path.join(format!("followup-{n}.txt"))
    }

    /// Returns the file about the run's own work tree and the changes kept from it.
    pub fn place(&self) -> PathBuf {
        self.path.join("place.json")
    }

    /// Returns the patch of the run in its own work tree; `reply` is the number of a message, or `None` for the first turn.
    pub fn patch(&self, reply: Option<u32>) -> PathBuf {
        match reply {
            None => self.path.join("changes.diff"),
            Some(n) => self.path.join(format!("followup-{n}.diff")),
        }
    }

    /// Returns the event log.
    pub fn events(&self) -> PathBuf {
        self.path.join("logs/events.jsonl")
    }

    /// Returns the path of `daemon.json`.
    pub fn document(&self) -> PathBuf {
        self.path.join("daemon.json")
    }

    pub(crate) fn heartbeat(&self) -> PathBuf {
        self.path.join(".heartbeat")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.path.join(".lock")
    }

    /// Returns the file of the redacted prompt.
    pub fn prompt(&self) -> PathBuf {
        self.path.join(".prompt")
    }
}

impl Reserved {
    /// Returns the folder. The context of an activation can be written into it before the start.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn keep(mut self) -> Folder {
        self.is_kept = true;
        self.folder.clone()
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if !self.is_kept {
            // If this fails, the folder has no `daemon.json` and is listed with the state `unknown`.
            fs::remove_dir_all(&self.folder.path).unwrap_or(());
        }
    }
}
