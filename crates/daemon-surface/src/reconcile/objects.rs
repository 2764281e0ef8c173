//! Refs and pull requests of a repository, and the events of their differences.

use std::collections::BTreeMap;

use daemon_engine::proposal::GithubName;
use daemon_engine::{Comparison, FactError, MissedEvent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::github::RefReading;
use super::snapshot::{Change, PullRow, RefChange, Snapshot};
use crate::api::{ApiError, Listed, PAGE, RequestEffect, ServiceApi, Taken};

/// How many pages of open pull requests are read for the baseline: a thousand.
const PULL_PAGES: usize = 10;
/// How many pages of changed pull requests are read: ten thousand.
const CHANGED_PAGES: usize = 100;
/// How many pages of branches, and of tags, are read.
const REF_PAGES: usize = 30;
/// The id of an object that does not exist, in payloads.
const ZERO: &str = "0000000000000000000000000000000000000000";

/// The entity tags of what the comparison at a cursor saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Tags {
    cursor: Option<String>,
    of: BTreeMap<&'static str, String>,
    default_branch: String,
    lists: BTreeMap<&'static str, Vec<RefRow>>,
}

impl Tags {
    /// Reports whether they belong to a cursor.
    pub(super) fn are_of(&self, cursor: Option<&str>) -> bool {
        self.cursor.as_deref() == cursor
    }

    pub(super) fn set_cursor(&mut self, cursor: Option<&str>) {
        self.cursor = cursor.map(str::to_owned);
    }
}

#[derive(Deserialize)]
struct RepoRow {
    default_branch: String,
}

#[derive(Clone, Debug, Deserialize)]
struct RefRow {
    #[serde(rename = "ref")]
    name: String,
    object: ObjectRow,
}

#[derive(Clone, Debug, Deserialize)]
struct ObjectRow {
    sha: String,
}

/// Compares a repository with the snapshot in a cursor.
pub(super) async fn compare(
    api: &ServiceApi,
    (name, reading): (&GithubName, RefReading),
    (tags, cursor): (&mut Tags, Option<&str>),
) -> Result<Comparison, FactError> {
    let mut repo = ComparedRepo {
        api,
        name,
        tags,
        note: None,
    };
    // First, because the pull requests of a move that comes in between are found by the next comparison.
    let refs = match reading {
        RefReading::Api => repo.refs().await?,
        RefReading::Git => None,
    };
    let Some(mut snapshot) = cursor.and_then(Snapshot::read) else {
        let pulls = repo.open_pulls().await?;
        let snapshot = Snapshot::baseline(refs, &pulls);
        return Ok(Comparison {
            cursor: Some(snapshot.text()),
            note: repo.note,
            ..Comparison::default()
        });
    };
    let mut changes = snapshot.move_refs(refs);
    let pulls = repo.changed_pulls(&snapshot).await?;
    changes.extend(snapshot.update_pulls(pulls));
    let mut missed = Vec::new();
    for change in changes {
        missed.extend(repo.events(&mut snapshot, change).await?);
    }
    let text = snapshot.text();
    Ok(Comparison {
        cursor: (cursor != Some(text.as_str())).then_some(text),
        missed,
        note: repo.note,
        ..Comparison::default()
    })
}

/// A repository while it is compared.
struct ComparedRepo<'a> {
    api: &'a ServiceApi,
    name: &'a GithubName,
    tags: &'a mut Tags,
    note: Option<String>,
}

impl ComparedRepo<'_> {
    fn path<'p>(&'p self, below: &[&'p str]) -> Vec<&'p str> {
        [&["repos", self.name.owner(), self.name.name()], below].concat()
    }

    /// Reads branches and tags; `None` if there are more than are compared.
    async fn refs(&mut self) -> Result<Option<BTreeMap<String, String>>, ApiError> {
        self.read_default_branch().await?;
        let mut refs = BTreeMap::new();
        for space in ["heads", "tags"] {
            let Some(rows) = self.refs_in(space).await? else {
                self.note = Some(format!(
                    "refs are not compared: more than {} in refs/{space}/",
                    REF_PAGES * PAGE
                ));
                return Ok(None);
            };
            refs.extend(rows.into_iter().map(|row| (row.name, row.object.sha)));
        }
        Ok(Some(refs))
    }

    async fn read_default_branch(&mut self) -> Result<(), ApiError> {
        let tag = self.tags.of.get("repo").cloned();
        let answer = self
            .api
            .get_changed(&self.path(&[]), &[], tag.as_deref())
            .await?;
        if !answer.is_unchanged {
            let row: RepoRow = answer.json()?;
            self.tags.default_branch = row.default_branch;
            self.keep_tag("repo", answer.header("etag"));
        }
        Ok(())
    }

    fn keep_tag(&mut self, of: &'static str, tag: Option<&str>) {
        match tag {
            Some(tag) => self.tags.of.insert(of, tag.to_owned()),
            None => self.tags.of.remove(of),
        };
    }

    /// Reads the refs below a prefix; `None` if there are too many.
    async fn refs_in(&mut self, space: &'static str) -> Result<Option<Vec<RefRow>>, ApiError> {
        let mut rows: Vec<RefRow> = Vec::new();
        for page in 1..=REF_PAGES {
            let number = page.to_string();
            let path = self.path(&["git", "matching-refs", space]);
            let query = [("per_page", "100"), ("page", number.as_str())];
            // The tag of the first page says nothing about others.
            let tag = self.tags.of.get(space).filter(|_| page == 1).cloned();
            let answer = self.api.get_changed(&path, &query, tag.as_deref()).await?;
            if answer.is_unchanged {
                return Ok(Some(
                    self.tags.lists.get(space).cloned().unwrap_or_default(),
                ));
            }
            let of_page: Vec<RefRow> = answer.json()?;
            let has_next = answer.has_next.unwrap_or(of_page.len() >= PAGE);
            rows.extend(of_page);
            if has_next {
                continue;
            }
            let tag = answer.header("etag").filter(|_| page == 1);
            self.keep_tag(space, tag);
            // An earlier list of one page is not needed for a list of several.
            self.tags.lists.insert(
                space,
                match page {
                    1 => rows.clone(),
                    _ => Vec::new(),
                },
            );
            return Ok(Some(rows));
        }
        Ok(None)
    }

    /// Lists the open pull requests and the newest change of any.
    async fn open_pulls(&mut self) -> Result<Vec<PullRow>, ApiError> {
        let mut pulls = Vec::new();
        let take = |row: Value| {
            pulls.extend(PullRow::read(row));
            Taken::More
        };
        let query = [
            ("state", "open"),
            ("sort", "updated"),
            ("direction", "desc"),
        ];
        let path = self.path(&["pulls"]);
        let listed = self.api.pages(&path, &query, PULL_PAGES, take).await?;
        // The highest number may be that of a closed one.
        for (sort, state) in [("created", "all"), ("updated", "all")] {
            let query = [
                ("state", state),
                ("sort", sort),
                ("direction", "desc"),
                ("per_page", "1"),
            ];
            let rows: Vec<Value> = self.api.get(&path, &query).await?.json()?;
            pulls.extend(rows.into_iter().filter_map(PullRow::read));
        }
        if listed == Listed::Cut {
            self.note = Some(format!(
                "the {} open pull requests that changed last are compared",
                PULL_PAGES * PAGE
            ));
        }
        Ok(pulls)
    }

    /// Lists the pull requests that changed since a snapshot, oldest change first.
    async fn changed_pulls(&mut self, snapshot: &Snapshot) -> Result<Vec<PullRow>, ApiError> {
        let mut pulls = Vec::new();
        for page in 1..=CHANGED_PAGES {
            let number = page.to_string();
            let query = [
                ("state", "all"),
                ("sort", "updated"),
                ("direction", "desc"),
                ("per_page", "100"),
                ("page", number.as_str()),
            ];
            let tag = self.tags.of.get("pulls").filter(|_| page == 1).cloned();
            let answer = self
                .api
                .get_changed(&self.path(&["pulls"]), &query, tag.as_deref())
                .await?;
            if answer.is_unchanged {
                return Ok(Vec::new());
            }
            let rows: Vec<Value> = answer.json()?;
            if page == 1 {
                self.keep_tag("pulls", answer.header("etag"));
            }
            let has_next = answer.has_next.unwrap_or(rows.len() >= PAGE);
            let rows = rows.into_iter().filter_map(PullRow::read);
            let rows: Vec<PullRow> = rows.collect();
            let is_whole = rows.iter().any(|row| snapshot.is_older(row)) || !has_next;
            pulls.extend(rows.into_iter().filter(|row| !snapshot.is_older(row)));
            if is_whole {
                pulls.reverse();
                return Ok(pulls);
            }
        }
        // Without the oldest of them nothing is stored, so that none is skipped and the gap stays.
        let why = format!(
            "more than {} pull requests changed since the comparison before",
            CHANGED_PAGES * PAGE
        );
        Err(ApiError::failed(RequestEffect::None, why))
    }

    /// Returns the events of one difference.
    async fn events(
        &self,
        snapshot: &mut Snapshot,
        change: Change,
    ) -> Result<Vec<MissedEvent>, ApiError> {
        let (pull, action, more) = match change {
            Change::Moved(moved) => return self.moved(snapshot, &moved).await,
            Change::Opened(pull) => {
                let sender = pull.row["user"].clone();
                (pull, "opened", json!({"sender": sender}))
            }
            Change::Synchronized { pull, before } => {
                let more = json!({"before": before, "after": pull.head});
                (pull, "synchronize", more)
            }
            Change::Closed(pull) => {
                let sender = self.closer(pull.number).await?;
                (pull, "closed", json!({"sender": sender}))
            }
        };
        let mut body = Map::new();
        body.insert("action".to_owned(), action.into());
        body.insert("number".to_owned(), pull.number.into());
        let mut row = pull.row;
        // A list has only the time of the merge.
        row["merged"] = (!row["merged_at"].is_null()).into();
        body.insert("repository".to_owned(), row["base"]["repo"].clone());
        body.insert("pull_request".to_owned(), row);
        add(&mut body, more);
        Ok(vec![self.event(snapshot, "pull_request", body)])
    }

    /// Returns the account that closed a pull request, or null.
    async fn closer(&self, number: u64) -> Result<Value, ApiError> {
        let number = number.to_string();
        let path = self.path(&["issues", &number]);
        let row: Value = self.api.get(&path, &[]).await?.json()?;
        Ok(row["closed_by"].clone())
    }

    fn event(
        &self,
        snapshot: &mut Snapshot,
        kind: &'static str,
        mut body: Map<String, Value>,
    ) -> MissedEvent {
        // Without an actor conditions on it are undecided; `null` would be a value.
        body.retain(|_, value| !value.is_null());
        let delivery = format!("reconciled:{}:{}", self.name, snapshot.next_event());
        MissedEvent {
            kind,
            delivery: delivery.parse().expect("names of repositories are short"),
            body: Value::Object(body).to_string().into_bytes(),
        }
    }

    async fn moved(
        &self,
        snapshot: &mut Snapshot,
        moved: &RefChange,
    ) -> Result<Vec<MissedEvent>, ApiError> {
        let (ref_type, short) = match moved.name.strip_prefix("refs/tags/") {
            Some(short) => ("tag", short),
            None => ("branch", moved.name.trim_start_matches("refs/heads/")),
        };
        let repository =
            json!({"full_name": self.name.to_string(), "default_branch": self.tags.default_branch});
        let mut push = Map::new();
        add(
            &mut push,
            json!({
                "ref": moved.name, "created": moved.before.is_none(), "deleted": moved.after.is_none(),
                "before": moved.before.as_deref().unwrap_or(ZERO),
                "after": moved.after.as_deref().unwrap_or(ZERO),
                "repository": repository,
            }),
        );
        let base = match (&moved.before, ref_type) {
            (Some(before), _) => Some(before.as_str()),
            // As for a branch that git reports: what is not on the default branch.
            (None, "branch") => Some(self.tags.default_branch.as_str()),
            (None, _) => None,
        };
        if let (Some(base), Some(after)) = (base, &moved.after) {
            self.add_commits(&mut push, base, after).await?;
        }
        let mut events = Vec::new();
        let kind = match (&moved.before, &moved.after) {
            (None, _) => Some("create"),
            (_, None) => Some("delete"),
            (Some(_), Some(_)) => None,
        };
        if let Some(kind) = kind {
            let mut body = Map::new();
            let named = json!({"ref": short, "ref_type": ref_type, "repository": repository});
            add(&mut body, named);
            events.push(self.event(snapshot, kind, body));
        }
        events.push(self.event(snapshot, "push", push));
        Ok(events)
    }

    /// Adds commits, changed paths and the committer of a move. Objects that no longer exist have none.
    async fn add_commits(
        &self,
        push: &mut Map<String, Value>,
        base: &str,
        after: &str,
    ) -> Result<(), ApiError> {
        let ends = format!("{base}...{after}");
        let compared: Value = match self.api.get(&self.path(&["compare", &ends]), &[]).await {
            Ok(answer) => answer.json()?,
            Err(error) if error.is_absent() => return Ok(()),
            Err(error) => return Err(error),
        };
        let list = |name: &str| compared[name].as_array().cloned().unwrap_or_default();
        let commits: Vec<Value> = list("commits").iter().map(commit).collect();
        let files = list("files");
        let files = files.iter().flat_map(|file| {
            let names = [&file["filename"], &file["previous_filename"]];
            names.into_iter().filter(|name| name.is_string()).cloned()
        });
        let files: Vec<Value> = files.collect();
        let is_forced = !matches!(compared["status"].as_str(), Some("ahead" | "identical"));
        let last = list("commits").pop().unwrap_or_default();
        add(
            push,
            json!({
                "forced": is_forced && push["created"] == false, "head_commit": commits.last(),
                "commits": commits, "changed_files": files,
                "pusher": {"name": last["commit"]["committer"]["name"]},
                "sender": last["committer"],
            }),
        );
        Ok(())
    }
}

/// Returns a commit in the form of a push.
fn commit(row: &Value) -> Value {
    let said = &row["commit"];
    json!({
        "id": row["sha"], "message": said["message"], "timestamp": said["committer"]["date"],
        "author": said["author"], "committer": said["committer"],
    })
}

fn add(to: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        to.extend(more);
    }
}
