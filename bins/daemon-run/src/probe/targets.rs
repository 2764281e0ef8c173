//! What the attempts reach for.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The targets of one run's attempts, in the form of the file in which it finds them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Targets {
    /// The host's home.
    pub(super) home: PathBuf,
    /// The host's process.
    pub(super) host: i32,
    /// The host's socket.
    pub(super) socket: PathBuf,
    /// The work tree of the watched repository.
    pub(super) repository: PathBuf,
    /// Its `.git`.
    pub(super) git: PathBuf,
    /// The home of the host's user.
    pub(super) user: PathBuf,
    /// Another run of the same host.
    pub(super) run: OtherRun,
    /// The name of an abstract socket and of a message queue.
    pub(super) name: String,
    /// The number of System V shared memory.
    pub(super) memory: Option<i32>,
    /// A service at a port that the egress list does not have.
    pub(super) unlisted: SocketAddr,
    /// A service at a port that the egress list has, for another host; at an address of this machine's network if it has one.
    pub(super) listed: SocketAddr,
    /// A service that returns each datagram.
    pub(super) datagrams: SocketAddr,
}

/// A run that stays while another one makes its attempts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OtherRun {
    pub(super) pid: i32,
    pub(super) worktree: PathBuf,
    pub(super) folder: PathBuf,
}

/// The result of one attempt, in the form of the file in which a run leaves them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Attempted {
    pub(super) id: u8,
    /// Why it failed; `None` if it succeeded.
    pub(super) refusal: Option<String>,
}

/// The file with a run's targets, in the directory that its configuration lets it read.
pub(super) const TARGETS: &str = "targets.json";
/// The file with the results, in the home of a run.
pub(super) const ATTEMPTED: &str = "attempted.json";
/// The file in the home of a staying run that has its work tree.
pub(super) const STAYS: &str = "stays";
/// The secret of a staying run, in its home.
pub(super) const SECRET: &str = "secret";
/// What every service says.
pub(super) const GREETING: &[u8] = b"here\n";
