//! The git command, run so that a hostile repository gains nothing by it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_process::{ByteCount, ExitStatus, ProgramError, Tool, ToolOutput, resolve_program};

use crate::error::{GitError, Problem};

const TIMEOUT: Duration = Duration::from_secs(120);
const OUTPUT_CAP: ByteCount = ByteCount(64 << 20);

/// Settings of a local `.git/config` that could start a program or change bytes, each overridden.
const OVERRIDES: [&str; 18] = [
    // The empty grafts below are ours; the hint would stand before the message of every failure.
    "advice.graftFileDeprecated=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "protocol.ext.allow=never",
    "safe.directory=*",
    "submodule.recurse=false",
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
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    ("GIT_EDITOR", "/bin/false"),
    ("GIT_PAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_FLUSH", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// The git binary, resolved once, and the search path that its own helpers (ssh) are found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Git {
    program: PathBuf,
    search: OsString,
}

impl Git {
    /// Finds git in `search`, which has the form of `PATH`.
    ///
    /// # Errors
    /// [`ProgramError`] when no directory of `search` holds an executable `git`.
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

    /// Returns what `git version` prints, without the words before the number.
    ///
    /// # Errors
    /// [`GitError`] when the binary does not run.
    pub fn version(&self) -> Result<String, GitError> {
        let stdout = Call::new(self, Path::new("/"), "version").stdout()?;
        let text = String::from_utf8_lossy(&stdout);
        Ok(text.trim().trim_start_matches("git version ").to_owned())
    }
}

/// One git command being put together.
///
/// Untrusted text enters as an argument only behind [`Call::operand`], which ends the options first.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    tool: Tool,
    place: PathBuf,
    command: &'static str,
    timeout: Duration,
    ended_options: bool,
}

impl Call {
    /// Starts a command that runs in `place`, which need not be a repository.
    pub(crate) fn new(git: &Git, place: &Path, command: &'static str) -> Self {
        let mut tool = Tool::new(&git.program)
            .envs(ENVIRONMENT)
            .env("PATH", &git.search)
            .cwd(place)
            .arg("--no-pager");
        for setting in OVERRIDES {
            tool = tool.args(["-c", setting]);
        }
        Self {
            tool: tool.arg(command),
            place: place.to_owned(),
            command,
            timeout: TIMEOUT,
            ended_options: false,
        }
    }

    /// Gives it another time than two minutes.
    pub(crate) fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.tool = self.tool.env(name, value);
        self
    }

    /// Adds an argument that is ours, never one that was read.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        debug_assert!(!self.ended_options || !arg.as_ref().as_encoded_bytes().starts_with(b"-"));
        self.tool = self.tool.arg(arg);
        self
    }

    pub(crate) fn args(self, args: impl IntoIterator<Item = &'static str>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Adds an operand that was read from somewhere; it cannot be taken for an option.
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

    /// Runs to the end and returns standard output.
    ///
    /// # Errors
    /// [`GitError`] when git does not run, fails, or prints more than 64 MiB.
    pub(crate) fn stdout(self) -> Result<Vec<u8>, GitError> {
        let output = self.output()?;
        match output.status {
            ExitStatus::Code(0) => Ok(output.stdout),
            _ => Err(self.failed(&output)),
        }
    }

    /// Runs to the end and returns standard output, of which what exceeds 64 MiB is cut off.
    ///
    /// # Errors
    /// [`GitError`] when git does not run, or fails.
    pub(crate) fn stdout_prefix(self) -> Result<Vec<u8>, GitError> {
        let output = self.run()?;
        match output.status {
            ExitStatus::Code(0) => Ok(output.stdout),
            _ => Err(self.failed(&output)),
        }
    }

    /// Runs to the end and tells by the exit code: zero is yes, one is no.
    ///
    /// # Errors
    /// [`GitError`] when git does not run, or ends any other way.
    pub(crate) fn holds(self) -> Result<bool, GitError> {
        let output = self.output()?;
        match output.status {
            ExitStatus::Code(0) => Ok(true),
            ExitStatus::Code(1) => Ok(false),
            _ => Err(self.failed(&output)),
        }
    }

    /// Runs to the end, however git ends.
    ///
    /// # Errors
    /// [`GitError`] when git does not run, runs too long or prints more than 64 MiB.
    pub(crate) fn output(&self) -> Result<ToolOutput, GitError> {
        let output = self.run()?;
        if output.truncated {
            return Err(self.error(Problem::TooMuchOutput));
        }
        Ok(output)
    }

    fn run(&self) -> Result<ToolOutput, GitError> {
        self.tool
            .run(self.timeout, OUTPUT_CAP)
            .map_err(|source| self.error(Problem::Run { source }))
    }

    pub(crate) fn failed(&self, output: &ToolOutput) -> GitError {
        self.error(Problem::Failed {
            status: output.status,
            stderr: tail(&output.stderr),
        })
    }

    pub(crate) fn error(&self, problem: Problem) -> GitError {
        GitError::new(&self.place, self.command, problem)
    }
}

/// The last 2,000 characters of what git wrote, without the control characters a repository could put there.
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
