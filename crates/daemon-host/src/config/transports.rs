//! The configuration of the transports of the control protocol.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;

/// The control socket.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uds {
    /// The path of the socket, relative to the home.
    pub path: PathBuf,
}

impl Default for Uds {
    fn default() -> Self {
        Self {
            path: PathBuf::from("run/daemon.sock"),
        }
    }
}

/// The control protocol over TCP. Each client sends a token with `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// The address of the listener, such as `127.0.0.1:7778`; by default the host does not listen on TCP.
    pub listen: Option<String>,
    /// Whether the address may be another one than a loopback address. The traffic is not encrypted.
    pub public: bool,
}

/// Finds an invalid address.
pub(super) fn faults(tcp: &Tcp) -> Option<ConfigFault> {
    let listen = tcp.listen.as_ref()?;
    listen.parse::<SocketAddr>().err()?;
    let message = format!(
        "`tcp.listen` is `{listen}`, which is no address with a port, such as `127.0.0.1:7778`"
    );
    Some(ConfigFault::of_value(&["tcp", "listen"], message))
}
