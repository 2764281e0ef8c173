//! Temporary repositories, created by the real git without this machine's configuration.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_repo::{Author, Checkout, Git, ObjectId, RefName, Repository};

pub(crate) const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) struct Scratch {
    dir: tempfile::TempDir,
    root: PathBuf,
}

pub(crate) fn git() -> Git {
    Git::find(OsStr::new(SEARCH)).unwrap()
}

/// Returns a checkout of a commit, in whose repository it is also the branch `main`.
pub(crate) fn checkout(commit: &ObjectId) -> Checkout {
    Checkout {
        commit: commit.clone(),
        branches: [(RefName::branch("main").unwrap(), commit.clone())].into(),
        author: Author::daemon(&"link janitor".parse().unwrap()),
    }
}

impl Scratch {
    /// Creates a repository whose branch `main` has no commit.
    pub(crate) fn new() -> Self {
        Self::with(&["init", "-q", "-b", "main"])
    }

    pub(crate) fn with(init: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("widgets");
        fs::create_dir(&root).unwrap();
        let scratch = Self { dir, root };
        scratch.git(init);
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path next to the repository.
    pub(crate) fn next_to(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::open(&git(), &self.root).unwrap()
    }

    /// Runs git in the repository and returns what it printed, trimmed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_with(args, "")
    }

    pub(crate) fn git_with(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> String {
        let output = Tool::new(git().program())
            .envs([
                ("PATH", SEARCH),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_AUTHOR_NAME", "Ada"),
                ("GIT_AUTHOR_EMAIL", "ada@example.org"),
                ("GIT_AUTHOR_DATE", "1700000000 +0000"),
                ("GIT_COMMITTER_NAME", "Cora"),
                ("GIT_COMMITTER_EMAIL", "cora@example.org"),
                ("GIT_COMMITTER_DATE", "1700000000 +0000"),
            ])
            .cwd(&self.root)
            .args(args)
            .stdin(stdin)
            .run(Duration::from_secs(60), ByteCount(1 << 20))
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status, args),
            (ExitStatus::Code(0), args),
            "{stderr}"
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> &Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn executable(&self, path: &str, content: &str) -> &Self {
        self.write(path, content);
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.root.join(path)).unwrap();
        self
    }

    /// Commits everything in the work tree and returns the commit.
    pub(crate) fn commit(&self, message: &str) -> ObjectId {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> ObjectId {
        self.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }
}
