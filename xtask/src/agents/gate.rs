//! A proxy that refuses every request, and records the targets.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context as _, Result};

/// A proxy on a port of loopback that refuses every request.
pub(crate) struct RefusingProxy {
    address: SocketAddr,
    asked: Arc<Mutex<BTreeSet<String>>>,
}

impl RefusingProxy {
    /// Binds the port; it stays open until this process ends.
    pub(crate) fn open() -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port of loopback")?;
        let gate = Self {
            address: listener.local_addr()?,
            asked: Arc::default(),
        };
        let asked = Arc::clone(&gate.asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that disconnects before the reply has not connected to its target either.
                if let Ok(Some(target)) = refuse(stream) {
                    asked.lock().expect("no holder panics").insert(target);
                }
            }
        });
        Ok(gate)
    }

    /// Returns the variables that send all traffic except to loopback to this proxy. Programs read either case.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let proxy = format!("http://{}", self.address);
        let loopback = "127.0.0.1,localhost";
        vec![
            ("HTTP_PROXY", proxy.clone()),
            ("HTTPS_PROXY", proxy.clone()),
            ("http_proxy", proxy.clone()),
            ("https_proxy", proxy),
            ("NO_PROXY", loopback.to_owned()),
            ("no_proxy", loopback.to_owned()),
        ]
    }

    /// Returns the targets of the refused requests, each once.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("no holder panics");
        asked.iter().cloned().collect()
    }
}

/// Refuses one request, and returns its target.
fn refuse(mut stream: TcpStream) -> std::io::Result<Option<String>> {
    let mut line = String::new();
    BufReader::new(stream.try_clone()?).read_line(&mut line)?;
    stream.write_all(
        b"HTTP/1.1 403 Loopback only\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    )?;
    Ok(line.split(' ').nth(1).map(str::to_owned))
}
