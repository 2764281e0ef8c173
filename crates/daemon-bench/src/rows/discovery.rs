//! Cold discovery of many repositories beside the one command it cannot do without.

use std::ffi::OsStr;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_repo::{Git, Repository};

use crate::fixtures;
use crate::kit::{Contender, measure as measure_all};
use crate::report::{Row, times};

const N_REPOSITORIES: usize = 100;
const N_DAEMONS: usize = 100;
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";
const MOST_TIME: f64 = 20e9;
const MOST_OVER_LISTING: f64 = 3.0;

pub(super) fn measure() -> Result<Row> {
    let git = Git::find(OsStr::new(SEARCH))?;
    let parent = tempfile::tempdir()?;
    let files = fixtures::daemon_files()?;
    let mut paths = Vec::with_capacity(N_REPOSITORIES);
    for n in 0..N_REPOSITORIES {
        let path = parent.path().join(format!("repository-{n:03}"));
        write_repository(&git, &path, &files)?;
        paths.push(path);
    }
    for path in &paths {
        ensure!(
            discover(&git, path)? == N_DAEMONS,
            "not every daemon was discovered"
        );
    }
    let opened = paths
        .iter()
        .map(|path| Repository::open(&git, path))
        .collect::<Result<Vec<_>, _>>()?;

    let samples = measure_all(vec![
        Contender::waiting("daemon-repo", 1, || {
            for repository in &opened {
                black_box(tip_daemons(repository).expect("it was discovered a moment ago"));
            }
        }),
        Contender::waiting("git ls-tree -r", 1, || {
            for path in &paths {
                run(&git, path, &["ls-tree", "-r", "HEAD"]).expect("it was listed a moment ago");
            }
        }),
        Contender::waiting("daemon-repo, opening too", 1, || {
            for path in &paths {
                black_box(discover(&git, path).expect("it was discovered a moment ago"));
            }
        }),
    ]);
    let [cold, listing, opening] = &samples[..] else {
        unreachable!("three contenders went in")
    };
    let ratio = cold.over(listing);
    Ok(Row::new("discovery", "cold discovery of 100 repositories of 100 daemons, from the refs to the bytes of every file", cold)
        .beside(cold, opening)
        .limited_by(cold, listing)
        .must_take_at_most(opening, MOST_TIME)
        .must("≤ 3 × `git ls-tree`", times(ratio), ratio <= MOST_OVER_LISTING)
        .note("Both sides start git once per command through the same supervisor; a host opens a repository once."))
}

fn discover(git: &Git, path: &Path) -> Result<usize> {
    tip_daemons(&Repository::open(git, path)?)
}

fn tip_daemons(repository: &Repository) -> Result<usize> {
    let refs = repository.refs()?;
    let branch = repository.default_branch(&refs)?;
    let tip = refs.get(&branch).context("the default branch has no tip")?;
    Ok(repository.discover(tip)?.daemons.len())
}

fn write_repository(git: &Git, path: &Path, files: &[Vec<u8>]) -> Result<()> {
    for (n, file) in files.iter().cycle().take(N_DAEMONS).enumerate() {
        let folder: PathBuf = path.join(format!(".agents/daemons/daemon-{n:03}"));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("DAEMON.md"), file)?;
    }
    run(git, path, &["init", "-q", "-b", "main"])?;
    run(git, path, &["add", "-A"])?;
    run(git, path, &["commit", "-q", "-m", "daemons"])?;
    run(git, path, &["gc", "-q"])
}

fn run(git: &Git, path: &Path, args: &[&str]) -> Result<()> {
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
        .run(Duration::from_secs(60), ByteCount(64 << 20))?;
    ensure!(
        output.status == ExitStatus::Code(0),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
