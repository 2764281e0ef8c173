//! Files that are missing in a partial repository: the host fetches those that a work tree needs into the store.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use crate::branch::RemoteName;
use crate::error::{GitError, GitProblem};
use crate::kept_tree::names;
use crate::object::ObjectId;
use crate::object_store::FetchSource;
use crate::repository::Repository;

/// A file of a commit.
struct CommittedFile<'a> {
    object: &'a str,
    path: &'a [u8],
}

impl<'a> CommittedFile<'a> {
    /// Parses `<mode> SP <type> SP <object> TAB <path>`; `None` for a submodule.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut words = std::str::from_utf8(line.get(..tab)?).ok()?.split(' ');
        let (_, kind, object) = (words.next()?, words.next()?, words.next()?);
        let path = line.get(tab + 1..)?;
        (kind == "blob").then_some(Self { object, path })
    }
}

impl Repository {
    /// Returns the repository in which git finds every file of a commit that a work tree has: this one, or this one with its store.
    ///
    /// If it is a partial clone, missing files are fetched from its promisor remote into the store. Files that
    /// sparse patterns leave out are not fetched. The watched repository does not change.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::MissingFiles`] if files cannot be had, or if git fails.
    pub fn with_files(&self, commit: &ObjectId) -> Result<Self, GitError> {
        if !self.is_partial()? {
            return Ok(self.clone());
        }
        let reader = self.with_existing_store()?.unwrap_or_else(|| self.clone());
        let listing = reader.list_files(commit).output()?;
        let (reader, listing) = match listing.status {
            daemon_process::ExitStatus::Code(0) => (reader, listing.stdout),
            // Trees can be missing, too. They come with all their files.
            _ => {
                let tree = reader.tree_of(commit)?;
                let tree = BTreeSet::from([tree.as_str()]);
                let fetched = self.fetch_objects(&tree);
                let reader = fetched.map_err(|why| self.missing_files(commit, (1, b""), why))?;
                let listing = reader.list_files(commit).stdout()?;
                (reader, listing)
            }
        };
        let missing = reader.missing_of(&listing)?;
        let Some(first) = missing.first() else {
            return Ok(reader);
        };
        let (count, path) = (missing.len(), first.path.to_owned());
        let objects = missing.iter().map(|file| file.object).collect();
        let fetched = self.fetch_objects(&objects);
        let reader = fetched.map_err(|why| self.missing_files(commit, (count, &path), why))?;
        let left = reader.missing_of(&listing)?;
        match left.first() {
            None => Ok(reader),
            Some(first) => {
                let why = "the remote did not send them".to_owned();
                Err(self.missing_files(commit, (left.len(), first.path), why))
            }
        }
    }

    /// Reports whether objects may be missing: a pack is marked as one of a promisor remote.
    fn is_partial(&self) -> Result<bool, GitError> {
        let packs = self.common_dir().join("objects/pack");
        let entries = match fs::read_dir(&packs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            entries => entries.map_err(|source| self.unwritable(&packs, source))?,
        };
        for entry in entries {
            let entry = entry.map_err(|source| self.unwritable(&packs, source))?;
            if entry.file_name().as_encoded_bytes().ends_with(b".promisor") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn list_files(&self, commit: &ObjectId) -> crate::git::GitCommand {
        let call = self.call("ls-tree").args(["-r", "-z"]);
        call.operand(commit.as_str())
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist.
    pub fn tree_of(&self, commit: &ObjectId) -> Result<ObjectId, GitError> {
        let call = self.call("cat-file").args(["commit"]);
        let call = call.operand(commit.as_str());
        let what = "a commit";
        let malformed = call.error(GitProblem::Malformed { what });
        let text = call.stdout()?;
        let line = text.split(|byte| *byte == b'\n').next();
        let tree = line.and_then(|line| line.strip_prefix(b"tree "));
        let tree = tree.and_then(|tree| std::str::from_utf8(tree).ok()?.parse().ok());
        tree.ok_or(malformed)
    }

    /// Returns the files of a listing whose content is missing and that a work tree has.
    fn missing_of<'a>(&self, listing: &'a [u8]) -> Result<Vec<CommittedFile<'a>>, GitError> {
        let files: Vec<_> = names(listing).filter_map(CommittedFile::parse).collect();
        let mut asked = String::new();
        for file in &files {
            asked.push_str(file.object);
            asked.push('\n');
        }
        let check = self.call("cat-file");
        let check = check.args(["--batch-check=%(objecttype)", "--buffer"]);
        let output = check.stdin(asked).stdout()?;
        // Git prints one line for each request: the type, or the name and that it is missing.
        let lines = output.split(|byte| *byte == b'\n');
        let missing = files.into_iter().zip(lines);
        let missing = missing.filter(|(_, line)| line.ends_with(b" missing"));
        self.selected(missing.map(|(file, _)| file).collect())
    }

    /// Returns the files that the sparse patterns of the work tree select.
    fn selected<'a>(
        &self,
        files: Vec<CommittedFile<'a>>,
    ) -> Result<Vec<CommittedFile<'a>>, GitError> {
        if files.is_empty() || self.sparse_patterns()?.is_none() {
            return Ok(files);
        }
        let paths: Vec<&[u8]> = files.iter().map(|file| file.path).collect();
        let call = self.call("sparse-checkout");
        let call = call.args(["check-rules", "-z", "--no-cone", "--rules-file"]);
        let call = call.arg(self.git_dir().join("info/sparse-checkout"));
        let selected = call.stdin(paths.join(&0)).stdout()?;
        let selected: BTreeSet<&[u8]> = names(&selected).collect();
        let files = files.into_iter();
        Ok(files.filter(|file| selected.contains(file.path)).collect())
    }

    /// Fetches objects from the promisor remote into the store; the error says why not.
    fn fetch_objects(&self, objects: &BTreeSet<&str>) -> Result<Self, String> {
        let promisor = self.promisor().map_err(|error| error.brief())?;
        let Some(remote) = promisor else {
            return Err("it has no promisor remote".to_owned());
        };
        let source = FetchSource::new(Some(remote));
        let failed =
            |error: GitError| format!("they cannot be fetched from `{source}`: {}", error.brief());
        match self.fetch_all_into_store(&source, objects) {
            Ok(Some(extended)) => Ok(extended),
            Ok(None) => Err("there is no store to fetch them into".to_owned()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns the remote that promised the missing objects.
    fn promisor(&self) -> Result<Option<RemoteName>, GitError> {
        let call = self.call("config").args(["--type=bool", "--get-regexp"]);
        let output = call.operand("^remote\\..*\\.promisor$").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let name = |line: &str| {
            let name = line.strip_prefix("remote.")?;
            name.strip_suffix(".promisor true")?.parse().ok()
        };
        Ok(text.lines().find_map(name))
    }

    fn missing_files(
        &self,
        commit: &ObjectId,
        (n_files, path): (usize, &[u8]),
        why: String,
    ) -> GitError {
        let path = String::from_utf8_lossy(path);
        let path: String = path.chars().filter(|c| !c.is_control()).collect();
        self.error(
            "read-tree",
            GitProblem::MissingFiles {
                commit: commit.clone(),
                n_files,
                path: path.into(),
                why: why.into(),
            },
        )
    }
}
