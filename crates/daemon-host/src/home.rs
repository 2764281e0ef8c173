//! The home: the directory of the host, its owner and its token.

mod directory;
mod ownership;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use daemon_records::random;
use daemon_run_folder::write_atomic;
use directory::{make_directory, refuse_foreign, refuse_network};
pub use ownership::Ownership;
use ownership::read_pid;

/// The name of the directory of the trees that are kept between runs.
pub const TREES: &str = "trees";
/// The directories that a host creates in its home.
const DIRECTORIES: [&str; 13] = [
    daemon_runner::NOTICES,
    AGENTS,
    CRON,
    "daemons",
    EVENTS,
    "logs",
    MEMORY,
    PLACES,
    "run",
    SESSIONS,
    SKILLS,
    TREES,
    "worktrees",
];
/// The name of the directory of agents.
const AGENTS: &str = "agents";
/// The name of the directory of crons.
const CRON: &str = "cron";
/// The name of the directory of subscriptions.
const EVENTS: &str = "events";
/// The name of the directory of the memories of agents.
const MEMORY: &str = "memory";
/// The name of the directory of the places of conversations.
const PLACES: &str = "places";
/// The name of the directory of the logs of conversations.
const SESSIONS: &str = "sessions";
/// The name of the directory of skills.
const SKILLS: &str = "skills";
/// How long a child that a killed owner had just forked may keep the lock, until it executes another program.
const LAST_GASP: Duration = Duration::from_secs(2);
/// The minimum length of the bearer token, in bytes.
pub const MIN_TOKEN_BYTES: usize = 32;

/// The error of an operation on the home.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// A file or directory cannot be created, read or written.
    #[error("failed to use `{path}`: {what}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Another process owns the home.
    #[error("the home `{home}` is owned by process {pid}")]
    Owned {
        /// The home.
        home: PathBuf,
        /// The owner's process id, 0 if it could not be read.
        pid: u32,
    },
    /// The home is on a network file system.
    #[error("the home `{home}` is on {kind}, where locks and the store are unreliable")]
    Network {
        /// The home.
        home: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    /// A directory has entries of others and nothing of a home.
    #[error("`{directory}` is no home, and it is not empty: it has `{entry}`")]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// One of its entries.
        entry: String,
    },
    /// A file or directory is accessible to other users, or has the wrong owner or content.
    #[error("`{path}` {problem}")]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// The problem, as the rest of a sentence that begins with the path.
        problem: String,
    },
}

fn io_error(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> HomeError {
    let path = path.to_owned();
    move |source| HomeError::Io { path, what, source }
}

/// The directory of a host.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Opens a home and creates it and its directories (0700) if they are missing.
    ///
    /// # Errors
    /// If a directory cannot be created, the home is on a network file system, or the directory belongs to something else, which
    /// is then left as it is.
    pub fn open(root: &Path) -> Result<Self, HomeError> {
        refuse_foreign(root)?;
        make_directory(root)?;
        let root = root.canonicalize().map_err(io_error(root, "resolve"))?;
        refuse_network(&root)?;
        for name in DIRECTORIES {
            make_directory(&root.join(name))?;
        }
        Ok(Self { root })
    }

    /// Refers to a home that may not exist, for callers that write nothing.
    pub fn named(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Refers to an existing home for reading, without creating anything.
    ///
    /// A home whose store is missing exists too if the log or the mark of the store is left: opening it then fails and names
    /// what is missing.
    pub fn existing(root: &Path) -> Option<Self> {
        let parts = ["state.db", "state.db-wal", "state.db-mark"];
        let mut parts = parts.iter().map(|part| root.join(part));
        parts.any(|part| part.is_file()).then(|| Self::named(root))
    }

    /// Returns the path of the home.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the file of the configuration.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Returns the name of the host of this home in a store that hosts share.
    pub fn host_name(&self, config: &crate::config::Host) -> String {
        if let Some(name) = &config.name {
            return name.clone();
        }
        let machine = rustix::system::uname();
        // Commands may reach the home by another path than its host.
        let root = self.root.canonicalize();
        let root = root.as_ref().unwrap_or(&self.root);
        format!(
            "{}:{}",
            machine.nodename().to_string_lossy(),
            root.display()
        )
    }

    /// Returns the file of the embedded store.
    pub fn store(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// Returns the directory of run folders.
    pub fn runs(&self) -> PathBuf {
        self.root.join("daemons")
    }

    /// Returns the directory of the working directories of MCP servers that are programs.
    pub(crate) fn servers(&self) -> PathBuf {
        self.root.join("mcp")
    }

    /// Returns the recovery file of subscriptions.
    pub(crate) fn subscriptions(&self) -> PathBuf {
        self.root.join(EVENTS).join("subscriptions.toml")
    }

    /// Returns the recovery file of crons.
    pub(crate) fn crons(&self) -> PathBuf {
        self.root.join(CRON).join("crons.toml")
    }

    /// Returns the notice of reminders.
    pub(crate) fn reminders(&self) -> PathBuf {
        self.root.join(daemon_runner::NOTICES).join("cron.json")
    }

    /// Returns the directory of agents.
    pub fn agents(&self) -> PathBuf {
        self.root.join(AGENTS)
    }

    /// Returns the directory of the memories of agents.
    pub fn memory(&self) -> PathBuf {
        self.root.join(MEMORY)
    }

    /// Returns the directory of skills.
    pub fn skills(&self) -> PathBuf {
        self.root.join(SKILLS)
    }

    /// Returns the directory of the logs of conversations.
    pub fn sessions(&self) -> PathBuf {
        self.root.join(SESSIONS)
    }

    /// Returns the directory of the places of conversations.
    pub(crate) fn places(&self) -> PathBuf {
        self.root.join(PLACES)
    }

    /// Returns the directory of worktrees.
    pub fn worktrees(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// Returns the directory of the trees that are kept between runs.
    pub fn trees(&self) -> PathBuf {
        self.root.join(TREES)
    }

    /// Resolves a path relative to the home; an absolute path is returned unchanged.
    pub fn below(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    /// Locks the home until the returned guard is dropped. The guard reports how the previous owner ended.
    ///
    /// # Errors
    /// Returns [`HomeError::Owned`] if another process owns it; nothing was changed then.
    pub fn own(&self) -> Result<Ownership, HomeError> {
        // First, because writing the lock file may need the space.
        crate::disk::give_up_reserve(&self.root);
        let path = self.lock();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            // The content shows how the previous owner ended.
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io_error(&path, "open"))?;
        let gives_up = Instant::now() + LAST_GASP;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(io_error(&path, "lock")(error.into()));
            }
            let pid = read_pid(&file);
            // If the recorded owner is dead, a child that it had just forked has the lock until it executes its program.
            if is_alive(pid) || Instant::now() >= gives_up {
                return Err(HomeError::Owned {
                    home: self.root.clone(),
                    pid: if is_alive(pid) { pid } else { 0 },
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|appending| Ownership::begin(file, appending, self.mark()))
            .map_err(io_error(&path, "write"))
    }

    /// Updates the number of out-of-memory kills in the owner's control group, so that only later kills count as the
    /// reason of its end.
    ///
    /// # Errors
    /// If the lock cannot be written.
    pub(crate) fn note_memory_kills(&self) -> Result<(), HomeError> {
        let path = self.lock();
        ownership::note_memory_kills(&path).map_err(io_error(&path, "write"))
    }

    fn lock(&self) -> PathBuf {
        self.root.join("run/host.lock")
    }

    /// Returns the path of the owner's mark, which is there until the owner has stopped in order.
    fn mark(&self) -> PathBuf {
        self.root.join("run/host.running")
    }

    /// Returns the id of the process that owns the home; `None` if no process does.
    ///
    /// # Errors
    /// If the lock cannot be read.
    pub fn owner(&self) -> Result<Option<u32>, HomeError> {
        let path = self.lock();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&path, "open")(error)),
        };
        // A shared lock, so that two callers at a time do not take each other for the owner.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            // The recorded owner has ended if another program has the lock.
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Ok(Some(read_pid(&file)).map(|pid| if is_alive(pid) { pid } else { 0 }))
            }
            Err(error) => Err(io_error(&path, "lock")(error.into())),
        }
    }

    /// Returns the bearer token, and creates the file (0600) at the first start.
    ///
    /// # Errors
    /// If the file cannot be read or created, its token is shorter than 32 bytes, or other users can read it.
    pub fn token(&self, file: &Path) -> Result<String, HomeError> {
        let path = self.below(file);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
                return Err(HomeError::Unsafe {
                    path,
                    problem: "is open to other users; make it 0600".to_owned(),
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Atomically: a crash must not leave a token that is too short for the next start.
                write_atomic(&path, format!("{}\n", random::hex(32)).as_bytes())
                    .map_err(io_error(&path, "write"))?;
            }
            Err(error) => return Err(io_error(&path, "read")(error)),
        }
        let token = fs::read_to_string(&path)
            .map_err(io_error(&path, "read"))?
            .trim()
            .to_owned();
        if token.len() < MIN_TOKEN_BYTES {
            let problem = format!(
                "holds a token of {} bytes, at least {MIN_TOKEN_BYTES} are needed",
                token.len()
            );
            return Err(HomeError::Unsafe { path, problem });
        }
        Ok(token)
    }
}

/// Reports whether a process is running; a zombie is not.
fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The name of the program is in parentheses and may contain any character, so the last parenthesis ends it.
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::{Home, HomeError};
    use daemon_engine::HostEnd;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    #[test]
    fn a_new_home_is_closed_to_others() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let home = Home::open(&scratch.path().join("home")).expect("it opens");
        for part in [
            "",
            "agents",
            "cron",
            "daemons",
            "events",
            "logs",
            "memory",
            "places",
            "run",
            "sessions",
            "skills",
            "trees",
            "worktrees",
        ] {
            let mode = std::fs::metadata(home.root().join(part))
                .expect(part)
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o700, "{part:?}");
        }
    }

    #[test]
    fn a_second_owner_is_refused_and_told_who_owns_it() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let home = Home::open(scratch.path()).expect("it opens");
        assert_eq!(home.owner().expect("the lock can be asked"), None);
        let first = home.own().expect("the first owner is let in");
        match home.own() {
            Err(HomeError::Owned { pid, .. }) => assert_eq!(pid, std::process::id()),
            other => panic!("a second owner was let in: {other:?}"),
        }
        assert_eq!(
            home.owner().expect("the lock can be asked"),
            Some(std::process::id())
        );
        drop(first);
        drop(home.own().expect("the home is free again"));
    }

    #[test]
    fn the_next_owner_knows_how_the_one_before_ended() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let home = Home::open(scratch.path()).expect("it opens");
        let next = || home.own().expect("the home is free");
        assert_eq!(next().previous(), HostEnd::Stopped, "there was none");
        assert_eq!(next().previous(), HostEnd::Stopped);
        let unwound = std::panic::catch_unwind(|| {
            let _owner = next();
            std::panic::resume_unwind(Box::new("a defect"));
        });
        drop(unwound);
        let lock = std::fs::read_to_string(home.lock()).expect("the lock is read");
        assert!(lock.ends_with("\npanicked\n"), "{lock}");
        // An owner that stores nothing leaves the record for the next one.
        assert_eq!(next().previous(), HostEnd::Panicked);
        let mut owner = next();
        assert_eq!(owner.previous(), HostEnd::Panicked);
        owner.previous_is_stored().expect("the lock is written");
        drop(owner);
        assert_eq!(next().previous(), HostEnd::Stopped);
        let lock = std::fs::read(home.lock()).expect("the lock is read");
        let (owner, mark) = (next(), home.mark());
        assert_eq!(std::fs::read(&mark).expect("there is a mark"), b"");
        drop(owner);
        assert!(!mark.exists());
        let after = std::fs::read(home.lock()).expect("the lock is read");
        assert_eq!(after, lock, "a stop writes nothing");
        // What a killed owner leaves.
        std::fs::write(&mark, "").expect("the mark is made");
        assert_eq!(next().previous(), HostEnd::Killed);
        std::fs::write(home.lock(), "4711\n").expect("the lock is written");
        assert_eq!(next().previous(), HostEnd::Killed);
    }

    #[test]
    fn a_token_is_made_once_and_must_be_long_and_private() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let home = Home::open(scratch.path()).expect("it opens");
        let token = home.token(Path::new("token")).expect("a token is made");
        assert_eq!(token.len(), 64);
        assert_eq!(
            home.token(Path::new("token")).expect("it is read again"),
            token
        );
        let path = home.root().join("token");
        std::fs::write(&path, "short").expect("it can be written");
        assert!(matches!(
            home.token(Path::new("token")),
            Err(HomeError::Unsafe { .. })
        ));
        std::fs::write(&path, &token).expect("it can be written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644))
            .expect("its mode can be set");
        assert!(matches!(
            home.token(Path::new("token")),
            Err(HomeError::Unsafe { .. })
        ));
    }
}
