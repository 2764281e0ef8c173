//! Repositories that were renamed on GitHub: a webhook meets the watched repository whose id it has.

use std::collections::{BTreeMap, BTreeSet};

use daemon_event::{RepoName, Source};
use daemon_store::{Bookmark, NewEvent, Store, StoreError};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::Mutex;

/// The beginning of the names of the bookmarks; the id of the repository follows, and the watched name is the content.
const PREFIX: &str = "github-repository/";

/// The ids under which watched repositories sent webhooks.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    known: Mutex<Option<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The watched names, by id.
    names: BTreeMap<u64, RepoName>,
    /// The names that have an id, in lower case.
    with_id: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Payload {
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    id: Option<u64>,
}

impl Renames {
    /// Gives events of renamed repositories the watched name, and returns what is to be stored with the events: the ids of
    /// watched repositories that were not known.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn resolve(
        &self,
        store: &dyn Store,
        is_watched: &(dyn Fn(&str) -> bool + Sync),
        (events, now): (&mut [NewEvent], Timestamp),
    ) -> Result<Vec<Bookmark>, StoreError> {
        let mut guard = self.known.lock().await;
        let known = match &mut *guard {
            Some(known) => known,
            empty => empty.insert(load(store).await?),
        };
        let mut bookmarks = Vec::new();
        for new in events {
            let Some(repo) = new
                .event
                .repo
                .clone()
                .filter(|_| new.event.source == Source::Github)
            else {
                continue;
            };
            let folded = repo.folded();
            // The payload is parsed only for the first webhook of a watched repository, and for those of others.
            if known.with_id.contains(&folded) {
                continue;
            }
            let Some(id) = id_of(&new.event.payload) else {
                continue;
            };
            if is_watched(&folded) {
                known.with_id.insert(folded);
                known.names.insert(id, repo.clone());
                bookmarks.push(Bookmark {
                    name: format!("{PREFIX}{id}"),
                    text: repo.as_str().to_owned(),
                    at: now,
                });
            } else if let Some(name) = known.names.get(&id)
                && is_watched(&name.folded())
            {
                let mut event = new.event.clone();
                event.repo = Some(name.clone());
                // Its keys have the name of the repository, by which git's reports of the same change are found.
                *new = daemon_api::intake::new_event(event, new.matching);
            }
        }
        Ok(bookmarks)
    }
}

async fn load(store: &dyn Store) -> Result<Known, StoreError> {
    let mut known = Known::default();
    for bookmark in store.bookmarks(PREFIX).await? {
        let id = bookmark
            .name
            .strip_prefix(PREFIX)
            .and_then(|id| id.parse().ok());
        if let (Some(id), Ok(name)) = (id, bookmark.text.parse::<RepoName>()) {
            known.with_id.insert(name.folded());
            known.names.insert(id, name);
        }
    }
    Ok(known)
}

fn id_of(payload: &[u8]) -> Option<u64> {
    let payload: Payload = serde_json::from_slice(payload).ok()?;
    payload.repository?.id
}

#[cfg(test)]
mod tests;
