//! Times in which a service may have sent webhooks that were not stored.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use daemon_event::Source;
use daemon_store::{Bookmark, Store, StoreError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// The beginning of the names of stored gaps; the name of the source follows.
const PREFIX: &str = "gap/";
/// The name under which the last time is stored at which the host accepted webhooks.
const ALIVE: &str = "alive";

/// A time in which webhooks may have been lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// When it began.
    pub(crate) since: Timestamp,
    /// When it ended; a later refusal moves it.
    pub(crate) until: Timestamp,
}

impl Gap {
    fn joined(self, other: Self) -> Self {
        Self {
            since: self.since.min(other.since),
            until: self.until.max(other.until),
        }
    }
}

/// The stored form of a gap.
#[derive(Serialize, Deserialize)]
struct GapText {
    v: u32,
    since: String,
    until: String,
}

/// Gaps that are not stored yet, because a disk that is full, or a store that is slow, is a reason for them.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    unstored: Mutex<BTreeMap<Source, Gap>>,
    /// The deliveries without a valid signature since the start.
    unsigned: Mutex<BTreeMap<Source, Unsigned>>,
    /// A gap was noted.
    pub(super) noted: Notify,
}

/// The deliveries of a source that had no valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsigned {
    /// How many there were.
    pub(crate) count: u64,
    /// When the last one came.
    pub(crate) last: Timestamp,
}

impl Gaps {
    /// Counts a delivery without a valid signature. The first one of a source is reported, because the secret may be wrong.
    pub(crate) fn note_unsigned(&self, source: Source, now: Timestamp) {
        let mut unsigned = self.unsigned.lock().expect("no holder panics");
        let known = unsigned.entry(source).or_insert(Unsigned {
            count: 0,
            last: now,
        });
        (known.count, known.last) = (known.count + 1, now);
        if known.count == 1 {
            let key = secret_key(source);
            tracing::warn!(%source, key, "a webhook has another signature: compare its secret with the configured one");
        }
    }

    /// Returns the deliveries of a source that had no valid signature since the start.
    pub(crate) fn unsigned(&self, source: Source) -> Option<Unsigned> {
        let unsigned = self.unsigned.lock().expect("no holder panics");
        unsigned.get(&source).copied()
    }

    /// Notes that a webhook of a source was refused for want of resources.
    pub(crate) fn note(&self, source: Source, now: Timestamp) {
        self.add(
            source,
            Gap {
                since: now,
                until: now,
            },
        );
        self.noted.notify_one();
    }

    fn add(&self, source: Source, gap: Gap) {
        let mut unstored = self.unstored();
        let joined = unstored.get(&source).map_or(gap, |known| known.joined(gap));
        unstored.insert(source, joined);
    }

    /// Notes the time in which no host ran, for the sources that send webhooks.
    pub(super) async fn note_absence(
        &self,
        store: &dyn Store,
        sources: impl Iterator<Item = Source>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let alive = store.bookmarks(ALIVE).await?;
        if let Some(alive) = alive.iter().find(|one| one.name == ALIVE) {
            let gap = Gap {
                since: alive.at.min(now),
                until: now,
            };
            sources.for_each(|source| self.add(source, gap));
        }
        Ok(())
    }

    /// Whether something was noted that is not stored yet.
    pub(super) fn has_unstored(&self) -> bool {
        !self.unstored().is_empty()
    }

    /// Stores what was noted, and that the host accepts webhooks at this time.
    ///
    /// # Errors
    /// If the store fails; the gaps stay noted.
    pub(super) async fn store(&self, store: &dyn Store, now: Timestamp) -> Result<(), StoreError> {
        let unstored = std::mem::take(&mut *self.unstored());
        let stored = self.write(store, &unstored, now).await;
        if stored.is_err() {
            for (source, gap) in unstored {
                self.add(source, gap);
            }
        }
        stored
    }

    async fn write(
        &self,
        store: &dyn Store,
        unstored: &BTreeMap<Source, Gap>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let known = stored(store).await?;
        let mut bookmarks = vec![Bookmark {
            name: ALIVE.to_owned(),
            text: String::new(),
            at: now,
        }];
        for (source, gap) in unstored {
            let gap = known.get(source).map_or(*gap, |known| known.joined(*gap));
            bookmarks.push(bookmark(*source, Some(gap), now));
        }
        store.accept_marked(bookmarks, Vec::new()).await?;
        Ok(())
    }

    /// Ends the gap of a source whose objects were compared after it. A gap that was noted since stays.
    pub(super) async fn close(
        &self,
        store: &dyn Store,
        source: Source,
        compared: Timestamp,
    ) -> Result<(), StoreError> {
        let known = stored(store).await?;
        if known.get(&source).is_some_and(|gap| gap.until <= compared) {
            let bookmarks = vec![bookmark(source, None, compared)];
            store.accept_marked(bookmarks, Vec::new()).await?;
        }
        Ok(())
    }

    fn unstored(&self) -> std::sync::MutexGuard<'_, BTreeMap<Source, Gap>> {
        self.unstored.lock().expect("no holder panics")
    }
}

/// Returns the key of the configuration that names the secret of a source.
pub(crate) fn secret_key(source: Source) -> String {
    match source {
        Source::Cloudevents => "sources.cloudevents.token_file".to_owned(),
        _ => format!("sources.{source}.secret_file"),
    }
}

/// Returns the bookmark of a gap; an empty text is that of a closed one.
fn bookmark(source: Source, gap: Option<Gap>, at: Timestamp) -> Bookmark {
    let text = gap.map(|gap| GapText {
        v: 1,
        since: gap.since.to_string(),
        until: gap.until.to_string(),
    });
    let text = text.map(|text| serde_json::to_string(&text).expect("two times are JSON"));
    Bookmark {
        name: format!("{PREFIX}{source}"),
        text: text.unwrap_or_default(),
        at,
    }
}

/// Returns the stored gaps that are open.
pub(crate) async fn stored(store: &dyn Store) -> Result<BTreeMap<Source, Gap>, StoreError> {
    let read = |one: Bookmark| {
        let text: GapText = serde_json::from_str(&one.text).ok()?;
        let gap = Gap {
            since: text.since.parse().ok()?,
            until: text.until.parse().ok()?,
        };
        Some((one.name.strip_prefix(PREFIX)?.parse().ok()?, gap))
    };
    let stored = store.bookmarks(PREFIX).await?;
    Ok(stored.into_iter().filter_map(read).collect())
}

/// Shares the gaps between the intake and the loop that stores them.
pub(crate) type SharedGaps = Arc<Gaps>;
