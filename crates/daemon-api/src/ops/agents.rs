//! Operations on agents.

use daemon_agent::{AgentError, AgentName, Agents};
use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value, json};

use super::{Operations, Params, value};
use crate::wire::{AgentObject, ListedAgentObject};

/// The longest prompt, in bytes; the file of an agent is checked as a whole, too.
const MAX_PROMPT: usize = 256 * 1024;

fn name(params: &mut Params) -> Result<AgentName, OpError> {
    let name = params.required("name")?.parse();
    name.map_err(|error| OpError::invalid(format!("`name`: {error}")))
}

fn definition(params: &mut Params) -> Result<Option<Map<String, Value>>, OpError> {
    match params.value("definition") {
        None => Ok(None),
        Some(Value::Object(members)) => Ok(Some(members)),
        Some(_) => Err(OpError::invalid("`definition` must be an object")),
    }
}

fn prompt(params: &mut Params) -> Result<Option<String>, OpError> {
    let prompt = params.text("prompt")?;
    if prompt
        .as_ref()
        .is_some_and(|prompt| prompt.len() > MAX_PROMPT)
    {
        return Err(OpError::invalid(format!(
            "`prompt` has more than {MAX_PROMPT} bytes"
        )));
    }
    Ok(prompt)
}

fn with_rev(rev: &str) -> Map<String, Value> {
    Map::from_iter([("rev".to_owned(), json!(rev))])
}

impl Operations {
    /// Does something with the agents, on a thread for blocking calls.
    pub(super) async fn with_agents<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Agents) -> Result<T, AgentError> + Send + 'static,
    ) -> Result<T, OpError> {
        let conversations = std::sync::Arc::clone(self.conversations()?);
        let done = tokio::task::spawn_blocking(move || work(conversations.agents())).await;
        let done = done
            .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?;
        Ok(done?)
    }

    pub(super) async fn agent_list(&self, params: Params) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        let listed = self.with_agents(Agents::list).await?.into_iter();
        let objects = value(&listed.map(ListedAgentObject::from).collect::<Vec<_>>())?;
        Ok(Map::from_iter([("agents".to_owned(), objects)]))
    }

    pub(super) async fn agent_get(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let name = name(&mut params)?;
        params.finish()?;
        let agent = self.with_agents(move |agents| agents.get(&name)).await?;
        let mut answer = with_rev(&agent.rev);
        answer.insert("agent".to_owned(), value(&AgentObject::from(agent))?);
        Ok(answer)
    }

    pub(super) async fn agent_create(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let name = name(&mut params)?;
        let definition = definition(&mut params)?.unwrap_or_default();
        let prompt = prompt(&mut params)?.ok_or_else(|| OpError::invalid("`prompt` is missing"))?;
        params.finish()?;
        let created = self.with_agents(move |agents| agents.create(&name, &definition, &prompt));
        Ok(with_rev(&created.await?))
    }

    pub(super) async fn agent_update(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let name = name(&mut params)?;
        let change = (definition(&mut params)?, prompt(&mut params)?);
        let rev = params.required("rev")?;
        params.finish()?;
        let updated = self.with_agents(move |agents| agents.update(&name, change, &rev));
        Ok(with_rev(&updated.await?))
    }

    pub(super) async fn agent_delete(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let name = name(&mut params)?;
        let rev = params.required("rev")?;
        params.finish()?;
        self.with_agents(move |agents| agents.delete(&name, &rev))
            .await?;
        Ok(Map::new())
    }
}
