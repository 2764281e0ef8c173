//! Tests the MCP server with clients from npm: the command line of the inspector and the TypeScript SDK.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell;

/// The packages, in their newest version, since that is what editors and agents use.
const PACKAGES: [&str; 2] = [
    "@modelcontextprotocol/inspector",
    "@modelcontextprotocol/sdk",
];

/// Installs the clients into a scratch folder, and lists and calls the tools of a running host with them.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    if !shell::is_present("npm", "--version") {
        println!("SKIPPED: no `npm`, so `daemon-run mcp` was not tested with other clients");
        return Ok(ExitCode::SUCCESS);
    }
    shell::run(&mut shell::cargo(
        root,
        &["build", "--locked", "--package", "daemon-run"],
    ))?;
    let scratch = Scratch::new(root)?;
    install(&scratch.path)?;
    let host = HostProcess::start(root, &scratch.path)?;
    inspect(&host, &scratch.path)?;
    run_sdk(&host, &scratch.path)?;
    println!("inspector: both clients listed, called and read everything");
    Ok(ExitCode::SUCCESS)
}

/// Installs the clients, and prints their versions.
fn install(scratch: &Path) -> Result<()> {
    println!("downloading {} from npm", PACKAGES.join(" and "));
    let mut install = npm(scratch, "npm");
    install.args([
        "install",
        "--no-audit",
        "--no-fund",
        "--fetch-retries",
        "1",
        "--prefix",
    ]);
    shell::run(install.arg(scratch).args(PACKAGES)).context(
        "the clients could not be downloaded: see the output of npm above; `npm ping` checks whether the registry can be reached",
    )?;
    for package in PACKAGES {
        // The newest version is installed, so the log must show which one it was.
        println!("{package} {}", version(scratch, package)?);
    }
    Ok(())
}

/// Runs the SDK against our server, and against flawed ones, which it must refuse.
fn run_sdk(host: &HostProcess, scratch: &Path) -> Result<()> {
    let client = scratch.join("client.mjs");
    fs::write(&client, include_str!("inspector/client.mjs"))?;
    let to = |program: &Path| {
        let mut sdk = npm(scratch, "node");
        sdk.arg(&client)
            .arg(program)
            .arg(&host.home)
            .arg(&host.repository);
        sdk
    };
    let printed = shell::capture(&mut to(&host.program))?;
    println!("the TypeScript SDK:\n{printed}");
    // A client that accepts everything would prove nothing about the server.
    for (what, edit) in FLAWS {
        let flawed = flawed(host, scratch, edit)?;
        let output = to(&flawed).output().context("`node` does not start")?;
        if output.status.success() {
            bail!("the SDK accepts a server whose {what}");
        }
        let complaints = String::from_utf8_lossy(&output.stderr);
        let names_it = |line: &&str| {
            let name = line.split_once(':').map(|(name, _)| name);
            name.is_some_and(|name| name.ends_with("Error") && !name.contains(' '))
        };
        let complaint = complaints.lines().find(names_it);
        println!(
            "a server whose {what} is refused: {}",
            complaint.unwrap_or("without an error message").trim()
        );
    }
    Ok(())
}

/// Breaches of the protocol, each as an edit of every line that a server writes. They prove that the client detects them.
const FLAWS: [(&str, &str); 3] = [
    (
        "version of JSON-RPC is wrong",
        r#"s/"jsonrpc":"2.0"/"jsonrpc":"7"/"#,
    ),
    ("tools have no schemas", r#"s/"inputSchema":/"schema":/g"#),
    (
        "responses have the ids of other requests",
        r#"s/"id":2,/"id":12,/"#,
    ),
];

/// Writes a server that forwards to ours and applies an edit to its output.
fn flawed(host: &HostProcess, scratch: &Path, edit: &str) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = scratch.join("flawed");
    let program = host.program.display();
    fs::write(
        &path,
        format!("#!/bin/sh\n\"{program}\" \"$@\" | sed -u '{edit}'\n"),
    )?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Returns the version of a package that was installed.
fn version(scratch: &Path, package: &str) -> Result<String> {
    let path = scratch
        .join("node_modules")
        .join(package)
        .join("package.json");
    let package: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    Ok(package["version"]
        .as_str()
        .unwrap_or("of no version")
        .to_owned())
}

/// Lets the inspector list and call tools, and list and read resources.
fn inspect(host: &HostProcess, scratch: &Path) -> Result<()> {
    let ask = |more: &[&str]| -> Result<Value> {
        let mut inspector = npm(scratch, "node_modules/.bin/mcp-inspector");
        inspector
            .arg("--cli")
            .arg(&host.program)
            .arg("--home")
            .arg(&host.home)
            .arg("mcp")
            .args(more);
        let printed = shell::capture(&mut inspector)?;
        serde_json::from_str(&printed).context("the inspector printed no JSON")
    };
    let listed = ask(&["--method", "tools/list"])?;
    let tools = listed["tools"]
        .as_array()
        .context("the inspector lists no tools")?;
    let mut names = Vec::new();
    for tool in tools {
        if tool["inputSchema"]["type"] != "object" {
            bail!("the inspector lists a tool without a schema: {tool}");
        }
        names.extend(tool["name"].as_str());
    }
    println!(
        "the inspector lists, each with a schema: {}",
        names.join(" ")
    );
    let call = "--method tools/call --tool-name daemon --tool-arg action=list";
    let called = ask(&call.split(' ').collect::<Vec<_>>())?;
    let result = &called["structuredContent"];
    if called["isError"] == true || result["index"] != "daemon_run_dirs" {
        bail!("the inspector's call failed: {called}");
    }
    println!(
        "the inspector calls daemon(action=list): {} of {} runs",
        result["showing"], result["max_emanations"]
    );
    let listed = ask(&["--method", "resources/list"])?;
    let resources = listed["resources"].as_array();
    let n_resources = resources.map_or(0, Vec::len);
    if n_resources == 0 {
        bail!("the inspector lists no resources: {listed}");
    }
    println!("the inspector lists {n_resources} resources");
    Ok(())
}

/// Returns a command with the scratch folder as its home, so that npm's cache is there, too.
fn npm(scratch: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(scratch)
        .env("HOME", scratch)
        .stdin(Stdio::null());
    command
}

/// A folder that is removed on drop.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(root: &Path) -> Result<Self> {
        let path = root.join("target/inspector");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(&path)?,
        }
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("{} is left behind: {error}", self.path.display());
        }
    }
}

/// Commits everything in a new repository.
fn commit(repository: &Path) -> Result<()> {
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["add", "--all"],
        &[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "commit",
            "--quiet",
            "--message=begin",
        ],
    ];
    for step in steps {
        shell::run(Command::new("git").args(step).current_dir(repository))?;
    }
    Ok(())
}

/// Two providers: a command that ends at once and can be resumed, and one that never ends.
const CONFIG: &str = r#"[provider.echo]
kind = "command"
command = "/bin/sh"
args = ["-c", 'cat > /dev/null; echo "{\"daemon\":\"session\",\"id\":\"s-1\"}"; echo first']
resume = ["-c", 'cat > /dev/null; echo "again in {session}"']

[provider.waiter]
kind = "command"
command = "/bin/sh"
args = ["-c", "exec sleep 100000"]
"#;

/// A host with a repository without daemons.
struct HostProcess {
    child: Child,
    program: PathBuf,
    home: PathBuf,
    repository: PathBuf,
}

impl HostProcess {
    fn start(root: &Path, scratch: &Path) -> Result<Self> {
        let (home, repository) = (scratch.join("home"), scratch.join("repository"));
        fs::create_dir_all(&repository)?;
        fs::write(repository.join("README.md"), "[gone](gone.md)\n")?;
        commit(&repository)?;
        fs::create_dir_all(&home)?;
        fs::write(home.join("config.toml"), CONFIG)?;
        let program = root.join("target/debug/daemon-run");
        let mut command = Command::new(&program);
        command
            .arg("serve")
            .arg("--home")
            .arg(&home)
            .arg("--repo")
            .arg(&repository);
        command
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .context("the host does not start")?;
        let output = child.stdout.take().context("standard output was piped")?;
        let host = Self {
            child,
            program,
            home,
            repository,
        };
        let mut ready = String::new();
        BufReader::new(output).read_line(&mut ready)?;
        // The stream ends without a line if the host exits.
        if ready.is_empty() {
            bail!("the host exited before it was ready");
        }
        Ok(host)
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // An error means that it has exited already.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
