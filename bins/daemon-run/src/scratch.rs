//! A temporary directory with a repository and a home, for commands that must not touch those of their user.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, Tool};

use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;

/// A directory with a repository and a home, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
    repository: &'static str,
    git: Tool,
}

impl Scratch {
    /// Creates the directory, with an empty repository of this name and an empty home.
    pub(crate) fn new(
        place: &Place,
        prefix: &str,
        repository: &'static str,
    ) -> Result<Self, CommandFailure> {
        let dir = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .map_err(|error| {
                CommandFailure::new(
                    ExitKind::CannotWrite,
                    "scratch",
                    format!("cannot create a scratch directory: {error}"),
                )
            })?;
        let git = daemon_repo::Git::find(&place.path).map_err(|error| {
            CommandFailure::new(
                ExitKind::Unavailable,
                "no-git",
                daemon_records::error::chain(&error),
            )
            .help("install git")
        })?;
        let scratch = Self {
            git: tool(&git, &dir.path().join(repository)),
            repository,
            dir,
        };
        for directory in [scratch.repository(), scratch.home()] {
            fs::create_dir(&directory)
                .map_err(|error| CommandFailure::unwritable(&directory, &error))?;
        }
        scratch.git(["init", "--quiet", "--initial-branch=main"])?;
        Ok(scratch)
    }

    /// Commits everything in the repository and returns the commit.
    pub(crate) fn commit(&self, message: &str) -> Result<String, CommandFailure> {
        self.git(["add", "--all"])?;
        self.git(["commit", "--quiet", "--message", message])?;
        self.git(["rev-parse", "HEAD"])
    }

    /// Runs git in the repository and returns its trimmed output.
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> Result<String, CommandFailure> {
        let ran = self
            .git
            .clone()
            .args(args)
            .run(Duration::from_secs(20), ByteCount(1 << 20))
            .map_err(|error| {
                CommandFailure::bug(format!(
                    "git {}: {}",
                    args.join(" "),
                    daemon_records::error::chain(&error)
                ))
            })?;
        if !ran.status.is_success() {
            let stderr = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
            return Err(CommandFailure::bug(format!(
                "git {}: {stderr}",
                args.join(" ")
            )));
        }
        Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    }

    /// Returns git as it runs in the repository.
    pub(crate) fn git_tool(&self) -> Tool {
        self.git.clone()
    }

    /// Writes a program into the directory, and returns its path.
    pub(crate) fn program(&self, name: &str, text: &str) -> Result<PathBuf, CommandFailure> {
        self.write(name, text)?;
        let path = self.dir().join(name);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode)
            .map_err(|error| CommandFailure::unwritable(&path, &error))?;
        Ok(path)
    }

    /// Writes a file below the directory, with the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), CommandFailure> {
        let path = self.dir().join(path);
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text));
        written.map_err(|error| CommandFailure::unwritable(&path, &error))
    }

    /// Returns the temporary directory, with the repository and the home in it.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the path of the repository.
    pub(crate) fn repository(&self) -> PathBuf {
        self.dir.path().join(self.repository)
    }

    /// Returns the path of the home.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns the surroundings of a command that works in the scratch repository.
    pub(crate) fn place(&self, place: &Place) -> Place {
        Place {
            directory: self.repository(),
            home: Some(self.home()),
            path: place.path.clone(),
            store: None,
            log: place.log.clone(),
            environment: place.environment.clone(),
        }
    }

    /// Keeps the directory, and returns its path.
    pub(crate) fn keep(self) -> PathBuf {
        self.dir.keep()
    }
}

/// Prepares git with a fixed author and without the user's configuration, which could sign commits or run hooks.
fn tool(git: &daemon_repo::Git, repository: &Path) -> Tool {
    let identity = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Lamplighter"));
    let address = ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
        .map(|name| (name, "lamplighter@example.invalid"));
    let quiet = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("LC_ALL", "C"),
    ];
    Tool::new(git.program())
        .envs(
            identity
                .into_iter()
                .chain(address)
                .chain(quiet)
                .map(|(name, value)| (OsStr::new(name), OsStr::new(value))),
        )
        .cwd(repository)
}
