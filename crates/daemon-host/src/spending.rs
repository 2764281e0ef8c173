//! The cost of all runs within a day, and the warning before the budget of the day is used up.

use daemon_store::{MAX_PAGE, Query, Store, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::doctor::Check;

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The part of the budget from which on it is reported.
const WARNING: f64 = 0.8;
/// How long a sum is used. A day has thousands of runs, and claims come many times a second.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// The cost in the row of a run.
#[derive(Deserialize)]
struct Priced {
    cost_usd: Option<f64>,
}

/// Adds up what the runs that started within a day cost: attempts and one-off runs of all providers and of earlier hosts.
///
/// # Errors
/// If the store fails.
pub async fn of_day(store: &dyn Store, now: Timestamp) -> Result<f64, StoreError> {
    let mut query = Query {
        limit: MAX_PAGE,
        since: Some(now - DAY),
        ..Query::default()
    };
    let mut acc = 0.0;
    loop {
        let page = store.runs(&query).await?;
        let costs = page.rows.iter().filter_map(|row| {
            let priced: Priced = serde_json::from_str(&row.object).ok()?;
            priced.cost_usd
        });
        acc += costs.filter(|cost| *cost > 0.0).sum::<f64>();
        query.after = page.next;
        if query.after.is_none() {
            return Ok(acc);
        }
    }
}

/// Checks what is left of the budget of the day; `None` without one.
pub fn check(spent: f64, limit: Option<f64>) -> Option<Check> {
    let limit = limit?;
    let detail = format!("{spent:.2} of {limit:.2} USD were spent within 24 hours");
    let remedy = "see `runs` for what costs, raise budget.day_usd, or hold daemons";
    Some(match spent {
        spent if spent >= limit => {
            Check::warn("budget", format!("{detail}: activations wait"), remedy)
        }
        spent if spent >= WARNING * limit => Check::warn("budget", detail, remedy),
        _ => Check::ok("budget", detail),
    })
}

/// The sum of a day, read again when it is old, and whether the last one was reported.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    read: Mutex<Option<(Timestamp, f64)>>,
}

impl Spending {
    /// Returns what the runs of a day cost, and logs once that little or nothing of the limit is left.
    pub(crate) async fn within(
        &self,
        store: &dyn Store,
        limit: f64,
        now: Timestamp,
    ) -> Result<f64, StoreError> {
        let mut read = self.read.lock().await;
        let is_fresh =
            |at: Timestamp| (SignedDuration::ZERO..FRESH).contains(&now.duration_since(at));
        let known = *read;
        if let Some((_, spent)) = known.filter(|(at, _)| is_fresh(*at)) {
            return Ok(spent);
        }
        let spent = of_day(store, now).await?;
        *read = Some((now, spent));
        let is_low = |spent: f64| spent >= WARNING * limit;
        if is_low(spent) && !known.is_some_and(|(_, before)| is_low(before)) {
            tracing::warn!(spent, limit, "the budget of the day is nearly used up");
        }
        Ok(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_warned_from_four_fifths_of_the_budget_on() {
        let status =
            |spent, limit| check(spent, limit).map(|check| (check.status.as_str(), check.detail));
        let row = |status, detail: &str| Some((status, detail.to_owned()));
        for (spent, limit, expected) in [
            (1.0, None, None),
            (
                0.0,
                Some(10.0),
                row("ok", "0.00 of 10.00 USD were spent within 24 hours"),
            ),
            (
                7.99,
                Some(10.0),
                row("ok", "7.99 of 10.00 USD were spent within 24 hours"),
            ),
            (
                8.0,
                Some(10.0),
                row("warn", "8.00 of 10.00 USD were spent within 24 hours"),
            ),
            (
                10.0,
                Some(10.0),
                row(
                    "warn",
                    "10.00 of 10.00 USD were spent within 24 hours: activations wait",
                ),
            ),
            (
                0.0,
                Some(0.0),
                row(
                    "warn",
                    "0.00 of 0.00 USD were spent within 24 hours: activations wait",
                ),
            ),
        ] {
            assert_eq!(status(spent, limit), expected);
        }
    }
}
