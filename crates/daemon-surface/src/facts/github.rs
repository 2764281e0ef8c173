//! GitHub: the files of a pull request, and the pull requests of a commit or a comment.

use std::num::NonZeroU64;

use daemon_engine::{Fact, FactError, FactErrorKind, FactOrigin};
use daemon_event::{Enrichment, Event, Field, Need, PullRequestFact};
use serde::Deserialize;

use super::no_such_fact;
use crate::api::{ServiceApi, Taken};

/// How many paths are kept of a pull request.
// GitHub lists at most 3,000 files of one.
const MAX_PATHS: usize = 3_000;
/// How many pages of one list are read.
const MAX_PAGES: usize = 30;

#[derive(Deserialize)]
struct FileRow {
    filename: String,
    previous_filename: Option<String>,
}

#[derive(Deserialize)]
struct PullRow {
    number: u64,
    draft: Option<bool>,
    state: Option<String>,
    merged_at: Option<String>,
    head: EndRow,
    base: EndRow,
}

#[derive(Deserialize)]
struct EndRow {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo: Option<RepoRow>,
}

#[derive(Deserialize)]
struct RepoRow {
    full_name: String,
}

impl PullRow {
    /// Converts the row; `commit` is the commit that the event is about, if there is one.
    fn fact(self, commit: Option<&str>) -> PullRequestFact {
        let names = |end: &EndRow| end.repo.as_ref().map(|repo| repo.full_name.clone());
        let (base, head) = (names(&self.base), names(&self.head));
        PullRequestFact {
            number: self.number,
            draft: self.draft,
            state: self.state,
            is_current_head: commit.map(|commit| commit == self.head.sha),
            // GitHub sends no repository for a head whose fork was deleted.
            is_fork: base.is_some().then_some(base != head),
            base: Some(self.base.name),
            head: Some(self.head.name),
            head_commit: Some(self.head.sha),
            is_merged: Some(self.merged_at.is_some()),
        }
    }
}

/// Fetches one fact of one event.
pub(super) async fn fetch(api: &ServiceApi, need: Need, event: &Event) -> Result<Fact, FactError> {
    let repo = Repo::of(event)?;
    let mut found = Enrichment::default();
    let mut note = None;
    match (need, About::of(event)) {
        (Need::ChangedFiles, Some(about)) => {
            let number = match about {
                About::Pull(number) => number,
                About::Commit(commit) => repo.pull_of(api, &commit).await?,
            };
            let files = repo.files(api, number).await?;
            if files.is_cut {
                note = Some(format!("cut at {MAX_PATHS} paths"));
            }
            found.changed_files = Some(files.paths);
        }
        (Need::PullRequests, Some(about)) => {
            found.pull_requests = Some(match (about, checked(event)) {
                (_, Some(commit)) => repo.pulls(api, &commit).await?,
                (About::Pull(number), None) => vec![repo.pull(api, number).await?],
                (About::Commit(commit), None) => repo.pulls(api, &commit).await?,
            });
        }
        _ => return Err(no_such_fact(need, event)),
    }
    Ok(Fact {
        found,
        origin: FactOrigin::Api,
        note,
    })
}

/// The pull request of an event, or the commit by which it is found.
enum About {
    Pull(NonZeroU64),
    Commit(Commit),
}

impl About {
    fn of(event: &Event) -> Option<Self> {
        let number = || event.facts.number(Field::Number).and_then(NonZeroU64::new);
        let is_on_pull = event.facts.text(Field::CommentOn) == Some("pull_request");
        if event.kind.starts_with("pull_request") || is_on_pull {
            return number().map(Self::Pull);
        }
        let commit = checked(event)?;
        let mut listed = event.facts.texts(Field::PullRequests);
        let listed = listed.next().and_then(|number| number.parse().ok());
        Some(listed.map_or(Self::Commit(commit), Self::Pull))
    }
}

/// A commit's name: 40 or 64 hexadecimal digits.
struct Commit(String);

/// Returns the commit of a check, a status or a workflow run.
fn checked(event: &Event) -> Option<Commit> {
    let is_check = matches!(
        event.kind.as_str(),
        "check_run" | "check_suite" | "status" | "workflow_run"
    );
    let commit = event.facts.text(Field::After).filter(|_| is_check)?;
    let is_name = matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
    is_name.then(|| Commit(commit.to_owned()))
}

/// A repository's owner and name, checked to consist of letters, digits and `._-`.
struct Repo<'e> {
    owner: &'e str,
    name: &'e str,
}

struct Files {
    paths: Vec<String>,
    is_cut: bool,
}

impl<'e> Repo<'e> {
    fn of(event: &'e Event) -> Result<Self, FactError> {
        let whole = event.repo.as_ref().map_or("", |repo| repo.as_str());
        let is_plain = |part: &str| {
            let is_word = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            (1..=100).contains(&part.len())
                && part.bytes().all(is_word)
                && part.bytes().any(|b| b != b'.')
        };
        match whole.split_once('/') {
            Some((owner, name)) if is_plain(owner) && is_plain(name) => Ok(Self { owner, name }),
            _ => {
                let why = "the event names no repository of the form `owner/name`";
                Err(FactError::new(FactErrorKind::Final, why))
            }
        }
    }

    /// Gets the pages of a list below the repository until `take` returns `Enough` or no page is left.
    async fn list<T: serde::de::DeserializeOwned>(
        &self,
        api: &ServiceApi,
        below: &[&str],
        take: impl FnMut(T) -> Taken,
    ) -> Result<(), FactError> {
        let path = [&["repos", self.owner, self.name], below].concat();
        // A list over the maximum is cut: the first pages are enough for a condition.
        api.pages(&path, &[], MAX_PAGES, take).await?;
        Ok(())
    }

    async fn files(&self, api: &ServiceApi, number: NonZeroU64) -> Result<Files, FactError> {
        let number = number.to_string();
        let mut files = Files {
            paths: Vec::new(),
            is_cut: false,
        };
        let take = |row: FileRow| {
            for path in [Some(row.filename), row.previous_filename]
                .into_iter()
                .flatten()
            {
                if files.paths.len() == MAX_PATHS {
                    files.is_cut = true;
                    return Taken::Enough;
                }
                files.paths.push(path);
            }
            Taken::More
        };
        self.list(api, &["pulls", &number, "files"], take).await?;
        Ok(files)
    }

    async fn pull(
        &self,
        api: &ServiceApi,
        number: NonZeroU64,
    ) -> Result<PullRequestFact, FactError> {
        let number = number.to_string();
        let path = ["repos", self.owner, self.name, "pulls", &number];
        let row: PullRow = api.get(&path, &[]).await?.json()?;
        Ok(row.fact(None))
    }

    /// Lists the pull requests of a commit: open ones, and closed ones whose head it is.
    // GitHub also returns the pull request that was merged as this commit. It is left out: the check concerns the branch
    // that it was merged into.
    async fn pulls(
        &self,
        api: &ServiceApi,
        commit: &Commit,
    ) -> Result<Vec<PullRequestFact>, FactError> {
        let mut pulls = Vec::new();
        let take = |row: PullRow| {
            if row.state.as_deref() == Some("open") || row.head.sha == commit.0 {
                pulls.push(row.fact(Some(&commit.0)));
            }
            Taken::More
        };
        self.list(api, &["commits", &commit.0, "pulls"], take)
            .await?;
        Ok(pulls)
    }

    /// Returns the pull request of a commit, an open one if there is one.
    async fn pull_of(&self, api: &ServiceApi, commit: &Commit) -> Result<NonZeroU64, FactError> {
        let pulls = self.pulls(api, commit).await?;
        let open = |pull: &&PullRequestFact| pull.state.as_deref() == Some("open");
        let pull = pulls.iter().find(open).or(pulls.first());
        pull.and_then(|pull| NonZeroU64::new(pull.number))
            .ok_or_else(|| {
                let why = "the commit belongs to no pull request";
                FactError::new(FactErrorKind::Final, why)
            })
    }
}
