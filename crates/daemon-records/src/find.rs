//! Finding the folder of a run.

use std::path::Path;

use daemon_run_folder::Folder;

/// Returns the folder of a run; `None` if the text is not the id of a run.
pub fn folder_of(runs: &Path, id: &str) -> Option<Folder> {
    Some(Folder::new(runs, id.parse().ok()?))
}
