//! A model API on loopback.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::connection;
use crate::dialect::ApiDialect;
use crate::http::{Listener, Recent};
use crate::reply::Reply;

/// A model API on a port of loopback, which replies as its script says.
///
/// Requests to paths of none of the three dialects get a 404 and are not recorded.
#[derive(Debug)]
pub struct ModelApi {
    listener: Listener,
    shared: Arc<Shared>,
}

/// A request that the API received.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The dialect of its path.
    pub dialect: ApiDialect,
    /// The API key, without `Bearer`; `None` if no header has one.
    pub key: Option<String>,
    /// The body, as JSON.
    pub body: Value,
}

impl Received {
    /// Returns the names of the tools that the request offers to the model.
    pub fn tools(&self) -> Vec<String> {
        self.dialect.tools(&self.body)
    }

    /// Returns the tool results in the request, the oldest first.
    pub fn tool_results(&self) -> Vec<String> {
        self.dialect.tool_results(&self.body)
    }
}

/// Returns the reply to a request.
type Script = dyn FnMut(&Received) -> Reply + Send;

pub(crate) struct Shared {
    script: Mutex<Box<Script>>,
    received: Mutex<Recent<Received>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Records a request and calls the script. Returns the number of the request, from 1, and the reply.
    pub(crate) fn answer(&self, received: Received) -> (usize, Reply) {
        let n_bytes = received.body.to_string().len();
        let reply = (self.script.lock().expect("a script does not panic"))(&received);
        let mut all = self.received.lock().expect("no holder panics");
        (all.push(received, n_bytes), reply)
    }
}

impl ModelApi {
    /// Starts an API that calls `script` for each request.
    ///
    /// # Errors
    /// No port of loopback can be bound.
    pub fn scripted(script: impl FnMut(&Received) -> Reply + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            received: Mutex::default(),
        });
        let of_listener = Arc::clone(&shared);
        let listener = Listener::start(0, move |request, stream, closing| {
            connection::respond(stream, &request, &of_listener, closing)
        })?;
        Ok(Self { listener, shared })
    }

    /// Starts an API that returns these replies in turn, and status 500 after the last.
    ///
    /// # Errors
    /// As for [`ModelApi::scripted`].
    pub fn replaying(replies: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let mut replies: std::collections::VecDeque<Reply> = replies.into_iter().collect();
        Self::scripted(move |_| {
            let over = || Reply::error(500, "the script is over");
            // Status 500 and not a panic: the client under test would only see a closed connection.
            replies.pop_front().unwrap_or_else(over)
        })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns the base URL for the dialects of OpenAI, and for the one of Anthropic if a client expects the version in it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address())
    }

    /// Returns the newest requests, in order: at most 10,000, with at most 64 MiB of bodies.
    pub fn received(&self) -> Vec<Received> {
        self.shared
            .received
            .lock()
            .expect("no holder panics")
            .to_vec()
    }
}
