//! A repository as a service shows it: the tips of its branches, and the files that a pull request changes.

use std::path::Path;
use std::time::{Duration, SystemTime};

use daemon_fakes::GithubFile;

use crate::world::cleared;

/// Returns the tip of a branch.
pub(crate) fn tip(repo: &Path, branch: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}");
    let tip = output(repo, &["rev-parse", "--verify", "--quiet", &name])?;
    Some(tip.trim().to_owned())
}

/// Returns the changed files between two commits.
pub(crate) fn changed(repo: &Path, base: &str, head: &str) -> Vec<GithubFile> {
    let range = format!("{base}...{head}");
    let diff = |args: &[&str]| output(repo, &[&["diff", "--no-renames", &range], args].concat());
    let names = diff(&["--name-only"]).unwrap_or_default();
    let file = |path: &str| {
        let text = diff(&["--", path]).unwrap_or_default();
        GithubFile {
            path: path.to_owned(),
            status: if text.contains("\nnew file") {
                "added"
            } else {
                "modified"
            }
            .to_owned(),
            patch: text
                .find("\n@@")
                .map_or("", |at| &text[at + 1..])
                .to_owned(),
        }
    };
    names.lines().map(file).collect()
}

fn output(repo: &Path, args: &[&str]) -> Option<String> {
    let output = cleared("git").current_dir(repo).args(args).output();
    let output = output.expect("git runs");
    let text = String::from_utf8(output.stdout).expect("git prints UTF-8");
    output.status.success().then_some(text)
}

/// Returns the time since the Unix epoch.
pub(crate) fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("the clock is right")
}
