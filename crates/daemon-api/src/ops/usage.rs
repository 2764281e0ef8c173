//! What daemons did and used in the last days, for the charts of pages.

use std::collections::BTreeMap;

use daemon_engine::Activation;
use daemon_event::{RepoName, TriggerKey};
use daemon_records::error::OpError;
use daemon_store::{MAX_PAGE, Query};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Operations, Params, value};

/// The days that are shown, in UTC; the last is today.
const DAYS: i64 = 7;
/// The pages of activations that are read at most.
const MOST_PAGES: u32 = 4;
/// The finished activations whose durations are shown.
const MOST_FINISHED: usize = 24;
/// The hours of the chart of a day.
const HOURS: i64 = 24;

/// What one daemon did and used on one day, or in one hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Used {
    /// Events among the triggers.
    pub(crate) events: u64,
    pub(crate) activations: u64,
    /// Outputs that were proposed.
    pub(crate) outputs: u64,
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
}

impl Used {
    fn add(&mut self, activation: &Activation) {
        let events = activation
            .triggers
            .iter()
            .filter(|trigger| matches!(trigger.key, TriggerKey::Event(_)));
        self.events += u64::try_from(events.count()).unwrap_or(u64::MAX);
        self.activations += 1;
        self.tokens += activation.tokens.unwrap_or_default();
        self.cost_usd += activation.cost_usd.unwrap_or_default();
    }
}

/// The newest activations, and whether they are all of the days.
struct Recent {
    activations: Vec<Activation>,
    is_whole: bool,
}

impl Operations {
    /// Returns what each daemon used on each of the last days.
    ///
    /// # Errors
    /// Names a parameter, of which it has none; or the store could not be read.
    pub(crate) async fn usage(&self, params: Params) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        let dates = dates(self.live.now());
        let recent = self.recent(Query::default()).await?;
        let mut used: BTreeMap<(String, String), Vec<Used>> = BTreeMap::new();
        for activation in &recent.activations {
            let key = &activation.daemon;
            let of = used.entry((key.id.to_string(), key.repo.to_string()));
            let days = of.or_insert_with(|| vec![Used::default(); dates.len()]);
            let date = day_of(activation.created_at);
            if let Some(day) = dates.iter().position(|known| *known == date) {
                days[day].add(activation);
            }
        }
        let daemons = used
            .iter()
            .map(|((id, repo), days)| json!({"daemon_id": id, "repo": repo, "days": days}));
        let mut map = Map::new();
        map.insert("days".to_owned(), json!(dates));
        map.insert("daemons".to_owned(), daemons.collect());
        map.insert("is_whole".to_owned(), json!(recent.is_whole));
        Ok(map)
    }

    /// Adds to the answer about a daemon what it did in the last hours and days, and how long it took.
    pub(super) async fn add_usage(&self, found: &mut Value) -> Result<(), OpError> {
        let now = self.live.now();
        let daemon = found["daemon"]["id"].as_str().map(str::to_owned);
        let repo: Option<RepoName> = found["daemon"]["repo"]
            .as_str()
            .and_then(|repo| repo.parse().ok());
        let of = Query {
            daemon,
            repo,
            ..Query::default()
        };
        let recent = self.recent(of.clone()).await?;
        let dates = dates(now);
        let mut days = vec![Used::default(); dates.len()];
        let mut hours = vec![Used::default(); usize::try_from(HOURS).unwrap_or_default()];
        for activation in &recent.activations {
            let date = day_of(activation.created_at);
            if let Some(day) = dates.iter().position(|known| *known == date) {
                days[day].add(activation);
            }
            if let Some(hour) = hour_of(activation.created_at, now) {
                hours[hour].add(activation);
            }
        }
        let since = now.checked_sub(SignedDuration::from_hours(HOURS)).ok();
        let outputs = self
            .store
            .outputs(&Query {
                limit: MAX_PAGE,
                since,
                ..of
            })
            .await?;
        for output in &outputs.rows {
            if let Some(hour) = hour_of(output.created_at, now) {
                hours[hour].outputs += 1;
            }
        }
        let finished = recent.activations.iter().filter_map(|activation| {
            let (began, ended) = (activation.started_at?, activation.finished_at?);
            let seconds =
                |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64().max(0.0);
            Some(json!({
                "at": activation.created_at.to_string(),
                "wait_s": seconds(activation.created_at, began),
                "took_s": seconds(began, ended),
            }))
        });
        let mut finished: Vec<Value> = finished.take(MOST_FINISHED).collect();
        finished.reverse();
        found["usage"] = json!({
            "now": now.to_string(), "dates": dates, "days": value(&days)?, "hours": value(&hours)?, "finished": finished,
            "is_whole": recent.is_whole,
        });
        Ok(())
    }

    /// Reads the activations of the last days, the newest first.
    async fn recent(&self, of: Query) -> Result<Recent, OpError> {
        let since = self
            .live
            .now()
            .checked_sub(SignedDuration::from_hours(24 * DAYS))
            .ok();
        let mut query = Query {
            limit: MAX_PAGE,
            since,
            ..of
        };
        let mut activations = Vec::new();
        for _ in 0..MOST_PAGES {
            let page = self.store.activations(&query).await?;
            activations.extend(page.rows);
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        Ok(Recent {
            activations,
            is_whole: query.after.is_none(),
        })
    }
}

fn day_of(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// Returns the last days, the oldest first.
fn dates(now: Timestamp) -> Vec<String> {
    let days = (0..DAYS).rev();
    let days = days.filter_map(|n| now.checked_sub(SignedDuration::from_hours(24 * n)).ok());
    days.map(day_of).collect()
}

/// Returns the hour of a chart that ends now, from 0; `None` if it is earlier.
fn hour_of(at: Timestamp, now: Timestamp) -> Option<usize> {
    let passed = now.duration_since(at).as_hours();
    usize::try_from(HOURS - 1 - passed)
        .ok()
        .filter(|_| passed >= 0)
}
