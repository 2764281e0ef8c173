//! The paths that a run changed, as far as its work tree shows them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::error::{GitError, GitProblem};
use crate::kept_tree::{below, directories, names};
use crate::layers::{Layers, ancestors, is_removal, mark_removed};
use crate::path::TreePath;
use crate::tree::EntryKind;
use crate::worktree::{ScratchIndex, Worktree};

/// The maximum number of changed paths.
const MAX_CHANGED_PATHS: usize = 20_000;
/// The maximum total size of changed files, in bytes.
const MAX_CHANGED_BYTES: u64 = 64 << 20;

/// An entry of an index.
struct Tracked<'a> {
    path: &'a [u8],
    is_submodule: bool,
    /// Whether sparse patterns leave it out of the work tree.
    is_left_out: bool,
}

impl<'a> Tracked<'a> {
    /// Parses `<tag> SP <mode> SP <object> SP <stage> TAB <path>`.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let (tag, line) = line.split_at_checked(2)?;
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mode = line.split(|byte| *byte == b' ').next()?;
        Some(Self {
            path: line.get(tab + 1..)?,
            is_submodule: EntryKind::from_mode(mode) == EntryKind::Submodule,
            is_left_out: tag == b"S ",
        })
    }
}

/// Changed paths, sorted for the index.
#[derive(Default)]
struct ChangedPaths<'a> {
    /// Files and links, as they are.
    written: Vec<&'a [u8]>,
    /// Nothing.
    removed: Vec<&'a [u8]>,
    /// What it has already.
    unusable: BTreeSet<String>,
}

impl ChangedPaths<'_> {
    fn leave_out(&mut self, path: &[u8]) {
        let shown = String::from_utf8_lossy(path).into_owned();
        self.unusable.insert(shown);
    }
}

impl Worktree {
    /// Brings an index from the base commit to the changed files, and returns the paths that are left out.
    ///
    /// The paths in `committed` count although git ignores them.
    pub(crate) fn index_changes<'a>(
        &self,
        index: &ScratchIndex,
        committed: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Vec<String>, GitError> {
        self.remove_special();
        let listing = match self.layers() {
            None => self.list_all(index)?,
            Some(layers) => self.list_upper(layers, index)?,
        };
        // What an upper layer does not have is as it was, or removed already.
        let is_written = |path: &&[u8]| self.layers().is_none_or(|layers| layers.has_changed(path));
        let committed: Vec<&[u8]> = committed.filter(is_written).collect();
        let paths = self.changed_paths(committed.into_iter().chain(names(&listing)))?;
        self.update(index, &["--force-remove"], &paths.removed)?;
        self.update(index, &["--add", "--replace"], &paths.written)?;
        Ok(paths.unusable.into_iter().collect())
    }

    /// Removes pipes, sockets and devices, which no commit holds, from what the run wrote: git would wait for the other end of a pipe
    /// with the name of one of its files. What cannot be read here, git cannot read either.
    fn remove_special(&self) {
        let root = self.written();
        let mut left = vec![root.to_owned()];
        while let Some(directory) = left.pop() {
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            for entry in entries {
                let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else {
                    continue;
                };
                let kind = metadata.file_type();
                if kind.is_dir() {
                    left.push(path);
                    continue;
                }
                // In an upper layer, one sort of device is the mark of a removed path.
                if kind.is_file() || kind.is_symlink() || is_removal(&metadata) {
                    continue;
                }
                // One that stays makes git wait until its time limit, and the attempt fails.
                let removed = fs::remove_file(&path);
                if let (Some(layers), Ok(below), Ok(())) =
                    (self.layers(), path.strip_prefix(root), removed)
                {
                    // The file of a lower layer stays hidden.
                    mark_removed(&layers.upper, below.as_os_str().as_bytes()).unwrap_or(());
                }
            }
        }
    }

    /// Lists the changed paths by the state of every file.
    fn list_all(&self, index: &ScratchIndex) -> Result<Vec<u8>, GitError> {
        let call = self.trusted_call("ls-files", index);
        let call = call.args(["-z", "--modified", "--deleted", "--others"]);
        call.args(["--exclude-standard"]).stdout()
    }

    /// Lists the changed paths that an upper layer has, and removes from the index what it hides.
    fn list_upper(&self, layers: &Layers, index: &ScratchIndex) -> Result<Vec<u8>, GitError> {
        let listing = self.trusted_call("ls-files", index);
        let listing = listing.args(["-t", "-z", "--stage"]).stdout()?;
        let tracked: Vec<Tracked<'_>> = names(&listing).filter_map(Tracked::parse).collect();
        let with_files = directories(tracked.iter().map(|entry| entry.path));
        let upper = layers.changed(|directory| with_files.contains(directory));
        let upper = upper.map_err(|source| self.repository().unwritable(&layers.upper, source))?;
        // The directory of a submodule counts as unchanged, unless it is a repository.
        let is_kept =
            |entry: &Tracked<'_>| entry.is_submodule && upper.directories.contains(entry.path);
        let is_changed = |entry: &Tracked<'_>| match is_kept(entry) {
            true => layers.has_changed(&[entry.path, b"/.git"].concat()),
            false => upper.files.contains(entry.path),
        };
        let is_removed = |entry: &&Tracked<'_>| {
            !is_kept(entry) && !entry.is_left_out && upper.removes(entry.path)
        };
        let (removed, left): (Vec<&Tracked<'_>>, Vec<&Tracked<'_>>) =
            tracked.iter().partition(is_removed);
        let removed: Vec<&[u8]> = removed.into_iter().map(|entry| entry.path).collect();
        self.update(index, &["--force-remove"], &removed)?;
        // Git reads rules of what is ignored from the index if their file is marked so.
        let rules = left.iter().filter(|entry| {
            let name = entry.path.rsplit(|byte| *byte == b'/').next();
            name == Some(b".gitignore") && !is_changed(entry)
        });
        let rules: Vec<&[u8]> = rules.map(|entry| entry.path).collect();
        self.update(index, &["--skip-worktree"], &rules)?;
        let others = self.trusted_call("ls-files", index);
        let others = others.args(["-z", "--others", "--exclude-standard"]);
        let mut listing = others.stdout()?;
        for entry in left.iter().filter(|entry| is_changed(entry)) {
            listing.extend_from_slice(entry.path);
            listing.push(0);
        }
        Ok(listing)
    }

    /// Changes the entries of paths in an index.
    fn update(
        &self,
        index: &ScratchIndex,
        how: &[&'static str],
        paths: &[&[u8]],
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let call = self.trusted_call("update-index", index);
        let call = call.args(how.iter().copied()).args(["-z", "--stdin"]);
        call.stdin(paths.join(&0)).stdout().map(drop)
    }

    /// Sorts changed paths for the index.
    fn changed_paths<'a>(
        &self,
        paths: impl Iterator<Item = &'a [u8]>,
    ) -> Result<ChangedPaths<'a>, GitError> {
        let mut acc = ChangedPaths::default();
        let mut bytes = 0;
        let paths: BTreeSet<&[u8]> = paths.filter(|path| !path.is_empty()).collect();
        for path in paths {
            // A directory in the listing is a nested repository.
            if path.ends_with(b"/") || TreePath::from_bytes(path).is_err() {
                acc.leave_out(path);
                continue;
            }
            let file = below(self.written(), path);
            match fs::symlink_metadata(&file) {
                // Git refuses a path below a link, where its file cannot be.
                _ if is_below_file(self.written(), path) => acc.removed.push(path),
                // A directory at the path of a file is a checked-out submodule; its entry is left unchanged.
                Ok(metadata) if metadata.is_dir() && file.join(".git").exists() => {
                    acc.leave_out(path);
                }
                Ok(metadata) if metadata.is_file() || metadata.is_symlink() => {
                    bytes += metadata.len();
                    acc.written.push(path);
                }
                // A directory, a pipe or nothing: the file is gone.
                Ok(_) | Err(_) => acc.removed.push(path),
            }
        }
        let n_paths = acc.written.len() + acc.removed.len();
        if n_paths > MAX_CHANGED_PATHS || bytes > MAX_CHANGED_BYTES {
            return Err(self
                .repository()
                .error("ls-files", GitProblem::TooManyChanges { n_paths, bytes }));
        }
        Ok(acc)
    }
}

/// Reports whether a parent of a path is there, but is not a directory.
fn is_below_file(root: &Path, path: &[u8]) -> bool {
    let parents = ancestors(path).filter(|parent| parent.len() < path.len());
    let mut found = parents.map(|parent| fs::symlink_metadata(below(root, parent)));
    found.any(|found| found.is_ok_and(|metadata| !metadata.is_dir()))
}
