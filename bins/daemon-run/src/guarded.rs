//! Paths that no run may read, at any sandbox level.

use std::path::{Path, PathBuf};

use daemon_host::config::Config;
use daemon_host::secrets::secret_files;
use daemon_process::{SystemGrant, system_grant};
use daemon_provider_cli::Guarded;
use daemon_records::environment;
use daemon_records::error::{OpError, OpErrorKind};
use rustix::fs::{Access, access};

use crate::compose::Composer;
use crate::sandboxes::is_any_confined;

impl Composer {
    /// Returns the paths that no run may read: the host's home, its user's home, the watched repositories and secret files.
    pub(crate) fn guarded(&self, config: &Config) -> Vec<Guarded> {
        self.kept(config).into_iter().chain(user_home()).collect()
    }

    /// Returns the same paths without the home of the host's user.
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

    /// Checks that none of these paths is in a system directory, which every confined run may read.
    ///
    /// # Errors
    /// Names the system directory and the path in it.
    pub(crate) fn check_system(&self, config: &Config) -> Result<(), OpError> {
        if !is_any_confined(config) {
            return Ok(());
        }
        // Service accounts have homes such as `/usr/sbin`. A user without write access there has no files to protect.
        let is_used = |home: &Guarded| access(&home.path, Access::WRITE_OK).is_ok();
        let guarded = self.kept(config).into_iter();
        let mut guarded = guarded.chain(user_home().filter(is_used));
        match guarded.find_map(|found| Some((system_grant(&resolved(&found.path))?, found))) {
            Some((grant, found)) => Err(granted_by_system(grant, &found)),
            None => Ok(()),
        }
    }
}

fn user_home() -> Option<Guarded> {
    let home = environment::variable("HOME").filter(|home| !home.is_empty());
    home.map(|home| guarded(PathBuf::from(home), "`$HOME`"))
}

fn granted_by_system(grant: SystemGrant, Guarded { path, what }: &Guarded) -> OpError {
    let path = path.display();
    let (message, help) = match grant {
        SystemGrant::Whole(directory) => (
            format!(
                "`{}`, which every run may read at sandbox level 2 and above, contains {what} `{path}`",
                directory.display()
            ),
            "move it out of the system directories",
        ),
        SystemGrant::Public(directory) => (
            format!(
                "`{}` contains {what} `{path}`: every user may read it, and so may every run at sandbox level 2 and above",
                directory.display()
            ),
            "move it out of the system directories, or deny it to other users with `chmod o-rwx`",
        ),
    };
    OpError::new(OpErrorKind::Config, "config-invalid", message).with_help(help)
}

/// Resolves the symbolic links of a path, as far as it exists.
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
