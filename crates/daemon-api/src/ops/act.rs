//! Operations that change state.

use daemon_engine::{ActivationState, Gate};
use daemon_event::ActivationId;
use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value};

use super::{CANCELLED_BY_PERSON, Operations, Params, Prune, members, object, value};
use crate::fire::{Fire, FireTrigger, Moment};
use crate::wire::OutputObject;

impl Operations {
    pub(super) async fn daemon_gate(
        &self,
        mut params: Params,
        gate: Gate,
    ) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        let repo = params.repo()?;
        params.finish()?;
        let key = self
            .registry
            .get()
            .find(&id, repo.as_ref())?
            .row
            .key
            .clone();
        // The store before the registry, so that a failed write leaves both as they are.
        self.store.set_gate(&key, gate).await?;
        self.registry.set_gate(&key, gate);
        self.live.nudge();
        let registry = self.registry.get();
        let found = registry.find(&id, Some(&key.repo))?;
        members(&self.daemon_object(&found.row).await?)
    }

    pub(super) async fn host_gate(
        &self,
        params: Params,
        gate: Gate,
    ) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        self.store.set_host_gate(gate).await?;
        self.live.nudge();
        let mut map = Map::new();
        map.insert("gate".to_owned(), Value::String(gate.as_str().to_owned()));
        Ok(map)
    }

    pub(super) async fn output_prune(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let request = Prune {
            daemon: params.text("daemon")?,
            before: params.instant("older", self.live.now())?,
            is_dry: params.flag("dry_run")?,
        };
        params.finish()?;
        object(self.live.prune(request).await?)
    }

    pub(super) async fn activation_retry(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = activation_id(&mut params)?;
        params.finish()?;
        let activation = self.store.retry(&id, self.live.now()).await?;
        self.live.nudge();
        members(&self.activation_object(&activation).await?)
    }

    pub(super) async fn activation_cancel(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = activation_id(&mut params)?;
        let reason = params
            .text("reason")?
            .unwrap_or_else(|| CANCELLED_BY_PERSON.to_owned());
        params.finish()?;
        let ended = self.store.cancel(&id, &reason, self.live.now()).await?;
        self.live.stop_run(&id).await?;
        self.live.nudge();
        members(&self.activation_object(&ended.activation).await?)
    }

    pub(super) async fn run_ask(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        let message = params.required("message")?;
        params.finish()?;
        // First, because the tool also takes handles, and its errors are worded for emanations.
        self.find_run(&id).await?;
        let reply = self.tool("ask", &id, Some(&message)).await?;
        if reply.get("status").is_some_and(|status| status == "busy") {
            let words = "another message is pending";
            return Err(OpError::new(OpErrorKind::Busy, "busy", words));
        }
        let mut members = self.run_members(&id).await?;
        members.extend(reply.into_iter().filter(|(name, _)| name == "queued"));
        Ok(members)
    }

    /// Stops a run. The run of an activation is stopped by cancelling the activation, a dispatched run by `reclaim`.
    pub(super) async fn run_cancel(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        params.finish()?;
        let row = self.find_run(&id).await?;
        if row.finished_at.is_some() {
            let message = format!("run `{}` has ended: {}", row.id, row.state);
            return Err(OpError::new(OpErrorKind::Conflict, "ended", message));
        }
        match row.activation {
            Some(activation) => {
                let now = self.live.now();
                self.store
                    .cancel(&activation, CANCELLED_BY_PERSON, now)
                    .await?;
                self.live.stop_run(&activation).await?;
                self.live.nudge();
            }
            // The result is read again below, as for the run of an activation.
            None => drop(self.tool("reclaim", &id, None).await?),
        }
        self.run_members(&id).await
    }

    /// Calls the `daemon` tool.
    async fn tool(
        &self,
        action: &str,
        id: &str,
        message: Option<&str>,
    ) -> Result<Map<String, Value>, OpError> {
        let mut call = Map::new();
        call.insert("action".to_owned(), action.into());
        call.insert("id".to_owned(), id.into());
        call.extend(message.map(|message| ("message".to_owned(), message.into())));
        Ok(self.run_call(call).await?.members)
    }

    async fn run_members(&self, id: &str) -> Result<Map<String, Value>, OpError> {
        members(&self.run_object(&self.find_run(id).await?))
    }

    pub(super) async fn daemon_fire(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let fire = Fire {
            daemon: params.required("id")?,
            repo: params.repo()?,
            trigger: FireTrigger::take(&mut params)?,
            by: params.text("by")?,
        };
        params.finish()?;
        let moment = Moment {
            now: self.live.now(),
            pause: self.live.pause(),
            is_over_budget: self.live.is_over_budget().await?,
        };
        let registry = self.registry.get();
        let fired = crate::fire::submit(&*self.store, &registry, &fire, moment).await?;
        self.live.nudge();
        let mut map = Map::new();
        map.insert("dry_run".to_owned(), Value::Bool(false));
        map.insert("wakes".to_owned(), Value::Bool(fired.activation.is_some()));
        map.insert("duplicate".to_owned(), Value::Bool(fired.is_duplicate));
        let (mut activation, mut runs, mut outputs) = (
            Value::Null,
            Value::Array(Vec::new()),
            Value::Array(Vec::new()),
        );
        if let Some(id) = &fired.activation {
            (activation, runs, outputs) = self.activation_whole(id).await?;
        }
        map.insert("activation".to_owned(), activation);
        map.insert("runs".to_owned(), runs);
        map.insert("outputs".to_owned(), outputs);
        map.insert("plan".to_owned(), Value::Null);
        Ok(map)
    }

    /// Returns an activation's object, its runs and its outputs.
    ///
    /// # Errors
    /// If it does not exist or the store cannot be read.
    pub async fn activation_whole(
        &self,
        id: &ActivationId,
    ) -> Result<(Value, Value, Value), OpError> {
        let activation = self
            .store
            .activation(id)
            .await?
            .ok_or_else(|| OpError::not_found("activation", id.as_str()))?;
        let mut runs = Vec::new();
        for row in self.store.runs_of(id).await? {
            runs.push(self.run_object(&row));
        }
        let outputs: Vec<OutputObject> = self
            .store
            .outputs_of(id)
            .await?
            .iter()
            .map(OutputObject::new)
            .collect();
        Ok((
            value(&self.activation_object(&activation).await?)?,
            value(&runs)?,
            value(&outputs)?,
        ))
    }

    /// Returns the state of an activation.
    ///
    /// # Errors
    /// If it does not exist or the store cannot be read.
    pub async fn activation_state(&self, id: &ActivationId) -> Result<ActivationState, OpError> {
        let activation = self.store.activation(id).await?;
        activation
            .map(|found| found.state)
            .ok_or_else(|| OpError::not_found("activation", id.as_str()))
    }
}

pub(super) fn activation_id(params: &mut Params) -> Result<ActivationId, OpError> {
    let text = params.required("id")?;
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => Err(OpError {
            kind: OpErrorKind::NotFound,
            ..OpError::not_found("activation", &text)
        }),
    }
}
