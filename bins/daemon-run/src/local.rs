//! Daemons of a working tree, read as their author edits them, without a home.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_host::config::{Config, Repo, nearest};
use daemon_host::driver::Checked;
use daemon_repo::{
    DaemonContent, DaemonSource, Discovery, ObjectFormat, bare_repository, discover_working_tree,
};
use daemon_spec::{DaemonFile, parse};

use crate::check::check;
use crate::failure::{CommandFailure, ExitKind};
use crate::place::{Place, repository_root};

/// One daemon of a working tree.
#[derive(Debug)]
pub(crate) struct LocalDaemon {
    /// The directory, support tree and revision.
    pub(crate) source: DaemonSource,
    /// The parsed file.
    pub(crate) file: DaemonFile,
}

impl LocalDaemon {
    fn new(source: DaemonSource) -> Self {
        let bytes = match &source.content {
            DaemonContent::Text(bytes) => Arc::clone(bytes),
            // A file that was not read is an empty one here; the diagnostics of the check give the reason.
            DaemonContent::TooLarge { .. }
            | DaemonContent::NotAFile(_)
            | DaemonContent::Unreadable(_) => Vec::new().into(),
        };
        let file = parse(bytes.to_vec()).file;
        Self { source, file }
    }

    /// Returns the `id` of the file, or the directory's name if the file has none.
    pub(crate) fn id(&self) -> &str {
        match self.file.id().value() {
            Some(id) if !id.value.trim().is_empty() => &id.value,
            _ => self.source.dir.as_str(),
        }
    }

    /// Reports whether an id on the command line refers to this daemon: by its `id` or its directory.
    pub(crate) fn is_named(&self, id: &str) -> bool {
        // A daemon whose `id` is wrong must still be found, by its directory.
        self.id() == id || self.source.dir.as_str() == id
    }

    /// Returns the schedule as written in the file.
    pub(crate) fn schedule(&self) -> Option<&str> {
        self.file.schedule().value().map(|text| text.value.as_str())
    }
}

/// Returns the root of the repository that a command works on: `--repo`, else the enclosing one.
pub(crate) fn root(place: &Place, repo: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let Some(repo) = repo else {
        return Ok(repository_root(&place.directory));
    };
    let directory = place.directory.join(repo);
    // A file is inside a repository, too; but `--repo FILE` is a mistake, not a request for the repository around it.
    let found = directory
        .canonicalize()
        .and_then(|found| found.read_dir().map(|_| found))
        .map_err(|error| CommandFailure::unreadable(&directory, &error))?;
    Ok(repository_root(&found))
}

/// Reads all daemons of a working tree, sorted by directory.
pub(crate) fn daemons(root: &Path) -> Result<Vec<LocalDaemon>, CommandFailure> {
    let found = discover(root)?.daemons.into_iter();
    Ok(found.map(LocalDaemon::new).collect())
}

/// Reads and checks all daemons of a working tree; `zone_of` returns the zone of a daemon's schedule.
pub(crate) fn judged(
    root: &Path,
    zone_of: &dyn Fn(&str) -> String,
) -> Result<Vec<(LocalDaemon, Checked)>, CommandFailure> {
    let found = discover(root)?;
    let checked = check(&found, zone_of);
    let daemons = found.daemons.into_iter().map(LocalDaemon::new);
    Ok(daemons.zip(checked).collect())
}

/// Returns the configuration of the repository at a root.
pub(crate) fn configured<'a>(root: &Path, config: &'a Config, place: &Place) -> Option<&'a Repo> {
    config.repo.iter().find(|repo| {
        let path = place.directory.join(&repo.path);
        path.canonicalize().is_ok_and(|path| path == root)
    })
}

fn discover(root: &Path) -> Result<Discovery, CommandFailure> {
    discover_working_tree(root, ObjectFormat::Sha1).map_err(|error| {
        CommandFailure::new(
            ExitKind::NoInput,
            "unreadable",
            daemon_records::error::chain(&error),
        )
    })
}

/// Reads one daemon of a working tree.
pub(crate) fn daemon(root: &Path, id: &str) -> Result<LocalDaemon, CommandFailure> {
    let mut all = daemons(root)?;
    match all.iter().position(|daemon| daemon.is_named(id)) {
        Some(index) => Ok(all.swap_remove(index)),
        None => Err(unknown(root, all.iter(), id)),
    }
}

/// Finds one of the daemons of a working tree.
pub(crate) fn find<'a>(
    root: &Path,
    all: &'a [(LocalDaemon, Checked)],
    id: &str,
) -> Result<&'a (LocalDaemon, Checked), CommandFailure> {
    all.iter()
        .find(|(daemon, _)| daemon.is_named(id))
        .ok_or_else(|| unknown(root, all.iter().map(|(daemon, _)| daemon), id))
}

fn unknown<'a>(
    root: &Path,
    known: impl Iterator<Item = &'a LocalDaemon>,
    id: &str,
) -> CommandFailure {
    let message = format!("no daemon `{id}` in `{}`", root.display());
    let failure = CommandFailure::new(ExitKind::NoInput, "unknown-daemon", message);
    let known: Vec<&str> = known.map(LocalDaemon::id).collect();
    failure.help(
        match (nearest(id, known.iter().copied()), known.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) if bare_repository(root).is_some() => {
                "a bare repository has no working tree; work in a clone of it".to_owned()
            }
            (None, []) => "create one with `daemon-run new ID`".to_owned(),
            (None, known) => format!("known daemons: `{}`", known.join("`, `")),
        },
    )
}

/// Fails for a daemon that a host would not register.
pub(crate) fn refuse_invalid(
    daemon: &LocalDaemon,
    checked: &Checked,
) -> Result<(), CommandFailure> {
    if checked.is_registrable {
        return Ok(());
    }
    let path = daemon.source.path();
    let all = checked.diagnostics.as_array().into_iter().flatten();
    let first = all
        .filter(|diagnostic| diagnostic["severity"] == "error")
        .find_map(|error| {
            Some(format!(
                ": {} {}",
                error["code"].as_str()?,
                error["message"].as_str()?
            ))
        });
    let message = format!("`{path}` has errors{}", first.unwrap_or_default());
    let failure = CommandFailure::new(ExitKind::Invalid, "invalid-daemon", message);
    Err(failure.help(format!("daemon-run lint {path}")))
}
