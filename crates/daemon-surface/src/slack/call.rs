//! Calls of Slack's Web API, whose errors come with status 200.

use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{ApiAnswer, ApiError, RequestEffect, ServiceApi};

#[derive(Deserialize)]
struct Status {
    ok: bool,
    error: Option<String>,
}

/// Calls a method that writes.
pub(super) async fn write<T: DeserializeOwned>(
    api: &ServiceApi,
    method: &str,
    body: &Value,
) -> Result<T, ApiError> {
    let answer = api.write(Method::POST, &[method], body).await?;
    body_of(api, &answer, RequestEffect::Write)
}

/// Calls a method that reads.
pub(super) async fn get<T: DeserializeOwned>(
    api: &ServiceApi,
    method: &str,
    query: &[(&str, &str)],
) -> Result<T, ApiError> {
    read(api, &api.get(&[method], query).await?)
}

/// Reads the response of a method that reads.
pub(super) fn read<T: DeserializeOwned>(
    api: &ServiceApi,
    answer: &ApiAnswer,
) -> Result<T, ApiError> {
    body_of(api, answer, RequestEffect::None)
}

fn body_of<T: DeserializeOwned>(
    api: &ServiceApi,
    answer: &ApiAnswer,
    effect: RequestEffect,
) -> Result<T, ApiError> {
    let status: Status = answer.json()?;
    if status.ok {
        return answer.json();
    }
    let error = failed(status.error.as_deref().unwrap_or_default(), effect);
    api.pause(&error);
    Err(error)
}

/// Converts an error code.
pub(crate) fn failed(word: &str, effect: RequestEffect) -> ApiError {
    // The word is shown to people; only what Slack's own codes consist of is kept.
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    let shown: String = word.chars().filter(|c| is_word(*c)).take(40).collect();
    let message = format!("it answers `{shown}`");
    match word {
        "ratelimited" | "rate_limited" => ApiError::rate_limited(message),
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
            ApiError::failed(effect, message)
        }
        // The message was deleted, or the channel.
        "message_not_found" | "thread_not_found" | "channel_not_found" => {
            ApiError::refused(effect, message).into_absent()
        }
        _ => ApiError::refused(effect, message),
    }
}
