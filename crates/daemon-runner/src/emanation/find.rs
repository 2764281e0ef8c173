//! Which run an id means.

use std::path::{Path, PathBuf};

use daemon_run_folder::{Folder, Handle, Reading, RunId};

use super::fault;
use crate::error::{OpError, OpErrorKind, chain};

/// The run that an id means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) folder: Folder,
    pub(super) source: Source,
    /// The folders of other runs of that name.
    pub(super) others: Vec<PathBuf>,
}

/// Where a run was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Among the runs under way.
    Live,
    /// On disk.
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
    /// Refuses a name that several runs have had.
    ///
    /// # Errors
    /// Says how many.
    pub(super) fn unambiguous(self, id: &str) -> Result<Folder, OpError> {
        if self.others.is_empty() {
            return Ok(self.folder);
        }
        Err(fault::ambiguous(id, self.others.len() + 1))
    }
}

/// Finds a run below a directory: any by its full id, one of `parent`'s by its handle; `live` tells the run under way of that
/// name, or whether this one is.
///
/// # Errors
/// There is none, or the directory cannot be read.
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

/// Reports whether a parent dispatched a run; of a folder that does not say who did, nobody is.
fn is_of(folder: &Folder, parent: &str) -> bool {
    match folder.read() {
        Ok(Reading::Known(document)) => document.parent_addr == parent,
        Ok(Reading::Newer(newer)) => newer.document.parent_addr == parent,
        Ok(Reading::Broken(_)) | Err(_) => false,
    }
}

/// What is asked about runs under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// This one.
    Run(RunId),
    /// The caller's one of this name.
    Handle(Handle),
}

/// Says that folders cannot be read.
pub(super) fn unreadable(error: &dyn std::error::Error) -> OpError {
    OpError::new(OpErrorKind::Broken, "folder", chain(error))
}
