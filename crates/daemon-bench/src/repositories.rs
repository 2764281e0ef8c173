//! Git repositories full of daemons.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_repo::Git;

/// The search path for programs.
pub(crate) const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Finds git on [`SEARCH`].
pub(crate) fn find_git() -> Result<Git> {
    Ok(Git::find(OsStr::new(SEARCH))?)
}

/// Creates a repository whose one commit has a daemon file for each id.
pub(crate) fn write(
    git: &Git,
    path: &Path,
    daemons: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Result<()> {
    for (id, file) in daemons {
        let folder: PathBuf = path.join(".agents/daemons").join(id);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("DAEMON.md"), file)?;
    }
    run(git, path, &["init", "-q", "-b", "main"])?;
    run(git, path, &["add", "-A"])?;
    run(git, path, &["commit", "-q", "-m", "daemons"])?;
    run(git, path, &["gc", "-q"])
}

/// Runs git in a repository.
pub(crate) fn run(git: &Git, path: &Path, args: &[&str]) -> Result<()> {
    run_with(git, path, args, Vec::new()).map(drop)
}

/// Runs git in a repository with an input, and returns what it printed.
pub(crate) fn run_with(git: &Git, path: &Path, args: &[&str], stdin: Vec<u8>) -> Result<String> {
    let people = [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ];
    let output = Tool::new(git.program())
        .env("PATH", SEARCH)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(people.map(|name| (name, "bench")))
        .cwd(path)
        .args(args)
        .stdin(stdin)
        .run(Duration::from_secs(600), ByteCount(64 << 20))?;
    ensure!(
        output.status == ExitStatus::Code(0),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
