//! MCP servers of runs, which the host starts: those that a policy can grant, with their secrets, and those of one run.

mod link;
mod run_servers;
mod shared;
mod start;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use daemon_process::{ProgramError, Supervisor, resolve_program};
use daemon_provider::inputs::{McpRegistration, McpServer};
use daemon_provider::tool_access::RunTools;

pub use shared::{McpHook, ServerStatus, SharedServers};

pub(crate) use run_servers::{
    Origin, Recorder, RegisteredServer, RunServers, ServerTimeouts, Terms, WAITING,
};

/// The program of a configured server cannot be run.
#[derive(Debug, thiserror::Error)]
#[error("mcp.{name}.command cannot be run")]
pub struct UnusableProgram {
    /// The name of the server.
    pub name: String,
    /// The cause.
    pub source: ProgramError,
}

/// One server with its secrets; `Debug` shows its name only.
#[derive(Clone, PartialEq, Eq)]
pub struct GrantedServer {
    /// How the server is started or reached.
    pub registration: McpRegistration,
    /// The secrets in the registration, which no record may contain.
    pub secrets: Vec<String>,
}

impl fmt::Debug for GrantedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GrantedServer({})", self.registration.name)
    }
}

impl GrantedServer {
    /// Returns the file of the server's program, looked up in `search` outside of `untrusted`; `None` for an HTTP server.
    ///
    /// # Errors
    /// If there is no such executable file.
    pub fn program(
        &self,
        search: &OsStr,
        untrusted: &[PathBuf],
    ) -> Result<Option<PathBuf>, ProgramError> {
        let McpServer::Stdio { command, .. } = &self.registration.server else {
            return Ok(None);
        };
        let untrusted: Vec<&Path> = untrusted.iter().map(PathBuf::as_path).collect();
        resolve_program(command, search, &untrusted).map(Some)
    }
}

/// The servers of a configuration, by name, and how those that are programs are started.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    known: BTreeMap<String, GrantedServer>,
    /// The supervisor of programs; `None` if no server is a program.
    pub(crate) supervisor: Option<Supervisor>,
    /// The directories that contain the programs, in the form of `PATH`.
    search: OsString,
    /// Directories that no program is taken from, such as the watched repositories.
    pub(crate) untrusted: Vec<PathBuf>,
}

impl Servers {
    /// Makes a set of servers that are no programs, or are not started here.
    pub fn new(known: BTreeMap<String, GrantedServer>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// Sets what starts programs. They are searched in `search`, and not below `untrusted`.
    ///
    /// # Errors
    /// If the program of a server does not exist.
    pub fn started_by(
        self,
        supervisor: Supervisor,
        search: &OsStr,
        untrusted: Vec<PathBuf>,
    ) -> Result<Self, UnusableProgram> {
        for (name, server) in &self.known {
            server
                .program(search, &untrusted)
                .map_err(|source| UnusableProgram {
                    name: name.clone(),
                    source,
                })?;
        }
        Ok(Self {
            supervisor: Some(supervisor),
            search: search.to_owned(),
            untrusted,
            ..self
        })
    }

    /// Returns the directories that contain the programs, in the form of `PATH`.
    pub fn search(&self) -> &OsStr {
        &self.search
    }

    /// Reports whether a server is a program.
    pub fn has_program(&self) -> bool {
        let mut servers = self.known.values();
        servers.any(|server| matches!(server.registration.server, McpServer::Stdio { .. }))
    }

    /// Returns the servers with these names; names that are not configured are left out.
    pub fn of(&self, names: &[String]) -> Vec<GrantedServer> {
        let found = names.iter().filter_map(|name| self.known.get(name));
        found.cloned().collect()
    }
}

/// Serves the tools of a run to its program. It does not end: the tools are served in the task of the run, so that they end with it
/// and need no owner of their own.
pub(crate) async fn serve(tools: &mut [Box<dyn RunTools>]) {
    let served = tools.iter_mut().map(|tools| tools.serve());
    futures_util::future::join_all(served).await;
    std::future::pending::<()>().await;
}
