//! Paths that a model names, opened component by component so that none leaves its root.

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use daemon_provider::tool_loop::ToolError;

/// A relative path without `..` and `.git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SafePath(Vec<String>);

/// Handling of directories that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Opening fails.
    Fail,
    /// They are created.
    Create,
}

impl SafePath {
    /// Parses a path; `.` and the empty path are the root.
    ///
    /// # Errors
    /// Fails for an absolute path, and for one that contains `..`, `.git` or a NUL.
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let refused = |why: &str| Err(ToolError::new(format!("`{text}` is refused: {why}")));
        if text.starts_with('/') {
            return refused("paths are relative");
        }
        if text.contains('\0') {
            return refused("it holds a NUL");
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return refused("it leads upwards"),
                // A file in `.git` can name programs that git runs. Some file systems ignore the case of names.
                part if part.eq_ignore_ascii_case(".git") => {
                    return refused("git's own files are not open");
                }
                part => parts.push(part.to_owned()),
            }
        }
        Ok(Self(parts))
    }

    /// Checks that a run may change the path.
    ///
    /// # Errors
    /// Fails for daemon files and workflows, which decide what runs later.
    pub(super) fn check_change(&self) -> Result<(), ToolError> {
        let is_at = |n: usize, name: &str| {
            self.0
                .get(n)
                .is_some_and(|part| part.eq_ignore_ascii_case(name))
        };
        if is_at(0, ".agents") || is_at(0, ".github") && is_at(1, "workflows") {
            return Err(ToolError::new(format!(
                "`{self}` is refused: a run changes neither daemons nor workflows"
            )));
        }
        Ok(())
    }

    /// Opens a directory.
    ///
    /// # Errors
    /// Fails if it does not exist or is not a directory, or if a component is a symbolic link.
    pub(super) fn open_directory(&self, root: &Path) -> Result<OwnedFd, ToolError> {
        self.descend(root, &self.0, Missing::Fail)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Fails if it does not exist or is not a regular file, or if a component is a symbolic link.
    pub(super) fn open_file(
        &self,
        root: &Path,
        flags: OFlags,
        missing: Missing,
    ) -> Result<File, ToolError> {
        let Some((name, parents)) = self.0.split_last() else {
            return Err(ToolError::new("a file is wanted, not the directory itself"));
        };
        let directory = self.descend(root, parents, missing)?;
        // Nonblocking, because opening a named pipe would wait for a writer.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = openat(&directory, name.as_str(), flags, Mode::from(0o644));
        let file = File::from(opened.map_err(|errno| self.cannot(errno))?);
        if file.metadata().is_ok_and(|meta| meta.is_file()) {
            Ok(file)
        } else {
            Err(ToolError::new(format!("`{self}` is no regular file")))
        }
    }

    fn descend(
        &self,
        root: &Path,
        parts: &[String],
        missing: Missing,
    ) -> Result<OwnedFd, ToolError> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Each component is opened below the descriptor of the one before: with a check of the whole path, a run could put a
        // symbolic link in place between the check and the use.
        let opened = openat(CWD, root, flags, Mode::empty());
        let mut directory = opened.map_err(|errno| self.cannot(errno))?;
        for part in parts {
            if missing == Missing::Create {
                match mkdirat(&directory, part.as_str(), Mode::from(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(self.cannot(errno)),
                }
            }
            directory = below(&directory, part).map_err(|errno| self.cannot(errno))?;
        }
        Ok(directory)
    }

    fn cannot(&self, errno: Errno) -> ToolError {
        let why = match errno {
            Errno::LOOP | Errno::NOTDIR => {
                "a component of the path is a symbolic link or a file".to_owned()
            }
            Errno::NOENT => "it does not exist".to_owned(),
            Errno::ISDIR => "it is a directory".to_owned(),
            errno => errno.to_string(),
        };
        ToolError::new(format!("`{self}` cannot be opened: {why}"))
    }
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        f.write_str(&self.0.join("/"))
    }
}

/// Opens a directory in a directory; fails for a symbolic link.
pub(super) fn below(directory: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_and_out_of_git() {
        for text in ["a", "./a//b/", ".", "", "a/.gitignore", ".agents/x", "..a"] {
            SafePath::parse(text).unwrap();
        }
        for text in [
            "../x",
            "a/../../x",
            "/etc/passwd",
            ".git/config",
            "a/.GIT/hooks",
            "a\0",
            "..",
        ] {
            assert!(SafePath::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(SafePath::parse("./a//b/").unwrap().to_string(), "a/b");
    }

    #[test]
    fn daemons_and_workflows_are_not_changed() {
        let change = |text: &str| SafePath::parse(text).unwrap().check_change();
        for text in [
            ".agents/daemons/x/DAEMON.md",
            "./.Agents/y",
            ".github/workflows/ci.yml",
        ] {
            assert!(change(text).is_err(), "{text}");
        }
        for text in [".github/CODEOWNERS", "a/.agents/x", "workflows/ci.yml"] {
            assert_eq!(change(text), Ok(()), "{text}");
        }
    }
}
