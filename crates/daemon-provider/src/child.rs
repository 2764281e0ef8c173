//! What a process of a run is given, whoever starts it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::{Permissions, RunRequest};

/// How many support scripts of a run are told of.
const MOST_SCRIPTS: usize = 100;

impl RunRequest {
    /// Returns the whole environment of a process of this run, without the marker that its supervisor adds.
    ///
    /// What the contract names cannot be replaced by what configuration adds.
    pub fn child_environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables: BTreeMap<OsString, OsString> = self.environment.clone();
        let mut set = |name: &str, value: &Path| {
            variables.insert(name.into(), value.as_os_str().to_owned());
        };
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

    /// Returns what a child may read and what it may change, where its paths are restricted: the worktree (for reading only in a
    /// run that may only read), its home, its outputs, the temporary directory its environment names, its context, and what
    /// the request adds.
    pub fn child_paths(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut readable = self.readable.clone();
        readable.extend(self.context.clone());
        let mut writable = self.writable.clone();
        writable.push(self.home.clone());
        writable.extend(self.outputs.clone());
        let temporary = self.environment.get(OsStr::new("TMPDIR"));
        writable.extend(temporary.map(PathBuf::from));
        if self.permissions == Permissions::Read {
            readable.push(self.worktree.clone());
        } else {
            writable.push(self.worktree.clone());
        }
        (readable, writable)
    }

    /// Returns the directories that the run alone fills: its home, and the worktree of an activation. A run without a
    /// context works in a directory of somebody else's.
    pub fn own_directories(&self) -> Vec<PathBuf> {
        let worktree = self.context.is_some().then(|| self.worktree.clone());
        let worktree = worktree.filter(|worktree| !self.home.starts_with(worktree));
        worktree.into_iter().chain([self.home.clone()]).collect()
    }

    /// Returns the support scripts of the run: the executable files below `support` in its context, as absolute paths.
    ///
    /// Their names come from a repository and become part of patterns and of prompts, so that only plain ones are taken.
    pub fn support_scripts(&self) -> Vec<PathBuf> {
        let Some(context) = &self.context else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut directories = vec![context.join("support")];
        while let Some(directory) = directories.pop() {
            // What cannot be listed holds no script that could be run.
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
        found.sort();
        found.truncate(MOST_SCRIPTS);
        found
    }
}

fn is_plain(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    path.bytes().all(is_plain)
}
