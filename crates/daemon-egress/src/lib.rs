//! Lists of network hosts that a program may reach, and the HTTP proxy that enforces them.
//!
//! ```
//! use daemon_egress::{EgressList, NetworkUse, Relay};
//! use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//! use tokio::net::{TcpListener, TcpStream};
//! use tokio::sync::mpsc;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let list = EgressList::parse(&["api.example.com:443"])?;
//! let (uses, mut used) = mpsc::channel(64);
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let mut program = TcpStream::connect(listener.local_addr()?).await?;
//! let relay = tokio::spawn(async move { Relay::new(list, uses).serve(listener).await });
//!
//! program.write_all(b"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n").await?;
//! let mut status = [0; 12];
//! program.read_exact(&mut status).await?;
//! assert_eq!(&status, b"HTTP/1.1 403");
//! let attempt: NetworkUse = used.recv().await.unwrap();
//! assert_eq!((attempt.host.as_str(), attempt.allowed), ("169.254.169.254", false));
//! relay.abort();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! - An [`EgressList`] says which hosts and ports a program may reach.
//! - A [`Relay`] serves a listening socket as an HTTP proxy: `CONNECT`, and requests with an absolute URI. The socket can
//!   belong to another network namespace, whose programs then have no other way out.
//! - A [`RunEgress`] gives each program of a run a relay in the network namespace that `daemon-process` starts it in.
//! - A [`NetworkUse`] reports one attempt: the destination, whether it was allowed, and the bytes of its connection.
//!
//! # What this crate does not do
//!
//! It does not keep a program from using the network without the proxy: the sandbox does. It does not read what passes
//! through a tunnel, so a permitted host that serves other names is reachable under all of them. It has no UDP.
//!
//! # Guarantees
//!
//! - Names are resolved by the relay, and a connection goes to an address that was checked after it was resolved.
//! - Loopback, private, link-local and other addresses that are not public are refused unless the list has the address
//!   itself, also in the spellings of IPv6 that reach an IPv4 address.
//! - Every connection ends when the relay is dropped.

mod address;
mod counted;
mod destination;
mod list;
mod relay;
mod serving;
mod usage;

pub use daemon_lifecycle::NetworkUse;
pub use destination::{Resolver, SystemResolver};
pub use list::{EgressList, InvalidEntry};
pub use relay::Relay;
pub use serving::{RunEgress, last_use};
