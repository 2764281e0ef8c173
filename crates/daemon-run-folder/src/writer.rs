//! The one writer of a run folder.

mod after;
mod progress;
mod terminal;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use daemon_lifecycle::{GroupId, RunState};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, Timestamps, flock};
use rustix::io::Errno;
use serde_json::{Map, Value};

use crate::disk::{
    Action, Durability, FolderError, Lines, create_directory, create_file, failed, open_lock,
    remove_temporaries, write_whole,
};
use crate::document::{ActivationLink, Budget, CliTokens, Document, SandboxRecord};
use crate::folder::{Folder, Reserved};
use crate::hash::sha256;
use crate::log::{LogEvent, Row};
use crate::output_log::OutputLog;
use crate::reader::Reading;

pub use progress::Truncation;
pub use terminal::FinishError;

/// `daemon.json` is written at most so often for progress alone.
const PROGRESS: Duration = Duration::from_millis(250);
/// A run shows so often that it is looked after.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// What a run starts with.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The group it is dispatched in.
    pub group_id: Option<GroupId>,
    /// Who dispatches it: `mcp:<client>#<8 hex>`, `cli:<uid>`, `agent:<id>` or `daemon:<id>`.
    pub parent_addr: String,
    /// The process that owns it.
    pub owner: Owner,
    /// The activation it is an attempt at.
    pub activation: Option<ActivationLink>,
    /// What it is about.
    pub task: String,
    /// The tools it is given.
    pub tools: Vec<String>,
    /// What it is called with, without secrets.
    pub call_parameters: Map<String, Value>,
    /// The options its program is given, without secrets.
    pub backend_options: Map<String, Value>,
    /// The provider.
    pub backend: String,
    /// The model, or the provider where the model is the provider's own choice.
    pub model: String,
    /// The preset.
    pub preset: Option<Preset>,
    /// The most turns it may take.
    pub max_turns: Option<u32>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How long it may be silent.
    pub idle_timeout: Option<Duration>,
    /// The most it may cost.
    pub budget: Budget,
    /// What it may do.
    pub permissions: String,
    /// The sandbox it runs in.
    pub sandbox: SandboxRecord,
    /// Whether its provider only reports: neither a model nor a program carries it out.
    pub is_reported: bool,
    /// What the provider is sent, without secrets.
    pub prompt: Vec<u8>,
    /// The SHA-256 of the bytes it is really sent, as hexadecimal digits; see [`sha256`](crate::sha256).
    pub prompt_sha256: String,
}

impl Start {
    /// Makes the start of a run that nothing else is known of: no group, no activation, no limits, sandbox level 1.
    pub fn new(
        parent_addr: &str,
        owner: Owner,
        backend: &str,
        task: &str,
        prompt: Vec<u8>,
    ) -> Self {
        Self {
            group_id: None,
            parent_addr: parent_addr.to_owned(),
            owner,
            activation: None,
            task: task.to_owned(),
            tools: Vec::new(),
            call_parameters: Map::new(),
            backend_options: Map::new(),
            backend: backend.to_owned(),
            model: backend.to_owned(),
            preset: None,
            max_turns: None,
            timeout: None,
            idle_timeout: None,
            budget: Budget::default(),
            permissions: "propose".to_owned(),
            sandbox: SandboxRecord {
                level: 1,
                detail: String::new(),
            },
            is_reported: false,
            prompt_sha256: sha256(&prompt),
            prompt,
        }
    }
}

/// The process that owns a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its process id.
    pub pid: i32,
    /// The id of the machine's start, without which the next is no identity.
    pub boot_id: String,
    /// Its start, in clock ticks since the machine started.
    pub start: u64,
}

impl Owner {
    /// Reads the two fields of a document; `None` for another spelling than this crate's.
    pub fn of(document: &Document) -> Option<Self> {
        let (boot_id, start) = document.parent_start.rsplit_once(':')?;
        let start = start.parse().ok()?;
        Some(Self {
            pid: document.parent_pid,
            boot_id: boot_id.to_owned(),
            start,
        })
    }
}

/// A named choice of provider and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// Its model.
    pub model: String,
}

/// The one writer of one run folder, from its start to its end.
///
/// It holds the folder's lock. Each method takes the time of what it records. A failed write leaves the folder readable and
/// may be tried again; what it would have recorded is kept for the next one.
#[derive(Debug)]
pub struct Writer {
    folder: Folder,
    document: Document,
    /// The start to the nanosecond, which the document does not keep.
    started: Timestamp,
    events: Lines,
    outputs: OutputLog,
    /// What the document tells of its program's options once there is a program.
    options: Option<Map<String, Value>>,
    pending_usage: Option<(CliTokens, Vec<Value>)>,
    /// When the document was written last, or was to be.
    written: Timestamp,
    is_dirty: bool,
    /// How far the terminal writes have come.
    terminal: terminal::Progress,
    /// The number of the message whose end was logged last.
    logged_ask: Option<u32>,
    _lock: File,
}

impl Writer {
    /// Writes the start files of a run into its reserved folder.
    ///
    /// # Errors
    /// A file could not be written; the folder is removed.
    pub fn start(reserved: Reserved, start: Start, now: Timestamp) -> Result<Self, FolderError> {
        let folder = reserved.folder();
        for name in ["history", "logs", "session", "session/tmp"] {
            create_directory(&folder.path().join(name))?;
        }
        create_file(&folder.outputs())?;
        create_file(&folder.heartbeat())?;
        let lock = lock(folder)?;
        // Evidence only: the one synced write of a start is the document's, which makes the folder a run.
        write_whole(&folder.prompt(), &start.prompt, Durability::Unsynced)?;
        let mut events = Lines::open(folder.events())?;
        events.append(&Row::new(&LogEvent::DaemonStart, now))?;
        let options = Some(start.backend_options.clone());
        let document = document(folder, start, now);
        write_whole(
            &folder.document(),
            document.to_json().as_bytes(),
            Durability::SyncedFirst,
        )?;
        let writer = Self {
            folder: reserved.keep(),
            document,
            started: now,
            events,
            outputs: OutputLog::new(),
            options,
            pending_usage: None,
            written: now,
            is_dirty: false,
            terminal: terminal::Progress::default(),
            logged_ask: None,
            _lock: lock,
        };
        writer.beat(now)?;
        Ok(writer)
    }

    /// Takes over the folder of a run that has no writer: its owner is dead, or has recorded its end.
    ///
    /// The document is read under the lock, so that nothing an earlier writer recorded is lost.
    ///
    /// # Errors
    /// The folder is locked by a living writer, holds no document of this version, or one of its files could not be opened.
    pub fn adopt(folder: Folder, now: Timestamp) -> Result<Self, FolderError> {
        let lock = lock(&folder)?;
        let document = match folder.read()? {
            Reading::Known(document) => *document,
            Reading::Newer(_) | Reading::Broken(_) => {
                let error = io::Error::new(io::ErrorKind::InvalidData, "it has another version");
                return Err(failed(Action::Read, &folder.document())(error));
            }
        };
        remove_temporaries(folder.path())?;
        let events = Lines::open(folder.events())?;
        let outputs = OutputLog::resume(&folder.path().join("logs"), &events)?;
        Ok(Self {
            started: document.started_at,
            folder,
            document,
            events,
            outputs,
            options: None,
            pending_usage: None,
            written: now,
            is_dirty: false,
            terminal: terminal::Progress::default(),
            logged_ask: None,
            _lock: lock,
        })
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns what `daemon.json` holds, or will at the next write.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns how long after `now` [`Writer::tick`] is to be called: soon while progress is not on the disk yet.
    pub fn next_tick(&self, now: Timestamp) -> Duration {
        let waited = self.since_written(now);
        if self.is_dirty {
            PROGRESS.saturating_sub(waited)
        } else {
            HEARTBEAT
        }
    }

    /// Shows that the owner lives, and writes what progress is not on the disk yet; [`Writer::next_tick`] tells when.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn tick(&mut self, now: Timestamp) -> Result<(), FolderError> {
        if self.is_dirty {
            self.write(Durability::Unsynced, now)
        } else {
            self.beat(now)
        }
    }

    fn beat(&self, now: Timestamp) -> Result<(), FolderError> {
        let path = self.folder.heartbeat();
        let time = rustix::fs::Timespec {
            tv_sec: now.as_second(),
            tv_nsec: i64::from(now.subsec_nanosecond().max(0)),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::utimensat(rustix::fs::CWD, &path, &times, flags)
            .map_err(|error| failed(Action::Write, &path)(error.into()))
    }

    fn log(&mut self, event: &LogEvent<'_>, now: Timestamp) -> Result<(), FolderError> {
        self.events.append(&Row::new(event, now)).map(|_| ())
    }

    /// Writes `daemon.json` if it was not written just before; else [`Writer::tick`] will.
    fn progress(&mut self, now: Timestamp) -> Result<(), FolderError> {
        self.is_dirty = true;
        if self.since_written(now) >= PROGRESS {
            self.write(Durability::Unsynced, now)?;
        }
        Ok(())
    }

    /// Returns how long the document on the disk has stood; a clock that was set back must not stop the writes.
    fn since_written(&self, now: Timestamp) -> Duration {
        let since = now
            .as_millisecond()
            .saturating_sub(self.written.as_millisecond());
        u64::try_from(since).map_or(Duration::MAX, Duration::from_millis)
    }

    fn write(&mut self, durability: Durability, now: Timestamp) -> Result<(), FolderError> {
        if !self.document.state.is_terminal() {
            self.document.elapsed_s = crate::time::elapsed(self.started, now);
        }
        let text = self.document.to_json();
        // Noted before it succeeds: a disk that is full is not tried more often than one that is not.
        self.written = now;
        write_whole(&self.folder.document(), text.as_bytes(), durability)?;
        self.is_dirty = false;
        self.beat(now)
    }

    fn logs(&self) -> PathBuf {
        self.folder.path().join("logs")
    }
}

pub(crate) fn lock(folder: &Folder) -> Result<File, FolderError> {
    let path = folder.lock();
    let file = open_lock(&path)?;
    let mut tries = 0;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            // A reader that asks whether the folder is live holds the lock for the moment of the question.
            Err(Errno::WOULDBLOCK) if tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(error) => return Err(failed(Action::Lock, &path)(error.into())),
        }
    }
}

const LOCK_TRIES: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

fn document(folder: &Folder, start: Start, now: Timestamp) -> Document {
    let mut document = Document::blank(folder.id(), RunState::Running, now);
    document.group_id = start.group_id.map(|group| group.to_string());
    document.parent_addr = start.parent_addr;
    document.parent_pid = start.owner.pid;
    document.parent_start = format!("{}:{}", start.owner.boot_id, start.owner.start);
    document.activation = start.activation;
    document.task = start.task;
    document.tools = start.tools;
    document.call_parameters = start.call_parameters;
    document.backend = start.backend;
    document.model = start.model;
    if let Some(preset) = start.preset {
        document.preset_name = Some(preset.name);
        document.preset_provider = Some(preset.provider);
        document.preset_model = Some(preset.model);
    }
    document.max_turns = start.max_turns;
    document.timeout_s = start.timeout.map(|duration| duration.as_secs_f64());
    document.idle_timeout_s = start.idle_timeout.map(|duration| duration.as_secs_f64());
    document.budget = start.budget;
    document.permissions = start.permissions;
    document.sandbox = start.sandbox;
    document.prompt_sha256 = start.prompt_sha256;
    document.reported = start.is_reported;
    document
}
