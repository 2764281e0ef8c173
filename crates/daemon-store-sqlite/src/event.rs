//! Events, their identities and the cursors of refs.

use daemon_engine::{Activation, ActivationState, Admission};
use daemon_event::{Actor, ActorKind, Event, EventId, RepoName, Subject, TriggerKey};
use daemon_store::stored::{conditions_from_text, facts};
use daemon_store::{
    Accepted, ClaimRequest, EventRow, EventTrigger, Freshness, Matched, Matching, NewEvent,
    RefCursor, StoreError,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Rows, params};

use crate::admission::ClaimAtOnce;
use crate::column::{Columns as _, integer, micros};
use crate::failpoint;
use crate::failure::{TxResult, damaged};
use crate::identity::KeyLookup;
use crate::recent::WriteTx;
use crate::{
    admission, claim, event_block, hosting, identity, payload, pull_request, report, wanted,
};

macro_rules! own_columns {
    () => {
        "e.seq, e.id, e.source, e.kind, e.action, e.subject, e.actor, e.actor_kind, e.repo, e.happened_at, \
         e.received_at, e.delivery, e.duplicates, e.due"
    };
}

/// The columns that [`read_listed`] reads.
pub(crate) const LISTED_COLUMNS: &str = concat!(own_columns!(), ", p.facts");

/// The columns that [`read_event`] reads.
// 262144 is `payload::WHOLE`: a longer body is read in pieces by its own row, and not copied into the result here.
pub(crate) const COLUMNS: &str = concat!(
    own_columns!(),
    ", p.facts, iif(length(p.body) <= 262144, p.body, NULL) AS body, length(p.body) AS n_body"
);

/// The tables of [`COLUMNS`] and [`LISTED_COLUMNS`].
pub(crate) const TABLES: &str = "event AS e LEFT JOIN payload AS p ON p.seq = e.seq";

pub(crate) fn accept(tx: &WriteTx<'_>, events: &[NewEvent]) -> TxResult<Vec<Accepted>> {
    // Without events, a call stores bookmarks or positions, or only waits for the writer.
    if !events.is_empty() {
        failpoint::hit("W4");
    }
    events.iter().map(|new| accept_one(tx, new)).collect()
}

pub(crate) fn accept_moves(
    tx: &WriteTx<'_>,
    repo: &RepoName,
    cursors: Vec<RefCursor>,
    events: Vec<NewEvent>,
) -> TxResult<Vec<Accepted>> {
    failpoint::hit("N2");
    // Cursors first or events first makes no difference: both are in one operation, so that no crash parts them.
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO ref_cursor VALUES (?1, ?2, ?3, ?4)")?;
    for cursor in cursors {
        put.execute(params![
            repo.as_str(),
            cursor.name,
            cursor.commit,
            integer(cursor.moves)
        ])?;
    }
    accept(tx, &events)
}

fn accept_one(tx: &WriteTx<'_>, new: &NewEvent) -> TxResult<Accepted> {
    if let Some(seq) = first_of(tx, new)? {
        let id: String = tx
            .prepare_cached(
                "UPDATE event SET duplicates = duplicates + 1 WHERE seq = ?1 RETURNING id",
            )?
            .query_row([seq], |row| row.get(0))?;
        return Ok(Accepted {
            id: id.parse().map_err(|error| damaged("event id", error))?,
            freshness: Freshness::Duplicate,
        });
    }
    if let Some(accepted) = report::accept(tx, new)? {
        return Ok(accepted);
    }
    let seq = insert(tx, new)?;
    event_block::accepted(tx, seq)?;
    let keys = new.identities.iter().chain(&new.happenings);
    identity::put(tx, keys, (seq, new.event.received_at))?;
    Ok(Accepted {
        id: new.event.id.clone(),
        freshness: Freshness::New,
    })
}

/// Finds the event that this one repeats.
fn first_of(db: &impl KeyLookup, new: &NewEvent) -> TxResult<Option<i64>> {
    for keys in [&new.identities, &new.counterparts] {
        let found = identity::named(db, (keys, new.event.received_at), |_| Ok(true))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the stored event of which this one would be a duplicate or another report.
pub(crate) fn known(conn: &Connection, new: &NewEvent) -> TxResult<Option<EventId>> {
    let seq = match first_of(conn, new)? {
        Some(seq) => seq,
        None => match report::happening(conn, new)? {
            Some(seq) => seq,
            None => return Ok(None),
        },
    };
    let mut find = conn.prepare_cached("SELECT id FROM event WHERE seq = ?1")?;
    let mut rows = find.query([seq])?;
    match rows.next()? {
        Some(row) => Ok(Some(row.word("id")?)),
        None => Ok(None),
    }
}

fn insert(tx: &Connection, new: &NewEvent) -> TxResult<i64> {
    let event = &new.event;
    tx.prepare_cached(
        "INSERT INTO event (id, source, kind, action, subject, actor, actor_kind, repo, repo_folded, happened_at, \
         received_at, delivery, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        event.id.as_str(),
        event.source.as_str(),
        event.kind,
        event.action,
        event.subject.as_ref().map(Subject::as_str),
        event.actor.as_ref().map(|actor| actor.name.as_str()),
        event.actor.as_ref().map(|actor| actor_word(actor.kind)),
        event.repo.as_ref().map(RepoName::as_str),
        // Folded once when stored, so that listings by repository find any spelling.
        event.repo.as_ref().map(RepoName::folded),
        micros(event.time),
        micros(event.received_at),
        event.delivery.as_str(),
        new.matching == Matching::Due,
    ])?;
    let seq = tx.last_insert_rowid();
    payload::insert(tx, seq, event)?;
    pull_request::note(tx, event)?;
    Ok(seq)
}

pub(crate) fn actor_word(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Human => "human",
        ActorKind::Bot => "bot",
    }
}

pub(crate) fn ref_cursors(conn: &Connection, repo: &RepoName) -> TxResult<Vec<RefCursor>> {
    let mut find = conn.prepare_cached(
        "SELECT name, commit_id, moves FROM ref_cursor WHERE repo = ?1 ORDER BY name",
    )?;
    let mut rows = find.query([repo.as_str()])?;
    let mut cursors = Vec::new();
    while let Some(row) = rows.next()? {
        cursors.push(RefCursor {
            name: row.text("name")?,
            commit: row.get("commit_id")?,
            moves: row.count("moves")?,
        });
    }
    Ok(cursors)
}

pub(crate) fn unmatched(conn: &Connection, after: u64, limit: u32) -> TxResult<Vec<EventRow>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE e.due = 1 AND e.seq > ?1 ORDER BY e.seq LIMIT ?2"
    ))?;
    read_some(conn, find.query(params![integer(after), limit])?)
}

/// Reads events until their payloads together are large; at least one if there is any.
pub(crate) fn read_some(conn: &Connection, mut rows: Rows<'_>) -> TxResult<Vec<EventRow>> {
    let (mut events, mut n_bytes) = (Vec::new(), 0);
    // Bounded by bytes as well as by number: each event can have a body of 25 MiB.
    while n_bytes < payload::READ_BYTES
        && let Some(row) = rows.next()?
    {
        let read = read_event(conn, row)?;
        let reports = std::iter::once(&read.event).chain(&read.later_reports);
        n_bytes += reports.map(|report| report.payload.len()).sum::<usize>();
        events.push(read);
    }
    Ok(events)
}

pub(crate) fn commit_matches(
    tx: &Connection,
    matched: Vec<Matched>,
    now: Timestamp,
) -> TxResult<Vec<Admission>> {
    commit_and_claim(tx, matched, now, None)
}

fn commit_and_claim(
    tx: &Connection,
    matched: Vec<Matched>,
    now: Timestamp,
    mut at_once: Option<&mut ClaimAtOnce<'_>>,
) -> TxResult<Vec<Admission>> {
    failpoint::hit("M2");
    let mut due = tx.prepare_cached(
        // A report that arrived after the event was read changes the count, and the event stays due.
        "SELECT seq FROM event WHERE id = ?1 AND due = 1 \
         AND (SELECT count(*) FROM report AS r WHERE r.seq = event.seq) = ?2",
    )?;
    let mut mark = tx.prepare_cached("UPDATE event SET due = 0 WHERE seq = ?1")?;
    let mut find = tx.prepare_cached("SELECT 1 FROM event WHERE id = ?1")?;
    let mut admissions = Vec::new();
    for one in matched {
        let found: Option<i64> = due
            .query_row(
                params![
                    one.event.as_str(),
                    i64::try_from(one.n_later).unwrap_or(i64::MAX)
                ],
                |row| row.get(0),
            )
            .optional()?;
        let Some(seq) = found else {
            if !find.exists([one.event.as_str()])? {
                return Err(StoreError::not_found("event", &one.event).into());
            }
            continue;
        };
        mark.execute([seq])?;
        wanted::want(tx, seq, &one.wanted, now)?;
        for trigger in one.triggers {
            let at_once = at_once.as_deref_mut();
            admissions.push(admission::enqueue_or_claim(tx, trigger, at_once)?);
        }
    }
    Ok(admissions)
}

pub(crate) fn match_and_claim(
    tx: &Connection,
    request: &ClaimRequest,
    matched: Vec<Matched>,
) -> TxResult<(Vec<Admission>, Option<Activation>)> {
    // On an idle host, the activation of the event is the only one that can be claimed. It is stored as leased then, which
    // saves writing it twice.
    let mut at_once = ClaimAtOnce {
        request,
        claimed: None,
    };
    let is_idle = matches!(&matched[..], [one] if one.triggers.len() == 1)
        && hosting::tally(tx, "activation", ActivationState::Pending.as_str())? == 0;
    let admissions = commit_and_claim(tx, matched, request.now, is_idle.then_some(&mut at_once))?;
    let claimed = match at_once.claimed {
        None if !admissions.is_empty() => claim::claim(tx, request)?,
        claimed => claimed,
    };
    Ok((admissions, claimed))
}

pub(crate) fn event(conn: &Connection, id: &EventId) -> TxResult<Option<EventRow>> {
    let mut find =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE e.id = ?1"))?;
    let mut rows = find.query([id.as_str()])?;
    match rows.next()? {
        None => Ok(None),
        Some(row) => Ok(Some(read_event(conn, row)?)),
    }
}

/// Reads some events as listings have them.
pub(crate) fn among(conn: &Connection, ids: &[EventId]) -> TxResult<Vec<EventRow>> {
    let sql = format!("SELECT {LISTED_COLUMNS} FROM {TABLES} WHERE e.id = ?1");
    let mut find = conn.prepare_cached(&sql)?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let mut rows = find.query([id.as_str()])?;
        if let Some(row) = rows.next()? {
            found.push(read_listed(conn, row)?);
        }
    }
    Ok(found)
}

/// Reads an event, all its reports and its triggers.
pub(crate) fn read_event(conn: &Connection, row: &Row<'_>) -> TxResult<EventRow> {
    let mut read = read_own(conn, row)?;
    let event = &mut read.event;
    event.payload = payload::of_row(conn, row, ("payload", row.get("seq")?))?;
    let said = || facts::of_payload(event.source, &event.kind, &event.payload);
    match row.get_ref("facts")?.as_str_or_null() {
        Ok(Some(text)) => event.facts = facts::from_text(text, said)?,
        Ok(None) => {}
        Err(error) => return Err(rusqlite::Error::from(error).into()),
    }
    read.later_reports = report::of_event(conn, read.seq, &event.id)?;
    for report in &read.later_reports {
        event.facts.complete(&report.facts);
    }
    Ok(read)
}

/// Reads an event and its triggers, without its payload, and of its facts the title.
pub(crate) fn read_listed(conn: &Connection, row: &Row<'_>) -> TxResult<EventRow> {
    let mut read = read_own(conn, row)?;
    let text = row.get_ref("facts")?.as_str_or_null();
    if let Some(text) = text.map_err(rusqlite::Error::from)? {
        read.event.facts = facts::listed_of_text(text);
    }
    Ok(read)
}

/// Reads an event and its triggers, without payloads and facts.
fn read_own(conn: &Connection, row: &Row<'_>) -> TxResult<EventRow> {
    let id: EventId = row.word("id")?;
    let triggers = triggers(conn, &TriggerKey::Event(id.clone()))?;
    let seq = row.count("seq")?;
    Ok(EventRow {
        seq,
        later_reports: Vec::new(),
        event: Event {
            id,
            source: row.word("source")?,
            kind: row.text("kind")?,
            action: row.get("action")?,
            subject: row.maybe_word("subject")?,
            actor: actor(row)?,
            repo: row.maybe_word("repo")?,
            time: row.at("happened_at")?,
            received_at: row.at("received_at")?,
            delivery: row.word("delivery")?,
            facts: daemon_event::EventFacts::default(),
            payload: [].into(),
        },
        duplicates: row.count("duplicates")?,
        matching: if row.get("due")? {
            Matching::Due
        } else {
            Matching::Done
        },
        triggers,
        wanted: wanted::of_event(conn, seq)?,
    })
}

pub(crate) fn actor(row: &Row<'_>) -> TxResult<Option<Actor>> {
    let Some(name) = row.get::<_, Option<String>>("actor")? else {
        return Ok(None);
    };
    let kind = match row.text("actor_kind")?.as_str() {
        "bot" => ActorKind::Bot,
        _ => ActorKind::Human,
    };
    Ok(Some(Actor { name, kind }))
}

fn triggers(conn: &Connection, key: &TriggerKey) -> TxResult<Vec<EventTrigger>> {
    let mut find = conn.prepare_cached(
        "SELECT l.repo, l.daemon, w.conditions, a.id AS activation FROM wake AS w \
         JOIN lane AS l ON l.id = w.lane LEFT JOIN activation AS a ON a.number = w.activation \
         WHERE w.key = ?1 ORDER BY w.number",
    )?;
    let mut rows = find.query([key.to_string()])?;
    let mut triggers = Vec::new();
    while let Some(row) = rows.next()? {
        triggers.push(EventTrigger {
            daemon: row.daemon()?,
            conditions: conditions_from_text(&row.text("conditions")?)?,
            activation: row.maybe_word("activation")?,
        });
    }
    Ok(triggers)
}

/// Deletes identities and ticks that were stored before given instants.
pub(crate) fn forget(tx: &WriteTx<'_>, ids: Timestamp, ticks: Timestamp) -> TxResult<()> {
    tx.recent.borrow_mut().forget(tx, (ticks, ids))?;
    tx.execute("DELETE FROM tick WHERE recorded_at < ?1", [micros(ticks)])?;
    Ok(())
}
