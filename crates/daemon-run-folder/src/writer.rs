//! The writer of a run folder.

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
    remove_temporaries, sync_new, write_whole,
};
use crate::document::{ActivationLink, BudgetRecord, CliTokens, Document, SandboxRecord};
use crate::folder::{Folder, Reserved};
use crate::hash::sha256;
use crate::log::{EventLine, LogEvent};
use crate::output_log::OutputLog;
use crate::reader::DocumentReading;

pub use terminal::FinishError;

/// The shortest time between two writes of `daemon.json` that only record progress: 4 per second at most.
const PROGRESS: Duration = Duration::from_millis(250);
/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The parameters with which a run starts.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// The group of runs dispatched together; `None` for an attempt at an activation.
    pub group_id: Option<GroupId>,
    /// The address of the parent: `mcp:<client>#<8 hex>`, `cli:<uid>`, `agent:<id>` or `daemon:<id>`.
    pub parent_addr: String,
    /// The process that owns the run.
    pub owner: Owner,
    /// The attempt that the run carries out; `None` for an emanation.
    pub activation: Option<ActivationLink>,
    /// The task of an emanation, or the trigger of an activation.
    pub task: String,
    /// The tool groups that the caller requested.
    pub tools: Vec<String>,
    /// The parameters of the call, redacted.
    pub call_parameters: Map<String, Value>,
    /// Extra options of the child program, redacted.
    pub backend_options: Map<String, Value>,
    /// The provider's canonical name.
    pub backend: String,
    /// The model, or the provider's name if the provider chooses the model.
    pub model: String,
    /// The preset that the caller chose.
    pub preset: Option<PresetRecord>,
    /// The limit on model turns; `None` where nothing enforces one.
    pub max_turns: Option<u32>,
    /// The limit on the duration.
    pub timeout: Option<Duration>,
    /// The limit on the time without output.
    pub idle_timeout: Option<Duration>,
    /// The limit on the cost.
    pub budget: BudgetRecord,
    /// The effective permissions: `read`, `propose`, `write` or `bypass`.
    pub permissions: String,
    /// The effective sandbox.
    pub sandbox: SandboxRecord,
    /// Whether the provider only reports: no model and no program carries out the routines.
    pub is_reported: bool,
    /// The prompt, redacted.
    pub prompt: Vec<u8>,
    /// The [`sha256`](crate::sha256) of the bytes that the provider receives, before redaction.
    pub prompt_sha256: String,
}

impl RunStart {
    /// Makes the parameters of a run without group, activation and limits, with permission to propose and sandbox level 1.
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
            budget: BudgetRecord::default(),
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
    /// The process id.
    pub pid: i32,
    /// The boot id of the machine: `start` counts from boot, so a reboot makes it ambiguous.
    pub boot_id: String,
    /// The start of the process, in clock ticks since boot.
    pub start: u64,
}

impl Owner {
    /// Reads the owner from a document; `None` if `parent_start` is not a boot id, a colon and a number.
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

/// A preset: a named choice of API and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetRecord {
    /// The name of the preset.
    pub name: String,
    /// The kind of API.
    pub provider: String,
    /// The name of the model.
    pub model: String,
}

/// The writer of one run folder, from the start of the run to its end.
///
/// It holds the folder's lock until it is dropped. Each method receives the time of the event that it records. After a failed
/// write the folder is readable and the call may be repeated; the next write includes what the failed one did not record.
#[derive(Debug)]
pub struct Writer {
    folder: Folder,
    document: Document,
    /// The start with its fraction of a second, which the document does not contain.
    started: Timestamp,
    events: Lines,
    outputs: OutputLog,
    /// The options that the document will contain once the child is spawned.
    options: Option<Map<String, Value>>,
    pending_usage: Option<(CliTokens, Vec<Value>)>,
    /// The time of the last write of the document, or of the last try.
    written: Timestamp,
    is_dirty: bool,
    /// The terminal writes that are done.
    terminal: terminal::Progress,
    /// The number of the last message whose end was logged, so that a repeated call does not log it again.
    logged_ask: Option<u32>,
    _lock: File,
}

/// The start of a run that a crash of the machine may lose.
#[derive(Debug)]
#[must_use = "the start of the run is not on disk"]
pub struct UnsyncedStart {
    document: PathBuf,
}

impl UnsyncedStart {
    /// Waits until the start files of the run are on disk.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn sync(self) -> Result<(), FolderError> {
        sync_new(&self.document)
    }
}

impl Writer {
    /// Writes the start files of a run into its reserved folder, and waits until they are on disk.
    ///
    /// # Errors
    /// A file could not be written. The folder is removed.
    pub fn start(reserved: Reserved, start: RunStart, now: Timestamp) -> Result<Self, FolderError> {
        let folder = reserved.folder().path().to_owned();
        let (writer, unsynced) = Self::begin(reserved, start, now)?;
        if let Err(error) = unsynced.sync() {
            drop(writer);
            // The first error is the useful one, and a folder that stays is an orphan.
            std::fs::remove_dir_all(folder).unwrap_or(());
            return Err(error);
        }
        Ok(writer)
    }

    /// Writes the start files of a run into its reserved folder, which a crash of this process does not lose. Nothing may refer to the
    /// run before [`UnsyncedStart::sync`].
    ///
    /// # Errors
    /// A file could not be written. The folder is removed.
    pub fn begin(
        reserved: Reserved,
        start: RunStart,
        now: Timestamp,
    ) -> Result<(Self, UnsyncedStart), FolderError> {
        let folder = reserved.folder();
        for name in ["history", "logs", "session", "session/tmp"] {
            create_directory(&folder.path().join(name))?;
        }
        create_file(&folder.outputs())?;
        create_file(&folder.heartbeat())?;
        let lock = lock(folder)?;
        // The prompt is only evidence. One synced write makes the folder a run, the document's; a second one would double the
        // cost of a start.
        write_whole(&folder.prompt(), &start.prompt, Durability::Unsynced)?;
        let mut events = Lines::open(folder.events())?;
        events.append(&EventLine::new(&LogEvent::DaemonStart, now))?;
        let options = Some(start.backend_options.clone());
        let document = document(folder, start, now);
        write_whole(
            &folder.document(),
            document.to_json().as_bytes(),
            Durability::Unsynced,
        )?;
        let unsynced = UnsyncedStart {
            document: folder.document(),
        };
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
        Ok((writer, unsynced))
    }

    /// Takes over a folder without a writer: its owner is dead, or the run has ended.
    ///
    /// # Errors
    /// Another writer holds the lock, the document is not of this version, or a file could not be opened.
    pub fn adopt(folder: Folder, now: Timestamp) -> Result<Self, FolderError> {
        let lock = lock(&folder)?;
        // Read under the lock: an earlier writer may have recorded more since the caller looked.
        let document = match folder.read()? {
            DocumentReading::Known(document) => *document,
            DocumentReading::Newer(_) | DocumentReading::Broken(_) => {
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

    /// Returns the document, including changes that the next write will record.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the time from `now` to the next call of [`Writer::tick`]: at most 250 ms while progress is not written.
    pub fn next_tick(&self, now: Timestamp) -> Duration {
        let waited = self.since_written(now);
        if self.is_dirty {
            PROGRESS.saturating_sub(waited)
        } else {
            HEARTBEAT
        }
    }

    /// Writes pending progress and the heartbeat. The caller calls it again after [`Writer::next_tick`].
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
        self.events.append(&EventLine::new(event, now)).map(|_| ())
    }

    /// Writes `daemon.json` unless it was written within [`PROGRESS`]; then [`Writer::tick`] writes it later.
    fn progress(&mut self, now: Timestamp) -> Result<(), FolderError> {
        self.is_dirty = true;
        if self.since_written(now) >= PROGRESS {
            self.write(Durability::Unsynced, now)?;
        }
        Ok(())
    }

    /// Returns the time since the last write. If the clock was set back, that is the longest possible time: writes must not stop.
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
        // Set before the write, so that a full disk is not tried more often than a working one.
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
            // `Folder::is_live` takes the lock for a moment. Without a retry, that made starts and adoptions fail.
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

fn document(folder: &Folder, start: RunStart, now: Timestamp) -> Document {
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
