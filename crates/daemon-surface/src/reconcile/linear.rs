//! Linear: issues and comments that changed since a time.

mod attributes;
mod comments;
mod history;
mod issues;
mod person;

use std::collections::BTreeSet;

use async_trait::async_trait;
use daemon_engine::{
    Comparison, FactError, FactErrorKind, MissedEvent, ReconcilePlace, Reconciler,
};
use daemon_event::Source;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::api::{ApiError, RequestEffect, ServiceApi};
use crate::linear::graphql;

/// How far before the newest known change lists are read again: a change may be listed later than one with a later time.
const OVERLAP: SignedDuration = SignedDuration::from_mins(2);
/// How many pages of changed objects are read in one comparison.
const MAX_PAGES: usize = 4;
/// The version of the stored form of a cursor.
const VERSION: u32 = 1;

/// What one place lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Issues,
    Comments,
}

impl Listed {
    const ALL: [Self; 2] = [Self::Issues, Self::Comments];

    fn place(self) -> &'static str {
        match self {
            Self::Issues => "linear-issues",
            Self::Comments => "linear-comments",
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::Comments => "comments",
        }
    }

    fn document(self) -> &'static str {
        match self {
            Self::Issues => issues::LIST,
            Self::Comments => comments::LIST,
        }
    }
}

/// Compares Linear with the webhooks that came from it.
#[derive(Debug)]
pub struct LinearReconciler {
    api: ServiceApi,
}

impl LinearReconciler {
    /// Makes the reconciler of a workspace.
    pub fn new(api: ServiceApi) -> Self {
        Self { api }
    }

    async fn compared(&self, listed: Listed, text: Option<&str>) -> Result<Comparison, ApiError> {
        let Some(before) = text.and_then(Cursor::read) else {
            return self.baseline(listed).await;
        };
        let lower = before.lower();
        let (rows, cut) = self.rows(listed, (lower, before.until)).await?;
        let mut missed = Vec::new();
        for row in rows.iter().filter(|row| !before.seen.contains(&row.seen())) {
            match listed {
                Listed::Issues => missed.extend(issues::missed(&self.api, row, lower).await?),
                Listed::Comments => missed.extend(comments::missed(row, lower)),
            }
        }
        missed.sort_by_key(|one| one.at);
        let after = before.moved(&rows, cut).text();
        Ok(Comparison {
            cursor: (text != Some(after.as_str())).then_some(after),
            missed: missed.into_iter().map(Missed::into_event).collect(),
            n_asked: 0,
            note: cut.map(|cut| {
                let what = listed.field();
                format!("many {what} changed: those after {cut} follow with the next comparison")
            }),
            is_partial: cut.is_some(),
        })
    }

    async fn baseline(&self, listed: Listed) -> Result<Comparison, ApiError> {
        let page = self.page(listed, (json!({}), None)).await?;
        let rows = page.nodes.into_iter().filter_map(Row::read);
        let newest = rows.max_by_key(|row| row.updated_at);
        // Without any object everything that comes is new.
        let cursor = Cursor {
            v: VERSION,
            began: newest
                .as_ref()
                .map_or(Timestamp::UNIX_EPOCH, |row| row.updated_at),
            until: newest
                .as_ref()
                .map_or(Timestamp::UNIX_EPOCH, |row| row.updated_at),
            seen: newest.iter().map(Row::seen).collect(),
        };
        Ok(Comparison {
            cursor: Some(cursor.text()),
            ..Comparison::default()
        })
    }

    /// Reads what changed since a time, of which everything until `known` was read before. If that is too much, reads what changed first,
    /// and returns until when.
    async fn rows(
        &self,
        listed: Listed,
        (mut lower, known): (Timestamp, Timestamp),
    ) -> Result<(Vec<Row>, Option<Timestamp>), ApiError> {
        let mut upper = None;
        loop {
            let (rows, is_whole) = self.pages(listed, (lower, upper)).await?;
            if is_whole {
                return Ok((rows, upper));
            }
            // The newest changes come first, so a shorter time is the way to the oldest ones.
            let newest = rows.iter().map(|row| row.updated_at).max().unwrap_or(known);
            let half = newest.duration_since(known) / 2;
            if half >= SignedDuration::from_millis(1) {
                upper = Some(known + half);
            } else if lower < known {
                (lower, upper) = (known, None);
            } else {
                let why = format!("more {} changed at once than are compared", listed.field());
                return Err(ApiError::failed(RequestEffect::None, why));
            }
        }
    }

    /// Reads what changed in a time, the newest first; the second value is false if there is more.
    async fn pages(
        &self,
        listed: Listed,
        (lower, upper): (Timestamp, Option<Timestamp>),
    ) -> Result<(Vec<Row>, bool), ApiError> {
        let mut at = json!({"gte": lower.to_string()});
        if let Some(upper) = upper {
            at["lte"] = json!(upper.to_string());
        }
        let (mut rows, mut known) = (Vec::new(), BTreeSet::new());
        let mut after = None;
        for _ in 0..MAX_PAGES {
            let filter = json!({"updatedAt": at});
            let page = self.page(listed, (filter, after)).await?;
            let read = page.nodes.into_iter().filter_map(Row::read);
            // An object that changes meanwhile may be listed twice.
            rows.extend(read.filter(|row| known.insert(row.id.clone())));
            after = page.page_info.next();
            if after.is_none() {
                return Ok((rows, true));
            }
        }
        Ok((rows, false))
    }

    async fn page(
        &self,
        listed: Listed,
        (filter, after): (Value, Option<String>),
    ) -> Result<Connection, ApiError> {
        let variables = json!({"filter": filter, "after": after});
        let mut data: Map<String, Value> =
            graphql::read(&self.api, listed.document(), variables).await?;
        connection(data.remove(listed.field()))
    }
}

#[async_trait]
impl Reconciler for LinearReconciler {
    fn source(&self) -> Source {
        Source::Linear
    }

    fn places(&self) -> Vec<ReconcilePlace> {
        let places = Listed::ALL.into_iter().map(|listed| ReconcilePlace {
            name: listed.place().to_owned(),
            repo: None,
        });
        places.collect()
    }

    async fn compare(
        &self,
        place: &ReconcilePlace,
        cursor: Option<&str>,
    ) -> Result<Comparison, FactError> {
        // What is left belongs to outputs.
        if !self.api.has_spare() {
            let why = "less than a quarter of the requests of its limit is left";
            return Err(FactError::new(FactErrorKind::Retryable, why).of("Linear"));
        }
        let listed = Listed::ALL.into_iter();
        let Some(listed) = { listed }.find(|listed| listed.place() == place.name) else {
            let why = format!("`{}` is not compared", place.name);
            return Err(FactError::new(FactErrorKind::Final, why));
        };
        let compared = self.compared(listed, cursor).await;
        compared.map_err(|error| FactError::from(error).of("Linear"))
    }
}

/// How far a list was read, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    v: u32,
    /// The newest change when the first comparison was made; earlier ones make no event.
    #[serde(with = "super::instant")]
    began: Timestamp,
    /// The newest change that is known.
    #[serde(with = "super::instant")]
    until: Timestamp,
    /// The known changes in the time that is read again.
    seen: BTreeSet<String>,
}

impl Cursor {
    /// Reads a cursor; `None` for one of another version.
    fn read(text: &str) -> Option<Self> {
        let cursor: Self = serde_json::from_str(text).ok()?;
        (cursor.v == VERSION).then_some(cursor)
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("times and ids are JSON")
    }

    /// Returns the time from which changes are read.
    fn lower(&self) -> Timestamp {
        self.began.max(from(self.until))
    }

    fn moved(&self, rows: &[Row], cut: Option<Timestamp>) -> Self {
        let times = rows.iter().map(|row| row.updated_at);
        let until = times.chain(cut).max().unwrap_or(self.until);
        let until = until.max(self.until);
        let again = rows.iter().filter(|row| row.updated_at >= from(until));
        Self {
            until,
            seen: again.map(Row::seen).collect(),
            ..*self
        }
    }
}

fn from(until: Timestamp) -> Timestamp {
    until.checked_sub(OVERLAP).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A changed object of a list.
struct Row {
    id: String,
    updated_at: Timestamp,
    object: Value,
}

impl Row {
    /// Reads an object; `None` if a member is missing that every object has.
    fn read(object: Value) -> Option<Self> {
        Some(Self {
            id: object["id"].as_str()?.to_owned(),
            updated_at: time(&object["updatedAt"])?,
            object,
        })
    }

    /// Returns the name of this change of the object.
    fn seen(&self) -> String {
        format!("{}@{}", self.id, self.updated_at)
    }
}

/// A missed event, and when it happened.
struct Missed {
    at: Timestamp,
    kind: &'static str,
    /// What makes its id unique, after `reconciled:linear:`.
    change: String,
    body: Value,
}

impl Missed {
    fn into_event(self) -> MissedEvent {
        let delivery = format!("reconciled:linear:{}", self.change);
        MissedEvent {
            kind: self.kind,
            delivery: delivery.parse().expect("ids of Linear are short"),
            body: self.body.to_string().into_bytes(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    nodes: Vec<Value>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

impl PageInfo {
    /// Returns the cursor of the next page, if there is one.
    fn next(self) -> Option<String> {
        self.end_cursor.filter(|_| self.has_next_page)
    }
}

fn connection(value: Option<Value>) -> Result<Connection, ApiError> {
    serde_json::from_value(value.unwrap_or_default()).map_err(|error| {
        let why = format!("its answer cannot be read: {error}");
        ApiError::failed(RequestEffect::None, why)
    })
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
