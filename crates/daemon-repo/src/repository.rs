//! A repository: where it is, what it is called, which branch counts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use daemon_event::RepoName;

use crate::error::{GitError, Problem};
use crate::git::{Call, Git};
use crate::object::{ObjectFormat, ObjectId, RefName};
use crate::ref_files::read_ref_files;
use crate::refs::{RefSnapshot, parse_refs};

/// A git repository that was found on disk: a work tree, a linked work tree or a bare one.
///
/// Every method starts git anew; nothing is cached but the paths. All methods block.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: Option<PathBuf>,
    format: ObjectFormat,
    name: RepoName,
}

impl Repository {
    /// Opens the repository whose root, or whose git directory, is `path`.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::Unreadable`] or [`Problem::NotARepository`]; a directory inside of a repository is not one.
    pub fn open(git: &Git, path: &Path) -> Result<Self, GitError> {
        let root = canonical_directory(path)?;
        let ceiling = root.parent().unwrap_or(&root).to_owned();
        Self::locate(
            Call::new(git, &root, "rev-parse").env("GIT_CEILING_DIRECTORIES", ceiling),
            git,
        )
    }

    /// Opens the repository that encloses `path`.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::Unreadable`] or [`Problem::NotARepository`].
    pub fn enclosing(git: &Git, path: &Path) -> Result<Self, GitError> {
        let root = canonical_directory(path)?;
        Self::locate(Call::new(git, &root, "rev-parse"), git)
    }

    fn locate(call: Call, git: &Git) -> Result<Self, GitError> {
        let call = call.args([
            "--path-format=absolute",
            "--show-object-format",
            "--is-bare-repository",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ]);
        let output = call.output()?;
        // A bare repository prints everything but its top level, and fails for that.
        let printed = output.stdout.strip_suffix(b"\n").unwrap_or_default();
        let lines: Vec<&OsStr> = printed
            .split(|byte| *byte == b'\n')
            .map(OsStr::from_bytes)
            .collect();
        let [format, is_bare, git_dir, common_dir, rest @ ..] = lines.as_slice() else {
            return Err(match is_not_a_repository(&output.stderr) {
                true => call.error(Problem::NotARepository),
                false => call.failed(&output),
            });
        };
        // Git prints no top level for a path inside the git directory of a work tree either.
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
        };
        if let Some(name) = repository.read_name()? {
            repository.name = name;
        }
        Ok(repository)
    }

    /// Gives the repository the name its operator chose.
    #[must_use]
    pub fn named(mut self, name: RepoName) -> Self {
        self.name = name;
        self
    }

    /// Returns its name: the operator's, else `owner/name` of the URL of `origin`, else its folder's.
    pub fn name(&self) -> &RepoName {
        &self.name
    }

    /// Returns the directory of the work tree it was opened in; a bare repository has none.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Returns the directory that holds the objects and refs, which linked work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the hash function that names its objects.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Starts a command on the objects and refs, without a work tree.
    pub(crate) fn call(&self, command: &'static str) -> Call {
        Call::new(&self.git, &self.common_dir, command)
            .env("GIT_DIR", &self.common_dir)
            // Attributes of a tree could name filters; those of the empty tree name none.
            .env("GIT_ATTR_SOURCE", self.format.empty_tree())
    }

    /// Reads all branches and tags, from their files where these are plain, else with one process.
    ///
    /// # Errors
    /// [`GitError`] when git fails.
    pub fn refs(&self) -> Result<RefSnapshot, GitError> {
        match read_ref_files(&self.common_dir) {
            Some(refs) => Ok(refs),
            None => self.refs_below("refs/"),
        }
    }

    /// Lists the branches and tags of a namespace that has the shape of `refs/`.
    pub(crate) fn refs_below(&self, root: &'static str) -> Result<RefSnapshot, GitError> {
        let call = self
            .call("for-each-ref")
            .arg("--format=%(objectname)%00%(symref)%00%(refname)")
            .arg(format!("{root}heads"))
            .arg(format!("{root}tags"))
            .arg("refs/remotes/origin/HEAD");
        let malformed = call.error(Problem::Malformed {
            what: "a list of refs",
        });
        parse_refs(&call.stdout()?, root).ok_or(malformed)
    }

    /// Finds the default branch among `refs`: that of `origin/HEAD`, else `main`, `master`, or HEAD's.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::Unborn`] when the repository has no commit, with [`Problem::MissingRef`] when the
    /// branch that `origin/HEAD` names, or a detached HEAD, leaves no branch.
    pub fn default_branch(&self, refs: &RefSnapshot) -> Result<RefName, GitError> {
        let fallback = ["refs/heads/main", "refs/heads/master"];
        let candidate = refs.origin_head().cloned().or_else(|| {
            fallback
                .iter()
                .map(|name| name.parse().expect("the names are well formed"))
                .find(|name| refs.get(name).is_some())
        });
        let branch = match candidate {
            Some(branch) => branch,
            None => self.head_branch()?.ok_or_else(|| self.missing("HEAD"))?,
        };
        if refs.get(&branch).is_some() {
            Ok(branch)
        } else if refs.is_empty() {
            Err(self.error("for-each-ref", Problem::Unborn))
        } else {
            Err(self.missing(branch.as_str()))
        }
    }

    /// Finds the branch or tag that a person named: in full, or short with branches first.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::MissingRef`].
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

    /// Resolves the object a ref names to a commit, following annotated tags.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::MissingRef`] when it leads to no commit that is present.
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
    /// [`GitError`] when git fails for another reason.
    pub fn has_commit(&self, commit: &ObjectId) -> Result<bool, GitError> {
        match self.commit_of(commit) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.problem(), Problem::MissingRef { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns which of some commits are in this repository, with one process of git.
    ///
    /// # Errors
    /// [`GitError`] when git fails.
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
        // One line for each that was asked about: its type, or that it is missing.
        let lines = output.split(|byte| *byte == b'\n');
        let there = commits.iter().zip(lines);
        let there = there.filter(|(_, line)| *line == b"commit");
        Ok(there.map(|(commit, _)| commit.clone()).collect())
    }

    pub(crate) fn error(&self, command: &'static str, problem: Problem) -> GitError {
        GitError::new(&self.common_dir, command, problem)
    }

    pub(crate) fn missing(&self, name: &str) -> GitError {
        self.error("rev-parse", Problem::MissingRef { name: name.into() })
    }

    fn head_branch(&self) -> Result<Option<RefName>, GitError> {
        // HEAD belongs to the work tree that was opened, not to the repository all of them share.
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

    /// The name of the folder that holds the repository, whichever of its work trees was opened.
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
    let root = fs::canonicalize(path).map_err(|source| error(Problem::Unreadable { source }))?;
    if root.is_dir() {
        Ok(root)
    } else {
        Err(error(Problem::NotARepository))
    }
}

fn is_not_a_repository(stderr: &[u8]) -> bool {
    String::from_utf8_lossy(stderr).contains("not a git repository")
}

/// The last two parts of the path of a URL with a host; a local path says nothing about a service.
fn name_in_url(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?.1,
        // The form of ssh: `git@host:owner/name.git`.
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
    fn a_url_with_a_host_names_the_repository() {
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
