//! A model API on loopback.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::connection;
use crate::dialect::Dialect;
use crate::reply::Reply;

/// A model API on a port of loopback, which answers what its script says.
///
/// Requests to other addresses than those of its three dialects are answered with 404 and are not recorded.
#[derive(Debug)]
pub struct ModelApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// A request that the API received.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its language.
    pub dialect: Dialect,
    /// The key it came with, without the word before it.
    pub key: Option<String>,
    /// Its body.
    pub body: Value,
}

impl Received {
    /// Returns the names of the tools that it offers.
    pub fn tools(&self) -> Vec<String> {
        self.dialect.tools(&self.body)
    }

    /// Returns the results of tools that it holds, oldest first.
    pub fn tool_results(&self) -> Vec<String> {
        self.dialect.tool_results(&self.body)
    }
}

/// Decides what is answered to a request.
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
    /// Records a request and asks the script; returns the number of the request from 1, too.
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
    /// Starts an API that answers what `script` says.
    ///
    /// # Errors
    /// No port of loopback could be had.
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
                if accepting.is_closed() {
                    return;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&accepting)) else {
                    continue;
                };
                // A thread each: a silent answer must not hold up the next. It ends with its connection or with the API.
                thread::spawn(move || connection::serve(stream, &shared));
            }
        });
        Ok(Self {
            address,
            shared,
            listening: Some(listening),
        })
    }

    /// Starts an API that gives these answers in turn, and 500 when there are no more.
    ///
    /// # Errors
    /// As for [`ModelApi::scripted`].
    pub fn replaying(replies: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let mut replies: std::collections::VecDeque<Reply> = replies.into_iter().collect();
        Self::scripted(move |_| {
            let over = || Reply::error(500, "the script is over");
            replies.pop_front().unwrap_or_else(over)
        })
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of its API for OpenAI's dialects, and for Anthropic's where a client wants the version in it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// Returns what it received so far, in order.
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
        // Wakes the thread that accepts, which then sees that it is over; it may be gone already.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            listening.join().unwrap_or_default();
        }
    }
}
