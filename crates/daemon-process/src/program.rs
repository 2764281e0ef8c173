//! Resolves a program once, outside of directories that others can write.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The error of resolving a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No directory of the search path contains an executable file of this name.
    #[error("no executable file `{program}` in the search path")]
    NotFound {
        /// The name that was searched.
        program: PathBuf,
    },
    /// The program is a relative path with a directory in it.
    #[error("program `{program}` is neither a bare name nor an absolute path")]
    Relative {
        /// The path as given.
        program: PathBuf,
    },
    /// The path is a directory, or is not executable.
    #[error("`{program}` is not an executable file")]
    NotExecutable {
        /// The path as given.
        program: PathBuf,
    },
    /// The program is in a directory whose content is not trusted.
    #[error("`{program}` is inside `{forbidden}`, whose files may not be executed")]
    Forbidden {
        /// The resolved program.
        program: PathBuf,
        /// The untrusted directory.
        forbidden: PathBuf,
    },
    /// The path cannot be read.
    #[error("cannot read `{program}`")]
    Unreadable {
        /// The path as given.
        program: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

/// Resolves `program` to the absolute path of an executable file, without symbolic links.
///
/// A bare name is searched in `search`, a list of directories like `PATH`; relative and empty entries are skipped. An absolute path
/// is used as it is. A file inside one of the `forbidden` directories is rejected, so that a repository cannot supply the program
/// that works on it.
///
/// # Errors
/// Returns [`ProgramError`] with the path that was rejected.
pub fn resolve_program(
    program: impl AsRef<Path>,
    search: &OsStr,
    forbidden: &[&Path],
) -> Result<PathBuf, ProgramError> {
    let program = program.as_ref();
    let resolved = if program.is_absolute() {
        executable(program)?
    } else if program.components().count() == 1 && !program.as_os_str().is_empty() {
        std::env::split_paths(search)
            .filter(|directory| directory.is_absolute())
            .find_map(|directory| executable(&directory.join(program)).ok())
            .ok_or_else(|| ProgramError::NotFound {
                program: program.to_owned(),
            })?
    } else {
        return Err(ProgramError::Relative {
            program: program.to_owned(),
        });
    };
    for directory in forbidden {
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| (*directory).to_owned());
        if resolved.starts_with(&directory) {
            return Err(ProgramError::Forbidden {
                program: resolved,
                forbidden: directory,
            });
        }
    }
    Ok(resolved)
}

fn executable(path: &Path) -> Result<PathBuf, ProgramError> {
    let unreadable = |source| ProgramError::Unreadable {
        program: path.to_owned(),
        source,
    };
    let resolved = path.canonicalize().map_err(unreadable)?;
    let metadata = resolved.metadata().map_err(unreadable)?;
    if metadata.is_file() && access(&resolved, Access::EXEC_OK).is_ok() {
        Ok(resolved)
    } else {
        Err(ProgramError::NotExecutable {
            program: path.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
