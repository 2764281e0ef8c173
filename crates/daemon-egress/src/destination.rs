//! Connections to destinations that the list permits.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use daemon_lifecycle::NetworkUse;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

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

/// The look-ups of one resolver at a time.
const LOOK_UPS: usize = 4;
/// The look-ups of all resolvers at a time. Each occupies one of the runtime's threads for blocking calls, of which Tokio
/// starts 512, and the rest of the host needs them too.
static ALL_LOOK_UPS: Semaphore = Semaphore::const_new(128);

/// The resolver of the operating system, for one program; a clone shares its limit of look-ups at a time.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(LOOK_UPS)),
        }
    }
}

impl SystemResolver {
    /// Runs a look-up on a thread for blocking calls. It keeps its place until it has ended, also if this future is dropped.
    async fn blocking<T: Send + 'static>(
        &self,
        look_up: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let shared = ALL_LOOK_UPS.acquire().await;
        tokio::task::spawn_blocking(move || {
            let _places = (place, shared);
            look_up()
        })
        .await?
    }
}

#[async_trait::async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let name = name.to_owned();
        self.blocking(move || Ok((name, port).to_socket_addrs()?.collect()))
            .await
    }
}

/// Attempts that a program may make at once.
const BURST: u32 = 1_000;
/// The time between further attempts. Each attempt is a line in the folder of the run, which has to stay small.
const INTERVAL: Duration = Duration::from_millis(20);

/// The times of the attempts of one program; a clone shares them.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// When the next attempt would be due without a burst.
    due: Arc<Mutex<Instant>>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            due: Arc::new(Mutex::new(Instant::now())),
        }
    }
}

impl Pace {
    /// Waits until one more attempt is permitted.
    async fn wait(&self) {
        let now = Instant::now();
        let due = {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            *due = (*due).max(now) + INTERVAL;
            *due
        };
        sleep_until(due.checked_sub(INTERVAL * BURST).unwrap_or(now)).await;
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
    pub(crate) pace: Pace,
}

impl Connector {
    /// Connects to a permitted destination; an attempt without a connection is reported before this returns.
    pub(crate) async fn connect(
        &self,
        host: &DestinationHost,
        port: u16,
    ) -> Result<Counted, NoConnection> {
        self.pace.wait().await;
        // The place of the report is reserved before the attempt, so that none is made that is not recorded. A channel that is
        // full makes the program wait.
        let Ok(report) = self.uses.clone().reserve_owned().await else {
            return Err(NoConnection::Unreachable(io::Error::other(
                "the run has ended",
            )));
        };
        match self.open(host, port).await {
            Ok(stream) => {
                let meter = Meter::new(host.to_string(), port, report);
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
                report.send(attempt);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc as threads;

    #[tokio::test(start_paused = true)]
    async fn attempts_after_the_first_thousand_are_spread_in_time() {
        let pace = Pace::default();
        let start = Instant::now();
        for _ in 0..BURST {
            pace.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..50 {
            pace.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        let later = Instant::now();
        for _ in 0..BURST {
            pace.wait().await;
        }
        assert_eq!(later.elapsed(), Duration::ZERO, "after a pause");
    }

    #[tokio::test]
    async fn look_ups_that_hang_occupy_few_threads_also_when_they_are_given_up() {
        let resolver = SystemResolver::default();
        let (begun, n_begun) = threads::channel();
        let mut releases = Vec::new();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..LOOK_UPS * 2 {
            let (release, released) = threads::channel::<()>();
            releases.push(release);
            let (resolver, begun) = (resolver.clone(), begun.clone());
            waiting.spawn(async move {
                resolver
                    .blocking(move || {
                        begun.send(()).map_err(io::Error::other)?;
                        // It ends when the test drops the other end.
                        released.recv().unwrap_or_default();
                        Ok(())
                    })
                    .await
            });
        }
        while resolver.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        waiting.abort_all();
        while waiting.join_next().await.is_some() {}
        assert_eq!(resolver.places.available_permits(), 0);
        drop(releases);
        let all = u32::try_from(LOOK_UPS).unwrap();
        drop(resolver.places.acquire_many(all).await.unwrap());
        drop(begun);
        assert_eq!(n_begun.iter().count(), LOOK_UPS);
    }
}
