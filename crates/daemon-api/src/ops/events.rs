//! Operations on the event bus.

use daemon_agent::{FeedFilter, FeedStream, Subscription, TurnChain};
use daemon_records::error::OpError;
use serde_json::{Map, Value, json};

use super::{Operations, Params, value};
use crate::wire::{AGENT_EVENT_KINDS, SubscriptionObject};

/// Takes the name of an agent.
pub(super) fn agent(
    params: &mut Params,
    name: &str,
) -> Result<Option<daemon_agent::AgentName>, OpError> {
    let text = params.text(name)?.map(|text| text.parse()).transpose();
    text.map_err(|error| OpError::invalid(format!("`{name}`: {error}")))
}

/// Takes the kinds of events that a client follows.
fn kinds(params: &mut Params) -> Result<Option<Vec<String>>, OpError> {
    let Some(given) = params.value("kinds") else {
        return Ok(None);
    };
    let refused = || OpError::invalid(format!("`kinds` must list some of {AGENT_EVENT_KINDS:?}"));
    let kinds: Vec<String> = serde_json::from_value(given).map_err(|error| {
        tracing::debug!(%error, "`kinds` is no list of text");
        refused()
    })?;
    let is_kind = |kind: &String| AGENT_EVENT_KINDS.contains(&kind.as_str());
    if kinds.is_empty() || !kinds.iter().all(is_kind) {
        return Err(refused());
    }
    Ok(Some(kinds))
}

impl Operations {
    pub(super) async fn event_publish(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let source = params.required("source")?;
        let payload = params.value("payload").unwrap_or_default();
        params.finish()?;
        let conversations = self.conversations()?;
        let published = conversations
            .publish(&source, payload, TurnChain::default())
            .await?;
        Ok(Map::from_iter([
            ("event_id".to_owned(), json!(published.event_id)),
            ("matched".to_owned(), json!(published.matched)),
        ]))
    }

    /// Follows the events of all conversations.
    ///
    /// # Errors
    /// If a parameter is invalid, or the events behind `after_seq` are no longer kept.
    pub fn follow_all(&self, mut params: Params) -> Result<FeedStream, OpError> {
        let sender = params.text("sender")?.map(|text| text.parse()).transpose();
        let filter = FeedFilter {
            agent: agent(&mut params, "agent")?,
            sender: sender.map_err(|error| OpError::invalid(format!("`sender`: {error}")))?,
            kinds: kinds(&mut params)?,
        };
        let after = params.number("after_seq")?;
        params.finish()?;
        Ok(self.conversations()?.follow_all(filter, after)?)
    }

    pub(super) async fn subscription_create(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let missing = || OpError::invalid("`target_agent` is missing");
        let subscription = Subscription {
            source: params.required("source")?,
            target_agent: agent(&mut params, "target_agent")?.ok_or_else(missing)?,
            once: params.flag("once")?,
        };
        params.finish()?;
        let conversations = self.conversations()?;
        let id = conversations.subscribe(subscription.clone()).await?;
        let object = SubscriptionObject::new(id, &subscription);
        Ok(Map::from_iter([(
            "subscription".to_owned(),
            value(&object)?,
        )]))
    }

    pub(super) async fn subscription_list(
        &self,
        params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        params.finish()?;
        let entries = self.conversations()?.subscriptions().await?;
        let objects = entries
            .all()
            .map(|(id, entry)| SubscriptionObject::of(id, entry));
        let objects = value(&objects.collect::<Vec<_>>())?;
        Ok(Map::from_iter([("subscriptions".to_owned(), objects)]))
    }

    pub(super) async fn subscription_delete(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let id = id(&mut params)?;
        params.finish()?;
        self.conversations()?.unsubscribe(id, None).await?;
        Ok(Map::new())
    }
}

/// Takes the id of an entry.
pub(super) fn id(params: &mut Params) -> Result<u64, OpError> {
    let id = params.number("id")?;
    id.ok_or_else(|| OpError::invalid("`id` is missing"))
}
