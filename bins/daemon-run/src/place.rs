//! Where a command works: directories, the home, the repository.

use std::path::{Path, PathBuf};

use crate::cli::Global;
use crate::failure::{Exit, Failure};

/// What a command reads from its surroundings, once.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The directory it works in.
    pub(crate) directory: PathBuf,
    /// The home; none where nothing says where it is.
    pub(crate) home: Option<PathBuf>,
    /// The search path for programs.
    pub(crate) path: std::ffi::OsString,
    /// The store of the environment.
    pub(crate) store: Option<String>,
    /// The log filter of the environment.
    pub(crate) log: Option<String>,
    /// The environment, for what the configuration names in it.
    pub(crate) environment: std::collections::BTreeMap<String, String>,
}

impl Place {
    /// Reads the environment and the working directory.
    pub(crate) fn read(global: &Global) -> Result<Self, Failure> {
        let current = std::env::current_dir();
        let current = current.map_err(|error| Failure::unreadable(Path::new("."), &error))?;
        let directory = match &global.directory {
            None => current,
            Some(directory) => {
                let joined = current.join(directory);
                joined
                    .canonicalize()
                    .map_err(|error| Failure::unreadable(&joined, &error))?
            }
        };
        let environment: std::collections::BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let get = |name: &str| {
            environment
                .get(name)
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

    /// Returns the home, for commands that need one.
    pub(crate) fn home(&self) -> Result<&Path, Failure> {
        self.home.as_deref().ok_or_else(|| {
            Failure::new(Exit::Config, "no-home", "there is no place for the home")
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
