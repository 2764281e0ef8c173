//! Clients that are not ours, from npm, against the server of tools: the inspector's command line and the TypeScript SDK.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::shell;

/// The packages, of the newest version there is: what an editor or agent of today speaks.
const PACKAGES: [&str; 2] = [
    "@modelcontextprotocol/inspector",
    "@modelcontextprotocol/sdk",
];

/// Installs the clients into a scratch folder and lets them list and call the tools of a live host.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    if Command::new("npm").arg("--version").output().is_err() {
        println!(
            "SKIPPED: no `npm` here, so that nobody but ourselves has spoken to `daemon-run mcp`"
        );
        return Ok(ExitCode::SUCCESS);
    }
    shell::run(&mut shell::cargo(
        root,
        &["build", "--quiet", "--package", "daemon-run"],
    ))?;
    let scratch = Scratch::new(root)?;
    let mut install = npm(&scratch.path, "npm");
    install.args(["install", "--no-audit", "--no-fund", "--prefix"]);
    shell::run(install.arg(&scratch.path).args(PACKAGES))?;
    let host = Host::start(root, &scratch.path)?;
    inspect(&host, &scratch.path)?;
    let client = scratch.path.join("client.mjs");
    fs::write(&client, include_str!("inspector/client.mjs"))?;
    let mut sdk = npm(&scratch.path, "node");
    let told = shell::capture(
        sdk.arg(&client)
            .arg(&host.program)
            .arg(&host.home)
            .arg(&host.repository),
    )?;
    println!("the TypeScript SDK:\n{told}");
    println!("inspector: both clients listed and called the tools");
    Ok(ExitCode::SUCCESS)
}

/// Lets the inspector list the tools and call one.
fn inspect(host: &Host, scratch: &Path) -> Result<()> {
    let ask = |more: &[&str]| -> Result<Value> {
        let mut inspector = npm(scratch, "npx");
        inspector
            .arg("--prefix")
            .arg(scratch)
            .args(["mcp-inspector", "--cli"]);
        inspector
            .arg(&host.program)
            .arg("--home")
            .arg(&host.home)
            .arg("mcp")
            .args(more);
        let told = shell::capture(&mut inspector)?;
        serde_json::from_str(&told).context("the inspector told no JSON")
    };
    let listed = ask(&["--method", "tools/list"])?;
    let tools = listed["tools"]
        .as_array()
        .context("the inspector lists no tools")?;
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    println!("the inspector lists: {}", names.join(" "));
    let called = ask(&[
        "--method",
        "tools/call",
        "--tool-name",
        "daemon",
        "--tool-arg",
        "action=list",
    ])?;
    let told = &called["structuredContent"];
    if called["isError"] == true || told["index"] != "daemon_run_dirs" {
        bail!("the inspector's call failed: {called}");
    }
    println!(
        "the inspector calls daemon(action=list): {} of {} runs",
        told["showing"], told["max_emanations"]
    );
    Ok(())
}

/// Makes a command of npm's whose home and cache are the scratch folder's.
fn npm(scratch: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(scratch)
        .env("HOME", scratch)
        .stdin(Stdio::null());
    command
}

/// A folder that goes with its owner.
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

/// A host over an empty repository.
struct Host {
    child: Child,
    program: PathBuf,
    home: PathBuf,
    repository: PathBuf,
}

impl Host {
    fn start(root: &Path, scratch: &Path) -> Result<Self> {
        let (home, repository) = (scratch.join("home"), scratch.join("repository"));
        fs::create_dir_all(&repository)?;
        fs::write(repository.join("README.md"), "[gone](gone.md)\n")?;
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
            shell::run(Command::new("git").args(step).current_dir(&repository))?;
        }
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
        if ready.is_empty() {
            bail!("the host ended before it was ready");
        }
        Ok(host)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
