//! `daemon.json`: the identity and live status of a run.

use daemon_lifecycle::{ChildProcess, Exit, RunId, RunState, StopReason};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::RunError;
use crate::time::{self, seconds, seconds_option};
use crate::word;

/// The version of `daemon.json` that this crate writes.
pub const DATA_VERSION: u64 = 1;

/// The content of `daemon.json`. The fields are in the order of the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Document {
    /// The version of the format; [`DATA_VERSION`] in every document that this crate writes.
    pub data_version: u64,
    /// The short name, `em-<n>`.
    pub handle: String,
    /// The run's id, which is also the name of the folder.
    pub run_id: String,
    /// The group of runs dispatched together; `None` for an attempt at an activation.
    pub group_id: Option<String>,
    /// The address of the parent: `mcp:<client>#<8 hex>`, `cli:<uid>`, `agent:<id>` or `daemon:<id>`.
    pub parent_addr: String,
    /// The process id of the host that owns the run.
    pub parent_pid: i32,
    /// The start of the owner: the boot id, a colon, and clock ticks since boot. With [`Document::parent_pid`] it identifies the
    /// process: a tick count alone would match another process after a reboot.
    pub parent_start: String,
    /// The child process; `None` before it is spawned and after its whole process tree is dead.
    pub child: Option<ChildRecord>,
    /// The attempt that this run is; absent for an emanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationLink>,
    /// The task of an emanation, verbatim; the trigger of an activation.
    pub task: String,
    /// The tool groups that the caller requested.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The call's parameters, redacted.
    #[serde(default)]
    pub call_parameters: Map<String, Value>,
    /// The provider's canonical name.
    pub backend: String,
    /// The model, or the provider's name if the provider chooses the model.
    pub model: String,
    /// The name of the preset that the caller chose.
    #[serde(default)]
    pub preset_name: Option<String>,
    /// The kind of API that the preset names.
    #[serde(default)]
    pub preset_provider: Option<String>,
    /// The model that the preset names.
    #[serde(default)]
    pub preset_model: Option<String>,
    /// The limit on model turns; `None` where nothing enforces one.
    pub max_turns: Option<u32>,
    /// The limit on the duration, in seconds.
    pub timeout_s: Option<f64>,
    /// The limit on the time without output, in seconds.
    pub idle_timeout_s: Option<f64>,
    /// The limit on the cost.
    #[serde(default)]
    pub budget: BudgetRecord,
    /// The effective permissions: `read`, `propose`, `write` or `bypass`.
    pub permissions: String,
    /// The effective sandbox.
    pub sandbox: SandboxRecord,
    /// The SHA-256 of the bytes sent to the provider, before redaction, in hexadecimal.
    pub prompt_sha256: String,
    /// The state of the run; terminal states never change.
    #[serde(with = "word")]
    pub state: RunState,
    /// The start of the run, to the second.
    #[serde(with = "seconds")]
    pub started_at: Timestamp,
    /// The end of the run, to the second; `None` while it runs.
    #[serde(with = "seconds_option")]
    pub finished_at: Option<Timestamp>,
    /// Seconds from the start to the end, or to the last write of this file; see [`Document::elapsed_at`].
    pub elapsed_s: f64,
    /// The current turn of the conversation with a model; the task is turn 0.
    pub turn: u32,
    /// The tool in use; `None` between tool calls.
    pub current_tool: Option<String>,
    /// The number of tool calls so far.
    pub tool_call_count: u64,
    /// Tokens of the model calls that the provider made itself.
    #[serde(default)]
    pub tokens: TokensRecord,
    /// Usage that the child program reported; recorded only if the run ends as `done`.
    #[serde(default)]
    pub cli_tokens: CliTokens,
    /// The last 1,000 characters of the last line of output.
    pub last_output: Option<String>,
    /// The time of [`Document::last_output`].
    #[serde(with = "seconds_option")]
    pub last_output_at: Option<Timestamp>,
    /// Output that was not kept, because of capture limits or log rotation.
    #[serde(default)]
    pub dropped: Dropped,
    /// The first 200 characters of the result of a `done` run.
    pub result_preview: Option<String>,
    /// The absolute path of `result.txt`; `None` if the run ended without text.
    pub result_path: Option<String>,
    /// Why the run did not end as `done`.
    pub error: Option<RunError>,
    /// The session of `claude`, for resuming it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claude_session_id: Option<String>,
    /// The session of `codex`, for resuming it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_session_id: Option<String>,
    /// The session of `opencode`, for resuming it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opencode_session_id: Option<String>,
    /// The session of any other provider, for resuming it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_session_id: Option<String>,
    /// Extra options of the child program, redacted; absent until it is spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_options: Option<Map<String, Value>>,
    /// The child program and its arguments, redacted; absent until it is spawned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_argv: Option<Vec<String>>,
    /// The exit status of the child of the first turn; `None` until it is reaped.
    pub exit: Option<ExitRecord>,
    /// The stop that the host began; absent if it began none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_termination: Option<Termination>,
    /// The messages sent to the run after its start, in order.
    #[serde(default)]
    pub followups: Vec<Followup>,
    /// Whether the end of the run was published.
    pub terminal_notified: bool,
    /// The sequence number under which the end was published.
    pub notified_seq: Option<u64>,
    /// Whether the provider only reports: no model and no program carried out the routines. Absent if one did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
    /// Present if this document was rebuilt from the other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Keys that this crate does not know; they are written back unchanged.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// The [`ChildProcess`] of a run, as `daemon.json` contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRecord {
    /// The process id.
    pub pid: i32,
    /// The start of the process, in clock ticks since boot.
    pub start: u64,
    /// The id of the process group, which is signalled as a whole.
    pub pgid: i32,
}

impl From<ChildProcess> for ChildRecord {
    fn from(ChildProcess { pid, start, pgid }: ChildProcess) -> Self {
        Self { pid, start, pgid }
    }
}

/// The attempt at an activation that a run carries out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivationLink {
    /// The id of the daemon.
    pub daemon: String,
    /// The id of the activation.
    pub activation_id: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The lease that fences the attempt's writes.
    pub run_lease: u64,
}

/// The limit on what a run may cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct BudgetRecord {
    /// The limit in US dollars; `None` is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// The limit in tokens; `None` is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What was reserved for the run, in US dollars: its cost in the budget of the day if its program reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_usd: Option<f64>,
}

/// The sandbox of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRecord {
    /// The level, from 0 to 3.
    pub level: u8,
    /// The mechanisms that enforce the level, for a person.
    pub detail: String,
}

/// Token counts of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokensRecord {
    /// Input tokens, without cached ones.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens spent on thinking.
    pub thinking: u64,
    /// Input tokens read from or written to a cache.
    pub cached: u64,
}

/// Usage that the child program reported.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CliTokens {
    /// The sum of the reported token counts.
    #[serde(flatten)]
    pub tokens: TokensRecord,
    /// The number of reports.
    pub calls: u64,
    /// The sum of the reported prices in US dollars; `None` if the program reports no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The amount of output that was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// Lines that were lost as a whole.
    pub lines: u64,
    /// Lost bytes, including those of the lost lines.
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

/// A stop that the host began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Termination {
    /// The reason that holds; it decides the state of the run unless it is `grace`.
    #[serde(with = "word")]
    pub reason: StopReason,
    /// The first signal sent to the process group.
    pub signal: String,
    /// The exit code, or the negated signal, once the process was reaped.
    pub returncode: Option<i32>,
    /// An explanation for a person.
    pub detail: Option<String>,
    /// The time at which the reason was stored, before the signal was sent.
    #[serde(with = "seconds")]
    pub ts: Timestamp,
}

/// A message sent to a run after its start, and its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followup {
    /// The number of the message, from 1.
    pub n: u32,
    /// `running` until the reply is recorded; the state of the run does not change with it.
    #[serde(with = "word")]
    pub state: RunState,
    /// The time at which the message was stored.
    #[serde(with = "seconds")]
    pub started_at: Timestamp,
    /// The time at which the reply, or its failure, was recorded.
    #[serde(with = "seconds_option")]
    pub finished_at: Option<Timestamp>,
    /// The absolute path of the reply; `None` if there is no reply.
    pub result_path: Option<String>,
    /// Why there is no reply.
    pub error: Option<RunError>,
}

/// How and why a document was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// [`Broken::as_str`](crate::Broken::as_str) of the old document.
    pub reason: String,
    /// The time of the rebuild.
    #[serde(with = "seconds")]
    pub rebuilt_at: Timestamp,
    /// The component that rebuilt it: `daemon_list_best_effort`.
    pub source: String,
}

impl Document {
    /// Returns the text of `daemon.json`: UTF-8, indented by two spaces, with a final newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("every key is text and every number is finite");
        text.push('\n');
        text
    }

    /// Returns the seconds from the start of the run to `now`, or to its end if it has ended.
    pub fn elapsed_at(&self, now: Timestamp) -> f64 {
        if self.state.is_terminal() {
            self.elapsed_s
        } else {
            time::elapsed(self.started_at, now)
        }
    }

    /// Returns the members of `daemon.json`.
    pub fn to_members(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => members,
            _ => unreachable!("a document is an object whose keys are text"),
        }
    }

    /// Replaces fields by their JSON in another document; a field whose type differs keeps its value.
    pub(crate) fn with_fields(self, other: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut fields = self.to_members();
        for (key, value) in other {
            let before = fields.insert(key.clone(), value);
            // Tried one by one, because one field of the wrong type must not discard the others.
            if serde_json::from_value::<Self>(Value::Object(fields.clone())).is_err() {
                match before {
                    Some(before) => fields.insert(key, before),
                    None => fields.remove(&key),
                };
            }
        }
        serde_json::from_value(Value::Object(fields))
            .expect("only fields that leave a document were replaced")
    }

    /// Makes the document of a run of which only these fields are known.
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
            budget: BudgetRecord::default(),
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
            tokens: TokensRecord::default(),
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
