//! Slack: the name of a channel.

use daemon_engine::{Fact, FactError, FactErrorKind, FactOrigin};
use daemon_event::{Enrichment, Event, Field, Need};
use serde::Deserialize;

use super::no_such_fact;
use crate::api::{RequestEffect, ServiceApi};
use crate::slack::failed;

#[derive(Deserialize)]
struct InfoRow {
    ok: bool,
    error: Option<String>,
    channel: Option<ChannelRow>,
}

#[derive(Deserialize)]
struct ChannelRow {
    name: Option<String>,
}

/// Fetches one fact of one event.
pub(super) async fn fetch(api: &ServiceApi, need: Need, event: &Event) -> Result<Fact, FactError> {
    let channel = event.facts.text(Field::ChannelId);
    let (Need::ChannelName, Some(channel)) = (need, channel) else {
        return Err(no_such_fact(need, event));
    };
    // The value comes from a payload, so it must not be able to add parameters to the request.
    let is_id = (2..=40).contains(&channel.len())
        && channel.starts_with(['C', 'G', 'D'])
        && channel
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if !is_id {
        let why = "the event names no channel by an id of Slack's";
        return Err(FactError::new(FactErrorKind::Final, why));
    }
    let answer = api
        .get(&["conversations.info"], &[("channel", channel)])
        .await?;
    let info: InfoRow = answer.json()?;
    if !info.ok {
        let word = info.error.as_deref().unwrap_or_default();
        return Err(failed(word, RequestEffect::None).into());
    }
    let name = info.channel.and_then(|channel| channel.name);
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Ok(Fact {
            found: Enrichment {
                channel_name: Some(name),
                ..Enrichment::default()
            },
            origin: FactOrigin::Api,
            note: None,
        }),
        None => {
            let why = "the conversation has no name";
            Err(FactError::new(FactErrorKind::Final, why))
        }
    }
}
