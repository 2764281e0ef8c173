//! What no run may read, however it is confined.

use std::path::{Path, PathBuf};

use daemon_host::config::Config;
use daemon_host::ops::{OpError, OpErrorKind};
use daemon_host::random;
use daemon_host::secrets::secret_files;
use daemon_process::{Enclosure, system_directories};
use daemon_provider_cli::Guarded;

use crate::compose::{Composer, Reach, enclosure, is_offline_anywhere};

impl Composer {
    /// Returns what no run may read: the host's home, that of its user, the watched repositories and the files of secrets.
    pub(crate) fn guarded(&self, config: &Config) -> Vec<Guarded> {
        let user = random::environment("HOME").filter(|home| !home.is_empty());
        let user = user.map(|home| guarded(PathBuf::from(home), "`$HOME`"));
        self.kept(config).into_iter().chain(user).collect()
    }

    /// Returns the same without the home of the host's user, which may be a directory of the system.
    fn kept(&self, config: &Config) -> Vec<Guarded> {
        let home = guarded(self.home().to_owned(), "the host's home");
        let repos = config.repo.iter().map(|repo| {
            let path = self.directory.join(&repo.path);
            guarded(path, "the watched repository")
        });
        let files = secret_files(self.home(), config).into_iter();
        let files = files.map(|(key, path)| guarded(path, &format!("the secret of `{key}`")));
        std::iter::once(home).chain(repos).chain(files).collect()
    }

    /// Refuses to keep any of it in a directory of the system, which every confined run may read.
    ///
    /// # Errors
    /// Names the directory, and what it holds.
    pub(crate) fn check_system(&self, config: &Config) -> Result<(), OpError> {
        let is_confined = enclosure(config, Reach::Network) != Enclosure::Contained;
        if !is_confined && !is_offline_anywhere(config) {
            return Ok(());
        }
        for Guarded { path, what } in self.kept(config) {
            let resolved = resolved(&path);
            let mut system = system_directories();
            let holds = |directory: &&Path| resolved.starts_with(self::resolved(directory));
            if let Some(directory) = system.find(holds) {
                let message = format!(
                    "`{}`, which every run may read at sandbox level 2 and above, holds {what} `{}`",
                    directory.display(),
                    path.display()
                );
                let error = OpError::new(OpErrorKind::Config, "config-invalid", message);
                return Err(error.with_help("move it out of the directories of the system"));
            }
        }
        Ok(())
    }
}

/// Resolves the links of a path, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let mut ancestors = path.ancestors();
    let found = ancestors.find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    match found {
        Some((ancestor, real)) => match path.strip_prefix(ancestor) {
            Ok(rest) => real.join(rest),
            Err(_) => real,
        },
        None => path.to_owned(),
    }
}

fn guarded(path: PathBuf, what: &str) -> Guarded {
    Guarded {
        path,
        what: what.to_owned(),
    }
}
