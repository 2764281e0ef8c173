//! `lsp`: the language server for editors.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use daemon_cron::Zone;
use daemon_lsp::{LspError, Workspace, serve_stdio};

use super::next::ScheduleZones;
use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;

/// Answers an editor until it ends the session.
pub(crate) fn run(place: &Place) -> Result<(), CommandFailure> {
    // Reading the configuration asks git for the name of the repository, which is too slow for each change of a file.
    let known: RefCell<HashMap<(PathBuf, String), Zone>> = RefCell::default();
    let zone = |root: &Path, id: &str| {
        let key = (root.to_owned(), id.to_owned());
        let mut known = known.borrow_mut();
        known
            .entry(key)
            .or_insert_with(|| configured(root, id, place))
            .clone()
    };
    let workspace = Workspace {
        now: &daemon_records::clock::now,
        zone: &zone,
    };
    serve_stdio(&workspace).map_err(|error| {
        let (exit, code) = match &error {
            LspError::Stream(_) => (ExitKind::CannotWrite, "stream"),
            _ => (ExitKind::Failed, "editor"),
        };
        CommandFailure::new(exit, code, error.to_string())
    })
}

/// Returns the configured zone of a daemon, and UTC with a broken configuration: the files can be edited all the same.
fn configured(root: &Path, id: &str, place: &Place) -> Zone {
    let zone = ScheduleZones::configured(root, place).and_then(|zones| zones.of(id));
    zone.unwrap_or_else(|failure| {
        tracing::warn!(problem = failure.message, "schedules are shown in UTC");
        Zone::utc()
    })
}
