//! Connections to destinations that the list permits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use daemon_lifecycle::NetworkUse;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::counted::Counted;
use crate::list::{DestinationHost, EgressList, EgressRefusal};
use crate::usage::Meter;

/// How long names are resolved and each connection is tried.
const CONNECT: Duration = Duration::from_secs(15);

/// Resolves the names that programs ask for.
#[async_trait::async_trait]
pub trait Resolver: Send + Sync {
    /// Returns the addresses of a name, in the order in which they are tried.
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait::async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((name, port)).await?.collect())
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum NoConnection {
    Refused(EgressRefusal),
    Unreachable(io::Error),
}

/// Opens connections for one program.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) list: Arc<EgressList>,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) uses: mpsc::Sender<NetworkUse>,
}

impl Connector {
    /// Connects to a permitted destination; an attempt without a connection is reported before this returns.
    pub(crate) async fn connect(
        &self,
        host: &DestinationHost,
        port: u16,
    ) -> Result<Counted, NoConnection> {
        match self.open(host, port).await {
            Ok(stream) => {
                let meter = Meter::new(host.to_string(), port, self.uses.clone());
                Ok(Counted::new(stream, meter))
            }
            Err(failure) => {
                let attempt = NetworkUse {
                    host: host.to_string(),
                    port,
                    allowed: matches!(failure, NoConnection::Unreachable(_)),
                    error: Some(match &failure {
                        NoConnection::Refused(refusal) => refusal.to_string(),
                        NoConnection::Unreachable(error) => error.to_string(),
                    }),
                    sent: 0,
                    received: 0,
                };
                // A full channel slows the program down, so that it cannot ask faster than its requests are recorded. A
                // closed one means that the run has ended.
                if self.uses.send(attempt).await.is_err() {
                    tracing::debug!("a refused connection was not recorded");
                }
                Err(failure)
            }
        }
    }

    async fn open(&self, host: &DestinationHost, port: u16) -> Result<TcpStream, NoConnection> {
        if !self.list.permits(host, port) {
            return Err(NoConnection::Refused(EgressRefusal::NotListed));
        }
        let found = match host {
            DestinationHost::Address(address) => vec![SocketAddr::new(*address, port)],
            DestinationHost::Name(name) => within(self.resolver.resolve(name, port)).await?,
        };
        // The connection goes to the address that was checked. A second look-up could return another one.
        let (permitted, others): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|found| self.list.permits_address(found.ip(), port));
        let mut last = match others.first() {
            Some(other) => NoConnection::Refused(EgressRefusal::NotPublic(other.ip())),
            None => NoConnection::Unreachable(io::Error::other("the name has no address")),
        };
        for address in permitted {
            match within(TcpStream::connect(SocketAddr::new(address.ip(), port))).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

async fn within<T>(attempt: impl Future<Output = io::Result<T>>) -> Result<T, NoConnection> {
    match timeout(CONNECT, attempt).await {
        Ok(result) => result.map_err(NoConnection::Unreachable),
        Err(_) => Err(NoConnection::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}
