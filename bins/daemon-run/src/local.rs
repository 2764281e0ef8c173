//! Daemons as their author is editing them: read from the working tree, without a home.

use std::path::{Path, PathBuf};

use daemon_repo::{Content, DaemonSource, ObjectFormat, discover_working_tree};
use daemon_spec::{DaemonFile, parse};

use crate::failure::{Exit, Failure};
use crate::place::repository_root;

/// One daemon of a working tree.
#[derive(Debug)]
pub(crate) struct LocalDaemon {
    /// Its directory, support tree and revision.
    pub(crate) source: DaemonSource,
    /// Its file, read.
    pub(crate) file: DaemonFile,
}

impl LocalDaemon {
    /// Returns its `id`, or the directory's name where the file has none.
    pub(crate) fn id(&self) -> &str {
        match self.file.id().value() {
            Some(id) if !id.value.trim().is_empty() => &id.value,
            _ => self.source.dir.as_str(),
        }
    }

    /// Returns its conditions.
    pub(crate) fn watch(&self) -> Vec<String> {
        self.file.watch().value().map_or_else(Vec::new, |list| {
            list.texts().map(|text| text.value.clone()).collect()
        })
    }

    /// Returns its schedule as written.
    pub(crate) fn schedule(&self) -> Option<&str> {
        self.file.schedule().value().map(|text| text.value.as_str())
    }
}

/// Returns the root of the repository that a command is about.
pub(crate) fn root(directory: &Path, repo: Option<&Path>) -> PathBuf {
    match repo {
        Some(repo) => directory.join(repo),
        None => repository_root(directory),
    }
}

/// Reads all daemons of a working tree, ordered by directory.
pub(crate) fn daemons(root: &Path) -> Result<Vec<LocalDaemon>, Failure> {
    let found = discover_working_tree(root, ObjectFormat::Sha1).map_err(|error| {
        Failure::new(Exit::NoInput, "unreadable", daemon_host::ops::chain(&error))
    })?;
    let read = found.daemons.into_iter().map(|source| {
        let bytes = match &source.content {
            Content::Text(bytes) => std::sync::Arc::clone(bytes),
            Content::TooLarge { .. } | Content::NotAFile(_) | Content::Unreadable(_) => {
                Vec::new().into()
            }
        };
        let file = parse(bytes.to_vec()).file;
        LocalDaemon { source, file }
    });
    Ok(read.collect())
}

/// Reads one daemon of a working tree.
pub(crate) fn daemon(root: &Path, id: &str) -> Result<LocalDaemon, Failure> {
    let all = daemons(root)?;
    let known: Vec<String> = all
        .iter()
        .map(|daemon| format!("`{}`", daemon.id()))
        .collect();
    match all
        .into_iter()
        .find(|daemon| daemon.id() == id || daemon.source.dir.as_str() == id)
    {
        Some(daemon) => Ok(daemon),
        None => {
            let failure = Failure::new(
                Exit::NoInput,
                "unknown-daemon",
                format!("no daemon `{id}` in `{}`", root.display()),
            );
            Err(match known.is_empty() {
                true => failure.help("write one with `daemon-run new ID`"),
                false => failure.help(format!("there are {}", known.join(", "))),
            })
        }
    }
}
