//! The relays of a run's programs, which `daemon-process` starts in networks of their own.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use daemon_lifecycle::NetworkUse;
use daemon_process::{Enclosure, Network, PortServer, Sandbox};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::list::EgressList;
use crate::relay::Relay;

/// The port of the proxy in the program's network, unless the list has it for something else.
const PROXY_PORT: u16 = 3128;
/// Uses that are not read yet.
const MAX_UNREAD: usize = 1024;

/// Variables that name the proxy of a program; some programs read only one spelling.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "https_proxy",
    "http_proxy",
    "all_proxy",
];
/// Variables that name the hosts for which no proxy is used.
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Hosts inside of the program's network.
const INSIDE: &str = "localhost,127.0.0.1,::1";

impl EgressList {
    /// Returns the ports of `127.0.0.1` in the program's network that are served for this list: first that of the proxy, then
    /// those of [`loopback_ports`](Self::loopback_ports); none for a list that permits nothing or everything.
    pub(crate) fn served_ports(&self) -> Vec<u16> {
        if self.is_empty() || self.is_open() {
            return Vec::new();
        }
        let loopback = self.loopback_ports();
        std::iter::once(self.proxy_port()).chain(loopback).collect()
    }

    fn proxy_port(&self) -> u16 {
        let loopback = self.loopback_ports();
        let free = (PROXY_PORT..).find(|port| !loopback.contains(port));
        free.unwrap_or(PROXY_PORT)
    }

    /// Returns the variables by which programs find the proxy; empty without a proxy.
    fn environment(&self) -> Vec<(&'static str, String)> {
        if self.served_ports().is_empty() {
            return Vec::new();
        }
        let proxy = format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.proxy_port());
        let proxies = PROXY_VARIABLES.map(|name| (name, proxy.clone()));
        let inside = NO_PROXY_VARIABLES.map(|name| (name, INSIDE.to_owned()));
        // The HTTP clients of Node.js use a proxy only on request.
        let node = ("NODE_USE_ENV_PROXY", "1".to_owned());
        proxies.into_iter().chain(inside).chain([node]).collect()
    }
}

/// What the programs of one run need to reach the hosts of a list.
#[derive(Debug, Default)]
pub struct RunEgress {
    /// Serves the relays; `None` where programs have the network of the host, or none at all.
    pub ports: Option<Arc<dyn PortServer>>,
    /// The variables by which programs find their relay.
    pub variables: Vec<(OsString, OsString)>,
    /// What the programs use; it ends when the run has ended. `None` without a relay.
    pub uses: Option<mpsc::Receiver<NetworkUse>>,
    tcp_ports: Option<Vec<u16>>,
}

impl RunEgress {
    /// Prepares the relays of programs in a sandbox. Call it on a Tokio runtime, which serves them.
    pub fn new(enclosure: Enclosure, list: &EgressList) -> Self {
        let ports = list.served_ports();
        let tcp_ports = list.ports().map(|ports| ports.into_iter().collect());
        if enclosure != Enclosure::Isolated(Network::Loopback) || ports.is_empty() {
            return Self {
                tcp_ports,
                ..Self::default()
            };
        }
        let (sender, uses) = mpsc::channel(MAX_UNREAD);
        let server = EgressServer {
            relay: Relay::new(list.clone(), sender),
            runtime: Handle::current(),
            ports,
        };
        let variables = list.environment().into_iter();
        Self {
            ports: Some(Arc::new(server)),
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            uses: Some(uses),
            tcp_ports,
        }
    }

    /// Restricts a sandbox without a network of its own to the ports of the list, of any host.
    pub fn restrict(&self, sandbox: &mut Sandbox) {
        if let Sandbox::Confined { ports, .. } = sandbox {
            ports.clone_from(&self.tcp_ports);
        }
    }

    /// Adds the variables to an environment, where they replace others of the same name.
    pub fn extend(&self, environment: &mut Vec<(OsString, OsString)>) {
        // `execve` accepts a name twice, and which of the two a program reads is up to its C library.
        environment.retain(|(name, _)| self.variables.iter().all(|(own, _)| own != name));
        environment.extend(self.variables.iter().cloned());
    }
}

/// Serves the programs of one run, each in a network of its own.
#[derive(Debug)]
struct EgressServer {
    relay: Relay,
    ports: Vec<u16>,
    runtime: Handle,
}

impl PortServer for EgressServer {
    fn ports(&self) -> Vec<u16> {
        self.ports.clone()
    }

    fn serve(&self, sockets: Vec<std::net::TcpListener>) -> Box<dyn Send + Sync> {
        let mut tasks = JoinSet::new();
        for (n, (port, socket)) in self.ports.iter().copied().zip(sockets).enumerate() {
            let relay = self.relay.clone();
            let serving = async move {
                // It fails only without file descriptors; the program then finds no proxy, as if the host did not respond.
                let Ok(listener) = TcpListener::from_std(socket) else {
                    tracing::warn!("the network of a run cannot be served");
                    return;
                };
                if n == 0 {
                    relay.serve(listener).await;
                } else {
                    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                    relay.forward(listener, to).await;
                }
            };
            tasks.spawn_on(serving, &self.runtime);
        }
        // Dropping the set aborts its tasks, which closes the sockets.
        Box::new(tasks)
    }
}

/// How long connections of programs that have ended may take to close.
const CLOSING: Duration = Duration::from_secs(2);

/// Returns the next use of the network after all programs have ended; `None` if there is no more.
pub async fn last_use(uses: &mut mpsc::Receiver<NetworkUse>) -> Option<NetworkUse> {
    // The sockets are closed on the runtime, which reports each use then. A relay that does not end must not hold up the run.
    timeout(CLOSING, uses.recv()).await.ok().flatten()
}
