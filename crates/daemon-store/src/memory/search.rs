//! The search of the model.

use daemon_event::{ActivationId, EventId, Field};

use super::model::StoreModel;
use crate::search::{FoundIds, SEARCHED_ROWS, SearchFound, SearchQuery};

impl StoreModel {
    /// Searches for rows; see [`Search::search`](crate::Search::search).
    pub fn search(&self, query: &SearchQuery) -> SearchFound {
        SearchFound {
            events: self.search_events(query),
            activations: self.search_activations(query),
            runs: self.search_runs(query),
            outputs: found(
                query,
                self.outputs.iter().rev().map(|output| {
                    let daemon = output.daemon.id.as_str();
                    let own = [
                        Some(daemon),
                        Some(output.target.as_str()),
                        output.url.as_deref(),
                        output.error.as_deref(),
                    ];
                    (
                        output.key.as_str(),
                        output.key.clone(),
                        query.is_met_by(&own),
                    )
                }),
            ),
        }
    }

    fn search_events(&self, query: &SearchQuery) -> Vec<EventId> {
        let rows = self.events.iter().rev().map(|stored| {
            let event = &stored.event;
            let own = [
                event.subject.as_ref().map(daemon_event::Subject::as_str),
                event.actor.as_ref().map(|actor| actor.name.as_str()),
                Some(event.kind.as_str()),
                event.action.as_deref(),
                event.facts.text(Field::Title),
            ];
            (event.id.as_str(), event.id.clone(), query.is_met_by(&own))
        });
        found(query, rows)
    }

    fn search_activations(&self, query: &SearchQuery) -> Vec<ActivationId> {
        let mut newest: Vec<_> = self.activations.iter().enumerate().collect();
        newest.sort_by_key(|(place, one)| std::cmp::Reverse((one.created_at, *place)));
        let rows = newest.into_iter().map(|(_, one)| {
            let own = [
                Some(one.daemon.id.as_str()),
                one.subject.as_ref().map(daemon_event::Subject::as_str),
                one.summary.as_deref(),
                one.reason.as_deref(),
            ];
            (one.id.as_str(), one.id.clone(), query.is_met_by(&own))
        });
        found(query, rows)
    }

    fn search_runs(&self, query: &SearchQuery) -> Vec<String> {
        let mut newest: Vec<_> = self.runs.iter().collect();
        newest.sort_by_key(|(place, run)| std::cmp::Reverse((run.started_at, **place)));
        let rows = newest.into_iter().map(|(_, run)| {
            let daemon = run.daemon.as_ref().map(|daemon| daemon.id.as_str());
            let own = [daemon, Some(run.provider.as_str())];
            let is_met = query.is_met_by_run(&own, &run.object);
            (run.id.as_str(), run.id.clone(), is_met)
        });
        found(query, rows)
    }
}

/// Returns the ids that begin as asked, and those of the newest rows that contain the words.
fn found<'a, T: PartialEq + Clone>(
    query: &SearchQuery,
    newest: impl Iterator<Item = (&'a str, T, bool)>,
) -> Vec<T> {
    let rows: Vec<_> = newest.collect();
    let mut ids = FoundIds::new(query);
    for beginning in query.ids() {
        let mut own: Vec<_> = rows
            .iter()
            .filter(|(id, _, _)| id.starts_with(&beginning))
            .collect();
        own.sort_by_key(|(id, _, _)| std::cmp::Reverse(*id));
        own.into_iter().for_each(|(_, id, _)| {
            ids.add(id.clone());
        });
    }
    let n = usize::try_from(SEARCHED_ROWS).unwrap_or(usize::MAX);
    for (_, id, _) in rows.iter().take(n).filter(|(_, _, is_met)| *is_met) {
        ids.add(id.clone());
    }
    ids.into_ids()
}
