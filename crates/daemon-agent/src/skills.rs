//! The directory of skills: bundles of a `SKILL.md` and further files.

mod bundle;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::error::AgentError;
use crate::log::LogError;
use crate::name::SkillName;

pub use bundle::{SkillBundle, SkillProblem};

/// The file with the instructions of a skill.
const INSTRUCTIONS: &str = "SKILL.md";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 * 1024;
/// The most further files that a listing names, and how many directories deep it searches.
const MOST_FILES: usize = 100;
const DEPTH: usize = 4;

/// The skills of a home, read whenever one is asked for, so that an edit counts at the next use.
#[derive(Clone, Debug)]
pub struct Skills {
    directory: PathBuf,
}

/// A directory of the skills in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSkill {
    /// The name of the directory.
    pub name: String,
    /// The bundle, or what is wrong with it.
    pub bundle: Result<SkillBundle, SkillProblem>,
}

impl Skills {
    /// Uses a directory, which may not exist.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Lists the bundles by name, the bad ones included.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Vec<ListedSkill>, AgentError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.storage(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.storage(error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Files, and the directories of tools such as `.git`, are no bundles.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !is_file && !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        let listed = names.into_iter().map(|name| ListedSkill {
            bundle: name
                .parse()
                .map_err(SkillProblem::Name)
                .and_then(|name| self.bundle(&name)),
            name,
        });
        Ok(listed.collect())
    }

    /// Reads a skill.
    ///
    /// # Errors
    /// If there is no such bundle, or something is wrong with it.
    pub fn get(&self, name: &SkillName) -> Result<SkillBundle, AgentError> {
        self.bundle(name).map_err(|problem| match problem {
            SkillProblem::Absent => AgentError::NotFound {
                what: "skill",
                id: name.to_string(),
            },
            problem => AgentError::Skill {
                skill: name.to_string(),
                problem,
            },
        })
    }

    /// Reads a file of a bundle, named relative to its directory.
    ///
    /// # Errors
    /// If it is not beneath the directory, is reached through a link, or is no text of at most 256 KiB.
    pub fn file(&self, name: &SkillName, path: &Path) -> Result<String, SkillProblem> {
        self.read(name, path)
    }

    /// Returns the further files of a bundle, relative to its directory.
    pub fn files(&self, name: &SkillName) -> Vec<String> {
        let root = self.directory.join(name.as_str());
        let mut acc = Vec::new();
        collect(&root, Path::new(""), DEPTH, &mut acc);
        acc.sort();
        acc.truncate(MOST_FILES);
        acc
    }

    fn bundle(&self, name: &SkillName) -> Result<SkillBundle, SkillProblem> {
        match fs::symlink_metadata(self.directory.join(name.as_str())) {
            Ok(found) if !found.is_dir() => return Err(SkillProblem::NoDirectory),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SkillProblem::Absent);
            }
            // Another failure is met, and reported, by the read.
            Ok(_) | Err(_) => {}
        }
        let text = self.read(name, Path::new(INSTRUCTIONS));
        let text = text.map_err(|problem| match problem {
            SkillProblem::NoFile => SkillProblem::NoInstructions,
            problem => problem,
        })?;
        SkillBundle::parse(name, &text)
    }

    /// Opens a file part by part, so that no link is followed between a check and its use.
    fn read(&self, name: &SkillName, path: &Path) -> Result<String, SkillProblem> {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(part) => Some(Ok(part)),
            Component::CurDir => None,
            _ => Some(Err(SkillProblem::Outside)),
        });
        let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
        let (file, directories) = parts.split_last().ok_or(SkillProblem::Outside)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |directory: &OwnedFd, name: &std::ffi::OsStr, extra| {
            openat(directory, name, flags | extra, Mode::empty()).map_err(SkillProblem::of)
        };
        // The directory of the skills itself may be a link of the owner.
        let root = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, &self.directory, root, Mode::empty()).map_err(SkillProblem::of)?;
        let mut directory = open(&root, name.as_str().as_ref(), OFlags::DIRECTORY)?;
        for part in directories {
            directory = open(&directory, part, OFlags::DIRECTORY)?;
        }
        // A pipe would block the read of its first byte for ever.
        let file = open(&directory, file, OFlags::NONBLOCK)?;
        text_of(fs::File::from(file))
    }

    fn storage(&self, source: io::Error) -> AgentError {
        LogError::Io {
            path: self.directory.clone(),
            source,
        }
        .into()
    }
}

fn text_of(file: fs::File) -> Result<String, SkillProblem> {
    use io::Read as _;
    let unreadable = |error: io::Error| SkillProblem::Unreadable(error.kind());
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(SkillProblem::NoFile);
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(SkillProblem::Size);
    }
    String::from_utf8(bytes).or(Err(SkillProblem::NoText))
}

/// Adds the files beneath a directory; links are not followed.
fn collect(root: &Path, below: &Path, depth: usize, acc: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = below.join(entry.file_name());
        if kind.is_dir() && depth > 0 && acc.len() <= MOST_FILES {
            collect(root, &path, depth - 1, acc);
        } else if kind.is_file() && path != Path::new(INSTRUCTIONS) {
            acc.extend(path.to_str().map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests;
