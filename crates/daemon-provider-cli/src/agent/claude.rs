//! `claude --print --output-format stream-json`.

use std::collections::{HashMap, VecDeque};
use std::io;

use daemon_provider::{Failure, FailureKind, Permissions, RunEvent, SessionId, ToolStatus, Usage};
use serde_json::{Map, Value};

use super::mount::names;
use super::values::{
    count, failure, first_session, joined, may_be_object, object, price, say, text,
};
use super::{Asked, Help};
use crate::bounded::RawUsage;
use crate::ending::{ExitCodes, Told};
use crate::run::{Dialect, Reading};

/// Every flag that is used.
pub(super) const FLAGS: [&str; 16] = [
    "--print",
    "--output-format",
    "--verbose",
    "--name",
    "--session-id",
    "--resume",
    "--setting-sources",
    "--strict-mcp-config",
    "--mcp-config",
    "--max-budget-usd",
    "--permission-mode",
    "--tools",
    "--allowedTools",
    "--add-dir",
    "--dangerously-skip-permissions",
    "--model",
];

/// Where they are listed.
pub(super) const HELPS: [Help; 1] = [Help {
    arguments: &["--help"],
    flags: &FLAGS,
}];

/// What a caller may not add beside those: what touches permissions, the sandbox, configuration, the session or directories.
const WIDER: [&str; 27] = [
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--allow-dangerously-skip-permissions",
    "--permission-prompt-tool",
    "--settings",
    "--agent",
    "--agents",
    "--continue",
    "--fork-session",
    "--from-pr",
    "--no-session-persistence",
    "--input-format",
    "--bare",
    "--safe-mode",
    "--bg",
    "--background",
    "--worktree",
    "--tmux",
    "--ide",
    "--chrome",
    "--remote-control",
    "--remote-control-session-name-prefix",
    "--plugin-dir",
    "--plugin-url",
    "--file",
    "--debug-file",
];

/// Every flag that a caller may not add; the last is the model, which a caller may choose where the host names none.
pub(super) const RESERVED: [&str; FLAGS.len() + WIDER.len()] = joined(&WIDER, &FLAGS);

/// More open uses of tools are not told apart.
const MOST_TOOLS: usize = 1000;

/// Returns the arguments of one run.
///
/// # Errors
/// The system gives no randomness for the session's id.
pub(super) fn args(asked: &Asked<'_>) -> io::Result<Vec<String>> {
    let mut args = Vec::new();
    if let Some(session) = &asked.request.resume {
        args.extend(["--resume".to_owned(), session.to_string()]);
    }
    args.extend(["--print", "--output-format", "stream-json", "--verbose"].map(str::to_owned));
    if asked.request.resume.is_none() {
        args.extend([
            "--name".to_owned(),
            asked.title(),
            "--session-id".to_owned(),
        ]);
        args.push(session_id()?);
    }
    args.extend(["--setting-sources", "user", "--strict-mcp-config"].map(str::to_owned));
    args.extend(asked.mounted.iter().cloned());
    if let Some(budget) = asked.request.limits.budget {
        let usd = budget.to_string();
        let usd = usd.strip_suffix(" USD").unwrap_or(&usd);
        args.extend(["--max-budget-usd".to_owned(), usd.to_owned()]);
    }
    if let Some(model) = asked.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(permissions(asked));
    args.extend(asked.more.iter().cloned());
    Ok(args)
}

fn permissions(asked: &Asked<'_>) -> Vec<String> {
    if asked.permissions == Permissions::Bypass {
        return vec!["--dangerously-skip-permissions".to_owned()];
    }
    let mut tools = vec!["Read", "Glob", "Grep"];
    let mut scripts = Vec::new();
    if asked.permissions >= Permissions::Propose {
        tools.extend(["Edit", "Write"]);
        scripts.extend(asked.scripts.iter().map(|path| format!("Bash({path}:*)")));
    }
    let mut allowed: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
    if !scripts.is_empty() {
        tools.push("Bash");
    }
    allowed.extend(scripts);
    allowed.extend(names(asked.request).map(|name| format!("mcp__{name}")));
    let mut args = vec![
        "--permission-mode".to_owned(),
        "dontAsk".to_owned(),
        "--tools".to_owned(),
        tools.join(","),
        "--allowedTools".to_owned(),
        allowed.join(","),
    ];
    if let Some(context) = &asked.request.context {
        args.extend([
            "--add-dir".to_owned(),
            context.to_string_lossy().into_owned(),
        ]);
    }
    args
}

/// Draws a version 4 UUID.
fn session_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
    Ok(parts.join("-"))
}

/// What `claude` prints.
#[derive(Debug, Default)]
pub(super) struct Claude {
    session: Option<SessionId>,
    tools: HashMap<String, String>,
    result: Option<ResultLine>,
    /// Whether it worked on after its last result.
    has_worked: bool,
}

#[derive(Debug)]
struct ResultLine {
    text: String,
    failure: Option<Failure>,
    usage: Usage,
    raw_usage: RawUsage,
}

impl Claude {
    fn assistant(&mut self, line: &Map<String, Value>, told: &mut VecDeque<RunEvent>) {
        self.has_worked = true;
        for part in contents(line) {
            match part.get("type").and_then(Value::as_str) {
                Some("text") => say(text(part, "text").unwrap_or_default(), told),
                Some("tool_use") => {
                    let (Some(id), Some(name)) = (text(part, "id"), text(part, "name")) else {
                        continue;
                    };
                    if self.tools.len() < MOST_TOOLS {
                        self.tools.insert(id.to_owned(), name.to_owned());
                    }
                    told.push_back(RunEvent::ToolStart {
                        id: id.to_owned(),
                        name: name.to_owned(),
                        args: part.get("input").unwrap_or(&Value::Null).to_string(),
                    });
                }
                _ => {}
            }
        }
    }

    fn user(&mut self, line: &Map<String, Value>, told: &mut VecDeque<RunEvent>) {
        let results = contents(line).filter(|part| text(part, "type") == Some("tool_result"));
        for part in results {
            let id = text(part, "tool_use_id").unwrap_or_default();
            let name = self.tools.remove(id);
            let is_error = part.get("is_error").and_then(Value::as_bool);
            told.push_back(RunEvent::ToolEnd {
                id: id.to_owned(),
                name: name.unwrap_or_else(|| "unknown".to_owned()),
                status: if is_error == Some(true) {
                    ToolStatus::Error
                } else {
                    ToolStatus::Ok
                },
            });
        }
    }

    fn result(&mut self, line: Map<String, Value>, told: &mut VecDeque<RunEvent>) {
        for denial in line
            .get("permission_denials")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
        {
            told.push_back(RunEvent::Denied {
                name: text(denial, "tool_name").unwrap_or("unknown").to_owned(),
                detail: denial
                    .get("tool_input")
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            });
        }
        let failed = failure_of(&line);
        let has_succeeded = self
            .result
            .as_ref()
            .is_some_and(|last| last.failure.is_none());
        // An error behind a success, with no work between, is about the way out.
        if !(failed.is_some() && has_succeeded && !self.has_worked) {
            let price = price(line.get("total_cost_usd"));
            let said = text(&line, "result").unwrap_or_default().to_owned();
            let line = Value::Object(line);
            self.result = Some(ResultLine {
                text: said,
                failure: failed,
                usage: Usage {
                    input: count(&line, "/usage/input_tokens"),
                    output: count(&line, "/usage/output_tokens"),
                    thinking: 0,
                    cached: count(&line, "/usage/cache_read_input_tokens")
                        .saturating_add(count(&line, "/usage/cache_creation_input_tokens")),
                    cost: price,
                },
                raw_usage: RawUsage::of(line.get("usage")),
            });
        }
        self.has_worked = false;
    }
}

/// Returns why a result is a failure, if it is one.
fn failure_of(line: &Map<String, Value>) -> Option<Failure> {
    let subtype = text(line, "subtype").unwrap_or_default();
    let is_error = line.get("is_error").and_then(Value::as_bool) == Some(true);
    if !is_error && !subtype.starts_with("error") {
        return None;
    }
    let errors: Vec<&str> = line
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let said = text(line, "result").filter(|said| !said.is_empty());
    let message = match said {
        Some(said) => said.to_owned(),
        None if errors.is_empty() => subtype.replace('_', " "),
        None => errors.join("; "),
    };
    Some(match subtype {
        "error_max_turns" => Failure::new(FailureKind::Limit, message),
        "error_max_budget_usd" => Failure::new(FailureKind::Budget, message),
        _ => failure(&message),
    })
}

fn contents(line: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let contents = line
        .get("message")
        .and_then(|message| message.get("content"))
        .and_then(Value::as_array);
    contents.into_iter().flatten().filter_map(Value::as_object)
}

impl Dialect for Claude {
    fn read(&mut self, line: &str, told: &mut VecDeque<RunEvent>) -> Reading {
        let Some(object) = object(line) else {
            return Reading::Text;
        };
        // What an agent's own helper says is not what it says itself.
        if object
            .get("parent_tool_use_id")
            .is_some_and(|parent| !parent.is_null())
        {
            return Reading::Text;
        }
        let kind = text(&object, "type").map(str::to_owned);
        match (kind.as_deref(), text(&object, "subtype")) {
            (Some("system"), Some("init")) => {
                first_session(&mut self.session, text(&object, "session_id"), told);
                Reading::Event
            }
            (Some("assistant"), _) => {
                self.assistant(&object, told);
                Reading::Work
            }
            (Some("user"), _) => {
                self.user(&object, told);
                Reading::Event
            }
            (Some("result"), _) => {
                self.result(object, told);
                Reading::End
            }
            _ => Reading::Text,
        }
    }

    fn may_begin(&self, line: &str) -> bool {
        may_be_object(line)
    }

    fn session(&self) -> Option<SessionId> {
        self.session.clone()
    }

    fn told(&self) -> Told {
        match &self.result {
            Some(ResultLine { failure: None, .. }) => Told::Success,
            Some(ResultLine {
                failure: Some(failure),
                ..
            }) => Told::Failure(failure.clone()),
            None => Told::Unexplained(Failure::new(
                FailureKind::Protocol,
                "claude ended without a result",
            )),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Arbitrary
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        let result = self.result.as_ref()?;
        Some((result.usage, result.raw_usage.told()))
    }

    fn text(&self) -> String {
        self.result
            .as_ref()
            .map(|result| result.text.clone())
            .unwrap_or_default()
    }
}
