//! What the program of a run attempts, as a table.

use std::io;

use super::attempts::{
    any, append, creates_directory, creates_file, follows, limits, links, reads, reads_environment,
    reads_memory, signals,
};
use super::calls;
use super::network::{
    METADATA, answers, begins, dials, dials_abstract, dials_listed, dials_otherwise, dials_path,
    opens_other_sockets,
};
use super::targets::Targets;

/// One attempt to reach something outside of the place of a run.
pub(super) struct Probe {
    pub(super) id: u8,
    /// What it reaches for.
    pub(super) group: &'static str,
    pub(super) what: &'static str,
    /// Why level 2 permits it, if it does.
    pub(super) gap: Option<Gap>,
    /// Fails if the sandbox refuses it. It changes nothing that a later attempt needs.
    pub(super) attempt: Attempt,
}

/// A way out that level 2 has by design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Connections to any host at a listed port.
    ListedPort,
    /// Connections to any port, on a kernel that cannot limit ports.
    AnyPort,
    /// Datagrams to any host.
    Datagrams,
}

type Attempt = fn(&Targets) -> io::Result<()>;

const fn probe(id: u8, group: &'static str, what: &'static str, attempt: Attempt) -> Probe {
    Probe {
        id,
        group,
        what,
        gap: None,
        attempt,
    }
}

impl Probe {
    const fn open_at_level_2(self, gap: Gap) -> Self {
        Self {
            gap: Some(gap),
            ..self
        }
    }
}

/// The attempts, in the order of their numbers.
#[rustfmt::skip]
pub(super) const PROBES: [Probe; 40] = [
    probe(1, "host", "read the token", |t| reads(&t.home.join("token"))),
    probe(2, "host", "read the configuration", |t| reads(&t.home.join("config.toml"))),
    probe(3, "host", "change the configuration", |t| append(&t.home.join("config.toml"))),
    probe(4, "host", "read the store", |t| reads(&t.home.join("state.db"))),
    probe(5, "host", "change the store", |t| append(&t.home.join("state.db"))),
    probe(6, "host", "connect to the socket", |t| dials_path(&t.socket)),
    probe(7, "host", "add to its objects or trees", |t| {
        any([creates_file(&t.home.join("objects/r.git/new")), creates_file(&t.home.join("trees/r/new"))])
    }),

    probe(8, "other run", "read its work tree", |t| reads(&t.run.worktree.join("README.md"))),
    probe(9, "other run", "change its work tree", |t| creates_file(&t.run.worktree.join("new"))),
    probe(10, "other run", "change its `.git`", |t| append(&t.run.worktree.join(".git/config"))),
    probe(11, "other run", "read its home", |t| reads(&t.run.folder.join("session/secret"))),
    probe(12, "other run", "link a file of its home", |t| links(&t.run.folder.join("session/secret"))),
    probe(13, "other run", "read its record", |t| reads(&t.run.folder.join("daemon.json"))),
    probe(14, "other run", "add to its outputs", |t| append(&t.run.folder.join("outputs.jsonl"))),

    probe(15, "watched repository", "read its configuration", |t| reads(&t.git.join("config"))),
    probe(16, "watched repository", "change its configuration", |t| append(&t.git.join("config"))),
    probe(17, "watched repository", "write a ref", |t| creates_file(&t.git.join("refs/heads/new"))),
    probe(18, "watched repository", "add a hook", |t| creates_file(&t.git.join("hooks/post-checkout"))),
    probe(19, "watched repository", "change the index", |t| append(&t.git.join("index"))),
    probe(20, "watched repository", "lock the index", |t| creates_file(&t.git.join("index.lock"))),
    probe(21, "watched repository", "add a work tree", |t| creates_directory(&t.git.join("worktrees/new"))),
    probe(22, "watched repository", "add an object", |t| creates_file(&t.git.join("objects/new"))),
    probe(23, "watched repository", "change a checked-out file", |t| append(&t.repository.join("README.md"))),

    probe(24, "user", "read an SSH key", |t| reads(&t.user.join(".ssh/id_ed25519"))),
    probe(25, "user", "add an authorized key", |t| creates_file(&t.user.join(".ssh/authorized_keys"))),

    probe(26, "process", "read an environment", |t| {
        any([reads_environment(t.run.pid), reads_environment(t.host)])
    }),
    probe(27, "process", "use its files and working directory", |t| {
        any([follows(t.run.pid, "fd/1"), follows(t.run.pid, "cwd")])
    }),
    probe(28, "process", "read memory", |t| reads_memory(t.run.pid)),
    probe(29, "process", "send a signal", |t| any([signals(t.run.pid), signals(t.host)])),
    probe(30, "process", "trace", |t| calls::trace(t.run.pid)),
    probe(31, "process", "change limits and priority", |t| limits(t.run.pid)),

    probe(32, "shared name", "connect to an abstract socket", |t| dials_abstract(&t.name)),
    probe(33, "shared name", "attach System V memory", |t| calls::attach_memory(t.memory)),
    probe(34, "shared name", "open a POSIX message queue", |t| calls::open_queue(&t.name)),

    probe(35, "network", "the loopback, port not listed", |t| dials(t.unlisted))
        .open_at_level_2(Gap::AnyPort),
    probe(36, "network", "the same by fast open or multipath", |t| dials_otherwise(t.unlisted))
        .open_at_level_2(Gap::AnyPort),
    probe(37, "network", "the local network, port listed", |t| dials_listed(t.listed))
        .open_at_level_2(Gap::ListedPort),
    probe(38, "network", "169.254.169.254, port 80", |_| begins(METADATA))
        .open_at_level_2(Gap::AnyPort),
    probe(39, "network", "datagrams, such as DNS", |t| answers(t.datagrams))
        .open_at_level_2(Gap::Datagrams),
    probe(40, "network", "packet and virtual-machine sockets", |_| opens_other_sockets()),
];
