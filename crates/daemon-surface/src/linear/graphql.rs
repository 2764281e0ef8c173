//! Requests of GraphQL, and the errors in their responses.

use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{ApiAnswer, ApiError, RequestEffect, ServiceApi, cleaned};

#[derive(Deserialize)]
struct Response<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extensions {
    code: Option<String>,
    user_presentable_message: Option<String>,
}

/// Sends a query.
pub(crate) async fn read<T: DeserializeOwned>(
    api: &ServiceApi,
    query: &str,
    variables: Value,
) -> Result<T, ApiError> {
    let body = json!({"query": query, "variables": variables});
    let answer = api.query(&["graphql"], &body).await;
    data(api, answer, RequestEffect::None)
}

/// Sends a mutation.
pub(super) async fn write<T: DeserializeOwned>(
    api: &ServiceApi,
    query: &str,
    variables: Value,
) -> Result<T, ApiError> {
    let body = json!({"query": query, "variables": variables});
    let answer = api.write(Method::POST, &["graphql"], &body).await;
    data(api, answer, RequestEffect::Write)
}

fn data<T: DeserializeOwned>(
    api: &ServiceApi,
    answer: Result<ApiAnswer, ApiError>,
    effect: RequestEffect,
) -> Result<T, ApiError> {
    let answer = match answer {
        Err(error) if error.said().is_some_and(is_absence) => return Err(error.into_absent()),
        answer => answer?,
    };
    // Read as a value first: next to errors, `data` may have nulls that its type does not allow.
    let response: Response<Value> = answer.json()?;
    if let Some(failure) = response.errors.first() {
        let error = failed(failure, effect);
        api.pause(&error);
        return Err(error);
    }
    let data = response.data.unwrap_or_default();
    serde_json::from_value(data).map_err(|error| {
        let why = format!("its answer cannot be read: {error}");
        ApiError::failed(effect, why)
    })
}

fn failed(failure: &Failure, effect: RequestEffect) -> ApiError {
    let said = failure
        .extensions
        .user_presentable_message
        .as_deref()
        .unwrap_or(&failure.message);
    let said = cleaned(said).unwrap_or_default();
    match failure.extensions.code.as_deref() {
        Some("RATELIMITED") => ApiError::rate_limited("it wants fewer requests"),
        Some("INTERNAL_SERVER_ERROR" | "LOCK_TIMEOUT") => ApiError::failed(effect, said),
        _ if is_absence(&failure.message) => ApiError::refused(effect, said).into_absent(),
        _ => ApiError::refused(effect, said),
    }
}

fn is_absence(message: &str) -> bool {
    message.contains("Entity not found")
}
