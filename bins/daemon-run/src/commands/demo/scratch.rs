//! The scratch repository of the tour, with real files and commits.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, Tool};

use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;

const LINK_JANITOR: &str = include_str!("link-janitor.md");
const RELEASE_SCRIBE: &str = include_str!("release-scribe.md");

/// The documents of the scratch repository before the move.
const DOCUMENTS: [(&str, &str); 5] = [
    (
        "README.md",
        "# Lantern\n\nA small lamp. Start with [the setup](docs/setup.md), then read [the guide](docs/guide.md).\n",
    ),
    (
        "docs/guide.md",
        "# Guide\n\nFirst follow [the setup](setup.md).\n\n## Wick\n\nTrim it once a week.\n",
    ),
    (
        "docs/setup.md",
        "# Setup\n\nUnpack the lamp. Fill it. Light it.\n",
    ),
    (
        "docs/faq.md",
        "# Questions\n\nIs there a [wiring plan](wiring.md)? Yes. Else ask.\n",
    ),
    ("docs/wiring.md", "# Wiring\n\nA lantern has none.\n"),
];

/// A directory with a repository and a home, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
    git: Tool,
}

impl Scratch {
    /// Creates the directory and its repository with a first commit.
    pub(crate) fn make(place: &Place) -> Result<Self, CommandFailure> {
        let dir = tempfile::Builder::new()
            .prefix("daemon-demo-")
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
        let repository = dir.path().join("lantern");
        let scratch = Self {
            git: tool(&git, &repository),
            dir,
        };
        fs::create_dir(&repository)
            .map_err(|error| CommandFailure::unwritable(&repository, &error))?;
        for (path, text) in DOCUMENTS {
            scratch.write(path, text)?;
        }
        scratch.write(".agents/daemons/link-janitor/DAEMON.md", LINK_JANITOR)?;
        scratch.write(".agents/daemons/release-scribe/DAEMON.md", RELEASE_SCRIBE)?;
        scratch.git(["init", "--quiet", "--initial-branch=main"])?;
        scratch.commit("Light the lantern")?;
        let home = scratch.home();
        fs::create_dir(&home).map_err(|error| CommandFailure::unwritable(&home, &error))?;
        let config = home.join("config.toml");
        // By default `builtin` only reports; the tour shows a repair.
        fs::write(&config, "[provider.builtin]\nrepair = true\n")
            .map_err(|error| CommandFailure::unwritable(&config, &error))?;
        Ok(scratch)
    }

    /// Commits the move of one document that others link to and the removal of another. One broken link can be repaired, the
    /// other is left for a human.
    pub(crate) fn move_setup(&self) -> Result<String, CommandFailure> {
        let docs = self.repository().join("docs");
        let moved = fs::create_dir(docs.join("start"))
            .and_then(|()| fs::rename(docs.join("setup.md"), docs.join("start/setup.md")))
            .and_then(|()| fs::remove_file(docs.join("wiring.md")));
        moved.map_err(|error| CommandFailure::unwritable(&docs, &error))?;
        self.commit("Move the setup into its own folder, drop the wiring plan")
    }

    fn commit(&self, message: &str) -> Result<String, CommandFailure> {
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

    fn write(&self, path: &str, text: &str) -> Result<(), CommandFailure> {
        let path = self.repository().join(path);
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
        self.dir.path().join("lantern")
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
