//! A PostgreSQL server for a row: in a scratch directory, on a socket of its own, with every commit on the disk.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, bail, ensure};

/// The user that the server runs as under root, which PostgreSQL refuses.
const NOBODY: u32 = 65_534;
/// Where Debian has the programs of each version.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// A running server.
#[derive(Debug)]
pub(crate) struct PostgresServer {
    folder: tempfile::TempDir,
    process: Child,
    log: Option<JoinHandle<()>>,
}

impl PostgresServer {
    /// Starts a server with an empty database.
    pub(crate) fn start() -> Result<Self> {
        let programs = programs()?;
        let folder = tempfile::tempdir()?;
        if is_root()? {
            chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
        }
        let data = folder.path().join("data");
        let made = command(&programs, "initdb")?
            .arg("--pgdata")
            .arg(&data)
            .args(["--auth=trust", "--username=bench", "--encoding=UTF8"])
            .args(["--locale=C.UTF-8"])
            .output()?;
        ensure!(
            made.status.success(),
            "initdb failed: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        let mut process = command(&programs, "postgres")?
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses=", "-c", "lc_messages=C"])
            .args(["-c", "synchronous_commit=on", "-c", "fsync=on"])
            .args(["-c", "shared_buffers=256MB", "-c", "max_connections=100"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(process.stderr.take().context("it is piped")?).lines();
        let mut printed = String::new();
        loop {
            let line = lines.next().transpose()?;
            let Some(line) = line else {
                bail!("the server ended: {printed}");
            };
            if line.ends_with("database system is ready to accept connections") {
                break;
            }
            printed = printed + &line + "\n";
        }
        // Read to the end, because a server whose log is not read stops at a full pipe.
        let log = std::thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            folder,
            process,
            log: Some(log),
        })
    }

    /// Returns the address, as a configuration has it.
    pub(crate) fn address(&self) -> String {
        let socket = self.folder.path().display();
        format!("postgres://bench@/postgres?host={socket}")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // The server ends its children itself; a kill would leave them.
        let process = i32::try_from(self.process.id()).ok();
        let stopped = process
            .and_then(rustix::process::Pid::from_raw)
            .map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::QUIT));
        if let Some(Ok(())) = stopped
            && let Err(error) = self.process.wait()
        {
            eprintln!("the PostgreSQL server cannot be waited for: {error}");
        }
        if let Some(log) = self.log.take()
            && log.join().is_err()
        {
            eprintln!("the log of the PostgreSQL server was not read");
        }
    }
}

/// Returns the directory of the newest version.
fn programs() -> Result<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(PROGRAMS)
        .context("no PostgreSQL server is installed")?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().context("no PostgreSQL server is installed")
}

fn is_root() -> Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Returns the command of a program of the server, as an ordinary user.
fn command(programs: &Path, program: &str) -> Result<Command> {
    let program = programs.join(program);
    let mut command = match is_root()? {
        false => Command::new(program),
        true => {
            let id = NOBODY.to_string();
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
                .arg(program);
            command
        }
    };
    command.current_dir("/").stdin(Stdio::null());
    Ok(command)
}
