//! Finding a program once, outside the places a stranger can write.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Why a program could not be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No directory of the search path holds an executable file of this name.
    #[error("no executable file `{program}` in the search path")]
    NotFound {
        /// The name that was looked for.
        program: PathBuf,
    },
    /// The program is a relative path with a directory in it.
    #[error("program `{program}` is neither a bare name nor an absolute path")]
    Relative {
        /// The path as given.
        program: PathBuf,
    },
    /// The path exists but is a directory, or may not be executed.
    #[error("`{program}` is not an executable file")]
    NotExecutable {
        /// The path as given.
        program: PathBuf,
    },
    /// The program lies in a directory whose content is not trusted.
    #[error("`{program}` lies inside `{forbidden}`, whose files may not be executed")]
    Forbidden {
        /// The resolved program.
        program: PathBuf,
        /// The directory it lies in.
        forbidden: PathBuf,
    },
    /// The path could not be read.
    #[error("cannot read `{program}`")]
    Unreadable {
        /// The path as given.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Resolves `program` to the absolute path of an executable file with no symbolic link left in it.
///
/// A bare name is looked up in `search` (the form of `PATH`; relative and empty entries are skipped), an absolute path is
/// taken as it is. Nothing inside one of the `forbidden` directories is returned, so that a repository cannot supply the
/// program that works on it.
///
/// # Errors
/// Every [`ProgramError`] names the path that was refused.
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
