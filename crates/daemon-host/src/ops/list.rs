//! Listings.

use daemon_engine::{Activation, ActivationState, Gate};
use daemon_store::Page;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::OpError;
use super::{Operations, Params, value};
use crate::wire::{
    ActivationObject, DaemonObject, EventObject, OutputObject, RunObject, TickObject,
};

impl Operations {
    pub(super) async fn daemon_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let gate = match &query.state {
            None => None,
            Some(text) => Some(text.parse::<Gate>().map_err(|error| {
                OpError::invalid(format!("`state` of a daemon is its gate: {error}"))
            })?),
        };
        let mut rows = self.store.daemons().await?;
        rows.retain(|row| {
            query
                .daemon
                .as_ref()
                .is_none_or(|id| row.key.id.as_str() == id)
                && query
                    .repo
                    .as_ref()
                    .is_none_or(|repo| row.key.repo.folded() == repo.folded())
                && gate.is_none_or(|gate| row.gate == gate)
                && query
                    .after
                    .as_ref()
                    .is_none_or(|after| row.key.to_string() > *after)
        });
        rows.sort_by_key(|row| row.key.to_string());
        let limit = usize::try_from(query.limit).expect("a limit fits");
        let next = rows.get(limit).map(|_| rows[limit - 1].key.to_string());
        rows.truncate(limit);
        let mut objects = Vec::with_capacity(rows.len());
        for row in &rows {
            objects.push(self.daemon_object(row).await?);
        }
        let mut listing = page("daemons", &objects, next)?;
        let unread = self.live.unread().into_iter();
        let unread = unread.map(|(repo, why)| json!({"repo": repo.to_string(), "problem": why}));
        listing.insert("unread".to_owned(), unread.collect());
        listing.insert("pause".to_owned(), json!(self.live.pause()));
        Ok(listing)
    }

    /// Builds a daemon's object with its next tick and its newest activation.
    pub(super) async fn daemon_object(
        &self,
        row: &daemon_store::DaemonRow,
    ) -> Result<DaemonObject, OpError> {
        let next = self
            .registry
            .get()
            .find_key(&row.key)
            .and_then(|found| found.next_after(self.live.now()));
        let newest = daemon_store::Query {
            limit: 1,
            daemon: Some(row.key.id.to_string()),
            repo: Some(row.key.repo.clone()),
            ..Default::default()
        };
        let last = match self.store.activations(&newest).await?.rows.first() {
            Some(activation) => Some(self.activation_object(activation).await?),
            None => None,
        };
        Ok(DaemonObject::new(row, next, last))
    }

    /// Builds an activation's object with the keys of its outputs.
    ///
    /// Gates, pauses and rates change without touching what waits for them, so that they are looked up here.
    pub(super) async fn activation_object(
        &self,
        activation: &Activation,
    ) -> Result<ActivationObject, OpError> {
        let outputs = self.store.outputs_of(&activation.id).await?;
        let mut object = ActivationObject::new(activation, &outputs);
        if activation.attempts > 0 {
            let runs = self.store.runs_of(&activation.id).await?;
            object.reported = runs
                .last()
                .is_some_and(|run| RunObject::from_row(run).reported);
        }
        if activation.state == ActivationState::Pending {
            if self.is_held(activation).await? {
                object.reason = Some("hold".to_owned());
            } else if let Some(why) = self.live.pause() {
                object.reason = Some(why);
            } else if object.reason.as_deref() == Some("slot")
                && self.is_over_rate(activation).await?
            {
                object.reason = Some("rate".to_owned());
            }
        }
        Ok(object)
    }

    async fn is_over_rate(&self, activation: &Activation) -> Result<bool, OpError> {
        let (rates, now) = (self.live.rates(), self.live.now());
        Ok(self.store.is_over_rate(&activation.id, rates, now).await?)
    }

    async fn is_held(&self, activation: &Activation) -> Result<bool, OpError> {
        let registry = self.registry.get();
        let own = registry.find_key(&activation.daemon);
        Ok(own.is_some_and(|daemon| daemon.row.gate != Gate::Open)
            || self.store.host_gate().await? != Gate::Open)
    }

    pub(super) async fn activation_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let found = self.store.activations(&query).await?;
        let mut objects = Vec::with_capacity(found.rows.len());
        for activation in &found.rows {
            objects.push(self.activation_object(activation).await?);
        }
        page("activations", &objects, found.next)
    }

    pub(super) async fn run_list(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        listing("runs", self.store.runs(&query).await?, |row| {
            self.run_object(row)
        })
    }

    pub(super) async fn event_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        listing("events", self.store.events(&query).await?, EventObject::new)
    }

    pub(super) async fn tick_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        listing("ticks", self.store.ticks(&query).await?, TickObject::new)
    }

    pub(super) async fn output_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        listing(
            "outputs",
            self.store.outputs(&query).await?,
            OutputObject::new,
        )
    }
}

fn listing<R, T: Serialize>(
    plural: &str,
    found: Page<R>,
    object: impl Fn(&R) -> T,
) -> Result<Map<String, Value>, OpError> {
    let objects: Vec<T> = found.rows.iter().map(object).collect();
    page(plural, &objects, found.next)
}

fn page<T: Serialize>(
    plural: &str,
    objects: &[T],
    next: Option<String>,
) -> Result<Map<String, Value>, OpError> {
    let mut map = Map::new();
    map.insert(plural.to_owned(), value(&objects)?);
    map.insert("next".to_owned(), next.map_or(Value::Null, Value::String));
    Ok(map)
}
