//! Slack: the name of a channel.

use daemon_engine::{Fact, FactError, FactErrorKind, FactOrigin, RetryAfter};
use daemon_event::{Enrichment, Event, Field, Need};
use jiff::SignedDuration;
use serde::Deserialize;

use super::api::ServiceApi;
use super::no_such_fact;

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
        return Err(failed(info.error.as_deref().unwrap_or_default()));
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

/// Converts an error code of Slack, which is sent with status 200.
fn failed(word: &str) -> FactError {
    let kind = match word {
        "ratelimited" | "rate_limited" => {
            FactErrorKind::Limited(RetryAfter::For(SignedDuration::from_secs(60)))
        }
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
            FactErrorKind::Retryable
        }
        _ => FactErrorKind::Final,
    };
    // The word is shown to people; only what Slack's own codes consist of is kept.
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    let word: String = word.chars().filter(|c| is_word(*c)).take(40).collect();
    FactError::new(kind, format!("it answers `{word}`"))
}
