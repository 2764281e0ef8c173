//! The surroundings of a command: its directory, the home, the environment.

use std::path::{Path, PathBuf};

use daemon_repo::bare_repository;

use crate::cli::GlobalArgs;
use crate::failure::{CommandFailure, ExitKind};

/// The surroundings of a command, read once at its start.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The working directory, or `-C DIR`.
    pub(crate) directory: PathBuf,
    /// The home; `None` if neither a flag nor the environment gives one.
    pub(crate) home: Option<PathBuf>,
    /// `PATH`, searched for programs.
    pub(crate) path: std::ffi::OsString,
    /// `DAEMON_STORE`.
    pub(crate) store: Option<String>,
    /// `DAEMON_LOG`, a log filter.
    pub(crate) log: Option<String>,
    /// The variables of the environment that are Unicode.
    pub(crate) environment: std::collections::BTreeMap<String, String>,
}

impl Place {
    /// Reads the environment and the working directory.
    pub(crate) fn read(global: &GlobalArgs) -> Result<Self, CommandFailure> {
        let current = std::env::current_dir();
        let current =
            current.map_err(|error| CommandFailure::unreadable(Path::new("."), &error))?;
        let directory = match &global.directory {
            None => current,
            Some(directory) => {
                let joined = current.join(directory);
                // Roots of repositories are compared with canonical paths.
                joined
                    .canonicalize()
                    .map_err(|error| CommandFailure::unreadable(&joined, &error))?
            }
        };
        let environment: std::collections::BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let get = |name: &str| {
            environment
                .get(name)
                // An empty variable counts as unset, as in the base directory specification.
                .filter(|value| !value.is_empty())
                .cloned()
        };
        let home = match (
            &global.home,
            get("DAEMON_HOME"),
            get("XDG_STATE_HOME"),
            get("HOME"),
        ) {
            (Some(home), ..) => Some(directory.join(home)),
            (None, Some(home), ..) => Some(directory.join(home)),
            // The base directory specification demands that relative paths are ignored.
            (None, None, Some(state), _) if Path::new(&state).is_absolute() => {
                Some(Path::new(&state).join("daemon-run"))
            }
            (None, None, _, Some(user)) => Some(Path::new(&user).join(".local/state/daemon-run")),
            (None, None, _, None) => None,
        };
        Ok(Self {
            directory,
            home,
            path: std::env::var_os("PATH").unwrap_or_default(),
            store: get("DAEMON_STORE"),
            log: get("DAEMON_LOG"),
            environment,
        })
    }

    /// Returns the home.
    ///
    /// # Errors
    /// Neither a flag nor the environment gives one.
    pub(crate) fn home(&self) -> Result<&Path, CommandFailure> {
        self.home.as_deref().ok_or_else(|| {
            CommandFailure::new(ExitKind::Config, "no-home", "no home is set")
                .help("give --home DIR or set DAEMON_HOME")
        })
    }
}

/// Returns the root of the repository around a directory, else the directory itself.
pub(crate) fn repository_root(directory: &Path) -> PathBuf {
    directory
        .ancestors()
        .find(|ancestor| {
            ancestor.join(".git").exists() || ancestor.join(".agents/daemons").is_dir()
        })
        .unwrap_or(directory)
        .to_owned()
}

/// Returns the root of the working tree around a directory, else the directory itself.
///
/// # Errors
/// The directory is in a bare repository, where files would be among those of git.
pub(crate) fn working_root(directory: &Path) -> Result<PathBuf, CommandFailure> {
    let root = repository_root(directory);
    match bare_repository(directory) {
        // A working tree may be in the directory of its bare repository.
        Some(bare) if bare.starts_with(&root) || !root.join(".git").exists() => {
            let message = format!("`{}` has no working tree", bare.display());
            let failure = CommandFailure::new(ExitKind::NoInput, "repository", message);
            Err(failure.help("work in a clone of it"))
        }
        _ => Ok(root),
    }
}
