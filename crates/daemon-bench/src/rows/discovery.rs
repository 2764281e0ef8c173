//! Cold discovery of many repositories, compared with the one git command that it needs.

use std::hint::black_box;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use daemon_repo::{Git, Repository};

use crate::fixtures;
use crate::kit::{Contender, measure as measure_all};
use crate::report::{Row, times};
use crate::repositories::{find_git, run, write};

const N_REPOSITORIES: usize = 100;
const N_DAEMONS: usize = 100;
const MOST_TIME: f64 = 20e9;
// Listing the tree is the one git command that discovery cannot avoid.
const MOST_OVER_LISTING: f64 = 3.0;

pub(super) fn measure() -> Result<Row> {
    let git = find_git()?;
    let parent = tempfile::tempdir()?;
    let files = fixtures::daemon_files()?;
    let mut paths = Vec::with_capacity(N_REPOSITORIES);
    for n in 0..N_REPOSITORIES {
        let path = parent.path().join(format!("repository-{n:03}"));
        let files = files.iter().cycle().take(N_DAEMONS).enumerate();
        write(
            &git,
            &path,
            files.map(|(n, file)| (format!("daemon-{n:03}"), file.clone())),
        )?;
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
        .compared_with(cold, opening)
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
