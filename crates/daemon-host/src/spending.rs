//! The cost of all runs within a day, and the warning before the budget of the day is used up.

use std::sync::Arc;

use daemon_agent::Conversations;
use daemon_provider::MicroUsd;
use daemon_records::RunObject;
use daemon_runner::budget::DailyBudget;
use daemon_runner::policy::micros;
use daemon_store::{MAX_PAGE, Query, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

use crate::doctor::Check;

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The part of the budget from which on it is reported.
const WARNING: f64 = 0.8;

/// What runs cost within a day, in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Everything that counts in the budget of the day.
    pub total: f64,
    /// The part that was reserved for runs whose cost is unknown.
    pub assumed: f64,
}

/// Returns what each run that started within a day counts, oldest first: attempts and one-off runs of all providers and hosts.
async fn costs(
    store: &dyn Store,
    now: Timestamp,
) -> Result<Vec<(Timestamp, RunObject)>, StoreError> {
    let mut query = Query {
        limit: MAX_PAGE,
        since: Some(now - DAY),
        ..Query::default()
    };
    let mut found = Vec::new();
    loop {
        let page = store.runs(&query).await?;
        let counted = page
            .rows
            .iter()
            .map(|row| (row.started_at, RunObject::from_row(row)));
        found.extend(counted.filter(|(_, run)| run.counted_usd() > 0.0));
        query.after = page.next;
        if query.after.is_none() {
            found.sort_by_key(|(at, _)| *at);
            return Ok(found);
        }
    }
}

/// Returns what each turn of a conversation that ended within a day cost.
async fn of_turns(
    conversations: &Arc<Conversations>,
    now: Timestamp,
) -> Vec<(Timestamp, MicroUsd)> {
    let costs = conversations.costs(now - DAY).await;
    let costs = costs.unwrap_or_else(|error| {
        // Runs must not wait for logs of conversations: their own cost still counts.
        tracing::warn!(%error, "the cost of conversations could not be read");
        Vec::new()
    });
    costs
        .into_iter()
        .map(|(at, cost)| (at, MicroUsd(cost)))
        .collect()
}

/// Adds up what the runs that started within a day count, and the turns of conversations that ended in it.
///
/// # Errors
/// If the store fails.
pub async fn of_day(
    store: &dyn Store,
    conversations: &Arc<Conversations>,
    now: Timestamp,
) -> Result<Spent, StoreError> {
    let runs = costs(store, now).await?;
    let mut spent = Spent::default();
    for (_, cost) in of_turns(conversations, now).await {
        spent.total += cost.as_usd();
    }
    for (_, run) in &runs {
        spent.total += run.counted_usd();
        if run.cost_usd.is_none() {
            spent.assumed += run.counted_usd();
        }
    }
    Ok(spent)
}

/// Counts the runs and turns of earlier processes in the budget of this one. Call it once, before a run starts.
///
/// # Errors
/// If the store fails.
pub(crate) async fn count(
    budget: &DailyBudget,
    (store, conversations): (&dyn Store, &Arc<Conversations>),
    now: Timestamp,
) -> Result<(), StoreError> {
    let runs = costs(store, now).await?.into_iter();
    let runs = runs.map(|(at, run)| (at, micros(run.counted_usd())));
    let mut earlier: Vec<_> = runs.chain(of_turns(conversations, now).await).collect();
    earlier.sort_by_key(|(at, _)| *at);
    budget.count(earlier);
    Ok(())
}

/// Checks what is left of the budget of the day; `None` without one.
///
/// `start` is what must be left so that an activation starts.
pub fn check(spent: Spent, limit: Option<f64>, start: f64) -> Option<Check> {
    let limit = limit?;
    let Spent { total, assumed } = spent;
    let assumed = match assumed > 0.0 {
        true => format!(", of which {assumed:.2} are assumed for runs that report no cost"),
        false => String::new(),
    };
    let detail = format!("{total:.2} of {limit:.2} USD were spent within 24 hours{assumed}");
    let remedy = "see `runs` for what costs, raise budget.day_usd, or hold daemons";
    Some(match total {
        total if total >= limit || limit - total < start.min(limit) => {
            Check::warn("budget", format!("{detail}: activations wait"), remedy)
        }
        total if is_low(total, limit) => Check::warn("budget", detail, remedy),
        _ => Check::ok("budget", detail),
    })
}

/// Reports whether so much of a limit is spent that a person is warned.
pub(crate) fn is_low(spent: f64, limit: f64) -> bool {
    spent >= WARNING * limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_warned_from_four_fifths_of_the_budget_on() {
        let spent = |total| Spent {
            total,
            assumed: 0.0,
        };
        let status = |total, limit| {
            check(spent(total), limit, 1.0).map(|check| (check.status.as_str(), check.detail))
        };
        let row = |status, detail: &str| Some((status, detail.to_owned()));
        for (spent, limit, expected) in [
            (1.0, None, None),
            (
                0.0,
                Some(10.0),
                row("ok", "0.00 of 10.00 USD were spent within 24 hours"),
            ),
            // A limit below the budget of an activation lets one start.
            (
                0.0,
                Some(0.5),
                row("ok", "0.00 of 0.50 USD were spent within 24 hours"),
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
