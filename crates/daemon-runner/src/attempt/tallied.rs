//! Reads what a daemon did since the beginning of the week.

use daemon_engine::Activation;
use daemon_registry::Registered;
use daemon_store::{Query, StoreError};

use crate::context::{Periods, Tallies};
use crate::policy::RunPolicy;
use crate::run_context::RunContext;
use crate::settings::{RunRepository, RunSettings};

/// How many rows are counted, in pages. The default rates let a daemon begin about 10,000 activations in a week.
const PAGE: u32 = 500;
const MOST_PAGES: usize = 20;

/// Counts what the daemon of an activation did today and this week, in the zone of its schedule, else of its policy.
pub(super) async fn tallies(
    run_context: &RunContext,
    activation: &Activation,
    daemon: &Registered,
    (settings, _, policy): (&RunSettings, &RunRepository, &RunPolicy),
) -> Result<Tallies, StoreError> {
    let scheduled = daemon.schedule_text().map(|(_, zone)| zone);
    let periods = Periods::of(run_context.now(), scheduled.unwrap_or(&policy.zone));
    let first = Query {
        limit: PAGE,
        daemon: Some(activation.daemon.id.to_string()),
        repo: Some(activation.daemon.repo.clone()),
        since: Some(periods.week),
        ..Query::default()
    };
    let store = &run_context.store;
    let (mut activations, mut outputs) = (Vec::new(), Vec::new());
    let mut query = first.clone();
    for _ in 0..MOST_PAGES {
        let page = store.activations(&query).await?;
        activations.extend(page.rows);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let mut query = first;
    for _ in 0..MOST_PAGES {
        let page = store.outputs(&query).await?;
        let rows = page.rows.into_iter();
        outputs.extend(rows.map(|row| {
            let verb = settings.planner.verb(&row);
            (row, verb)
        }));
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    Ok(Tallies::count(periods, &activations, &outputs))
}
