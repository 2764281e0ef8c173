//! The search of the pages.

use daemon_records::error::OpError;
use daemon_store::{SEARCHED_ROWS, SearchFound, SearchQuery};
use serde_json::{Map, Value, json};

use super::{Headlined, Operation, Operations, Params, value};
use crate::wire::{EventObject, OutputObject};

/// The rows of each kind that a search shows.
const MOST: u32 = 20;
/// The longest search, in characters.
const LONGEST: usize = 200;

impl Operations {
    /// Searches for daemons, rows of the roster, activations, runs, outputs and events.
    ///
    /// # Errors
    /// Names a parameter other than `q`; or the store could not be read.
    pub(crate) async fn search(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let text: String = params.text("q")?.unwrap_or_default();
        params.finish()?;
        let text: String = text.chars().take(LONGEST).collect();
        let mut map = Map::new();
        map.insert("q".to_owned(), json!(text));
        map.insert("searched".to_owned(), json!(SEARCHED_ROWS));
        let Some(query) = SearchQuery::new(&text, MOST) else {
            return Ok(map);
        };
        let found = self.store.search(&query).await?;
        map.insert("daemons".to_owned(), self.found_daemons(&query).await?);
        map.insert("rows".to_owned(), self.found_rows(&query).await?);
        for (kind, plural, rows) in self.found_objects(found).await? {
            let mut rows = rows;
            self.add_headlines(kind, &mut rows).await?;
            map.insert(plural.to_owned(), Value::Array(rows));
        }
        Ok(map)
    }

    async fn found_daemons(&self, query: &SearchQuery) -> Result<Value, OpError> {
        let registry = self.registry.get();
        let met = registry.iter().filter(|daemon| {
            let row = &daemon.row;
            query.is_met_by(&[
                Some(row.key.id.as_str()),
                Some(row.key.repo.as_str()),
                Some(row.purpose.as_str()),
            ])
        });
        let most = usize::try_from(MOST).unwrap_or(usize::MAX);
        let mut objects = Vec::new();
        for daemon in met.take(most) {
            objects.push(self.daemon_object(&daemon.row).await?);
        }
        value(&objects)
    }

    /// Returns the rows of the roster, which are in memory, as its list has them.
    async fn found_rows(&self, query: &SearchQuery) -> Result<Value, OpError> {
        let mut listing = Box::pin(self.roster(Operation::RosterList, Params::default())).await?;
        let mut rows = listing.remove("rows").unwrap_or_default();
        if let Some(rows) = rows.as_array_mut() {
            rows.retain(|row| {
                let texts = ["id", "name", "role", "project", "actor_ref"];
                query.is_met_by(&texts.map(|name| row[name].as_str()))
            });
            rows.truncate(usize::try_from(MOST).unwrap_or(usize::MAX));
        }
        Ok(rows)
    }

    /// Reads what the store found.
    async fn found_objects(
        &self,
        found: SearchFound,
    ) -> Result<[(Headlined, &'static str, Vec<Value>); 4], OpError> {
        let mut activations = Vec::new();
        for id in &found.activations {
            if let Some(activation) = self.store.activation(id).await? {
                activations.push(value(&self.activation_object(&activation).await?)?);
            }
        }
        let mut runs = Vec::new();
        for id in &found.runs {
            if let Some(row) = self.store.run(id).await? {
                runs.push(value(&self.run_object(&row))?);
            }
        }
        let mut outputs = Vec::new();
        for key in &found.outputs {
            if let Some(output) = self.store.output(key).await? {
                outputs.push(value(&OutputObject::new(&output))?);
            }
        }
        let mut rows = self.store.events_among(&found.events).await?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.seq));
        let events = rows.iter().map(|row| value(&EventObject::new(row)));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        Ok([
            (Headlined::Activation, "activations", activations),
            (Headlined::Run, "runs", runs),
            (Headlined::Output, "outputs", outputs),
            (Headlined::Event, "events", events),
        ])
    }
}
