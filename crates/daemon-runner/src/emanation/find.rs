//! Finding the run of an id.

use std::path::{Path, PathBuf};

use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_run_folder::{DocumentReading, Folder, Handle, RunId};

use super::fault;

/// The run of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) folder: Folder,
    pub(super) source: Source,
    /// The folders of older runs of the parent with the same handle.
    pub(super) others: Vec<PathBuf>,
}

/// The place where a run was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The runs of this host that have not ended.
    Live,
    /// The run folders.
    History,
}

impl Source {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::History => "history",
        }
    }
}

impl Found {
    /// Returns the folder if only one run has the handle.
    ///
    /// # Errors
    /// Several runs have it: stopping or asking the newest one could be a mistake.
    pub(super) fn unambiguous(self, id: &str) -> Result<Folder, OpError> {
        if self.others.is_empty() {
            return Ok(self.folder);
        }
        Err(fault::ambiguous(id, self.others.len() + 1))
    }
}

/// Finds a run in a directory: any run by its full id, or a run of `parent` by its handle. `live` returns the running run of a
/// name.
///
/// # Errors
/// No run has the id, or the directory could not be read.
pub(super) fn find(
    runs: &Path,
    id: &str,
    parent: &str,
    live: impl Fn(Name) -> Option<RunId>,
) -> Result<Found, OpError> {
    if let Ok(run) = id.parse::<RunId>() {
        let folder = Folder::new(runs, run);
        let source = match live(Name::Run(run)) {
            Some(_) => Source::Live,
            None if folder.path().is_dir() => Source::History,
            None => return Err(fault::unknown(id)),
        };
        return Ok(Found {
            folder,
            source,
            others: Vec::new(),
        });
    }
    let Ok(handle) = id.parse::<Handle>() else {
        return Err(fault::unknown(id));
    };
    // A handle is reused after a restart of the host. The running run is the one that the caller means.
    if let Some(run) = live(Name::Handle(handle)) {
        let folder = Folder::new(runs, run);
        return Ok(Found {
            folder,
            source: Source::Live,
            others: Vec::new(),
        });
    }
    let all = Folder::list(runs).map_err(|error| unreadable(&error))?;
    let mut named = all
        .into_iter()
        .filter(|folder| folder.id().handle() == handle && is_of(folder, parent));
    let folder = named.next().ok_or_else(|| fault::unknown(id))?;
    let others = named.map(|folder| folder.path().to_owned()).collect();
    Ok(Found {
        folder,
        source: Source::History,
        others,
    })
}

/// Returns whether a parent dispatched a run. A folder without a readable parent belongs to no parent.
fn is_of(folder: &Folder, parent: &str) -> bool {
    match folder.read() {
        Ok(DocumentReading::Known(document)) => document.parent_addr == parent,
        Ok(DocumentReading::Newer(newer)) => newer.document.parent_addr == parent,
        Ok(DocumentReading::Broken(_)) | Err(_) => false,
    }
}

/// The name of a run that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The full id.
    Run(RunId),
    /// The handle, among the caller's runs.
    Handle(Handle),
}

/// Makes the error for run folders that could not be read.
pub(super) fn unreadable(error: &dyn std::error::Error) -> OpError {
    OpError::new(OpErrorKind::Broken, "folder", chain(error))
}
