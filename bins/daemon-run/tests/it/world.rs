//! A repository, a home and a user's directory, and the program run over them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A daemon that a pull request or a timer wakes, about which nothing is to be said.
pub(crate) const TIDY: &str = "---\nid: tidy\npurpose: Keeps the docs in order.\nwatch:\n  - when a pull request is opened\n\
schedule: \"30 14 * * 1-5\"\nroutines:\n  - list broken links in one comment\ndeny:\n  - merge pull requests\n---\n\
## Output format\nOne comment.\n\n## Limits\n- One comment.\n";

/// A webhook's body: a pull request is opened. It names no commit, so that runs start at the default branch.
pub(crate) const OPENED: &str = r#"{"action":"opened","number":7,"pull_request":{"number":7,"state":"open","title":"Add a wick",
"draft":false,"merged":false,"user":{"login":"ada","type":"User"},"head":{"ref":"wick"},
"base":{"ref":"main","sha":"2222222222222222222222222222222222222222"}},"repository":{"full_name":"acme/lamp",
"default_branch":"main"},"sender":{"login":"ada","type":"User"}}"#;

/// Flags that say what a body is.
pub(crate) const PULL_REQUEST: [&str; 4] = ["--source", "github", "--kind", "pull_request"];

pub(crate) struct World {
    directory: TempDir,
}

/// What a run printed, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) notes: String,
}

impl Ran {
    /// Reads the one JSON object that was printed, with the version first.
    pub(crate) fn json(&self) -> Value {
        assert!(
            self.output.starts_with("{\"schema_version\":1,"),
            "{self:?}"
        );
        assert_eq!(self.output.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.output).expect("one JSON object on standard output")
    }

    /// Reads the code of the failure that was printed.
    pub(crate) fn failure(&self) -> (i32, String) {
        let object = self.json();
        assert_eq!(object["ok"], false, "{self:?}");
        assert!(object["error"]["message"].is_string(), "{self:?}");
        assert!(object["error"].get("help").is_some(), "{self:?}");
        let code = object["error"]["code"].as_str().expect("a code");
        (self.code, code.to_owned())
    }
}

impl World {
    /// Makes an empty directory with an empty repository in it.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let world = Self { directory };
        fs::create_dir_all(world.root().join("lamp")).expect("room for a directory");
        fs::create_dir_all(world.root().join("user")).expect("room for a directory");
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world
    }

    /// Makes a repository whose `main` holds one daemon named `tidy`.
    pub(crate) fn of_daemon(text: &str) -> Self {
        let world = Self::new();
        world.write(".agents/daemons/tidy/DAEMON.md", text);
        world.commit("Add a daemon");
        world
    }

    /// Returns the directory of the whole world, without links in its path.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory
            .path()
            .canonicalize()
            .expect("the directory is there")
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.root().join("lamp")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Writes a file of the repository.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repository().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory"))
            .expect("room for a directory");
        fs::write(path, text).expect("room for a file");
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) {
        fs::create_dir_all(self.home()).expect("room for a directory");
        fs::set_permissions(self.home(), fs::Permissions::from_mode(0o700)).expect("it is ours");
        fs::write(self.home().join("config.toml"), text).expect("room for a file");
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.env_clear()
            .env("PATH", path())
            .env("HOME", self.root().join("user"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args([
                "-c",
                "user.name=Ada",
                "-c",
                "user.email=ada@example.invalid",
            ])
            .args(arguments)
            .current_dir(self.repository());
        let ran = git.output().expect("git starts");
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
        String::from_utf8(ran.stdout).expect("git prints UTF-8")
    }

    /// Prepares the program: a cleared environment, in the repository.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_daemon-run"));
        command
            .env_clear()
            .env("PATH", path())
            .env("HOME", self.root().join("user"))
            .env("DAEMON_HOME", self.home())
            .current_dir(self.repository())
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.ran(
            self.command(arguments)
                .output()
                .expect("the program starts"),
        )
    }

    /// Runs with a pull request's event, as a raw body on standard input.
    pub(crate) fn run_opened(&self, arguments: &[&str]) -> Ran {
        let mut all = arguments.to_vec();
        all.extend(["--event", "-"]);
        all.extend(PULL_REQUEST);
        self.run_with_input(&all, OPENED)
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("the input is a pipe");
        stdin
            .write_all(input.as_bytes())
            .expect("the program reads its input");
        drop(stdin);
        self.ran(child.wait_with_output().expect("the program ends"))
    }

    pub(crate) fn ran(&self, output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Ran {
            code: output.status.code().expect("no signal ends the program"),
            output: text(output.stdout),
            notes: text(output.stderr),
        }
    }

    /// Lists every file and directory under the root but git's, with the bytes of files.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.root(), &mut found);
        found
    }
}

fn walk(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("the directory is readable") {
        let path = entry.expect("the entry is readable").path();
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            walk(&path, found);
        } else {
            let bytes = fs::read(&path).expect("the file is readable");
            found.insert(path, bytes);
        }
    }
}

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").expect("tests have a search path")
}
