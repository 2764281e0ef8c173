//! The operations that list rows.

use std::collections::BTreeSet;
use std::slice;

use daemon_engine::{Activation, ActivationState, Gate};
use daemon_event::ActivationId;
use daemon_records::error::OpError;
use daemon_store::{DaemonRow, EventRow, Page, Query};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Operations, Params, value};
use crate::wire::{
    ActivationObject, ChainObject, DaemonObject, EventObject, OutputObject, RunObject, TickObject,
};

/// Why no activation starts while the whole host is held; it begins with the word that pending activations have as reason.
const HELD: &str = "hold: the host is held until `daemon-run go`";

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
        let objects = self.daemon_objects(&rows).await?;
        let mut listing = self.filtered(&query, page("daemons", &objects, next)?)?;
        let unread = self.live.unread().into_iter();
        let unread = unread.map(|(repo, why)| json!({"repo": repo.to_string(), "problem": why}));
        listing.insert("unread".to_owned(), unread.collect());
        let gate = self.store.host_gate().await?;
        listing.insert("gate".to_owned(), json!(gate.as_str()));
        let held = (gate != Gate::Open).then(|| HELD.to_owned());
        let reasons: Vec<String> = held.into_iter().chain(self.live.pause()).collect();
        let pause = (!reasons.is_empty()).then(|| reasons.join("; "));
        listing.insert("pause".to_owned(), json!(pause));
        Ok(listing)
    }

    /// Builds the object of a daemon with its next tick and its newest activation.
    pub(super) async fn daemon_object(&self, row: &DaemonRow) -> Result<DaemonObject, OpError> {
        let objects = self.daemon_objects(slice::from_ref(row)).await?;
        Ok(objects.into_iter().next().expect("one for each row"))
    }

    async fn daemon_objects(&self, rows: &[DaemonRow]) -> Result<Vec<DaemonObject>, OpError> {
        let mut newest = Vec::with_capacity(rows.len());
        for row in rows {
            let query = Query {
                limit: 1,
                daemon: Some(row.key.id.to_string()),
                repo: Some(row.key.repo.clone()),
                ..Default::default()
            };
            newest.push(self.store.activations(&query).await?.rows.pop());
        }
        let obstacles = self.obstacles(newest.iter().flatten()).await?;
        let registry = self.registry.get();
        let mut objects = Vec::with_capacity(rows.len());
        for (row, newest) in rows.iter().zip(&newest) {
            let last = match newest {
                Some(activation) => Some(self.shown(activation, &obstacles).await?),
                None => None,
            };
            let next = registry.find_key(&row.key);
            let next = next.and_then(|found| found.next_after(self.live.now()));
            objects.push(DaemonObject::new(row, next, last));
        }
        Ok(objects)
    }

    /// Builds the object of an activation with the keys of its outputs.
    pub(super) async fn activation_object(
        &self,
        activation: &Activation,
    ) -> Result<ActivationObject, OpError> {
        let obstacles = self.obstacles([activation]).await?;
        self.shown(activation, &obstacles).await
    }

    async fn shown(
        &self,
        activation: &Activation,
        obstacles: &Obstacles,
    ) -> Result<ActivationObject, OpError> {
        let outputs = self.store.outputs_of(&activation.id).await?;
        let mut object = ActivationObject::new(activation, &outputs);
        // An activation without an attempt has no run to read.
        if activation.attempts > 0 {
            let runs = self.store.runs_of(&activation.id).await?;
            object.reported = runs
                .last()
                .is_some_and(|run| RunObject::from_row(run).reported);
        }
        if let Some(reason) = obstacles.reason(activation) {
            object.reason = Some(reason);
        }
        Ok(object)
    }

    /// Reads the gates, the pause and the rates that hold pending activations back, once for a page.
    async fn obstacles(
        &self,
        shown: impl IntoIterator<Item = &Activation>,
    ) -> Result<Obstacles, OpError> {
        let pending = shown.into_iter().filter(|one| is_pending(one));
        let pending: Vec<&Activation> = pending.collect();
        if pending.is_empty() {
            return Ok(Obstacles::default());
        }
        let now = self.live.now();
        let ready = pending.iter().filter(|one| one.is_due(now));
        let ready: Vec<ActivationId> = ready.map(|one| one.id.clone()).collect();
        let over_rate = match ready.is_empty() {
            true => BTreeSet::new(),
            false => self.store.over_rate(&ready, self.live.rates(), now).await?,
        };
        let over_budget = match !ready.is_empty() && self.live.is_over_budget().await? {
            true => ready.into_iter().collect(),
            false => BTreeSet::new(),
        };
        let registry = self.registry.get();
        let is_host_held = self.store.host_gate().await? != Gate::Open;
        let is_held = |one: &&&Activation| {
            let daemon = registry.find_key(&one.daemon);
            is_host_held || daemon.is_some_and(|daemon| daemon.row.gate != Gate::Open)
        };
        let held = pending.iter().filter(is_held);
        Ok(Obstacles {
            held: held.map(|one| one.id.clone()).collect(),
            pause: self.live.pause(),
            over_rate,
            over_budget,
        })
    }

    pub(super) async fn activation_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let found = self.store.activations(&query).await?;
        let obstacles = self.obstacles(&found.rows).await?;
        let mut objects = Vec::with_capacity(found.rows.len());
        for activation in &found.rows {
            objects.push(self.shown(activation, &obstacles).await?);
        }
        self.filtered(&query, page("activations", &objects, found.next)?)
    }

    pub(super) async fn run_list(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let found = self.store.runs(&query).await?;
        let found = listing("runs", found, |row| self.run_object(row))?;
        self.filtered(&query, found)
    }

    pub(super) async fn event_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let found = self.store.events(&query).await?;
        let mut objects = Vec::with_capacity(found.rows.len());
        for row in &found.rows {
            objects.push(self.event_object(row).await?);
        }
        self.filtered(&query, page("events", &objects, found.next)?)
    }

    /// Returns the object of an event, with the chain that its activations continue.
    pub(super) async fn event_object(&self, row: &EventRow) -> Result<EventObject, OpError> {
        let mut object = EventObject::new(row);
        for id in row
            .triggers
            .iter()
            .filter_map(|one| one.activation.as_ref())
        {
            let activation = self.store.activation(id).await?;
            let chain = activation.as_ref().and_then(ChainObject::of);
            object.chain = object.chain.or(chain);
        }
        Ok(object)
    }

    pub(super) async fn tick_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let found = self.store.ticks(&query).await?;
        self.filtered(&query, listing("ticks", found, TickObject::new)?)
    }

    pub(super) async fn output_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let query = params.query(self.live.now())?;
        params.finish()?;
        let found = self.store.outputs(&query).await?;
        self.filtered(&query, listing("outputs", found, OutputObject::new)?)
    }

    /// Adds warnings to a listing without rows: about a filter by a daemon or a repository that no registered daemon has.
    fn filtered(
        &self,
        query: &Query,
        mut listing: Map<String, Value>,
    ) -> Result<Map<String, Value>, OpError> {
        let mut rows = listing.values().filter_map(Value::as_array);
        if rows.any(|rows| !rows.is_empty()) {
            return Ok(listing);
        }
        let registry = self.registry.get();
        let daemon = query.daemon.as_ref().filter(|id| !registry.has_id(id));
        let repo = query.repo.as_ref().filter(|repo| !registry.has_repo(repo));
        let daemon = daemon.map(|id| OpError::not_found("daemon", id));
        let daemon = daemon.map(|error| ("unknown-daemon", format!("{error} is registered")));
        let repo = repo.map(|repo| {
            let message = format!("no daemon of a repository `{repo}` is registered");
            ("unknown-repository", message)
        });
        let warnings: Vec<Value> = (daemon.into_iter().chain(repo))
            .map(|(code, message)| json!({"code": code, "message": message}))
            .collect();
        if !warnings.is_empty() {
            listing.insert("warnings".to_owned(), Value::Array(warnings));
        }
        Ok(listing)
    }
}

/// The gates, the pause, the rates and the budget that hold pending activations back.
///
/// They take precedence over the stored reason, because they change without a write to the rows that wait for them.
#[derive(Default)]
struct Obstacles {
    held: BTreeSet<ActivationId>,
    /// The reason if no activation may start.
    pause: Option<String>,
    /// The due activations that only a rate holds back.
    over_rate: BTreeSet<ActivationId>,
    /// The due activations, if the budget of the day is used up.
    over_budget: BTreeSet<ActivationId>,
}

impl Obstacles {
    /// Returns what an activation waits for; `None` if the stored reason applies.
    fn reason(&self, activation: &Activation) -> Option<String> {
        if !is_pending(activation) {
            return None;
        }
        if self.held.contains(&activation.id) {
            return Some("hold".to_owned());
        }
        let is_over_rate = self.over_rate.contains(&activation.id);
        let is_over_budget = self.over_budget.contains(&activation.id);
        self.pause
            .clone()
            .or_else(|| is_over_rate.then(|| "rate".to_owned()))
            .or_else(|| is_over_budget.then(|| "budget".to_owned()))
    }
}

fn is_pending(activation: &Activation) -> bool {
    activation.state == ActivationState::Pending
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
