//! The environment and paths of a child process of a run, the same for every provider.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::{Permissions, RunRequest};

/// The most support scripts that a run may execute.
const MOST_SCRIPTS: usize = 100;

impl RunRequest {
    /// Returns the whole environment of a process of this run, without the marker that its supervisor adds.
    ///
    /// Configured variables cannot replace the ones that the contract with programs defines.
    pub fn child_environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables: BTreeMap<OsString, OsString> = self.environment.clone();
        let mut set = |name: &str, value: &Path| {
            variables.insert(name.into(), value.as_os_str().to_owned());
        };
        // Set after the configured variables, so that they replace those of the same name.
        set("PWD", &self.worktree);
        set("HOME", &self.home);
        set("DAEMON_WORKTREE", &self.worktree);
        if let Some(context) = &self.context {
            set("DAEMON_CONTEXT", context);
        }
        if let Some(outputs) = &self.outputs {
            set("DAEMON_OUTPUTS", outputs);
        }
        variables.into_iter().collect()
    }

    /// Returns the paths that a child may read and those that it may change, for a sandbox.
    ///
    /// Readable are the context and [`RunRequest::readable`]; writable are the home, the outputs, `TMPDIR` and
    /// [`RunRequest::writable`]. The worktree, or the run's own tree that contains it, is writable unless the permissions are
    /// [`Permissions::Read`]. An overlay is neither: its mount decides.
    pub fn child_paths(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut readable = self.readable.clone();
        readable.extend(self.context.clone());
        let mut writable = self.writable.clone();
        writable.push(self.home.clone());
        writable.extend(self.outputs.clone());
        let temporary = self.environment.get(OsStr::new("TMPDIR"));
        writable.extend(temporary.map(PathBuf::from));
        let tree = self.own_tree.as_ref().unwrap_or(&self.worktree);
        match (&self.overlay, self.permissions) {
            (Some(_), _) => {}
            (None, Permissions::Read) => readable.push(tree.clone()),
            (None, _) => writable.push(tree.clone()),
        }
        (readable, writable)
    }

    /// Returns the directories on this machine that hold the files of the worktree, the topmost layer first.
    pub fn worktree_layers(&self) -> Vec<&Path> {
        let overlay = self.overlay.iter();
        let layers = overlay.flat_map(|overlay| [&overlay.upper].into_iter().chain(&overlay.lower));
        let layers: Vec<&Path> = layers.map(PathBuf::as_path).collect();
        match layers.is_empty() {
            true => vec![&self.worktree],
            false => layers,
        }
    }

    /// Reports whether the worktree has anything at a relative path.
    pub fn worktree_has(&self, path: &Path) -> bool {
        for layer in self.worktree_layers() {
            let mut parts: Vec<&Path> = path.ancestors().collect();
            parts.pop();
            for part in parts.into_iter().rev() {
                match layer.join(part).symlink_metadata() {
                    // In a layer this marks what a lower layer has as removed.
                    Ok(found) if self.overlay.is_some() && found.file_type().is_char_device() => {
                        return false;
                    }
                    Ok(_) if part == path => return true,
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        }
        false
    }

    /// Returns the directories that only this run fills, whose size a disk limit may count: the home, and the run's own tree or the
    /// worktree of an activation. Every other run works in a directory that belongs to its caller.
    pub fn own_directories(&self) -> Vec<PathBuf> {
        let of_activation = || self.context.is_some().then(|| self.worktree.clone());
        let changes = self.overlay.as_ref().map(|overlay| overlay.upper.clone());
        let worktree = changes.or_else(|| self.own_tree.clone());
        let worktree = worktree.or_else(of_activation);
        // A directory inside another would be counted twice.
        let worktree = worktree.filter(|worktree| !self.home.starts_with(worktree));
        worktree.into_iter().chain([self.home.clone()]).collect()
    }

    /// Returns the support scripts of the run: the executable files below `support` in its context, as absolute paths.
    ///
    /// Scripts whose path contains other characters than letters, digits and `/._-` are skipped: the paths come from a repository
    /// and become part of permission patterns and prompts.
    pub fn support_scripts(&self) -> Vec<PathBuf> {
        let Some(context) = &self.context else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut directories = vec![context.join("support")];
        while let Some(directory) = directories.pop() {
            // A directory that cannot be listed contains no script that the child could run.
            let Ok(entries) = fs::read_dir(&directory) else {
                continue;
            };
            for entry in entries.filter_map(Result::ok) {
                let path = entry.path();
                let Ok(meta) = entry.metadata() else {
                    continue;
                };
                if meta.is_dir() {
                    directories.push(path);
                } else if meta.is_file()
                    && meta.permissions().mode() & 0o111 != 0
                    && path.to_str().is_some_and(is_plain)
                {
                    found.push(path);
                }
            }
        }
        // Sorted, since the order of directories differs between file systems and the list is a part of prompts.
        found.sort();
        found.truncate(MOST_SCRIPTS);
        found
    }
}

fn is_plain(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    path.bytes().all(is_plain)
}
