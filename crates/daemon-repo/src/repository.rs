//! A repository: its location, its name and its default branch.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_event::RepoName;

use crate::error::{GitError, GitProblem};
use crate::git::{Git, GitCommand};
use crate::object::{ObjectFormat, ObjectId, RefName};
use crate::ref_files::read_ref_files;
use crate::refs::{RefSnapshot, parse_refs};
use crate::remote_token::RemoteToken;
use crate::uncommitted::UncommittedDirectory;

/// The commands that may reach a server.
const REMOTE_COMMANDS: [&str; 3] = ["fetch", "ls-remote", "push"];

/// A git repository on disk: a work tree, a linked work tree or a bare repository.
///
/// Every method starts a git process; nothing is cached except the paths. All methods block.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: Option<PathBuf>,
    format: ObjectFormat,
    name: RepoName,
    /// The bare repository for the objects that are fetched for this one.
    pub(crate) store: Option<PathBuf>,
    /// Whether git reads the objects of the store, too, and writes there.
    pub(crate) is_extended: bool,
    /// What it authenticates with at a server.
    pub(crate) token: Option<RemoteToken>,
    /// A directory that runs see as it is in the work tree.
    pub(crate) uncommitted: Option<Arc<UncommittedDirectory>>,
}

impl Repository {
    /// Opens the repository whose root or git directory is `path`.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::Unreadable`] or [`GitProblem::NotARepository`], the latter also for a subdirectory of a
    /// repository.
    pub fn open(git: &Git, path: &Path) -> Result<Self, GitError> {
        let root = canonical_directory(path)?;
        // The ceiling keeps git from searching the parent directories.
        let ceiling = root.parent().unwrap_or(&root).to_owned();
        Self::locate(
            GitCommand::new(git, &root, "rev-parse").env("GIT_CEILING_DIRECTORIES", ceiling),
            git,
        )
    }

    /// Opens the repository that encloses `path`.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::Unreadable`] or [`GitProblem::NotARepository`].
    pub fn enclosing(git: &Git, path: &Path) -> Result<Self, GitError> {
        let root = canonical_directory(path)?;
        Self::locate(GitCommand::new(git, &root, "rev-parse"), git)
    }

    fn locate(call: GitCommand, git: &Git) -> Result<Self, GitError> {
        let call = call.args([
            "--path-format=absolute",
            "--show-object-format",
            "--is-bare-repository",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ]);
        let output = call.output()?;
        // For a bare repository git prints everything except the top level, and then fails.
        let printed = output.stdout.strip_suffix(b"\n").unwrap_or_default();
        let lines: Vec<&OsStr> = printed
            .split(|byte| *byte == b'\n')
            .map(OsStr::from_bytes)
            .collect();
        let [format, is_bare, git_dir, common_dir, rest @ ..] = lines.as_slice() else {
            return Err(match is_not_a_repository(&output.stderr) {
                true => call.error(GitProblem::NotARepository),
                false => call.failed(&output),
            });
        };
        // Every path is one line, unless one of them has a line break.
        if rest.len() > 1 {
            let path = call.place().to_owned();
            return Err(call.error(GitProblem::UnusableObjects { path }));
        }
        // Git prints no top level either for a path inside the git directory of a work tree.
        let work_tree = match rest {
            [root] if *is_bare == "false" => Some(PathBuf::from(root)),
            _ => None,
        };
        let mut repository = Self {
            git: git.clone(),
            git_dir: PathBuf::from(git_dir),
            common_dir: PathBuf::from(common_dir),
            work_tree,
            format: if *format == "sha256" {
                ObjectFormat::Sha256
            } else {
                ObjectFormat::Sha1
            },
            name: "repository"
                .parse()
                .expect("a plain word is a repository name"),
            store: None,
            is_extended: false,
            token: None,
            uncommitted: None,
        };
        if let Some(name) = repository.read_name()? {
            repository.name = name;
        }
        Ok(repository)
    }

    /// Replaces the name by one from the configuration.
    #[must_use]
    pub fn named(mut self, name: RepoName) -> Self {
        self.name = name;
        self
    }

    /// Returns the name: the configured one, or `owner/name` from the URL of `origin`, or the name of the directory.
    pub fn name(&self) -> &RepoName {
        &self.name
    }

    /// Returns the root of the work tree in which it was opened; `None` for a bare repository.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Returns the directory of the objects and refs, which linked work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the hash function of the object names.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Returns the directory of HEAD and the index of the work tree that was opened.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Creates a command on the objects and refs, without a work tree. One that may reach a server gets the token.
    pub(crate) fn call(&self, command: &'static str) -> GitCommand {
        let call = self.local_call(command);
        match &self.token {
            Some(token) if REMOTE_COMMANDS.contains(&command) => token.add_to(call),
            Some(_) | None => call,
        }
    }

    /// Creates a command that reaches no server.
    pub(crate) fn local_call(&self, command: &'static str) -> GitCommand {
        let call = GitCommand::new(&self.git, &self.common_dir, command)
            .env("GIT_DIR", &self.common_dir)
            // Attributes in a tree could name filters; the empty tree has none.
            .env("GIT_ATTR_SOURCE", self.format.empty_tree());
        self.on_objects(call)
    }

    /// Makes a command that has the git directory of this repository read and write its objects.
    pub(crate) fn on_objects(&self, call: GitCommand) -> GitCommand {
        match self.store_objects() {
            Some(objects) => call.env("GIT_OBJECT_DIRECTORY", objects),
            None => call,
        }
    }

    /// Reads all branches and tags: from git's files where their format allows it, otherwise with a git process.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn refs(&self) -> Result<RefSnapshot, GitError> {
        match read_ref_files(&self.common_dir) {
            Some(refs) => Ok(refs),
            None => self.refs_below("refs/"),
        }
    }

    /// Lists the branches and tags of a namespace with the layout of `refs/`.
    pub(crate) fn refs_below(&self, root: &'static str) -> Result<RefSnapshot, GitError> {
        let call = self
            .call("for-each-ref")
            .arg("--format=%(objectname)%00%(symref)%00%(refname)")
            .arg(format!("{root}heads"))
            .arg(format!("{root}tags"))
            .arg("refs/remotes/origin/HEAD");
        let malformed = call.error(GitProblem::Malformed {
            what: "a list of refs",
        });
        parse_refs(&call.stdout()?, root).ok_or(malformed)
    }

    /// Returns the default branch: that of `origin/HEAD`, else `main`, `master`, or the branch of HEAD.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::Unborn`] if the repository has no commit, and with [`GitProblem::MissingRef`] if the branch
    /// does not exist or HEAD is detached.
    pub fn default_branch(&self, refs: &RefSnapshot) -> Result<RefName, GitError> {
        let branch = self.default_branch_name(refs)?;
        if refs.get(&branch).is_some() {
            Ok(branch)
        } else if refs.is_empty() {
            Err(self.error("for-each-ref", GitProblem::Unborn))
        } else {
            Err(self.missing(branch.as_str()))
        }
    }

    /// Returns the name of the default branch, which may exist only at the remote: after a rename there, a clone has no such branch.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::MissingRef`] if HEAD is detached and nothing else names the branch.
    pub fn default_branch_name(&self, refs: &RefSnapshot) -> Result<RefName, GitError> {
        let fallback = ["refs/heads/main", "refs/heads/master"];
        let candidate = refs.origin_head().cloned().or_else(|| {
            fallback
                .iter()
                .map(|name| name.parse().expect("the names are well formed"))
                .find(|name| refs.get(name).is_some())
        });
        match candidate {
            Some(branch) => Ok(branch),
            None => self.head_branch()?.ok_or_else(|| self.missing("HEAD")),
        }
    }

    /// Finds a branch or tag by its full name, or by its short name with branches first.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::MissingRef`] if there is no such ref.
    pub fn find_ref(&self, name: &str, refs: &RefSnapshot) -> Result<RefName, GitError> {
        [
            name.to_owned(),
            format!("refs/heads/{name}"),
            format!("refs/tags/{name}"),
        ]
        .iter()
        .filter_map(|full| full.parse::<RefName>().ok())
        .find(|full| refs.get(full).is_some())
        .ok_or_else(|| self.missing(name))
    }

    /// Resolves an object to a commit, following annotated tags.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::MissingRef`] if it does not lead to a commit in this repository.
    pub fn commit_of(&self, object: &ObjectId) -> Result<ObjectId, GitError> {
        let call = self
            .call("rev-parse")
            .args(["--verify", "--quiet"])
            .operand(format!("{object}^{{commit}}"));
        let output = call.output()?;
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .ok()
            .ok_or_else(|| self.missing(object.as_str()))
    }

    /// Whether the commit is in this repository.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails for another reason.
    pub fn has_commit(&self, commit: &ObjectId) -> Result<bool, GitError> {
        match self.commit_of(commit) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.problem(), GitProblem::MissingRef { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the given commits that are in this repository, with one git process.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn commits_among(
        &self,
        commits: &BTreeSet<ObjectId>,
    ) -> Result<BTreeSet<ObjectId>, GitError> {
        if commits.is_empty() {
            return Ok(BTreeSet::new());
        }
        let asked: String = commits
            .iter()
            .map(|commit| format!("{commit}^{{commit}}\n"))
            .collect();
        let call = self
            .call("cat-file")
            .args(["--batch-check=%(objecttype)", "--buffer"])
            .stdin(asked);
        let output = call.stdout()?;
        // Git prints one line for each request: the type, or that the object is missing.
        let lines = output.split(|byte| *byte == b'\n');
        let there = commits.iter().zip(lines);
        let there = there.filter(|(_, line)| *line == b"commit");
        Ok(there.map(|(commit, _)| commit.clone()).collect())
    }

    pub(crate) fn error(&self, command: &'static str, problem: GitProblem) -> GitError {
        GitError::new(&self.common_dir, command, problem)
    }

    pub(crate) fn missing(&self, name: &str) -> GitError {
        self.error("rev-parse", GitProblem::MissingRef { name: name.into() })
    }

    /// Returns the branch of HEAD in the work tree that was opened; `None` if HEAD is detached.
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run.
    pub fn head_branch(&self) -> Result<Option<RefName>, GitError> {
        // HEAD belongs to the work tree that was opened, not to the shared directory.
        let call = self
            .call("symbolic-ref")
            .env("GIT_DIR", &self.git_dir)
            .args(["-q", "HEAD"]);
        let output = call.output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
    }

    fn read_name(&self) -> Result<Option<RepoName>, GitError> {
        let output = self
            .call("config")
            .args(["--get", "remote.origin.url"])
            .output()?;
        let url = String::from_utf8_lossy(&output.stdout);
        Ok(name_in_url(url.trim())
            .or_else(|| self.folder())
            .and_then(|name| name.parse().ok()))
    }

    /// Returns the name of the repository's directory, regardless of the work tree that was opened.
    fn folder(&self) -> Option<String> {
        let dir = &self.common_dir;
        let folder = if dir.file_name()? == ".git" {
            dir.parent()?
        } else {
            dir
        };
        let name = folder.file_name()?.to_string_lossy();
        Some(name.strip_suffix(".git").unwrap_or(&name).to_owned())
    }
}

fn canonical_directory(path: &Path) -> Result<PathBuf, GitError> {
    let error = |problem| GitError::new(path, "rev-parse", problem);
    let root = fs::canonicalize(path).map_err(|source| error(GitProblem::Unreadable { source }))?;
    if root.is_dir() {
        Ok(root)
    } else {
        Err(error(GitProblem::NotARepository))
    }
}

fn is_not_a_repository(stderr: &[u8]) -> bool {
    String::from_utf8_lossy(stderr).contains("not a git repository")
}

/// Returns the last two components of the path of a URL with a host; a local path does not name a service's repository.
fn name_in_url(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // The scp-like form of ssh: `git@host:owner/name.git`.
        None => {
            url.split_once(':')
                .filter(|(host, _)| !host.contains('/'))?
                .1
        }
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (before, name) = path.rsplit_once('/')?;
    let owner = before.rsplit('/').next().unwrap_or(before);
    (!owner.is_empty() && !name.is_empty()).then(|| format!("{owner}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_host_gives_the_repository_name() {
        let named = "acme/widgets";
        for (url, expected) in [
            ("https://github.com/acme/widgets.git", Some(named)),
            ("https://github.com/acme/widgets", Some(named)),
            ("https://github.com/acme/widgets/", Some(named)),
            (
                "https://token@git.example:8443/group/acme/widgets.git",
                Some(named),
            ),
            ("git@github.com:acme/widgets.git", Some(named)),
            ("ssh://git@github.com:22/acme/widgets.git", Some(named)),
            ("file:///srv/acme/widgets.git", None),
            ("/srv/acme/widgets.git", None),
            ("../acme/widgets.git", None),
            ("https://github.com", None),
            ("https://github.com/widgets", None),
            ("", None),
        ] {
            assert_eq!(name_in_url(url).as_deref(), expected, "{url}");
        }
    }
}
