//! The repository of a work tree: a git directory that borrows the objects of the watched repository.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::{GitError, GitProblem};
use crate::materialise::write_new;
use crate::object::{ObjectFormat, RefKind};
use crate::repository::Repository;
use crate::sparse::SparsePatterns;
use crate::worktree::Checkout;

/// How many alternates git follows from one to the next.
const MAX_DEPTH: usize = 5;

impl Repository {
    /// Returns the directories that hold the objects: that of the repository or its store, and its alternates, as resolved paths.
    pub(crate) fn object_directories(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut found = Vec::new();
        let own = || self.common_dir().join("objects");
        let mut named = vec![self.store_objects().unwrap_or_else(own)];
        for _ in 0..=MAX_DEPTH {
            for path in std::mem::take(&mut named) {
                let dir = match fs::canonicalize(&path) {
                    // Git passes over an alternate that does not exist.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    dir => dir.map_err(|source| self.unwritable(&path, source))?,
                };
                if dir.as_os_str().as_bytes().contains(&b'\n') {
                    return Err(self.unusable(dir));
                }
                let is_own = found.is_empty() && dir == path;
                if !is_own && !has_objects(&dir) {
                    let what = "is no directory of git objects";
                    return Err(self.error("read-tree", GitProblem::Foreign { path: dir, what }));
                }
                if !found.contains(&dir) {
                    named.extend(self.alternates(&dir)?);
                    found.push(dir);
                }
            }
        }
        Ok(found)
    }

    /// Returns the directories that `info/alternates` of an object directory names.
    fn alternates(&self, objects: &Path) -> Result<Vec<PathBuf>, GitError> {
        let path = objects.join("info/alternates");
        let text = self.read_optional(&path)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let named = lines.filter(|line| !matches!(line.first(), None | Some(b'#')));
        named
            .map(|line| match line.first() {
                Some(b'"') => Err(self.unusable(OsStr::from_bytes(line).into())),
                Some(_) | None => Ok(objects.join(OsStr::from_bytes(line))),
            })
            .collect()
    }

    /// Writes the git directory of a work tree with file operations: no template, hook or configuration of the machine gets in.
    pub(crate) fn write_git_dir(
        &self,
        git_dir: &Path,
        checkout: &Checkout,
        (objects, sparse): (&[PathBuf], Option<&SparsePatterns>),
    ) -> Result<(), GitError> {
        let refs = git_dir.join("refs");
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&refs);
        made.map_err(|source| self.unwritable(&refs, source))?;
        // Without the cut-off points of a shallow repository, git would look for the commits before them.
        let shallow = self.read_optional(&self.common_dir().join("shallow"))?;
        // What the changes of the run leave out, `git add` in the work tree leaves out too.
        let exclude = self.read_optional(&self.common_dir().join("info/exclude"))?;
        let files = [
            ("HEAD", Some(format!("{}\n", checkout.commit).into_bytes())),
            (
                "config",
                Some(config(self.format(), checkout, sparse).into_bytes()),
            ),
            ("packed-refs", Some(packed_refs(checkout).into_bytes())),
            ("objects/info/alternates", Some(alternates_file(objects))),
            ("shallow", shallow),
            ("info/exclude", exclude),
            (
                "info/sparse-checkout",
                sparse.map(|sparse| sparse.as_bytes().to_owned()),
            ),
        ];
        for (name, content) in files {
            let path = git_dir.join(name);
            let Some(content) = content else { continue };
            write_new(&path, &content, 0o600).map_err(|source| self.unwritable(&path, source))?;
        }
        Ok(())
    }

    pub(crate) fn read_optional(&self, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        // Opening a pipe would wait for its writer.
        let read = fs::metadata(path).and_then(|found| match found.is_file() {
            true => fs::read(path),
            false => Err(io::ErrorKind::InvalidInput.into()),
        });
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            content => content
                .map(Some)
                .map_err(|source| self.unwritable(path, source)),
        }
    }

    fn unusable(&self, path: PathBuf) -> GitError {
        self.error("read-tree", GitProblem::UnusableObjects { path })
    }
}

/// Reports whether a directory that a link or `info/alternates` names looks like one of objects. Runs can read it, so it must not be
/// any directory.
fn has_objects(dir: &Path) -> bool {
    let is_named = dir.file_name() == Some(OsStr::new("objects"));
    is_named && ["pack", "info"].iter().any(|name| dir.join(name).is_dir())
}

/// Returns the content of `info/alternates`.
pub(crate) fn alternates_file(objects: &[PathBuf]) -> Vec<u8> {
    let mut acc = Vec::new();
    for dir in objects {
        acc.extend_from_slice(dir.as_os_str().as_bytes());
        acc.push(b'\n');
    }
    acc
}

/// Returns the configuration. Attributes are off, as they are when the changes are read.
///
/// An overlay shows other numbers and other times of change for files of its lower layers than the index has.
fn config(format: ObjectFormat, checkout: &Checkout, sparse: Option<&SparsePatterns>) -> String {
    let sparse = match sparse {
        None => "",
        Some(_) => "\tsparseCheckout = true\n",
    };
    let (version, extension) = match format {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tautocrlf = false\n\thooksPath = /dev/null\n\
         \tcheckStat = minimal\n\ttrustCtime = false\n{sparse}[attr]\n\ttree = {empty}\n[user]\n\tname = {name}\n\temail = {email}\n[commit]\n\tgpgSign = false\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n{extension}",
        empty = format.empty_tree(),
        name = checkout.author.name,
        email = checkout.author.email,
    )
}

/// Returns the branches in the format of `packed-refs`; without a header, git assumes no order and no peeled tags.
fn packed_refs(checkout: &Checkout) -> String {
    let branches = checkout.branches.iter();
    let branches = branches.filter(|(name, _)| name.kind() == RefKind::Branch);
    branches.fold(String::new(), |mut acc, (name, commit)| {
        writeln!(acc, "{commit} {name}").expect("writing to a string cannot fail");
        acc
    })
}
