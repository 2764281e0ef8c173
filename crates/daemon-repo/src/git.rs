//! Runs the git command so that a hostile repository cannot influence it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, CapturedOutput, ExitStatus, ProgramError, Tool, resolve_program};

use crate::error::{GitError, GitProblem};

/// The default timeout: a git process that hangs must not block its caller for ever.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum size of standard output, which is kept in memory.
const OUTPUT_CAP: ByteCount = ByteCount(64 << 20);

/// Overrides for settings of a local `.git/config` that could start a program or change bytes.
const OVERRIDES: [&str; 21] = [
    // The empty grafts file below is ours; without this, git's hint would precede every error message.
    "advice.graftFileDeprecated=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    // A run can set every time of a file but the time of its last change.
    "core.checkStat=default",
    "core.trustCtime=true",
    // The index next to a work tree is one file.
    "core.splitIndex=false",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    // An `ext::` URL is a command line.
    "protocol.ext.allow=never",
    // A watched repository may belong to another user, which git refuses without this.
    "safe.directory=*",
    "submodule.recurse=false",
    // Housekeeping would continue in the background after the command has returned.
    "gc.auto=0",
    "maintenance.auto=false",
    "i18n.logOutputEncoding=UTF-8",
    "push.gpgSign=false",
];

const ENVIRONMENT: [(&str, &str); 17] = [
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    // A host has no terminal: a prompt would wait until the timeout.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("GIT_EDITOR", "/bin/false"),
    ("GIT_PAGER", "cat"),
    // Reading must not take locks that a user's git needs.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    // Replacements and grafts would show other content under an object's name.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // In a partial clone, reading a missing object would fetch it from a server.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_FLUSH", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// The path of the git binary, and the search path for the programs that git starts (ssh).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Git {
    program: PathBuf,
    search: OsString,
}

impl Git {
    /// Finds git in `search`, a list of directories like `PATH`.
    ///
    /// # Errors
    /// Returns [`ProgramError`] if no directory of `search` contains an executable `git`.
    pub fn find(search: &OsStr) -> Result<Self, ProgramError> {
        Ok(Self {
            program: resolve_program("git", search, &[])?,
            search: search.to_owned(),
        })
    }

    /// Returns the absolute path of the binary.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the version number that `git version` prints.
    ///
    /// # Errors
    /// Returns [`GitError`] if the binary cannot be run.
    pub fn version(&self) -> Result<String, GitError> {
        let stdout = GitCommand::new(self, Path::new("/"), "version").stdout()?;
        let text = String::from_utf8_lossy(&stdout);
        Ok(text.trim().trim_start_matches("git version ").to_owned())
    }
}

/// A git command under construction.
///
/// Untrusted text is passed only with [`Self::operand`], which ends the options first.
#[derive(Clone, Debug)]
pub(crate) struct GitCommand {
    tool: Tool,
    place: PathBuf,
    command: &'static str,
    timeout: Duration,
    ended_options: bool,
    /// Keys and values of the configuration.
    settings: Vec<(String, String)>,
}

impl GitCommand {
    /// Creates a command that runs in `place`, which need not be a repository.
    pub(crate) fn new(git: &Git, place: &Path, command: &'static str) -> Self {
        Self::with_settings(git, place, command, &[])
    }

    /// Creates a command with settings that have precedence over the usual ones.
    pub(crate) fn with_settings(
        git: &Git,
        place: &Path,
        command: &'static str,
        settings: &[&str],
    ) -> Self {
        let mut tool = Tool::new(&git.program)
            .envs(ENVIRONMENT)
            .env("PATH", &git.search)
            .cwd(place)
            .arg("--no-pager");
        for setting in OVERRIDES.iter().chain(settings) {
            tool = tool.args(["-c", setting]);
        }
        Self {
            tool: tool.arg(command),
            place: place.to_owned(),
            command,
            timeout: TIMEOUT,
            ended_options: false,
            settings: Vec::new(),
        }
    }

    /// Sets a value of the configuration. It is passed in the environment, because `-c` would split a key that contains `=`.
    pub(crate) fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Replaces the default timeout of two minutes.
    pub(crate) fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.tool = self.tool.env(name, value);
        self
    }

    /// Adds an argument of this crate, never one that was read from a repository or a user.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        debug_assert!(!self.ended_options || !arg.as_ref().as_encoded_bytes().starts_with(b"-"));
        self.tool = self.tool.arg(arg);
        self
    }

    pub(crate) fn args(self, args: impl IntoIterator<Item = &'static str>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Adds an operand that was read from somewhere; git cannot mistake it for an option.
    pub(crate) fn operand(mut self, operand: impl AsRef<OsStr>) -> Self {
        if !self.ended_options {
            self.tool = self.tool.arg("--end-of-options");
            self.ended_options = true;
        }
        self.tool = self.tool.arg(operand);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.tool = self.tool.stdin(bytes);
        self
    }

    /// Runs the command and returns its standard output.
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run, fails, or prints more than 64 MiB.
    pub(crate) fn stdout(self) -> Result<Vec<u8>, GitError> {
        let output = self.output()?;
        match output.status {
            ExitStatus::Code(0) => Ok(output.stdout),
            _ => Err(self.failed(&output)),
        }
    }

    /// Runs the command and returns the first 64 MiB of its standard output.
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run or fails.
    pub(crate) fn stdout_prefix(self) -> Result<Vec<u8>, GitError> {
        let output = self.run()?;
        match output.status {
            ExitStatus::Code(0) => Ok(output.stdout),
            _ => Err(self.failed(&output)),
        }
    }

    /// Runs the command and returns whether its exit code is zero (true) or one (false).
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run or exits in another way.
    pub(crate) fn holds(self) -> Result<bool, GitError> {
        let output = self.output()?;
        match output.status {
            ExitStatus::Code(0) => Ok(true),
            ExitStatus::Code(1) => Ok(false),
            _ => Err(self.failed(&output)),
        }
    }

    /// Runs the command and returns its output, for any exit status.
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run, exceeds the timeout or prints more than 64 MiB.
    pub(crate) fn output(&self) -> Result<CapturedOutput, GitError> {
        let output = self.run()?;
        if output.truncated {
            return Err(self.error(GitProblem::TooMuchOutput));
        }
        Ok(output)
    }

    fn run(&self) -> Result<CapturedOutput, GitError> {
        let mut tool = self.tool.clone();
        if !self.settings.is_empty() {
            tool = tool.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        }
        for (n, (key, value)) in self.settings.iter().enumerate() {
            let [key_name, value_name] = [
                format!("GIT_CONFIG_KEY_{n}"),
                format!("GIT_CONFIG_VALUE_{n}"),
            ];
            tool = tool.env(key_name, key).env(value_name, value);
        }
        tool.run(self.timeout, OUTPUT_CAP)
            .map_err(|source| self.error(GitProblem::Run { source }))
    }

    /// Returns the directory in which it runs.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    pub(crate) fn failed(&self, output: &CapturedOutput) -> GitError {
        self.error(GitProblem::Failed {
            status: output.status,
            stderr: tail(&output.stderr),
        })
    }

    pub(crate) fn error(&self, problem: GitProblem) -> GitError {
        GitError::new(&self.place, self.command, problem)
    }
}

/// Returns the last 2,000 characters of standard error, without the control characters that a repository could put there.
fn tail(stderr: &[u8]) -> Box<str> {
    let text: String = String::from_utf8_lossy(stderr)
        .chars()
        .map(|c| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(2_000);
    text.chars().skip(skipped).collect()
}
