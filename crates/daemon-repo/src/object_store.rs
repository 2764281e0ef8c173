//! Commits that the watched repository does not have: the host fetches them into a bare repository of its own.
//!
//! That store borrows the objects of the watched repository. Git sees both with the refs and the configuration of the watched
//! repository, and writes new objects into the store only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::branch::RemoteName;
use crate::error::{GitError, GitProblem, without_credentials};
use crate::git::GitCommand;
use crate::materialise::write_new;
use crate::object::{ObjectFormat, ObjectId};
use crate::private_git::alternates_file;
use crate::repository::Repository;

/// The remote from which missing commits are fetched if the configuration names none.
const USUAL_REMOTE: &str = "origin";
/// How often the lock is tried: a fetch waits five seconds for another one of the same repository. It is tried again later, and the
/// one that it waits for may hang.
const LOCK_TRIES: u32 = 100;
/// The interval at which the lock is tried.
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Settings with which a fetch changes only the objects of the store.
const SETTINGS: [(&str, &str); 5] = [
    // A pack appears at once; single objects would appear without those that they refer to.
    ("fetch.unpackLimit", "1"),
    // A program, whose output repeats refs that git reads anyway.
    ("core.alternateRefsCommand", "true"),
    ("fetch.writeCommitGraph", "false"),
    // A server that sends nothing for this many seconds; while it prepares a pack, it sends a sign of life every 5 s.
    ("http.lowSpeedTime", "20"),
    ("http.lowSpeedLimit", "1"),
];

/// Where the commits come from that a repository does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSource {
    remote: RemoteName,
}

impl FetchSource {
    /// Makes a source of the configured remote; without one it is `origin`.
    pub fn new(remote: Option<RemoteName>) -> Self {
        let usual = || USUAL_REMOTE.parse().expect("a plain word names a remote");
        Self {
            remote: remote.unwrap_or_else(usual),
        }
    }
}

impl std::fmt::Display for FetchSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&without_credentials(self.remote.as_str()))
    }
}

impl Repository {
    /// Sets the directory of the store, which the first fetch creates.
    #[must_use]
    pub fn with_store(mut self, dir: &Path) -> Self {
        self.store = Some(dir.to_owned());
        self.is_extended = false;
        self
    }

    /// Returns the repository in which git finds a commit: this one, else this one with its store; `None` if neither has it.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails, or if the store cannot be read.
    pub fn holding(&self, commit: &ObjectId) -> Result<Option<Self>, GitError> {
        if self.has_commit(commit)? {
            return Ok(Some(self.clone()));
        }
        let extended = match self.is_extended {
            true => None,
            false => self.with_existing_store()?,
        };
        match extended {
            Some(extended) => Ok(extended.has_commit(commit)?.then_some(extended)),
            None => Ok(None),
        }
    }

    /// Returns this repository with its store, if that was made.
    pub(crate) fn with_existing_store(&self) -> Result<Option<Self>, GitError> {
        let Some(store) = self
            .store
            .as_ref()
            .filter(|store| alternates(store).exists())
        else {
            return Ok(None);
        };
        // The watched repository may have moved since the store was made.
        if fs::read(alternates(store)).ok() != Some(self.borrowed()?) {
            self.write_store(store)?;
        }
        Ok(Some(self.extended(true)))
    }

    /// Fetches objects by their ids into the store, alone. Returns the repository with the store; `None` if there is no store.
    pub(crate) fn fetch_all_into_store(
        &self,
        source: &FetchSource,
        objects: &BTreeSet<&str>,
    ) -> Result<Option<Self>, GitError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let lock = self.write_store(store)?;
        let extended = self.extended(true);
        // A server leaves out what belongs to commits that the client has, which is what is missing here.
        let fetch = fetch_options(extended.call("fetch"))
            .setting("fetch.negotiationAlgorithm", "noop")
            .arg("--stdin");
        let ids: Vec<&str> = objects.iter().copied().collect();
        let fetch = fetch.operand(source.remote.as_str()).stdin(ids.join("\n"));
        fetch.stdout()?;
        drop(lock);
        Ok(Some(extended))
    }

    /// Fetches a commit into the store: from the head of a pull request, else by its id. Returns the repository with the store;
    /// `None` if there is no store or no such remote. The watched repository does not change.
    ///
    /// # Errors
    /// Returns [`GitError`] if the remote cannot be read or does not give the commit.
    pub fn fetch_into_store(
        &self,
        source: &FetchSource,
        commit: &ObjectId,
        pull: Option<u64>,
    ) -> Result<Option<Self>, GitError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        if !self.has_remote(&source.remote)? {
            return Ok(None);
        }
        let lock = self.write_store(store)?;
        // Another fetch may have brought it while this one waited.
        if let Some(found) = self.holding(commit)? {
            return Ok(Some(found));
        }
        let extended = self.extended(true);
        if let Some(number) = pull {
            let head = format!("refs/pull/{number}/head");
            match extended.fetch_object(source, &head).stdout() {
                // The head may have moved, and other remotes than GitHub's have no such ref: the id decides then.
                Ok(_) => {}
                Err(error) if matches!(error.problem(), GitProblem::Failed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if !extended.has_commit(commit)? {
            extended.fetch_object(source, commit.as_str()).stdout()?;
        }
        drop(lock);
        match extended.has_commit(commit)? {
            true => Ok(Some(extended)),
            false => Err(self.missing(commit.as_str())),
        }
    }

    /// Copies a commit with all that it refers to from the store into the watched repository; no ref points to it.
    pub(crate) fn import_from_store(&self, commit: &ObjectId) -> Result<(), GitError> {
        let Some(store) = self.store.as_ref().filter(|_| self.is_extended) else {
            return Ok(());
        };
        let watched = self.extended(false);
        if watched.has_commit(commit)? {
            return Ok(());
        }
        fetch_options(watched.local_call("fetch"))
            .operand(store)
            .operand(commit.as_str())
            .stdout()
            .map(drop)
    }

    /// Returns the object directory into which git writes, if it is that of the store.
    pub(crate) fn store_objects(&self) -> Option<PathBuf> {
        let store = self.store.as_ref().filter(|_| self.is_extended)?;
        Some(store.join("objects"))
    }

    /// Returns this repository with its store, or without it.
    fn extended(&self, is_extended: bool) -> Self {
        let mut acc = self.clone();
        acc.is_extended = is_extended;
        acc
    }

    /// Creates a command that fetches one object by its id or its ref.
    fn fetch_object(&self, source: &FetchSource, wanted: &str) -> GitCommand {
        fetch_options(self.call("fetch"))
            .operand(source.remote.as_str())
            .operand(wanted)
    }

    /// Whether a remote is configured, or is a URL or a path.
    fn has_remote(&self, remote: &RemoteName) -> Result<bool, GitError> {
        let name = remote.as_str();
        if name.contains([':', '/']) {
            return Ok(true);
        }
        let call = self.call("remote").arg("get-url").operand(name);
        Ok(call.output()?.status == daemon_process::ExitStatus::Code(0))
    }

    /// Creates the store or completes it, and returns its lock: one fetch of a repository runs at a time.
    fn write_store(&self, store: &Path) -> Result<File, GitError> {
        let failed = |source| self.unwritable(store, source);
        let made = DirBuilder::new().mode(0o700).recursive(true).create(store);
        made.map_err(failed)?;
        let lock = File::open(store).map_err(failed)?;
        if !lock_file(&lock).map_err(failed)? {
            return Err(self.error("fetch", GitProblem::Fetching));
        }
        self.remove_partial_packs(store)?;
        let refs = store.join("refs");
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&refs);
        made.map_err(|source| self.unwritable(&refs, source))?;
        // The alternates last: with them the store is complete.
        let files = [
            (store.join("HEAD"), b"ref: refs/heads/main\n".to_vec()),
            (store.join("config"), config(self.format()).into_bytes()),
            (alternates(store), self.borrowed()?),
        ];
        for (path, content) in files {
            replace(&path, &content).map_err(|source| self.unwritable(&path, source))?;
        }
        Ok(lock)
    }

    /// Removes what killed fetches left, while the lock excludes another fetch.
    fn remove_partial_packs(&self, store: &Path) -> Result<(), GitError> {
        let packs = store.join("objects/pack");
        let entries = match fs::read_dir(&packs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|source| self.unwritable(&packs, source))?,
        };
        for entry in entries {
            let path = entry
                .map_err(|source| self.unwritable(&packs, source))?
                .path();
            let name = path.file_name().map(OsStr::as_encoded_bytes);
            if name.is_some_and(|name| name.starts_with(b"tmp_")) {
                fs::remove_file(&path).map_err(|source| self.unwritable(&path, source))?;
            }
        }
        Ok(())
    }

    /// Returns the object directories of the watched repository as `info/alternates` lists them.
    fn borrowed(&self) -> Result<Vec<u8>, GitError> {
        Ok(alternates_file(&self.extended(false).object_directories()?))
    }
}

/// Adds the options with which a fetch writes objects and nothing else: no ref, no tag and no `FETCH_HEAD`.
fn fetch_options(fetch: GitCommand) -> GitCommand {
    let fetch = SETTINGS
        .into_iter()
        .fold(fetch, |fetch, (key, value)| fetch.setting(key, value));
    fetch.args([
        "--quiet",
        "--no-tags",
        // A partial clone has a filter, and a checkout fetches nothing.
        "--no-filter",
        "--no-prune",
        "--no-prune-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        // Without it git would also move the remote-tracking branch of the ref.
        "--refmap=",
        // The configuration of the remote could name another program.
        "--upload-pack=git-upload-pack",
    ])
}

/// Waits for the lock of a store; returns whether it was locked.
fn lock_file(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOCK_POLL),
            locked => return locked.map(|()| true).map_err(io::Error::from),
        }
    }
    Ok(false)
}

fn alternates(store: &Path) -> PathBuf {
    store.join("objects/info/alternates")
}

/// Returns the configuration of the store. No ref keeps its objects, so housekeeping must not remove them.
fn config(format: ObjectFormat) -> String {
    let (version, extension) = match format {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n[gc]\n\tauto = 0\n\tpruneExpire = never\n{extension}"
    )
}

/// Writes a file unless it has the content. The new file replaces the old one at once.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    write_new(&new, content, 0o600)?;
    fs::rename(&new, path)
}
