//! Charters: files of the home that say what a role does, and their versions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use daemon_api::ops::CharterText;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_roster::{PacketHash, Role};
use daemon_run_folder::write_atomic;

use crate::home::Home;

/// The longest charter that is read; with it a packet fits into the task of a run.
const LONGEST: u64 = 128 * 1024;

/// Returns the charters of a home, then earlier versions.
///
/// # Errors
/// One of them cannot be read.
pub fn all(home: &Home) -> Result<Vec<CharterText>, OpError> {
    Charters::of(home).all().map_err(|error| {
        let message = format!("the charters cannot be read: {error}");
        OpError::new(OpErrorKind::Broken, "home", message)
    })
}

/// The charters of a home. A version is the SHA-256 of a charter, and its text is kept under that name.
#[derive(Clone, Debug)]
pub(crate) struct Charters {
    root: PathBuf,
}

impl Charters {
    /// Returns the charters of a home.
    pub(crate) fn of(home: &Home) -> Self {
        Self {
            root: home.below(Path::new("charters")),
        }
    }

    /// Returns the path of the charter of a role.
    fn path(&self, role: &Role) -> Option<PathBuf> {
        default(role).map(|_| self.root.join(format!("{role}.md")))
    }

    /// Reads the charter of a role: the usual one if the home has none. `None` for a role that has no charter.
    pub(crate) fn read(&self, role: &Role) -> io::Result<Option<String>> {
        let (Some(path), Some(default)) = (self.path(role), default(role)) else {
            return Ok(None);
        };
        let own = read_file(&path)?;
        Ok(own.or_else(|| Some(default.to_owned())))
    }

    /// Reads the charter of a role, which is created if the home has none, and keeps it as a version.
    pub(crate) fn read_and_keep(&self, role: &Role) -> io::Result<Option<String>> {
        let charter = self.read(role)?;
        if let (Some(charter), Some(path)) = (&charter, self.path(role)) {
            fs::create_dir_all(&self.root)?;
            if !path.try_exists()? {
                write_atomic(&path, charter.as_bytes())?;
            }
            self.keep(charter)?;
        }
        Ok(charter)
    }

    /// Returns the charters of all roles, then the earlier versions.
    fn all(&self) -> io::Result<Vec<CharterText>> {
        let mut all = Vec::new();
        for role in Role::SPAWNABLE {
            if let Some(body) = self.read(&role)? {
                all.push(CharterText {
                    version: PacketHash::of(&body).to_string(),
                    role: Some(role),
                    body,
                });
            }
        }
        for (version, body) in self.kept()? {
            if all.iter().all(|charter| charter.version != version) {
                all.push(CharterText {
                    role: None,
                    version,
                    body,
                });
            }
        }
        Ok(all)
    }

    /// Keeps a charter as a version, and returns its name. A version that exists is not written again.
    fn keep(&self, text: &str) -> io::Result<String> {
        let version = PacketHash::of(text).to_string();
        let path = self.version(&version);
        if !path.try_exists()? {
            fs::create_dir_all(self.versions())?;
            write_atomic(&path, text.as_bytes())?;
        }
        Ok(version)
    }

    /// Returns all versions with what they say. A file whose content does not hash to its name is left out.
    pub(crate) fn kept(&self) -> io::Result<Vec<(String, String)>> {
        let entries = match fs::read_dir(self.versions()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut kept = Vec::new();
        for entry in entries {
            let text = read_file(&entry?.path())?.unwrap_or_default();
            let version = PacketHash::of(&text).to_string();
            if self.version(&version).try_exists()? {
                kept.push((version, text));
            }
        }
        kept.sort();
        kept.dedup();
        Ok(kept)
    }

    fn versions(&self) -> PathBuf {
        self.root.join("versions")
    }

    fn version(&self, version: &str) -> PathBuf {
        self.versions().join(format!("{version}.md"))
    }
}

fn default(role: &Role) -> Option<&'static str> {
    match role {
        Role::Orchestrator => Some(include_str!("charters/orchestrator.md")),
        Role::Ops => Some(include_str!("charters/ops.md")),
        Role::Refine => Some(include_str!("charters/refine.md")),
        Role::Other(_) => None,
    }
}

fn read_file(path: &Path) -> io::Result<Option<String>> {
    let size = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?.len(),
    };
    if size > LONGEST {
        let message = format!("`{}` is longer than {LONGEST} bytes", path.display());
        return Err(io::Error::other(message));
    }
    fs::read_to_string(path).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charters() -> (tempfile::TempDir, Charters) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::named(directory.path());
        (directory, Charters::of(&home))
    }

    #[test]
    fn a_charter_is_created_once_and_stays_as_it_is_edited() {
        let (_directory, charters) = charters();
        for role in Role::SPAWNABLE {
            let path = charters.path(&role).unwrap();
            assert_eq!(charters.read(&role).unwrap().as_deref(), default(&role));
            assert!(!path.exists());
            let charter = charters.read_and_keep(&role).unwrap();
            assert_eq!(charter.as_deref(), default(&role));
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), default(&role));
            fs::write(&path, "mine").unwrap();
            let charter = charters.read_and_keep(&role).unwrap();
            assert_eq!(charter.as_deref(), Some("mine"));
        }
        let other = Role::Other("poet".parse().unwrap());
        assert_eq!(charters.read(&other).unwrap(), None);
    }

    #[test]
    fn a_version_is_never_changed_and_a_file_under_a_wrong_name_is_none() {
        let (_directory, charters) = charters();
        let version = charters.keep("a").unwrap();
        assert_eq!(charters.keep("a").unwrap(), version);
        let other = charters.keep("b").unwrap();
        fs::write(charters.version(&version), "changed").unwrap();
        assert_eq!(charters.kept().unwrap(), [(other, "b".to_owned())]);
    }
}
