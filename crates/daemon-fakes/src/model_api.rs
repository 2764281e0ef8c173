//! A model API on loopback.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::connection;
use crate::dialect::ApiDialect;
use crate::reply::Reply;

/// A model API on a port of loopback, which replies as its script says.
///
/// Requests to paths of none of the three dialects get a 404 and are not recorded.
#[derive(Debug)]
pub struct ModelApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
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
    received: Mutex<Vec<Received>>,
    is_closed: AtomicBool,
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
        let reply = (self.script.lock().expect("a script does not panic"))(&received);
        let mut all = self.received.lock().expect("no holder panics");
        all.push(received);
        (all.len(), reply)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

impl ModelApi {
    /// Starts an API that calls `script` for each request.
    ///
    /// # Errors
    /// No port of loopback can be bound.
    pub fn scripted(script: impl FnMut(&Received) -> Reply + Send + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            received: Mutex::new(Vec::new()),
            is_closed: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for stream in listener.incoming() {
                // The connection that woke this thread on drop is not served.
                if accepting.is_closed() {
                    return;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&accepting)) else {
                    continue;
                };
                // One thread per connection, since a silent reply must not delay the next request. The thread ends with its
                // connection or with the API.
                thread::spawn(move || connection::serve(stream, &shared));
            }
        });
        Ok(Self {
            address,
            shared,
            listening: Some(listening),
        })
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
        self.address
    }

    /// Returns the base URL for the dialects of OpenAI, and for the one of Anthropic if a client expects the version in it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Returns the requests received so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.shared
            .received
            .lock()
            .expect("no holder panics")
            .clone()
    }
}

impl Drop for ModelApi {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        // `accept` cannot be cancelled: a connection wakes the thread, which then reads the flag. An error means that the
        // listener is closed already.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            listening.join().unwrap_or_default();
        }
    }
}
