//! The tokens by which processes of runs use what their run was granted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use daemon_provider::{GrantError, GrantedTool, Grants, Verdict};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_records::random;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::ops::Params;

/// The length of a token, in random bytes.
const TOKEN_BYTES: usize = 32;

type TokenHash = [u8; 32];

/// The grants of active runs, by the hash of their token.
///
/// A token is never compared byte by byte, so the time of a lookup reveals nothing about a valid one.
#[derive(Clone, Default)]
pub struct RunTokens {
    held: Arc<Mutex<BTreeMap<TokenHash, Arc<dyn Grants>>>>,
    is_served: Arc<AtomicBool>,
}

impl fmt::Debug for RunTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunTokens({})", self.all().len())
    }
}

/// The token of one run; dropping it revokes the token.
pub(crate) struct RunToken {
    text: String,
    tokens: RunTokens,
}

impl RunTokens {
    /// Records that a socket accepts tokens.
    pub(super) fn serve(&self) {
        self.is_served.store(true, Ordering::Release);
    }

    /// Creates a token for what a run was granted; `None` if no socket accepts tokens.
    pub(crate) fn issue(&self, grants: Arc<dyn Grants>) -> Option<RunToken> {
        if !self.is_served.load(Ordering::Acquire) {
            return None;
        }
        let text = random::hex(TOKEN_BYTES);
        self.all().insert(hash(&text), grants);
        Some(RunToken {
            text,
            tokens: self.clone(),
        })
    }

    /// Returns what the run of a token was granted; `None` once the run is over.
    fn grants(&self, token: &str) -> Option<Arc<dyn Grants>> {
        self.all().get(&hash(token)).cloned()
    }

    /// Reports whether a token belongs to an active run.
    pub(super) fn knows(&self, token: &str) -> bool {
        self.grants(token).is_some()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<TokenHash, Arc<dyn Grants>>> {
        // Each change of the map is a single call, so it is consistent even if a holder of the lock panicked.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunToken {
    /// Returns the token, which is a secret.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for RunToken {
    fn drop(&mut self) {
        self.tokens.all().remove(&hash(&self.text));
    }
}

fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// Performs a request of a run: reads and sets its daemon's state, proposes outputs, and calls the tools of granted servers.
///
/// # Errors
/// If the run is over, the request is not granted, or the method does not exist for runs.
pub(super) async fn call(
    tokens: &RunTokens,
    token: &str,
    method: &str,
    params: Map<String, Value>,
) -> Result<Map<String, Value>, OpError> {
    // Read for each request: once the run is over, its connection can do nothing more.
    let grants = tokens
        .grants(token)
        .ok_or_else(|| OpError::new(OpErrorKind::Forbidden, "run-over", "the run is over"))?;
    let mut params = Params::new(params);
    let mut answer = Map::new();
    match method {
        "grant/state_get" => {
            let key = params.required("key")?;
            params.finish()?;
            let value = grants.state_get(&key).await.map_err(refused)?;
            answer.insert("value".to_owned(), value.unwrap_or(Value::Null));
        }
        "grant/state_set" => {
            let key = params.required("key")?;
            let value = params.value("value").unwrap_or(Value::Null);
            params.finish()?;
            grants.state_set(&key, value).await.map_err(refused)?;
        }
        "grant/propose" => {
            let output = params
                .value("output")
                .ok_or_else(|| OpError::invalid("`output` is missing"))?;
            params.finish()?;
            if let Verdict::Refused(reason) = grants.propose(output).await.map_err(refused)? {
                return Err(OpError::new(OpErrorKind::Forbidden, "refused", reason));
            }
        }
        "grant/tools" => {
            params.finish()?;
            let tools = grants.tools().await;
            let tools: Vec<Value> = tools.into_iter().map(described).collect();
            answer.insert("tools".to_owned(), Value::Array(tools));
            answer.insert("output_schema".to_owned(), grants.output_schema());
        }
        "grant/call" => {
            answer = call_tool(&*grants, params).await?;
        }
        _ => {
            let message = "a run may ask for what it was granted, and for nothing else";
            return Err(OpError::new(OpErrorKind::Forbidden, "forbidden", message));
        }
    }
    Ok(answer)
}

async fn call_tool(grants: &dyn Grants, mut params: Params) -> Result<Map<String, Value>, OpError> {
    let name = params.required("name")?;
    let arguments = match params.value("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(OpError::invalid("`arguments` is not an object")),
    };
    params.finish()?;
    let reply = grants.call_tool(&name, arguments).await;
    let mut answer = Map::new();
    // A failed tool is a result with a status: the model of the run reads its text.
    answer.insert("status".to_owned(), json!(reply.status.as_str()));
    answer.insert("text".to_owned(), json!(reply.text));
    let structured = reply.structured;
    answer.extend(structured.map(|value| ("structured".to_owned(), value)));
    Ok(answer)
}

fn described(tool: GrantedTool) -> Value {
    json!({
        "name": tool.name, "description": tool.description, "input_schema": tool.schema, "read_only": tool.is_read_only,
    })
}

fn refused(error: GrantError) -> OpError {
    let (kind, code) = match error {
        GrantError::Stale => (OpErrorKind::Conflict, "lease-lost"),
        GrantError::Unavailable { .. } => (OpErrorKind::Unavailable, "unavailable"),
        _ => (OpErrorKind::Forbidden, "refused"),
    };
    OpError::new(kind, code, error.to_string())
}

#[cfg(test)]
mod tests {
    use daemon_provider::NoGrants;
    use serde_json::json;

    use super::*;

    async fn asked(tokens: &RunTokens, token: &str, method: &str) -> String {
        let params = Map::from_iter([("key".to_owned(), json!("k"))]);
        let error = call(tokens, token, method, params).await.unwrap_err();
        error.code
    }

    #[tokio::test]
    async fn a_token_is_valid_until_it_is_dropped() {
        let tokens = RunTokens::default();
        assert!(tokens.issue(Arc::new(NoGrants)).is_none());
        tokens.serve();
        let (one, other) = (
            tokens.issue(Arc::new(NoGrants)).unwrap(),
            tokens.issue(Arc::new(NoGrants)).unwrap(),
        );
        assert_ne!(one.text(), other.text());
        let text = one.text().to_owned();
        assert_eq!(asked(&tokens, &text, "grant/state_get").await, "refused");
        assert_eq!(asked(&tokens, &text, "host/hold").await, "forbidden");
        assert_eq!(asked(&tokens, "", "grant/state_get").await, "run-over");
        drop(one);
        assert_eq!(asked(&tokens, &text, "grant/state_get").await, "run-over");
        assert_eq!(
            asked(&tokens, other.text(), "grant/state_get").await,
            "refused"
        );
    }
}
