//! The instructions for agents at the root of a commit.

use std::fmt;

use crate::error::{GitError, GitProblem};
use crate::object::ObjectId;
use crate::objects::Blobs;
use crate::repository::Repository;
use crate::tree::{EntryKind, RawEntry, parse_listing};

/// The names of instruction files; the first that can be read is used, and the case matters.
const INSTRUCTION_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The maximum size of an instruction file, in bytes; a larger one is not read.
pub const MAX_INSTRUCTION_FILE: u64 = 1 << 20;

/// The instructions for agents of one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The file that is used: `AGENTS.md`, else `CLAUDE.md`.
    pub file: Option<InstructionFile>,
    /// The files that take precedence and cannot be used.
    pub left_out: Vec<UnusedInstructions>,
}

/// An instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its name, which is also its path.
    pub name: &'static str,
    /// The whole text.
    pub text: String,
}

/// An instruction file that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnusedInstructions {
    /// Its name, which is also its path.
    pub name: &'static str,
    /// Why it is not used.
    pub why: WhyUnused,
}

/// Why an instruction file is not used; shown, it completes "the file is".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyUnused {
    /// The entry is not a regular file.
    NotAFile(EntryKind),
    /// The file is larger than [`MAX_INSTRUCTION_FILE`].
    TooLarge {
        /// The size in bytes.
        size: u64,
    },
    /// The repository does not contain the object.
    Absent,
    /// The file contains a NUL byte or is not UTF-8.
    NotText,
}

impl fmt::Display for WhyUnused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFile(kind) => f.write_str(kind.why_unread()),
            Self::TooLarge { size } => {
                write!(
                    f,
                    "{size} bytes long, at most {MAX_INSTRUCTION_FILE} are read"
                )
            }
            Self::Absent => f.write_str("not among the objects of the repository"),
            Self::NotText => f.write_str("not UTF-8 text"),
        }
    }
}

impl Repository {
    /// Reads a small text file of a commit from objects; `None` if the commit has no such file, and why if it is not read.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist or git fails.
    pub fn text_file(
        &self,
        commit: &ObjectId,
        path: &str,
    ) -> Result<Option<Result<String, WhyUnused>>, GitError> {
        let call = self
            .call("ls-tree")
            .args(["-z", "-l", "--full-tree"])
            .operand(commit.as_str())
            .operand(path);
        let malformed = call.error(GitProblem::Malformed {
            what: "a listing of a tree",
        });
        let entries = parse_listing(&call.stdout()?).ok_or(malformed)?;
        let Some(entry) = entries.iter().find(|entry| entry.path == path.as_bytes()) else {
            return Ok(None);
        };
        let wanted = entry.object.as_ref().filter(|_| refusal(entry).is_none());
        let blobs = self.blobs(wanted.map(|object| (object, entry.size)).into_iter())?;
        Ok(Some(text(entry, &blobs)))
    }

    /// Reads the instructions at the root of a commit from objects: one listing, and one more process if there is a file.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist or git fails.
    pub fn instructions(&self, commit: &ObjectId) -> Result<Instructions, GitError> {
        let call = self
            .call("ls-tree")
            .args(["-z", "-l", "--full-tree"])
            .operand(commit.as_str())
            .args(INSTRUCTION_FILES);
        let malformed = call.error(GitProblem::Malformed {
            what: "a listing of a tree",
        });
        let entries = parse_listing(&call.stdout()?).ok_or(malformed)?;
        let wanted = entries.iter().filter(|entry| refusal(entry).is_none());
        let blobs =
            self.blobs(wanted.filter_map(|entry| Some((entry.object.as_ref()?, entry.size))))?;
        let mut found = Instructions::default();
        for name in INSTRUCTION_FILES {
            let Some(entry) = entries.iter().find(|entry| entry.path == name.as_bytes()) else {
                continue;
            };
            match text(entry, &blobs) {
                Ok(text) => {
                    found.file = Some(InstructionFile { name, text });
                    break;
                }
                Err(why) => found.left_out.push(UnusedInstructions { name, why }),
            }
        }
        Ok(found)
    }
}

/// Returns why an entry is not read, if so.
fn refusal(entry: &RawEntry) -> Option<WhyUnused> {
    if !entry.kind.is_file() {
        return Some(WhyUnused::NotAFile(entry.kind));
    }
    let size = entry.size;
    (size > MAX_INSTRUCTION_FILE).then_some(WhyUnused::TooLarge { size })
}

fn text(entry: &RawEntry, blobs: &Blobs) -> Result<String, WhyUnused> {
    if let Some(why) = refusal(entry) {
        return Err(why);
    }
    let object = entry.object.as_ref();
    let bytes = object.and_then(|object| blobs.get(object));
    let text = std::str::from_utf8(bytes.ok_or(WhyUnused::Absent)?).ok();
    let text = text.filter(|text| !text.contains('\0'));
    text.map(str::to_owned).ok_or(WhyUnused::NotText)
}
