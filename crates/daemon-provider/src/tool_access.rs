//! The seam to what serves the tools of a run to its program.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::inputs::McpServer;
use crate::{Grants, RunRequest};
use async_trait::async_trait;

/// Gives the programs of runs access to what their runs are granted; the host implements it over its control protocol.
pub trait ToolAccess: Send + Sync {
    /// Opens the access of one run, which ends when the value is dropped; `None` if the host does not listen.
    fn open(&self, grants: Arc<dyn Grants>, sandbox_level: u8) -> Option<Box<dyn RunTools>>;

    /// Returns a server that is a program and forwards to a server over HTTP, whose address and headers are in its environment.
    ///
    /// # Errors
    /// If the path of the program is not UTF-8.
    fn forwarder(&self, url: &str, headers: &BTreeMap<String, String>) -> io::Result<McpServer>;
}

/// The name of the host's own server in the configuration of a program.
pub const OWN_SERVER: &str = "daemon";

/// The tools that one access serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedTools<'a> {
    /// The host's own tools, and those of granted servers.
    OfHost,
    /// Those of one server that the caller of the run registered under this name, by the server's own names.
    OfServer(&'a str),
    /// The tools of an agent, and nothing else.
    OfAgent,
}

/// The access of one run.
#[async_trait]
pub trait RunTools: Send + Sync {
    /// Returns the token by which the host recognises the run; no record may contain it.
    fn secret(&self) -> &str;

    /// Adds the server of the tools to the request of a run; `directory` is one of the run's own, for pipes.
    ///
    /// # Errors
    /// If a pipe cannot be made, or a path is not UTF-8.
    fn mount(
        &mut self,
        request: &mut RunRequest,
        directory: &Path,
        served: ServedTools<'_>,
    ) -> io::Result<()>;

    /// Serves the run; never returns, and is dropped when the run has ended.
    async fn serve(&mut self);
}
