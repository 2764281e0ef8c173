//! Starts the servers of a run, or connects to them.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use daemon_mcp::{Endpoint, Program, ToolClient};
use daemon_process::{ChildLimits, Launch, Sandbox, Supervisor, resolve_program};
use daemon_provider::inputs::McpServer;
use daemon_provider::{Companion, NetworkUse};
use daemon_records::error::chain;
use tokio::sync::mpsc;

use super::run_servers::{Origin, RegisteredServer, Terms};
use super::{GrantedServer, Servers};

/// Starts a server or connects to it. `report` receives what the server uses of the network.
pub(super) async fn connect(
    server: &GrantedServer,
    terms: &Terms,
    report: &mut (dyn FnMut(mpsc::Receiver<NetworkUse>) + Send),
) -> Result<ToolClient, String> {
    let timeouts = terms.timeouts;
    let connected = match &server.registration.server {
        McpServer::Http { url, headers } => {
            let endpoint = Endpoint {
                url: url.clone(),
                headers: headers.clone(),
                proxy: None,
            };
            ToolClient::connect(&endpoint, timeouts.begin).await
        }
        McpServer::Stdio { command, args, env } => {
            let program = Program {
                command: command.clone(),
                args: args.clone(),
                env: env.clone(),
            };
            let name = &server.registration.name;
            // With a marker of its own, the end of the server does not end the other processes of the run.
            let marker = format!("{}/mcp-{name}", terms.run);
            let (supervisor, launch) = match &terms.origin {
                Origin::Granted {
                    servers,
                    environment,
                    directory,
                    ..
                } => {
                    let directory = directory.join(name);
                    granted(&program, marker, servers, environment, directory)?
                }
                Origin::Registered(registered) => {
                    let Companion {
                        supervisor,
                        launch,
                        network,
                    } = confined(&program, marker, registered)?;
                    if let Some(uses) = network {
                        report(uses);
                    }
                    (supervisor, launch)
                }
            };
            ToolClient::start(&supervisor, launch, timeouts.begin).await
        }
    };
    let client = connected.map_err(|error| chain(&error))?;
    Ok(client.with_timeout(timeouts.call))
}

/// Returns how a server of the configuration is started: in a directory of its own, which is outside of every run and repository.
fn granted(
    program: &Program,
    marker: String,
    servers: &Servers,
    environment: &[(OsString, OsString)],
    directory: PathBuf,
) -> Result<(Supervisor, Launch), String> {
    let supervisor = servers.supervisor.clone();
    let supervisor = supervisor.ok_or("this host starts no programs")?;
    // A checkout could configure the server, so that it never starts there.
    create_private(&directory)?;
    let mut env = environment.to_vec();
    env.push(("HOME".into(), directory.clone().into()));
    let base = Launch {
        program: program.command.clone().into(),
        args: Vec::new(),
        env,
        disk: vec![directory.clone()],
        cwd: directory,
        stdin: Vec::new(),
        marker: String::new(),
        limits: ChildLimits::default(),
        sandbox: Sandbox::Contained,
        ports: None,
    };
    let untrusted: Vec<&Path> = servers.untrusted.iter().map(PathBuf::as_path).collect();
    let launch = program.launch(&base, marker, &untrusted);
    Ok((supervisor, launch.map_err(|error| chain(&error))?))
}

/// Returns how a server of the run's caller is started: as the program of the run is, but in a home of its own, which the run
/// cannot read.
fn confined(
    program: &Program,
    marker: String,
    registered: &RegisteredServer,
) -> Result<Companion, String> {
    let request = &registered.request;
    // An absolute path was chosen by the person who registered the server. A name must not be found in the worktree, where the
    // repository would choose the program.
    let forbidden: &[&Path] = if Path::new(&program.command).is_absolute() {
        &[]
    } else {
        &[&request.worktree]
    };
    let search = match program.env.get("PATH") {
        Some(path) => Some(OsStr::new(path)),
        None => request
            .environment
            .get(OsStr::new("PATH"))
            .map(OsString::as_os_str),
    };
    // Resolved first, since the sandbox has to contain the program.
    let resolved = resolve_program(&program.command, search.unwrap_or_default(), forbidden);
    let resolved = resolved.map_err(|error| chain(&error))?;
    create_private(&request.home)?;
    let temporary = request.environment.get(OsStr::new("TMPDIR"));
    temporary.map_or(Ok(()), |path| create_private(Path::new(path)))?;
    let companion = registered.provider.companion(request, &resolved);
    let companion = companion.map_err(|error| chain(&error))?;
    let launch = program.launch(&companion.launch, marker, forbidden);
    Ok(Companion {
        launch: launch.map_err(|error| chain(&error))?,
        ..companion
    })
}

/// Creates a directory that no other user can read.
fn create_private(directory: &Path) -> Result<(), String> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(|error| format!("its directory `{}`: {error}", directory.display()))
}
