//! A listener on loopback with a thread for each connection.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::request::{self, HttpRequest};

/// Whether the listener is closed; a connection that waits is woken then.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl Closing {
    pub(crate) fn is_closed(&self) -> bool {
        *self.is_closed.lock().expect("no holder panics")
    }

    /// Waits, and returns whether the listener was closed meanwhile.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let is_closed = self.is_closed.lock().expect("no holder panics");
        let waited = self
            .changed
            .wait_timeout_while(is_closed, time, |is_closed| !*is_closed);
        *waited.expect("no holder panics").0
    }

    fn close(&self) {
        *self.is_closed.lock().expect("no holder panics") = true;
        self.changed.notify_all();
    }
}

/// A port of loopback. Dropping it closes the port and wakes the connections that wait.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    closing: Arc<Closing>,
    accepting: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens on this port, or on a free one for port 0, and calls `serve` with each request.
    pub(crate) fn start(
        port: u16,
        serve: impl Fn(HttpRequest, &mut TcpStream, &Closing) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let closing = Arc::new(Closing::default());
        let (serve, of_thread) = (Arc::new(serve), Arc::clone(&closing));
        let accepting = thread::spawn(move || {
            for stream in listener.incoming() {
                // The connection that woke this thread on drop is not served.
                if of_thread.is_closed() {
                    return;
                }
                let (Ok(mut stream), closing) = (stream, Arc::clone(&of_thread)) else {
                    continue;
                };
                let serve = Arc::clone(&serve);
                // One thread per connection, since a silent reply must not delay the next request. The thread ends with its
                // connection or with the listener.
                thread::spawn(move || {
                    let Ok(reader) = stream.try_clone() else {
                        return;
                    };
                    // A client that disconnects early is not an error: tests stop programs in the middle.
                    if let Ok(Some(request)) = request::read(BufReader::new(reader)) {
                        serve(request, &mut stream, &closing).unwrap_or_default();
                    }
                });
            }
        });
        Ok(Self {
            address,
            closing,
            accepting: Some(accepting),
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.closing.close();
        // `accept` cannot be cancelled: a connection wakes the thread, which then reads the flag. An error means that the
        // listener is closed already.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            accepting.join().unwrap_or_default();
        }
    }
}
