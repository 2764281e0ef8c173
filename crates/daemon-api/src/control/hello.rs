//! The first requests of a connection: `initialize`, which says who the client is, and `ping`.

use serde_json::{Map, Value, json};

use super::server::Control;
use super::wire::{RequestId, ServerMessage};
use super::{MAX_LINE, MAX_OPEN, PROTOCOL_VERSION};
use crate::ops::{Operation, RosterCaller, Scope};
use crate::tokens::{TokenDigest, TokenHolder};

/// Who the clients of a transport are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlTransport {
    /// The socket of the home: the kernel says that the client is the owner.
    Socket,
    /// TCP: only a token says who the client is.
    Tcp,
}

/// The client of a connection that was initialized.
#[derive(Clone, Debug)]
pub(super) struct KnownClient {
    pub(super) holder: TokenHolder,
    /// The token that the client sent; the owner on the socket of the home needs none.
    token: Option<TokenDigest>,
    /// Whether the token is that of an agent of the roster.
    is_agent: bool,
}

impl KnownClient {
    /// Reports whether only a token says who the client is.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns who calls the operations of the roster.
    pub(super) fn caller(&self) -> RosterCaller {
        match &self.token {
            Some(token) if self.is_agent => RosterCaller::Agent(token.of_roster()),
            _ => RosterCaller::Operator,
        }
    }

    /// Reports whether a client with this scope may call an operation. What an agent may call is decided and recorded where the
    /// operation is performed.
    pub(super) fn may_call(&self, operation: Operation) -> bool {
        self.is_agent || operation.scope() <= self.holder.scope
    }

    /// Reports whether the token of the client is still in force, with the same scope.
    pub(super) fn is_valid(&self, control: &Control) -> bool {
        if self.is_agent {
            // Its requests are refused once it is retired or fenced.
            return true;
        }
        let holder = self
            .token
            .as_ref()
            .map(|token| control.access.holder(token));
        holder.is_none_or(|holder| holder.as_ref() == Some(&self.holder))
    }
}

/// Answers `initialize`, and returns the client if it is accepted.
pub(super) fn initialize(
    id: RequestId,
    params: &Map<String, Value>,
    control: &Control,
    transport: ControlTransport,
) -> (ServerMessage, Option<KnownClient>) {
    match introduced(params, control, transport) {
        Ok(caller) => (
            ServerMessage::result(id, welcome(control, &caller)),
            Some(caller),
        ),
        Err((code, word, message)) => (ServerMessage::error(Some(id), code, word, message), None),
    }
}

/// The code, the word and the message of an error.
type Refusal = (i64, &'static str, String);

fn introduced(
    params: &Map<String, Value>,
    control: &Control,
    transport: ControlTransport,
) -> Result<KnownClient, Refusal> {
    let invalid = |message: String| Err((-32602, "invalid-params", message));
    match params.get("protocol_version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(PROTOCOL_VERSION) => {}
        Some(version) => {
            let message = format!("version {version} is not served, {PROTOCOL_VERSION} is");
            return Err((-32014, "unsupported-version", message));
        }
        None => return invalid("`protocol_version` must be given as a whole number".to_owned()),
    }
    for name in params.keys() {
        if !matches!(name.as_str(), "protocol_version" | "client" | "token") {
            let name: String = name.chars().take(80).collect();
            return invalid(format!("`{name}` is not a parameter here"));
        }
    }
    let unauthorized = |message: &str| Err((-32002, "unauthorized", message.to_owned()));
    let token = match params.get("token") {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(TokenDigest::of(token)),
        Some(_) => return invalid("`token` must be text".to_owned()),
    };
    let holder = match (&token, transport) {
        (Some(token), _) => control.access.holder(token),
        (None, ControlTransport::Socket) => Some(TokenHolder {
            actor: control.actor.clone(),
            scope: Scope::Admin,
        }),
        (None, ControlTransport::Tcp) => return unauthorized(NO_TOKEN),
    };
    let known = |holder, is_agent| KnownClient {
        holder,
        token,
        is_agent,
    };
    if let Some(holder) = holder {
        return Ok(known(holder, false));
    }
    match token.and_then(|token| agent(&token, params, control, transport)) {
        Some(holder) => Ok(known(holder, true)),
        None => unauthorized("the token is not one of this host"),
    }
}

/// Returns an agent of the roster. On the socket of the home, one that is not known yet may register: the kernel says that it is a
/// process of the owner.
fn agent(
    token: &TokenDigest,
    params: &Map<String, Value>,
    control: &Control,
    transport: ControlTransport,
) -> Option<TokenHolder> {
    let is_drawn = || {
        let text = params.get("token").and_then(Value::as_str);
        text.is_some_and(|text| text.starts_with(AGENT_TOKEN) && text.len() >= AGENT_TOKEN_LENGTH)
    };
    let actor = match control.roster.view().principal(&token.of_roster()) {
        Some(principal) => principal.to_string(),
        None if transport == ControlTransport::Socket && is_drawn() => "unregistered".to_owned(),
        None => return None,
    };
    Some(TokenHolder {
        actor,
        scope: Scope::Read,
    })
}

/// How a token begins that an agent has drawn for itself.
pub const AGENT_TOKEN: &str = "agent-";
/// The shortest such token; a shorter one could be guessed.
const AGENT_TOKEN_LENGTH: usize = AGENT_TOKEN.len() + 64;

/// The message of the error of a client over TCP without a token.
pub(super) const NO_TOKEN: &str = "over TCP, `initialize` with a token comes first";

fn welcome(control: &Control, caller: &KnownClient) -> Map<String, Value> {
    let host = json!({
        "name": "daemon-run", "version": env!("CARGO_PKG_VERSION"), "epoch": control.epoch,
    });
    Map::from_iter([
        ("protocol_version".to_owned(), json!(PROTOCOL_VERSION)),
        ("host".to_owned(), host),
        ("actor".to_owned(), json!(caller.holder.actor)),
        ("scope".to_owned(), json!(caller.holder.scope.as_str())),
        (
            "limits".to_owned(),
            json!({"line_bytes": MAX_LINE, "open_requests": MAX_OPEN}),
        ),
    ])
}

/// Returns the members of the result of `ping`.
pub(super) fn ping(control: &Control) -> Map<String, Value> {
    let uptime = control.started.elapsed().as_millis();
    let uptime = json!(u64::try_from(uptime).unwrap_or(u64::MAX));
    Map::from_iter([("uptime_ms".to_owned(), uptime)])
}
