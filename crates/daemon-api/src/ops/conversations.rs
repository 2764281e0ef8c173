//! Operations on conversations.

use std::path::PathBuf;
use std::sync::Arc;

use daemon_agent::definition::ToolChoice;
use daemon_agent::{Conversations, NewMessage, Pair, TurnChain, TurnResult, TurnStream};
use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value, json};

use super::{Operations, Params, members, value};
use crate::wire::{ConversationObject, TurnObject};

/// The most rows of a page of conversations.
const MAX_PAGE: u64 = 500;
/// The rows of a page if the caller does not say.
const PAGE: u64 = 50;

/// Takes the agent and the sender of a conversation.
pub(super) fn pair(params: &mut Params) -> Result<Pair, OpError> {
    let parsed = |name: &str, error: daemon_agent::InvalidPairPart| {
        OpError::invalid(format!("`{name}`: {error}"))
    };
    Ok(Pair {
        agent: params
            .required("agent")?
            .parse()
            .map_err(|error| parsed("agent", error))?,
        sender: params
            .required("sender")?
            .parse()
            .map_err(|error| parsed("sender", error))?,
    })
}

fn tool_choice(params: &mut Params) -> Result<Option<ToolChoice>, OpError> {
    match params.text("tool_choice")?.as_deref() {
        None => Ok(None),
        Some("auto") => Ok(Some(ToolChoice::Auto)),
        Some("none") => Ok(Some(ToolChoice::None)),
        Some(_) => Err(OpError::invalid("`tool_choice` must be `auto` or `none`")),
    }
}

/// Returns the members of the result of a turn.
pub(crate) fn turn_members(result: TurnResult) -> Result<Map<String, Value>, OpError> {
    members(&TurnObject::from(result))
}

impl Operations {
    pub(crate) fn conversations(&self) -> Result<&Arc<Conversations>, OpError> {
        self.live.conversations().ok_or_else(|| {
            OpError::new(
                OpErrorKind::Unavailable,
                "no-host",
                "no host is running for this home",
            )
            .with_help("start one with `daemon-run serve`")
        })
    }

    /// Sends a message and follows its turn.
    ///
    /// # Errors
    /// If a parameter is invalid, or the message was not taken.
    pub fn follow(&self, mut params: Params) -> Result<TurnStream, OpError> {
        let pair = pair(&mut params)?;
        let message = NewMessage {
            content: params.required("content")?,
            via: "rpc".to_owned(),
            key: params.text("key")?,
            cwd: params.text("cwd")?.map(PathBuf::from),
            tool_choice: tool_choice(&mut params)?,
            chain: TurnChain::default(),
        };
        params.finish()?;
        Ok(self.conversations()?.send(pair, message)?)
    }

    pub(super) async fn send(&self, params: Params) -> Result<Map<String, Value>, OpError> {
        turn_members(self.follow(params)?.end().await?)
    }

    pub(super) async fn conversation_reply(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let pair = pair(&mut params)?;
        let (ask_id, content) = (params.required("ask_id")?, params.required("content")?);
        params.finish()?;
        let turn = self.conversations()?.reply_to_ask(pair, &ask_id, content);
        Ok(Map::from_iter([("turn".to_owned(), json!(turn.await?))]))
    }

    pub(super) async fn conversation_kill(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let pair = pair(&mut params)?;
        params.finish()?;
        let turn = self.conversations()?.kill(pair).await?;
        let killed = ("killed".to_owned(), json!(turn.is_some()));
        Ok(Map::from_iter([killed, ("turn".to_owned(), json!(turn))]))
    }

    pub(super) async fn conversation_compact(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let pair = pair(&mut params)?;
        params.finish()?;
        let compacted = self.conversations()?.compact(pair).await?;
        let summary = ("summary".to_owned(), json!(compacted.summary));
        Ok(Map::from_iter([
            summary,
            ("upto".to_owned(), json!(compacted.upto)),
        ]))
    }

    pub(super) async fn conversation_history(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let pair = pair(&mut params)?;
        let before = params.number("before")?;
        params.finish()?;
        let lines = self.conversations()?.history(pair, before).await?;
        let lines = lines.iter().map(|line| serde_json::from_str(line));
        let lines: Vec<Value> = lines
            .collect::<Result<_, _>>()
            .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?;
        Ok(Map::from_iter([("lines".to_owned(), Value::Array(lines))]))
    }

    pub(super) async fn conversation_list(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let agent = super::events::agent(&mut params, "agent")?;
        let only_active = params.flag("active")?;
        let limit = params.number("limit")?.unwrap_or(PAGE);
        let after = params.text("after")?;
        params.finish()?;
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(OpError::invalid(format!("`limit` must be 1 to {MAX_PAGE}")));
        }
        let mut listed = self.conversations()?.list(agent).await?;
        listed.retain(|one| !only_active || one.is_active);
        listed.retain(|one| after.as_ref().is_none_or(|after| one.file > *after));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let rest = listed.split_off(limit.min(listed.len()));
        let next = listed.last().filter(|_| !rest.is_empty());
        let next = json!(next.map(|last| last.file.clone()));
        let objects = listed.into_iter().map(ConversationObject::from);
        let objects = value(&objects.collect::<Vec<_>>())?;
        let rows = ("conversations".to_owned(), objects);
        Ok(Map::from_iter([rows, ("next".to_owned(), next)]))
    }

    pub(super) async fn conversation_delete(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let pair = pair(&mut params)?;
        params.finish()?;
        self.conversations()?.delete(pair).await?;
        Ok(Map::new())
    }
}
