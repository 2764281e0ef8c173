//! The proxy: `CONNECT` and requests with an absolute URI, for one program.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use daemon_lifecycle::NetworkUse;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, uri};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::counted::Counted;
use crate::destination::{Connector, NoConnection, Pace, Resolver, SystemResolver};
use crate::list::{DestinationHost, EgressList};

/// How many connections of one program are served at a time; more wait.
const MAX_CONNECTIONS: usize = 256;
/// The part of the open files of the host that the connections of all programs may take is one of this many.
const FILES_SHARE: u64 = 4;
/// The part of all connections that one program may have is one of this many.
const PROGRAM_SHARE: usize = 4;
/// A connection of a program and the one to its destination.
const FILES_PER_CONNECTION: u64 = 2;

/// How many connections of all programs are served at a time.
static ALL_CONNECTIONS: LazyLock<(usize, Semaphore)> = LazyLock::new(|| {
    let most = most_connections(daemon_process::most_open_files());
    (most, Semaphore::new(most))
});

/// Returns how many connections of all programs may be open with a limit on open files.
fn most_connections(open_files: Option<u64>) -> usize {
    let share = open_files.unwrap_or(u64::MAX) / FILES_SHARE / FILES_PER_CONNECTION;
    usize::try_from(share).map_or(Semaphore::MAX_PERMITS, |share| {
        share.clamp(PROGRAM_SHARE, Semaphore::MAX_PERMITS)
    })
}
/// How long a program may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
const MAX_HEAD_BYTES: usize = 32 << 10;
/// How long to wait after `accept` failed, which it does while the host has no file descriptor left.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// Headers that concern one connection and are not forwarded (RFC 9110, section 7.6.1).
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

type Body = Either<Incoming, Full<Bytes>>;

/// The HTTP proxy of one program.
///
/// It enforces an [`EgressList`] and reports each attempt as a [`NetworkUse`].
#[derive(Clone)]
pub struct Relay {
    connector: Connector,
    places: Arc<Semaphore>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("list", &self.connector.list)
            .finish_non_exhaustive()
    }
}

impl Relay {
    /// Returns a proxy that resolves names as the operating system does.
    ///
    /// A connection has a place in `uses` from its beginning, so that each one is reported: the capacity has to exceed the number
    /// of open connections, and a receiver that is slow slows the program down.
    pub fn new(list: EgressList, uses: mpsc::Sender<NetworkUse>) -> Self {
        Self::with_resolver(list, uses, Arc::new(SystemResolver::default()))
    }

    /// Returns a proxy with a resolver of the caller.
    pub fn with_resolver(
        list: EgressList,
        uses: mpsc::Sender<NetworkUse>,
        resolver: Arc<dyn Resolver>,
    ) -> Self {
        Self {
            connector: Connector {
                list: Arc::new(list),
                resolver,
                uses,
                pace: Pace::default(),
            },
            places: Arc::new(Semaphore::new(
                MAX_CONNECTIONS.min(ALL_CONNECTIONS.0 / PROGRAM_SHARE),
            )),
        }
    }

    /// Serves a listener as an HTTP proxy, until the future is dropped, which closes all connections.
    pub async fn serve(&self, listener: TcpListener) -> Infallible {
        self.accept(listener, Self::serve_client).await
    }

    /// Connects each client of a listener with one address, for programs that use no proxy for loopback addresses. The
    /// list has to permit the address. Ends as [`serve`](Self::serve) does.
    pub async fn forward(&self, listener: TcpListener, to: SocketAddr) -> Infallible {
        self.accept(listener, move |relay, stream| {
            relay.forward_client(stream, to)
        })
        .await
    }

    async fn accept<F>(
        &self,
        listener: TcpListener,
        serve: impl Fn(Self, TcpStream) -> F,
    ) -> Infallible
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut clients = JoinSet::new();
        loop {
            while clients.try_join_next().is_some() {}
            let place = Arc::clone(&self.places).acquire_owned().await;
            let (Ok(place), Ok(shared)) = (place, ALL_CONNECTIONS.1.acquire().await) else {
                // Nothing closes the semaphores, and without a place no client may be served.
                std::future::pending::<()>().await;
                continue;
            };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let client = serve(self.clone(), stream);
                    clients.spawn(async move {
                        client.await;
                        drop((place, shared));
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "accepting a connection of a run failed");
                    tokio::time::sleep(AFTER_FAILED_ACCEPT).await;
                }
            }
        }
    }

    async fn forward_client(self, mut stream: TcpStream, to: SocketAddr) {
        if let Ok(mut destination) = self
            .connector
            .connect(&DestinationHost::Address(to.ip()), to.port())
            .await
        {
            log_end(copy_bidirectional(&mut stream, &mut destination).await);
        }
    }

    async fn serve_client(self, stream: TcpStream) {
        let opened = Opened::default();
        let service = service_fn(|request| async {
            let response = self.respond(request, &opened).await;
            Ok::<_, Infallible>(response)
        });
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection of a run to its proxy failed");
        }
        let tunnel = opened.tunnel.into_inner();
        if let Some(Tunnel {
            client,
            mut destination,
        }) = tunnel.unwrap_or_else(PoisonError::into_inner)
            && let Ok(client) = client.await
        {
            log_end(copy_bidirectional(&mut TokioIo::new(client), &mut destination).await);
        }
    }

    async fn respond(&self, mut request: Request<Incoming>, opened: &Opened) -> Response<Body> {
        let (host, port) = match destination(request.method(), request.uri()) {
            Ok(destination) => destination,
            Err(problem) => return text(StatusCode::BAD_REQUEST, problem.to_owned()),
        };
        let destination = match self.connector.connect(&host, port).await {
            Ok(stream) => stream,
            Err(NoConnection::Refused(refusal)) => {
                return text(StatusCode::FORBIDDEN, format!("{host}:{port}: {refusal}"));
            }
            Err(NoConnection::Unreachable(error)) => {
                return text(StatusCode::BAD_GATEWAY, format!("{host}:{port}: {error}"));
            }
        };
        if request.method() == Method::CONNECT {
            let client = hyper::upgrade::on(&mut request);
            let tunnel = Tunnel {
                client,
                destination,
            };
            *opened.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
            return Response::new(Either::Right(Full::default()));
        }
        match forward_request(request, destination, opened).await {
            Ok(response) => response.map(Either::Left),
            Err(error) => text(StatusCode::BAD_GATEWAY, format!("{host}:{port}: {error}")),
        }
    }
}

/// The connections to destinations that one client has; they end with its own.
#[derive(Default)]
struct Opened {
    tunnel: Mutex<Option<Tunnel>>,
    exchanges: Mutex<JoinSet<hyper::Result<()>>>,
}

impl Opened {
    fn keep(&self, exchange: impl Future<Output = hyper::Result<()>> + Send + 'static) {
        let mut exchanges = self
            .exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // The sender or the reader of the response gets its error too, so a result has no further use.
        while exchanges.try_join_next().is_some() {}
        exchanges.spawn(exchange);
    }
}

/// A `CONNECT` request whose destination is connected.
struct Tunnel {
    client: OnUpgrade,
    destination: Counted,
}

/// Returns the destination of a request to a proxy.
fn destination(method: &Method, uri: &Uri) -> Result<(DestinationHost, u16), &'static str> {
    let default_port = match uri.scheme() {
        None if method == Method::CONNECT => None,
        Some(scheme) if *scheme == uri::Scheme::HTTP => Some(80),
        Some(_) => return Err("the proxy forwards `http` only; use CONNECT for other schemes"),
        None => return Err("this is the proxy of a run: send a request with an absolute URI"),
    };
    let authority = uri.authority().ok_or("the request names no host")?;
    if authority.as_str().contains('@') {
        return Err("the request has a user name in its URI");
    }
    let port = match authority.port() {
        Some(port) => Some(port.as_u16()),
        None => default_port,
    };
    let port = port
        .filter(|port| *port > 0)
        .ok_or("the request names no port")?;
    let host = DestinationHost::parse(authority.host())
        .ok_or("the host is neither a name nor an address")?;
    Ok((host, port))
}

/// Sends a request with an absolute URI to its host, and returns the response as its body arrives.
async fn forward_request(
    request: Request<Incoming>,
    destination: Counted,
    opened: &Opened,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut parts, body) = request.into_parts();
    let host = parts
        .uri
        .authority()
        .map(|authority| authority.as_str().to_owned());
    let path = parts.uri.path_and_query().cloned();
    // The destination receives the name that was checked, because a `Host` header can have another.
    if let Some(host) = host.and_then(|host| HeaderValue::from_str(&host).ok()) {
        parts.headers.insert(header::HOST, host);
    }
    parts.uri = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    remove_connection_headers(&mut parts.headers);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(destination)).await?;
    opened.keep(connection);
    let mut response = sender
        .send_request(Request::from_parts(parts, body))
        .await?;
    remove_connection_headers(response.headers_mut());
    Ok(response)
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
}

fn text(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(text + "\n")));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

fn log_end(result: std::io::Result<(u64, u64)>) {
    if let Err(error) = result {
        tracing::debug!(%error, "a connection of a run was cut");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_of_all_programs_leave_most_open_files_to_the_host() {
        for (open_files, most) in [
            (Some(1_024), 128),
            (Some(524_288), 65_536),
            (Some(10), PROGRAM_SHARE),
            (None, Semaphore::MAX_PERMITS),
        ] {
            assert_eq!(most_connections(open_files), most, "{open_files:?}");
        }
    }
}
