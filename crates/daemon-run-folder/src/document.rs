//! `daemon.json`: the identity and the live status of a run.

use daemon_lifecycle::{Exit, RunId, RunState, StopReason};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::RunError;
use crate::time::{self, seconds, seconds_option};
use crate::word;

/// The version of `daemon.json` that this crate writes.
pub const DATA_VERSION: u64 = 1;

/// The content of `daemon.json`, in the order of its keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Document {
    /// [`DATA_VERSION`].
    pub data_version: u64,
    /// The short name, `em-<n>`.
    pub handle: String,
    /// The identity.
    pub run_id: String,
    /// The group it was dispatched in; an activation has none.
    pub group_id: Option<String>,
    /// Who dispatched it: `mcp:<client>#<8 hex>`, `cli:<uid>`, `agent:<id>` or `daemon:<id>`.
    pub parent_addr: String,
    /// The process that owns it.
    pub parent_pid: i32,
    /// The start of that process: the id of the machine's start, a colon, and the clock ticks since then.
    pub parent_start: String,
    /// The process that executes it; `null` before there is one, and once its whole tree is dead.
    pub child: Option<Child>,
    /// The activation it is an attempt at; absent for an emanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationLink>,
    /// What it is about.
    pub task: String,
    /// The tools it was given.
    #[serde(default)]
    pub tools: Vec<String>,
    /// What it was called with.
    #[serde(default)]
    pub call_parameters: Map<String, Value>,
    /// The provider.
    pub backend: String,
    /// The model, or the provider where the model is the provider's own choice.
    pub model: String,
    /// The preset's name.
    #[serde(default)]
    pub preset_name: Option<String>,
    /// The preset's provider.
    #[serde(default)]
    pub preset_provider: Option<String>,
    /// The preset's model.
    #[serde(default)]
    pub preset_model: Option<String>,
    /// The most turns it may take.
    pub max_turns: Option<u32>,
    /// The most seconds it may take.
    pub timeout_s: Option<f64>,
    /// The most seconds it may be silent.
    pub idle_timeout_s: Option<f64>,
    /// The most it may cost.
    #[serde(default)]
    pub budget: Budget,
    /// What it may do.
    pub permissions: String,
    /// The sandbox it runs in.
    pub sandbox: SandboxRecord,
    /// The SHA-256 of the bytes the provider was sent.
    pub prompt_sha256: String,
    /// The state.
    #[serde(with = "word")]
    pub state: RunState,
    /// When it started.
    #[serde(with = "seconds")]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(with = "seconds_option")]
    pub finished_at: Option<Timestamp>,
    /// Seconds from its start to its end, or to the last write.
    pub elapsed_s: f64,
    /// The turn of the conversation with a model.
    pub turn: u32,
    /// The tool in use.
    pub current_tool: Option<String>,
    /// How many tools were used.
    pub tool_call_count: u64,
    /// What a model of ours used.
    #[serde(default)]
    pub tokens: Tokens,
    /// What a program says it used.
    #[serde(default)]
    pub cli_tokens: CliTokens,
    /// The end of the last line of output.
    pub last_output: Option<String>,
    /// When that came.
    #[serde(with = "seconds_option")]
    pub last_output_at: Option<Timestamp>,
    /// Output that was not kept.
    #[serde(default)]
    pub dropped: Dropped,
    /// The first characters of the result.
    pub result_preview: Option<String>,
    /// The absolute path of `result.txt`, if there is one.
    pub result_path: Option<String>,
    /// Why it did not end well.
    pub error: Option<RunError>,
    /// The provider's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claude_session_id: Option<String>,
    /// The provider's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_session_id: Option<String>,
    /// The provider's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opencode_session_id: Option<String>,
    /// The provider's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_session_id: Option<String>,
    /// The options its program was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_options: Option<Map<String, Value>>,
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_argv: Option<Vec<String>>,
    /// How its process ended.
    pub exit: Option<ExitRecord>,
    /// How the host stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_termination: Option<Termination>,
    /// The messages it was sent after its start.
    #[serde(default)]
    pub followups: Vec<Followup>,
    /// Whether its end was published.
    pub terminal_notified: bool,
    /// Under which number.
    pub notified_seq: Option<u64>,
    /// Whether the provider only reports: neither a model nor a program carries the run out. Absent where one does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
    /// How this document was rebuilt, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Keys this crate does not know.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// The process that executes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// Its process id.
    pub pid: i32,
    /// Its start, in clock ticks since the machine started.
    pub start: u64,
    /// The id of its process group.
    pub pgid: i32,
}

/// The activation that a run is an attempt at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivationLink {
    /// The daemon.
    pub daemon: String,
    /// The activation.
    pub activation_id: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// What fences the attempt's writes.
    pub run_lease: u64,
}

/// The most a run may cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Budget {
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// In tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// The sandbox a run runs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRecord {
    /// The level, from 0 to 3.
    pub level: u8,
    /// What it rests on.
    pub detail: String,
}

/// Tokens used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Read, without the cached ones.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Spent on thinking.
    pub thinking: u64,
    /// Read from, or written to, a cache.
    pub cached: u64,
}

/// Tokens that a program says it used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CliTokens {
    /// The tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// How often it told.
    pub calls: u64,
    /// The price it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Output that was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// Whole lines.
    pub lines: u64,
    /// Bytes, those of the lines included.
    pub bytes: u64,
}

/// The exit status of a process: either a code or a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// The exit code; `None` if a signal terminated the process.
    pub code: Option<i32>,
    /// The signal that terminated the process; `None` if it exited.
    pub signal: Option<i32>,
}

impl From<Exit> for ExitRecord {
    fn from(exit: Exit) -> Self {
        let (code, signal) = match exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        Self { code, signal }
    }
}

/// How the host stopped a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    /// Why.
    #[serde(with = "word")]
    pub reason: StopReason,
    /// The first signal.
    pub signal: String,
    /// The exit code, or the negated signal, once the process was reaped.
    pub returncode: Option<i32>,
    /// More for a person.
    pub detail: Option<String>,
    /// When the reason was stored, which is before the signal was sent.
    #[serde(with = "seconds")]
    pub ts: Timestamp,
}

/// A message that a run was sent after its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followup {
    /// Its number, from 1.
    pub n: u32,
    /// Its state.
    #[serde(with = "word")]
    pub state: RunState,
    /// When it was sent.
    #[serde(with = "seconds")]
    pub started_at: Timestamp,
    /// When it was answered.
    #[serde(with = "seconds_option")]
    pub finished_at: Option<Timestamp>,
    /// The file that holds the answer.
    pub result_path: Option<String>,
    /// Why there is none.
    pub error: Option<RunError>,
}

/// How a document was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// What was wrong with it.
    pub reason: String,
    /// When.
    #[serde(with = "seconds")]
    pub rebuilt_at: Timestamp,
    /// By what.
    pub source: String,
}

impl Document {
    /// Returns the text of `daemon.json`: UTF-8, an indent of two spaces, a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("every key is text and every number is finite");
        text.push('\n');
        text
    }

    /// Returns how long the run has taken at `now`, in seconds; for an ended one, how long it took.
    pub fn elapsed_at(&self, now: Timestamp) -> f64 {
        if self.state.is_terminal() {
            self.elapsed_s
        } else {
            time::elapsed(self.started_at, now)
        }
    }

    /// Makes the document of a run of which nothing but this is known.
    pub(crate) fn blank(id: RunId, state: RunState, started_at: Timestamp) -> Self {
        Self {
            data_version: DATA_VERSION,
            handle: id.handle().to_string(),
            run_id: id.to_string(),
            group_id: None,
            parent_addr: String::new(),
            parent_pid: 0,
            parent_start: String::new(),
            child: None,
            activation: None,
            task: String::new(),
            tools: Vec::new(),
            call_parameters: Map::new(),
            backend: String::new(),
            model: String::new(),
            preset_name: None,
            preset_provider: None,
            preset_model: None,
            max_turns: None,
            timeout_s: None,
            idle_timeout_s: None,
            budget: Budget::default(),
            permissions: String::new(),
            sandbox: SandboxRecord {
                level: 0,
                detail: String::new(),
            },
            prompt_sha256: String::new(),
            state,
            started_at: time::second(started_at),
            finished_at: None,
            elapsed_s: 0.0,
            turn: 0,
            current_tool: None,
            tool_call_count: 0,
            tokens: Tokens::default(),
            cli_tokens: CliTokens::default(),
            last_output: None,
            last_output_at: None,
            dropped: Dropped::default(),
            result_preview: None,
            result_path: None,
            error: None,
            claude_session_id: None,
            codex_session_id: None,
            opencode_session_id: None,
            command_session_id: None,
            backend_options: None,
            backend_argv: None,
            exit: None,
            cli_termination: None,
            followups: Vec::new(),
            terminal_notified: false,
            notified_seq: None,
            reported: false,
            migration: None,
            unknown: Map::new(),
        }
    }
}
