//! The branches of the scratch repository, as the services of the demonstration see them.

use std::ffi::OsStr;
use std::time::Duration;

use daemon_fakes::GithubFile;
use daemon_process::{ByteCount, Tool};

use crate::scratch::Scratch;

/// Reads branches and changed files with git.
#[derive(Clone)]
pub(super) struct Branches {
    git: Tool,
}

impl Branches {
    pub(super) fn of(scratch: &Scratch) -> Self {
        Self {
            git: scratch.git_tool(),
        }
    }

    /// Returns the commit of a branch; `None` if there is no such branch.
    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        let name = format!("refs/heads/{branch}");
        let tip = self.run(["rev-parse", "--verify", "--quiet", &name])?;
        Some(tip.trim().to_owned())
    }

    /// Returns the files that a pull request changes.
    pub(super) fn changed(&self, base: &str, head: &str) -> Vec<GithubFile> {
        let range = format!("{base}...{head}");
        let listed = self.run(["diff", "--no-renames", "--name-status", "-z", &range]);
        let listed = listed.unwrap_or_default();
        let mut words = listed.split_terminator('\0');
        let mut acc = Vec::new();
        while let (Some(letter), Some(path)) = (words.next(), words.next()) {
            let status = match letter {
                "A" => "added",
                "D" => "removed",
                _ => "modified",
            };
            let diff = self.run(["diff", "--no-renames", "--no-ext-diff", &range, "--", path]);
            let diff = diff.unwrap_or_default();
            let hunks = diff.find("\n@@").map(|at| &diff[at + 1..]);
            acc.push(GithubFile {
                path: path.to_owned(),
                status: status.to_owned(),
                patch: hunks.unwrap_or_default().to_owned(),
            });
        }
        acc
    }

    /// Returns the output of git; `None` if it fails, as for a branch that does not exist.
    fn run<const N: usize>(&self, args: [&str; N]) -> Option<String> {
        let args = args.map(OsStr::new);
        let ran = self
            .git
            .clone()
            .args(args)
            .run(Duration::from_secs(20), ByteCount(1 << 20));
        let ran = ran.ok().filter(|ran| ran.status.is_success())?;
        Some(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}
