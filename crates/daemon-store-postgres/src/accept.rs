//! Intake: events stored once, further reports of a change, and what is stored together with them.

use std::borrow::Cow;

use async_trait::async_trait;
use daemon_event::{ActorKind, Event, EventId, RepoName, Subject};
use daemon_store::decide::pull_request;
use daemon_store::stored::facts;
use daemon_store::{Accepted, Bookmark, Freshness, Matching, NewEvent, RefCursor, StoreError};
use futures_util::future::{try_join, try_join3};

use crate::column::{Columns as _, integer, maybe_text, micros, text};
use crate::event::columns_of;
use crate::failure::{TxError, TxResult};
use crate::group::Grouped;
use crate::identity::{self, EventPlace, KnownKeys};
use crate::transaction::Tx;

/// How many bytes of payloads are written at once, one event more or less.
const WRITE_BYTES: usize = 8 * 1024 * 1024;

/// Stores events for many callers.
#[derive(Debug)]
pub(crate) struct Accepting;

#[async_trait]
impl Grouped for Accepting {
    type Input = Vec<NewEvent>;
    type Output = Vec<Accepted>;

    const CONTEXT: &'static str = "store events";

    async fn run(
        tx: &Tx,
        inputs: &[Vec<NewEvent>],
    ) -> TxResult<Vec<Result<Vec<Accepted>, StoreError>>> {
        let mut accepted = accept_all(tx, &inputs.iter().flatten().collect::<Vec<_>>())
            .await?
            .into_iter();
        let of = |events: &Vec<NewEvent>| Ok(accepted.by_ref().take(events.len()).collect());
        Ok(inputs.iter().map(of).collect())
    }
}

async fn accept(tx: &Tx, events: Vec<NewEvent>) -> TxResult<Vec<Accepted>> {
    accept_all(tx, &events.iter().collect::<Vec<_>>()).await
}

async fn accept_all(tx: &Tx, events: &[&NewEvent]) -> TxResult<Vec<Accepted>> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    // The number of the newest event is the lock of all intake. It comes before every other query: they see what another transaction
    // stored, and numbers have no gaps, which would hide the event that fills one later from those who read on.
    let [newest, keys] = tx
        .rows_of_first([
            ("SELECT n FROM counter WHERE name = 'event' FOR UPDATE", &[]),
            (identity::KNOWN, &[&KnownKeys::keys(events)]),
        ])
        .await?;
    let newest = newest.first().ok_or(TxError::Overtaken)?.number("n")?;
    let mut intake = Intake {
        tx,
        keys: KnownKeys::read(&keys)?,
        newest,
        made: Vec::new(),
        n_bytes: 0,
    };
    let mut accepted = Vec::with_capacity(events.len());
    for new in events {
        accepted.push(intake.accept(new).await?);
    }
    let last = intake.newest;
    let count = async {
        if last > newest {
            let sql = "UPDATE counter SET n = $1 WHERE name = 'event'";
            tx.run(sql, &[&last]).await?;
        }
        TxResult::Ok(())
    };
    try_join(intake.write(), count).await?;
    Ok(accepted)
}

pub(crate) async fn accept_moves(
    tx: &Tx,
    repo: &RepoName,
    cursors: Vec<RefCursor>,
    events: Vec<NewEvent>,
) -> TxResult<Vec<Accepted>> {
    for cursor in cursors {
        tx.run(
            "INSERT INTO ref_cursor (repo, name, commit_id, moves) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (repo, name) DO UPDATE SET commit_id = excluded.commit_id, moves = excluded.moves",
            &[
                &repo.as_str(),
                &cursor.name,
                &cursor.commit,
                &integer(cursor.moves),
            ],
        )
        .await?;
    }
    accept(tx, events).await
}

pub(crate) async fn accept_marked(
    tx: &Tx,
    bookmarks: Vec<Bookmark>,
    events: Vec<NewEvent>,
) -> TxResult<Vec<Accepted>> {
    for one in bookmarks {
        tx.run(
            "INSERT INTO bookmark (name, text, at) VALUES ($1, $2, $3) \
             ON CONFLICT (name) DO UPDATE SET text = excluded.text, at = excluded.at",
            &[&text(&one.name), &text(&one.text), &micros(one.at)],
        )
        .await?;
    }
    accept(tx, events).await
}

/// Returns the stored event of which this one would be a duplicate or another report.
pub(crate) async fn known(tx: &Tx, new: &NewEvent) -> TxResult<Option<EventId>> {
    let keys = KnownKeys::of(tx, &[new]).await?;
    let place = match first_of(&keys, new) {
        Some(place) => Some(place),
        None => happening(tx, &keys, new).await?,
    };
    let Some(place) = place else {
        return Ok(None);
    };
    let found = tx
        .maybe_row(
            "SELECT id FROM event WHERE repo = $1 AND received_at = $2 AND seq = $3",
            &[&place.repo, &place.received_at, &place.seq],
        )
        .await?;
    found.map(|row| row.word("id")).transpose()
}

/// Finds the event that this one repeats.
fn first_of(keys: &KnownKeys, new: &NewEvent) -> Option<EventPlace> {
    let at = new.event.received_at;
    keys.named(&new.identities, at)
        .or_else(|| keys.named(&new.counterparts, at))
        .cloned()
}

/// Finds an event of the same change that this source has not reported as this kind.
async fn happening(tx: &Tx, keys: &KnownKeys, new: &NewEvent) -> TxResult<Option<EventPlace>> {
    for key in &new.happenings {
        if let Some(place) = keys.counting(key, new.event.received_at)
            && !is_reported(tx, place, &new.event).await?
        {
            return Ok(Some(place.clone()));
        }
    }
    Ok(None)
}

async fn is_reported(tx: &Tx, place: &EventPlace, new: &Event) -> TxResult<bool> {
    let found = tx
        .maybe_row(
            "SELECT 1 FROM event WHERE repo = $1 AND received_at = $2 AND seq = $3 AND source = $4 AND kind = $5 \
             UNION ALL SELECT 1 FROM report WHERE repo = $1 AND received_at = $2 AND seq = $3 AND source = $4 AND kind = $5",
            &[
                &place.repo,
                &place.received_at,
                &place.seq,
                &new.source.as_str(),
                &text(&new.kind),
            ],
        )
        .await?;
    Ok(found.is_some())
}

/// Events on their way in.
struct Intake<'t> {
    tx: &'t Tx,
    keys: KnownKeys,
    /// The number of the newest event.
    newest: i64,
    /// New events that are not written yet.
    made: Vec<(&'t NewEvent, EventPlace)>,
    /// The size of their payloads.
    n_bytes: usize,
}

impl<'t> Intake<'t> {
    async fn accept(&mut self, new: &'t NewEvent) -> TxResult<Accepted> {
        if let Some(place) = first_of(&self.keys, new) {
            self.write().await?;
            let id = self.count(&place, (0, false)).await?;
            return Ok(Accepted {
                id,
                freshness: Freshness::Duplicate,
            });
        }
        let at = new.event.received_at;
        let keys = new.identities.iter().chain(&new.happenings);
        if !new.happenings.is_empty() {
            // The query reads what is written.
            self.write().await?;
        }
        if let Some(place) = happening(self.tx, &self.keys, new).await? {
            let id = self
                .count(&place, (1, new.matching == Matching::Due))
                .await?;
            self.insert_report(&place, &new.event).await?;
            self.note_pull_request(&new.event).await?;
            self.keys.add(keys, (&place, at));
            return Ok(Accepted {
                id,
                freshness: Freshness::Report,
            });
        }
        let place = self.place(&new.event);
        self.keys.put(keys, (&place, at));
        self.n_bytes += new.event.payload.len();
        self.made.push((new, place));
        if self.n_bytes > WRITE_BYTES {
            self.write().await?;
        }
        Ok(Accepted {
            id: new.event.id.clone(),
            freshness: Freshness::New,
        })
    }

    /// Returns the place of a new event.
    fn place(&mut self, event: &Event) -> EventPlace {
        self.newest += 1;
        EventPlace {
            repo: event
                .repo
                .as_ref()
                .map(|repo| repo.as_str().to_owned())
                .unwrap_or_default(),
            received_at: micros(event.received_at),
            seq: self.newest,
        }
    }

    /// Writes what is new.
    async fn write(&mut self) -> TxResult<()> {
        let made = std::mem::take(&mut self.made);
        self.n_bytes = 0;
        if made.is_empty() {
            return self.keys.write(self.tx).await;
        }
        // No one of them reads what another writes.
        try_join3(
            self.keys.write(self.tx),
            insert_events(self.tx, &made),
            insert_payloads(self.tx, &made),
        )
        .await?;
        for (new, _) in &made {
            self.note_pull_request(&new.event).await?;
        }
        Ok(())
    }

    /// Counts a repetition of an event, which is a further report or not.
    async fn count(
        &self,
        place: &EventPlace,
        (n_reports, is_due): (i64, bool),
    ) -> TxResult<EventId> {
        self.tx
            .row(
                "UPDATE event SET duplicates = duplicates + 1, n_reports = n_reports + $4, due = due OR $5 \
                 WHERE repo = $1 AND received_at = $2 AND seq = $3 RETURNING id",
                &[
                    &place.repo,
                    &place.received_at,
                    &place.seq,
                    &n_reports,
                    &is_due,
                ],
            )
            .await?
            .word("id")
    }

    async fn insert_report(&self, place: &EventPlace, new: &Event) -> TxResult<()> {
        self.tx
            .run(
                "INSERT INTO report (repo, received_at, seq, source, kind, action, subject, actor, actor_kind, own_repo, \
                 happened_at, reported_at, delivery, facts, body) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
                &[
                    &place.repo,
                    &place.received_at,
                    &place.seq,
                    &new.source.as_str(),
                    &text(&new.kind),
                    &maybe_text(new.action.as_deref()),
                    &maybe_text(new.subject.as_ref().map(Subject::as_str)),
                    &maybe_text(new.actor.as_ref().map(|actor| actor.name.as_str())),
                    &new.actor.as_ref().map(|actor| actor_word(actor.kind)),
                    &new.repo.as_ref().map(RepoName::as_str),
                    &micros(new.time),
                    &micros(new.received_at),
                    &text(new.delivery.as_str()),
                    &facts_text(new),
                    &&*new.payload,
                ],
            )
            .await?;
        Ok(())
    }

    /// Stores the branch of the pull request that an event describes, if it describes one.
    async fn note_pull_request(&self, event: &Event) -> TxResult<()> {
        if let Some((subject, head)) = pull_request(event) {
            self.tx
                .run(
                    "INSERT INTO pull_request (subject, head) VALUES ($1, $2) \
                     ON CONFLICT (subject) DO UPDATE SET head = excluded.head",
                    &[&text(subject.as_str()), &maybe_text(head)],
                )
                .await?;
        }
        Ok(())
    }
}

/// Inserts the rows of events, in one statement.
async fn insert_events(tx: &Tx, made: &[(&NewEvent, EventPlace)]) -> TxResult<()> {
    let places: Vec<&EventPlace> = made.iter().map(|(_, place)| place).collect();
    let (repos, instants, seqs) = columns_of(&places);
    let of = |value: fn(&Event) -> Option<Cow<'_, str>>| {
        let values = made.iter().map(|(new, _)| value(&new.event));
        values.collect::<Vec<_>>()
    };
    tx.run(
        "INSERT INTO event (repo, received_at, seq, id, source, kind, action, subject, actor, actor_kind, \
         repo_folded, happened_at, delivery, due) \
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], \
         $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::boolean[])",
        &[
            &repos,
            &instants,
            &seqs,
            &of(|event| Some(event.id.as_str().into())),
            &of(|event| Some(event.source.as_str().into())),
            &of(|event| Some(text(&event.kind))),
            &of(|event| maybe_text(event.action.as_deref())),
            &of(|event| maybe_text(event.subject.as_ref().map(Subject::as_str))),
            &of(|event| maybe_text(event.actor.as_ref().map(|actor| actor.name.as_str()))),
            &of(|event| event.actor.as_ref().map(|actor| actor_word(actor.kind).into())),
            &of(|event| event.repo.as_ref().map(|repo| repo.folded().into())),
            &made.iter().map(|(new, _)| micros(new.event.time)).collect::<Vec<_>>(),
            &of(|event| Some(text(event.delivery.as_str()))),
            &made.iter().map(|(new, _)| new.matching == Matching::Due).collect::<Vec<_>>(),
        ],
    )
    .await?;
    Ok(())
}

async fn insert_payloads(tx: &Tx, made: &[(&NewEvent, EventPlace)]) -> TxResult<()> {
    let places: Vec<&EventPlace> = made.iter().map(|(_, place)| place).collect();
    let (repos, instants, seqs) = columns_of(&places);
    let facts: Vec<String> = made.iter().map(|(new, _)| facts_text(&new.event)).collect();
    let bodies: Vec<&[u8]> = made.iter().map(|(new, _)| &*new.event.payload).collect();
    tx.run(
        "INSERT INTO payload (repo, received_at, seq, facts, body) \
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[])",
        &[&repos, &instants, &seqs, &facts, &bodies],
    )
    .await?;
    Ok(())
}

fn facts_text(event: &Event) -> String {
    let said = || facts::of_payload(event.source, &event.kind, &event.payload);
    facts::to_text(&event.facts, || Ok::<_, std::convert::Infallible>(said()))
        .unwrap_or_else(|never| match never {})
}

pub(crate) fn actor_word(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Human => "human",
        ActorKind::Bot => "bot",
    }
}
