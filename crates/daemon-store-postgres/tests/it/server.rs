//! A PostgreSQL server of a test: in a temporary directory, on a socket of its own, as an ordinary user.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use daemon_store_postgres::{LeaseClock, PostgresOptions, PostgresStore};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use crate::commands::{of_program, skipped};

/// The user that the server runs as where the tests are run by root, which PostgreSQL refuses.
const NOBODY: u32 = 65_534;

/// A running server; it stops when it is dropped, and with this process.
#[derive(Debug)]
pub(crate) struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
    process: Option<Running>,
    /// The port of TCP connections with TLS.
    tls_port: Option<u16>,
    n_schemas: AtomicU32,
}

/// The process of a server, and the thread that reads its log.
#[derive(Debug)]
struct Running {
    process: Child,
    log: JoinHandle<()>,
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread")
}

/// Starts a server, or says that the test is skipped because PostgreSQL is not installed.
pub(crate) fn server() -> Option<Server> {
    let Some(programs) = programs() else {
        skipped("no PostgreSQL server is installed");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server {
        programs,
        folder,
        process: None,
        tls_port: None,
        n_schemas: AtomicU32::new(0),
    };
    if is_root() {
        chown(server.folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let data = server.data();
    let made = server
        .command("initdb")
        .args(["--pgdata", &data, "--auth=trust", "--username=test"])
        .args(["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"])
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    server.start();
    Some(server)
}

/// Returns the newest directory of the server's programs, where Debian puts them or where others do.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = ["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt"]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .chain([PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")])
        .filter(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .collect();
    found.sort();
    found.pop()
}

fn is_root() -> bool {
    let own = fs::metadata("/proc/self").unwrap();
    std::os::unix::fs::MetadataExt::uid(&own) == 0
}

impl Server {
    fn data(&self) -> String {
        let data = self.folder.path().join("data");
        data.to_str()
            .expect("temporary directories are text")
            .to_owned()
    }

    fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the command of a program of the server, as an ordinary user.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        // The server ends with the thread that started it, also if a test is killed.
        let mut command = of_program("setpriv");
        command.args(["--pdeathsig", "QUIT"]);
        if is_root() {
            let id = NOBODY.to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
        }
        command
            .arg(program)
            .current_dir("/")
            .env_remove("LC_ALL")
            .stdin(Stdio::null());
        command
    }

    /// Starts the server again with TCP connections and a certificate for `localhost`.
    pub(crate) fn restart_with_tls(&mut self) -> u16 {
        for (name, content) in [
            ("server.pem", include_str!("tls/server.pem")),
            ("server.key", include_str!("tls/server.key.pem")),
        ] {
            let path = self.folder.path().join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            if is_root() {
                chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        self.crash();
        self.tls_port = Some(port);
        self.start();
        port
    }

    /// Starts the server and returns when it takes connections.
    pub(crate) fn start(&mut self) {
        let folder = self.folder.path().display();
        let tls = self.tls_port.map(|port| {
            [
                format!("--port={port}"),
                "--listen_addresses=127.0.0.1".to_owned(),
                "--ssl=on".to_owned(),
                format!("--ssl_cert_file={folder}/server.pem"),
                format!("--ssl_key_file={folder}/server.key"),
            ]
        });
        let mut process = self
            .command("postgres")
            .args(["-D", &self.data(), "-k", self.socket().to_str().unwrap()])
            // The tests kill processes and not the machine, so that nothing depends on the disk.
            .args(["-c", "fsync=off", "-c", "full_page_writes=off"])
            .args(["-c", "listen_addresses=", "-c", "shared_buffers=32MB"])
            .args(["-c", "max_connections=200", "-c", "lc_messages=C"])
            .args(tls.into_iter().flatten())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut printed = String::new();
        loop {
            let Some(line) = lines.next() else {
                panic!("the server ended: {printed}");
            };
            let line = line.unwrap();
            if line.ends_with("database system is ready to accept connections") {
                break;
            }
            printed = printed + &line + "\n";
        }
        // Read to the end, because a server whose log is not read stops at a full pipe.
        let log = std::thread::spawn(move || lines.for_each(drop));
        self.process = Some(Running { process, log });
    }

    /// Ends the server as a crash would, without a checkpoint.
    pub(crate) fn crash(&mut self) {
        let Some(Running { mut process, log }) = self.process.take() else {
            return;
        };
        let stopped = self
            .command("pg_ctl")
            .args([
                "stop",
                "--pgdata",
                &self.data(),
                "--mode=immediate",
                "--silent",
            ])
            .status()
            .unwrap();
        assert!(stopped.success(), "{stopped}");
        process.wait().unwrap();
        log.join().unwrap();
    }

    /// Returns the address of a schema, which serves as a database of its own.
    pub(crate) fn address(&self, schema: &str) -> String {
        format!(
            "host={} user=test dbname=postgres options='-c search_path={schema}'",
            self.socket().display()
        )
    }

    /// Makes an empty schema and returns its address.
    pub(crate) async fn database(&self) -> String {
        let schema = format!("s{}", self.n_schemas.fetch_add(1, Ordering::Relaxed));
        let address = self.address("public");
        with_client(&address, async |client| {
            client
                .batch_execute(&format!("CREATE SCHEMA {schema}"))
                .await
                .unwrap();
        })
        .await;
        self.address(&schema)
    }

    /// Opens a store in an empty schema, in virtual time.
    pub(crate) async fn store(&self) -> PostgresStore {
        let options = PostgresOptions {
            lease_clock: LeaseClock::Caller,
            ..PostgresOptions::new(self.database().await, "one")
        };
        PostgresStore::open(&options).await.unwrap()
    }
}

/// Runs statements on a connection of their own.
pub(crate) async fn with_client<T>(address: &str, run: impl AsyncFnOnce(&Client) -> T) -> T {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection);
    run(&client).await
}

impl Drop for Server {
    fn drop(&mut self) {
        self.crash();
    }
}
