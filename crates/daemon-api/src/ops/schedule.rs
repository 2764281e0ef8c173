//! The schedule of the host: what wakes in the week ahead, and what was missed in the week before.

use daemon_agent::RecoveredEntry;
use daemon_cron::CronExpr;
use daemon_records::error::OpError;
use daemon_schedule::TickOutcome;
use daemon_store::{Page, Query, StoredTick};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Operations, Params, value};
use crate::wire::{TickObject, instant};

/// The days that the schedule covers, in UTC; the first is today.
const DAYS: i64 = 7;
/// The instants of one day that are listed; of more, only their number is.
const MOST_A_DAY: usize = 48;
/// The instants of one day that are counted.
const MOST_COUNTED: usize = 300;
/// The missed ticks that are listed for each outcome.
const MOST_MISSED: u32 = 50;
/// What a person looks for who asks what was missed.
const MISSED: [TickOutcome; 3] = [
    TickOutcome::MissedWindow,
    TickOutcome::SkippedOverlap,
    TickOutcome::Refused,
];

/// One schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Scheduled {
    /// `daemon` or `cron`.
    kind: &'static str,
    /// The id of the daemon or the cron.
    id: String,
    /// The repository of a daemon.
    repo: Option<String>,
    /// What a cron does: its skill and its agent.
    about: Option<String>,
    expression: String,
    zone: String,
    /// The expression in words.
    reading: Option<String>,
    /// The gate of a daemon.
    gate: Option<&'static str>,
    next: Option<String>,
    days: Vec<Day>,
}

/// The instants of one day.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Day {
    /// The day in UTC, such as `2026-11-28`.
    date: String,
    times: Vec<String>,
    /// How many there are, counted up to [`MOST_COUNTED`].
    count: usize,
    /// Whether there are more than are listed.
    more: bool,
}

impl Operations {
    /// Returns what is scheduled in the days ahead and what was missed in as many days before.
    ///
    /// # Errors
    /// Names a parameter, of which it has none; or the store could not be read.
    pub(crate) async fn schedule(&self, params: Params) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        let now = self.live.now();
        let mut scheduled = self.scheduled_daemons(now);
        scheduled.extend(self.scheduled_crons(now).await?);
        // What comes first is read first; what never comes, last.
        scheduled.sort_by_key(|one| (one.next.is_none(), one.next.clone(), one.id.clone()));
        let mut missed: Vec<StoredTick> = Vec::new();
        for outcome in MISSED {
            missed.extend(self.missed(outcome, now).await?.rows);
        }
        missed.sort_by_key(|tick| std::cmp::Reverse(tick.scheduled_at));
        let missed: Vec<_> = missed.iter().map(TickObject::new).collect();
        let mut map = Map::new();
        map.insert("from".to_owned(), json!(instant(now)));
        map.insert("schedules".to_owned(), value(&scheduled)?);
        map.insert("missed".to_owned(), value(&missed)?);
        Ok(map)
    }

    fn scheduled_daemons(&self, now: Timestamp) -> Vec<Scheduled> {
        let registry = self.registry.get();
        let all = registry.iter().filter_map(|daemon| {
            let (expression, zone) = daemon.schedule_text()?;
            let next_after = |at| daemon.next_after(at);
            Some(Scheduled {
                kind: "daemon",
                id: daemon.row.key.id.to_string(),
                repo: Some(daemon.row.key.repo.to_string()),
                about: None,
                expression: expression.to_owned(),
                zone: zone.to_owned(),
                reading: reading(expression),
                gate: Some(daemon.row.gate.as_str()),
                next: next_after(now).map(instant),
                days: days(now, next_after),
            })
        });
        all.collect()
    }

    async fn scheduled_crons(&self, now: Timestamp) -> Result<Vec<Scheduled>, OpError> {
        let Some(conversations) = self.live.conversations() else {
            return Ok(Vec::new());
        };
        let crons = conversations.crons().await?;
        let valid = crons.all().filter_map(|(id, entry)| match entry {
            RecoveredEntry::Valid(cron) => Some((id, cron)),
            RecoveredEntry::Invalid { .. } => None,
        });
        let all = valid.map(|(id, cron)| Scheduled {
            kind: "cron",
            id: id.to_string(),
            repo: None,
            about: Some(format!("/{} to {}", cron.skill, cron.agent)),
            expression: cron.schedule.clone(),
            zone: cron.zone.clone(),
            reading: reading(&cron.schedule),
            gate: None,
            next: cron.next_after(now).map(instant),
            days: days(now, |at| cron.next_after(at)),
        });
        Ok(all.collect())
    }

    async fn missed(
        &self,
        outcome: TickOutcome,
        now: Timestamp,
    ) -> Result<Page<StoredTick>, OpError> {
        let query = Query {
            limit: MOST_MISSED,
            state: Some(outcome.as_str().to_owned()),
            since: now.checked_sub(SignedDuration::from_hours(24 * DAYS)).ok(),
            ..Query::default()
        };
        Ok(self.store.ticks(&query).await?)
    }
}

/// Returns an expression in words.
fn reading(expression: &str) -> Option<String> {
    let expression: CronExpr = expression.parse().ok()?;
    Some(expression.describe())
}

/// Returns the instants of the days from now on.
fn days(now: Timestamp, next_after: impl Fn(Timestamp) -> Option<Timestamp>) -> Vec<Day> {
    let mut days = Vec::new();
    let Ok(today) = now.to_zoned(jiff::tz::TimeZone::UTC).start_of_day() else {
        return days;
    };
    let mut at = now;
    for n in 0..DAYS {
        let hours = |n: i64| {
            today
                .timestamp()
                .checked_add(SignedDuration::from_hours(24 * n))
        };
        let (Ok(begin), Ok(end)) = (hours(n), hours(n + 1)) else {
            return days;
        };
        let mut day = Day {
            date: begin.strftime("%Y-%m-%d").to_string(),
            times: Vec::new(),
            count: 0,
            more: false,
        };
        while let Some(next) = next_after(at).filter(|next| *next < end) {
            if day.count == MOST_COUNTED {
                break;
            }
            day.count += 1;
            if day.times.len() < MOST_A_DAY {
                day.times.push(instant(next));
            }
            day.more = day.count > day.times.len();
            at = next;
        }
        // The first instant of a day is not after its last nanosecond.
        at = end
            .checked_sub(SignedDuration::from_nanos(1))
            .unwrap_or(end);
        days.push(day);
    }
    days
}

#[cfg(test)]
mod tests {
    use daemon_cron::CronExpr;

    use super::days;

    #[test]
    fn each_day_has_its_instants_and_says_if_there_are_more() {
        let now = "2026-01-01T22:50:00Z".parse().unwrap();
        let of = |expression: &str| {
            let expression: CronExpr = expression.parse().unwrap();
            let days = days(now, |at| expression.next_after(at));
            days.into_iter()
                .map(|day| (day.date, day.count, day.more))
                .collect::<Vec<_>>()
        };
        let hourly = of("0 * * * *");
        assert_eq!(hourly.len(), 7);
        assert_eq!(hourly[0], ("2026-01-01".to_owned(), 1, false));
        assert_eq!(hourly[1], ("2026-01-02".to_owned(), 24, false));
        assert_eq!(of("*/5 * * * *")[2], ("2026-01-03".to_owned(), 288, true));
        let daily: Vec<usize> = of("0 0 * * 5").into_iter().map(|(_, n, _)| n).collect();
        assert_eq!(daily, [0, 1, 0, 0, 0, 0, 0]);
    }
}
