//! `claude --print --output-format stream-json`.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;

use daemon_provider::{Failure, FailureKind, Permissions, RunEvent, SessionId, ToolStatus, Usage};
use serde_json::{Map, Value};

use super::mount::names;
use super::values::{
    count, failure, first_session, joined, may_be_object, object, price, push_output, text,
};
use super::{Help, Invocation, OwnChecks};
use crate::bounded::RawUsage;
use crate::process_end::{ExitCodes, ReportedEnd};
use crate::run::{LineKind, OutputParser};

/// All flags that this module passes.
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

/// The help command that lists them.
pub(super) const HELPS: [Help; 1] = [Help {
    arguments: &["--help"],
    flags: &FLAGS,
}];

/// Further flags that a caller may not add: those about permissions, the sandbox, configuration, the session or directories.
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

/// All flags that a caller may not add. `--model` is last, because a caller may set it if the host does not.
pub(super) const RESERVED: [&str; FLAGS.len() + WIDER.len()] = joined(&WIDER, &FLAGS);

/// The API, and the hosts that refresh a login.
pub(super) const HOSTS: [&str; 3] = [
    "api.anthropic.com",
    "console.anthropic.com",
    "platform.claude.com",
];

/// The most open tool calls whose names are remembered.
const MOST_TOOLS: usize = 1000;

/// Returns the arguments of one run.
///
/// # Errors
/// Fails if the system has no random bytes for the session id.
pub(super) fn args(invocation: &Invocation<'_>) -> io::Result<Vec<String>> {
    let mut args = Vec::new();
    if let Some(session) = &invocation.request.resume {
        args.extend(["--resume".to_owned(), session.to_string()]);
    }
    args.extend(["--print", "--output-format", "stream-json", "--verbose"].map(str::to_owned));
    if invocation.request.resume.is_none() {
        args.extend([
            "--name".to_owned(),
            invocation.title(),
            "--session-id".to_owned(),
        ]);
        args.push(session_id()?);
    }
    // Settings and MCP servers of a repository must not configure the agent: nothing in a repository may widen a run.
    args.extend(["--setting-sources", "user", "--strict-mcp-config"].map(str::to_owned));
    args.extend(invocation.mounted.iter().cloned());
    if let Some(budget) = invocation.request.limits.budget {
        let usd = budget.to_string();
        let usd = usd.strip_suffix(" USD").unwrap_or(&usd);
        args.extend(["--max-budget-usd".to_owned(), usd.to_owned()]);
    }
    if let Some(model) = invocation.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(permissions(invocation));
    args.extend(invocation.more.iter().cloned());
    Ok(args)
}

/// Returns the variable that makes it load no instruction file: `--setting-sources` leaves out those of the repository, this one
/// also those of the login directory.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    vec![("CLAUDE_CODE_DISABLE_CLAUDE_MDS".into(), "1".into())]
}

fn permissions(invocation: &Invocation<'_>) -> Vec<String> {
    let (permissions, has_shell) = match invocation.checks {
        OwnChecks::Off => return vec!["--dangerously-skip-permissions".to_owned()],
        OwnChecks::AllowAll(permissions) => (permissions, true),
        OwnChecks::Enforce(permissions) => (permissions, false),
    };
    let mut tools = vec!["Read", "Glob", "Grep"];
    let mut scripts = Vec::new();
    if permissions >= Permissions::Propose {
        tools.extend(["Edit", "Write"]);
    }
    if has_shell {
        tools.push("Bash");
    } else if permissions >= Permissions::Propose {
        let paths = invocation.scripts.iter();
        scripts.extend(paths.map(|path| format!("Bash({path}:*)")));
    }
    let mut allowed: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
    // `Bash` is offered only with rules for the scripts: in the list of allowed tools it would allow every command.
    if !scripts.is_empty() {
        tools.push("Bash");
    }
    allowed.extend(scripts);
    allowed.extend(names(invocation.request).map(|name| format!("mcp__{name}")));
    for rule in &invocation.request.allowed {
        // A rule for a tool that is not offered would have no effect.
        let tool = rule.split_once('(').map_or(rule.as_str(), |(tool, _)| tool);
        if !tool.starts_with("mcp__") && !tools.contains(&tool) {
            tools.push(tool);
        }
        if !allowed.contains(rule) {
            allowed.push(rule.clone());
        }
    }
    let mut args = vec![
        "--permission-mode".to_owned(),
        "dontAsk".to_owned(),
        "--tools".to_owned(),
        tools.join(","),
        "--allowedTools".to_owned(),
        allowed.join(","),
    ];
    if let Some(context) = &invocation.request.context {
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

/// Parser of the output of `claude`.
#[derive(Debug, Default)]
pub(super) struct Claude {
    session: Option<SessionId>,
    tools: HashMap<String, String>,
    result: Option<ResultLine>,
    /// Whether an assistant message followed the last result.
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
    fn assistant(&mut self, line: &Map<String, Value>, events: &mut VecDeque<RunEvent>) {
        self.has_worked = true;
        for part in contents(line) {
            match part.get("type").and_then(Value::as_str) {
                Some("text") => push_output(text(part, "text").unwrap_or_default(), events),
                Some("tool_use") => {
                    let (Some(id), Some(name)) = (text(part, "id"), text(part, "name")) else {
                        continue;
                    };
                    // Bounded, since a program may print starts without end; a call over the bound ends as `unknown`.
                    if self.tools.len() < MOST_TOOLS {
                        self.tools.insert(id.to_owned(), name.to_owned());
                    }
                    events.push_back(RunEvent::ToolStart {
                        id: id.to_owned(),
                        name: name.to_owned(),
                        args: part.get("input").unwrap_or(&Value::Null).to_string(),
                    });
                }
                _ => {}
            }
        }
    }

    fn user(&mut self, line: &Map<String, Value>, events: &mut VecDeque<RunEvent>) {
        let results = contents(line).filter(|part| text(part, "type") == Some("tool_result"));
        for part in results {
            let id = text(part, "tool_use_id").unwrap_or_default();
            let name = self.tools.remove(id);
            let is_error = part.get("is_error").and_then(Value::as_bool);
            events.push_back(RunEvent::ToolEnd {
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

    fn result(&mut self, line: Map<String, Value>, events: &mut VecDeque<RunEvent>) {
        for denial in line
            .get("permission_denials")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
        {
            events.push_back(RunEvent::Denied {
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
        // An error after a success, without work in between, concerns the shutdown and not the result.
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
                    // The service counts tokens read from the cache and written to it apart; `input` holds neither.
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

/// Returns the failure that a result line reports, or `None` for a success.
fn failure_of(line: &Map<String, Value>) -> Option<Failure> {
    let subtype = text(line, "subtype").unwrap_or_default();
    // `claude` reports an API error with `subtype` "success" and `is_error` true, and a limit the other way round.
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

impl OutputParser for Claude {
    fn read(&mut self, line: &str, events: &mut VecDeque<RunEvent>) -> LineKind {
        let Some(object) = object(line) else {
            return LineKind::Text;
        };
        // Lines of a subagent have a parent: its messages and results are not those of the run.
        if object
            .get("parent_tool_use_id")
            .is_some_and(|parent| !parent.is_null())
        {
            return LineKind::Text;
        }
        let kind = text(&object, "type").map(str::to_owned);
        match (kind.as_deref(), text(&object, "subtype")) {
            (Some("system"), Some("init")) => {
                first_session(&mut self.session, text(&object, "session_id"), events);
                LineKind::Event
            }
            (Some("assistant"), _) => {
                self.assistant(&object, events);
                LineKind::Work
            }
            (Some("user"), _) => {
                self.user(&object, events);
                LineKind::Event
            }
            (Some("result"), _) => {
                self.result(object, events);
                LineKind::End
            }
            _ => LineKind::Text,
        }
    }

    fn may_begin(&self, line: &str) -> bool {
        may_be_object(line)
    }

    fn session(&self) -> Option<SessionId> {
        self.session.clone()
    }

    fn reported_end(&self) -> ReportedEnd {
        match &self.result {
            Some(ResultLine { failure: None, .. }) => ReportedEnd::Success,
            Some(ResultLine {
                failure: Some(failure),
                ..
            }) => ReportedEnd::Failure(failure.clone()),
            None => ReportedEnd::Unexplained(Failure::new(
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
        Some((result.usage, result.raw_usage.to_json()))
    }

    fn text(&self) -> String {
        self.result
            .as_ref()
            .map(|result| result.text.clone())
            .unwrap_or_default()
    }
}
