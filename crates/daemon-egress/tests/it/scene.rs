//! A relay, its clients, and servers to reach.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use daemon_egress::{EgressList, NetworkUse, Relay, Resolver, SystemResolver};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// Resolves `api.test` to loopback and other names as the system does.
struct Names;

#[async_trait::async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        match name {
            "api.test" => Ok(vec![(Ipv4Addr::LOCALHOST, port).into()]),
            "unknown.test" => Err(io::Error::other("no such host")),
            _ => SystemResolver::default().resolve(name, port).await,
        }
    }
}

/// A relay that serves a port.
pub(crate) struct Scene {
    relay: Relay,
    proxy: SocketAddr,
    uses: mpsc::Receiver<NetworkUse>,
    tasks: JoinSet<()>,
}

impl Scene {
    pub(crate) async fn new(entries: &[&str]) -> Self {
        let list = EgressList::parse(entries).expect("loopback works");
        let (sender, uses) = mpsc::channel(64);
        let relay = Relay::with_resolver(list, sender, Arc::new(Names));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback works");
        let proxy = listener.local_addr().expect("loopback works");
        let serving = relay.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            serving.serve(listener).await;
        });
        Self {
            relay,
            proxy,
            uses,
            tasks,
        }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::of(self.proxy).await
    }

    /// Returns a client of a listener whose connections go to a port of loopback.
    pub(crate) async fn forwarded(&mut self, port: u16) -> Client {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback works");
        let address = listener.local_addr().expect("loopback works");
        let relay = self.relay.clone();
        self.tasks.spawn(async move {
            relay
                .forward(listener, (Ipv4Addr::LOCALHOST, port).into())
                .await;
        });
        Client::of(address).await
    }

    /// Returns the number of uses that can still be reported without being read.
    pub(crate) fn unused_capacity(&self) -> usize {
        self.uses.capacity()
    }

    pub(crate) async fn next_use(&mut self) -> NetworkUse {
        let next = timeout(SOON, self.uses.recv()).await;
        next.expect("it is reported").expect("the relay serves")
    }

    /// Ends the relay, and returns what it reports after that.
    pub(crate) async fn no_more_uses(mut self) -> Option<NetworkUse> {
        drop(self.relay);
        timeout(SOON, self.uses.recv())
            .await
            .expect("the channel is closed")
    }

    pub(crate) fn stop(&mut self) {
        self.tasks.abort_all();
    }
}

/// A program that uses the proxy.
pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
    length: usize,
}

impl Client {
    async fn of(address: SocketAddr) -> Self {
        let stream = BufReader::new(TcpStream::connect(address).await.expect("loopback works"));
        Self { stream, length: 0 }
    }

    /// Sends a request and returns the status of its response.
    pub(crate) async fn ask(&mut self, request: &str) -> u16 {
        self.stream
            .write_all(request.as_bytes())
            .await
            .expect("loopback works");
        self.status().await
    }

    pub(crate) async fn status(&mut self) -> u16 {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(
                timeout(SOON, self.stream.read_u8())
                    .await
                    .expect("loopback works")
                    .expect("loopback works"),
            );
        }
        let head = String::from_utf8(head)
            .expect("loopback works")
            .to_lowercase();
        let length = head.split("content-length: ").nth(1);
        self.length = length.map_or(0, |rest| {
            rest.lines()
                .next()
                .expect("loopback works")
                .parse()
                .expect("loopback works")
        });
        head.split(' ')
            .nth(1)
            .expect("loopback works")
            .parse()
            .expect("loopback works")
    }

    pub(crate) async fn body(&mut self) -> String {
        let mut body = vec![0; self.length];
        self.stream
            .read_exact(&mut body)
            .await
            .expect("loopback works");
        String::from_utf8(body).expect("loopback works")
    }
}

/// A server on loopback; dropping it ends it.
pub(crate) struct Served {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    received: watch::Receiver<usize>,
    _tasks: JoinSet<()>,
}

#[derive(Clone, Copy)]
enum Kind {
    Echo,
    Http,
    Silent,
}

impl Served {
    /// Returns what it receives.
    pub(crate) async fn echo() -> Self {
        Self::new(Kind::Echo).await
    }

    /// Responds to each request with the request.
    pub(crate) async fn http() -> Self {
        Self::new(Kind::Http).await
    }

    /// Reads and never responds.
    pub(crate) async fn silent() -> Self {
        Self::new(Kind::Silent).await
    }

    async fn new(kind: Kind) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback works");
        let port = listener.local_addr().expect("loopback works").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let (sender, received) = watch::channel(0);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                clients.spawn(respond(kind, stream, sender.clone()));
            }
        });
        Self {
            port,
            connections,
            received,
            _tasks: tasks,
        }
    }

    pub(crate) fn n_connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until a number of connections has sent something.
    pub(crate) async fn received(&self, n: usize) {
        let mut received = self.received.clone();
        timeout(SOON, received.wait_for(|so_far| *so_far >= n))
            .await
            .expect("loopback works")
            .expect("loopback works");
    }
}

async fn respond(kind: Kind, mut stream: TcpStream, received: watch::Sender<usize>) {
    let mut buffer = vec![0; 64 << 10];
    let mut request = Vec::new();
    let mut is_first = true;
    while let Ok(n) = stream.read(&mut buffer).await {
        if n == 0 {
            return;
        }
        if std::mem::take(&mut is_first) {
            received.send_modify(|so_far| *so_far += 1);
        }
        request.extend_from_slice(&buffer[..n]);
        let reply = match kind {
            Kind::Silent => continue,
            Kind::Echo => std::mem::take(&mut request),
            Kind::Http if !is_whole(&request) => continue,
            Kind::Http => {
                let length = request.len();
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nKeep-Alive: x\r\n\r\n");
                [head.into_bytes(), std::mem::take(&mut request)].concat()
            }
        };
        if stream.write_all(&reply).await.is_err() {
            return;
        }
    }
}

/// Reports whether a request has all of its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(0, |rest| {
        rest.lines()
            .next()
            .expect("loopback works")
            .parse()
            .expect("loopback works")
    });
    body.len() >= length
}
