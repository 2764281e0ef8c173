//! A relay between stores and a server that breaks a connection at a commit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The port that names the relay's socket.
const PORT: &str = "5433";
/// The message that commits a transaction.
const COMMIT: &[u8] = b"UPDATE commit_mark SET n";
const BEGIN: &[u8] = b"BEGIN ISOLATION LEVEL READ COMMITTED";

/// How the next commit fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server commits, and its answer is lost.
    LoseAnswer,
    /// The message of the commit is lost.
    LoseCommit,
    /// The connection breaks, and the message arrives after the next transaction has begun.
    DelayCommit,
}

/// A relay; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    state: Arc<RelayState>,
    _connections: JoinSet<()>,
}

#[derive(Debug)]
struct RelayState {
    server: PathBuf,
    fault: Mutex<Option<Fault>>,
    /// The answer of the server to a delayed commit.
    late: Mutex<String>,
    has_begun_again: Notify,
    has_answered_late: Notify,
}

impl Relay {
    /// Starts a relay next to the socket of a server, and returns it with the address by which stores use it.
    pub(crate) fn start(address: &str) -> (Self, String) {
        let folder = address
            .split_whitespace()
            .find_map(|part| part.strip_prefix("host="))
            .expect("the address of a server names its socket");
        let listener =
            UnixListener::bind(Path::new(folder).join(format!(".s.PGSQL.{PORT}"))).unwrap();
        let state = Arc::new(RelayState {
            server: Path::new(folder).join(".s.PGSQL.5432"),
            fault: Mutex::default(),
            late: Mutex::default(),
            has_begun_again: Notify::new(),
            has_answered_late: Notify::new(),
        });
        let mut connections = JoinSet::new();
        connections.spawn({
            let state = Arc::clone(&state);
            async move {
                let mut relayed = JoinSet::new();
                loop {
                    let (client, _) = listener.accept().await.unwrap();
                    let server = UnixStream::connect(&state.server).await.unwrap();
                    relayed.spawn(relay(Arc::clone(&state), client, server));
                }
            }
        });
        let relay = Self {
            state,
            _connections: connections,
        };
        (relay, format!("{address} port={PORT}"))
    }

    /// Breaks the next commit.
    pub(crate) fn break_next(&self, fault: Fault) {
        *self.state.fault.lock().unwrap() = Some(fault);
    }

    /// Returns what the server answered to a delayed commit, once it has.
    pub(crate) async fn late_answer(&self) -> String {
        self.state.has_answered_late.notified().await;
        self.state.late.lock().unwrap().clone()
    }
}

async fn relay(state: Arc<RelayState>, mut client: UnixStream, mut server: UnixStream) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            n = client.read(&mut asked) => {
                let Ok(n @ 1..) = n else { return };
                let message = &asked[..n];
                if contains(message, BEGIN) {
                    state.has_begun_again.notify_waiters();
                }
                let fault = match contains(message, COMMIT) {
                    true => state.fault.lock().unwrap().take(),
                    false => None,
                };
                match fault {
                    None => server.write_all(message).await.unwrap(),
                    Some(fault) => return fail(&state, fault, client, (server, message)).await,
                }
            }
            n = server.read(&mut answered) => {
                let Ok(n @ 1..) = n else { return };
                if client.write_all(&answered[..n]).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn fail(
    state: &RelayState,
    fault: Fault,
    client: UnixStream,
    (mut server, commit): (UnixStream, &[u8]),
) {
    match fault {
        Fault::LoseCommit => {}
        Fault::LoseAnswer => {
            server.write_all(commit).await.unwrap();
            answer(&mut server).await;
        }
        Fault::DelayCommit => {
            let begun_again = state.has_begun_again.notified();
            drop(client);
            begun_again.await;
            server.write_all(commit).await.unwrap();
            *state.late.lock().unwrap() = answer(&mut server).await;
            state.has_answered_late.notify_one();
        }
    }
}

/// Reads the answer to a message to its end.
async fn answer(server: &mut UnixStream) -> String {
    let mut answer = Vec::new();
    // "Ready for query", with the state of the transaction as its last byte.
    while !answer
        .get(..answer.len().saturating_sub(1))
        .is_some_and(|rest: &[u8]| rest.ends_with(b"Z\0\0\0\x05"))
    {
        assert_ne!(server.read_buf(&mut answer).await.unwrap(), 0);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
