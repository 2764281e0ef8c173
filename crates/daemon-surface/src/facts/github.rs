//! GitHub: what a pull request changes, and which pull requests a commit or a comment belongs to.

use std::num::NonZeroU64;

use daemon_engine::{Fact, FactError, FactErrorKind, FactOrigin};
use daemon_event::{Enrichment, Event, Field, Need, PullRequestFact};
use serde::Deserialize;

use super::api::Api;
use super::no_such_fact;

/// The most paths that are listed.
const MAX_PATHS: usize = 3_000;
/// How many rows one page has.
const PAGE: usize = 100;
/// The most pages of one list.
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
    /// Says what is known of it, as seen from a commit where there is one.
    fn fact(self, commit: Option<&str>) -> PullRequestFact {
        let names = |end: &EndRow| end.repo.as_ref().map(|repo| repo.full_name.clone());
        let (base, head) = (names(&self.base), names(&self.head));
        PullRequestFact {
            number: self.number,
            draft: self.draft,
            state: self.state,
            is_current_head: commit.map(|commit| commit == self.head.sha),
            // A head whose repository is gone was a fork.
            is_fork: base.is_some().then_some(base != head),
            base: Some(self.base.name),
            head: Some(self.head.name),
            is_merged: Some(self.merged_at.is_some()),
        }
    }
}

/// Fetches one fact of one event.
pub(super) async fn fetch(api: &Api, need: Need, event: &Event) -> Result<Fact, FactError> {
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

/// What an event is about, as far as pull requests go.
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

/// Returns the commit that a check, a status or a run is about.
fn checked(event: &Event) -> Option<Commit> {
    let is_check = matches!(
        event.kind.as_str(),
        "check_run" | "check_suite" | "status" | "workflow_run"
    );
    let commit = event.facts.text(Field::After).filter(|_| is_check)?;
    let is_name = matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
    is_name.then(|| Commit(commit.to_owned()))
}

/// A repository's owner and name, of which nothing but letters, digits and `._-` reaches a URL.
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

    /// Gets every page of a list, until enough is there.
    async fn list<T: serde::de::DeserializeOwned>(
        &self,
        api: &Api,
        below: &[&str],
        mut take: impl FnMut(T) -> Taken,
    ) -> Result<(), FactError> {
        let path = [&["repos", self.owner, self.name], below].concat();
        for page in 1..=MAX_PAGES {
            let (page, size) = (page.to_string(), PAGE.to_string());
            let query = [("per_page", size.as_str()), ("page", page.as_str())];
            let answer = api.get(&path, &query).await?;
            let rows: Vec<T> = answer.json()?;
            let has_next = answer.has_next.unwrap_or(rows.len() >= PAGE);
            for row in rows {
                if take(row) == Taken::Enough {
                    return Ok(());
                }
            }
            if !has_next {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn files(&self, api: &Api, number: NonZeroU64) -> Result<Files, FactError> {
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

    async fn pull(&self, api: &Api, number: NonZeroU64) -> Result<PullRequestFact, FactError> {
        let number = number.to_string();
        let path = ["repos", self.owner, self.name, "pulls", &number];
        let row: PullRow = api.get(&path, &[]).await?.json()?;
        Ok(row.fact(None))
    }

    /// Lists the pull requests that a commit belongs to: open ones, and others of which it is the head.
    ///
    /// One that was merged as this commit is history: what is checked is the branch it went to.
    async fn pulls(&self, api: &Api, commit: &Commit) -> Result<Vec<PullRequestFact>, FactError> {
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

    /// Names the pull request of a commit: an open one before others.
    async fn pull_of(&self, api: &Api, commit: &Commit) -> Result<NonZeroU64, FactError> {
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

#[derive(PartialEq, Eq)]
enum Taken {
    More,
    Enough,
}
