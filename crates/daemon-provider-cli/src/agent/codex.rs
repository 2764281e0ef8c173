//! `codex exec --json`.

use std::collections::{HashSet, VecDeque};

use daemon_provider::{Failure, FailureKind, Permissions, RunEvent, SessionId, ToolStatus, Usage};
use serde_json::{Map, Value};

use super::values::{
    count, failure, first_session, joined, may_be_object, object, push_output, text, text_at,
};
use super::{Help, Invocation, OwnChecks};
use crate::bounded::{BoundedText, RawUsage};
use crate::process_end::{ExitCodes, ReportedEnd};
use crate::run::{LineKind, OutputParser};

/// All flags that this module passes.
pub(super) const FLAGS: [&str; 8] = [
    "--json",
    "--color",
    "--skip-git-repo-check",
    "--ignore-rules",
    "--sandbox",
    "--config",
    "--dangerously-bypass-approvals-and-sandbox",
    "--model",
];

/// The help commands that list them; `exec resume` accepts fewer.
pub(super) const HELPS: [Help; 2] = [
    Help {
        arguments: &["exec", "--help"],
        flags: &FLAGS,
    },
    Help {
        arguments: &["exec", "resume", "--help"],
        flags: &[
            "--json",
            "--skip-git-repo-check",
            "--ignore-rules",
            "--config",
            "--model",
            "--dangerously-bypass-approvals-and-sandbox",
        ],
    },
];

/// Further flags that a caller may not add: those about permissions, the sandbox, configuration, the session or directories.
const WIDER: [&str; 19] = [
    "--dangerously-bypass-hook-trust",
    "--approve-for-me",
    "--full-auto",
    "--yolo",
    "--ask-for-approval",
    "--trust",
    "--enable",
    "--disable",
    "--strict-config",
    "--profile",
    "--ignore-user-config",
    "--oss",
    "--local-provider",
    "--cd",
    "--worktree",
    "--add-dir",
    "--ephemeral",
    "--thread-source",
    "--output-last-message",
];

/// All flags that a caller may not add. `--model` is last, because a caller may set it if the host does not.
pub(super) const RESERVED: [&str; FLAGS.len() + WIDER.len()] = joined(&WIDER, &FLAGS);

/// The API, the API of a ChatGPT login, and the host that refreshes it.
pub(super) const HOSTS: [&str; 3] = ["api.openai.com", "chatgpt.com", "auth.openai.com"];

/// The most open tool calls whose ids are remembered.
const MOST_TOOLS: usize = 1000;

/// Returns the arguments of one run; the last, `-`, reads the prompt from standard input.
pub(super) fn args(invocation: &Invocation<'_>) -> Vec<String> {
    let mut args = vec!["exec".to_owned()];
    let session = invocation.request.resume.as_ref();
    if let Some(session) = session {
        args.extend(["resume".to_owned(), session.to_string()]);
    }
    args.push("--json".to_owned());
    if session.is_none() {
        args.extend(["--color", "never"].map(str::to_owned));
    }
    args.extend(["--skip-git-repo-check", "--ignore-rules"].map(str::to_owned));
    let sandbox = match invocation.checks {
        OwnChecks::Enforce(Permissions::Read) => Some("read-only"),
        OwnChecks::Enforce(Permissions::Propose | Permissions::Write) => Some("workspace-write"),
        // Its own sandbox cannot be set up inside of another one, and it would then run no command at all.
        OwnChecks::Enforce(Permissions::Bypass) | OwnChecks::AllowAll(_) | OwnChecks::Off => None,
    };
    match (sandbox, session) {
        (None, _) => args.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
        (Some(mode), None) => args.extend(["--sandbox".to_owned(), mode.to_owned()]),
        // `exec resume` has no `--sandbox` flag, so the mode is set as a configuration key.
        (Some(mode), Some(_)) => args.extend(["-c".to_owned(), format!("sandbox_mode=\"{mode}\"")]),
    }
    // No person watches the run, so a command that needs approval has to be denied.
    if sandbox.is_some() {
        args.extend(["-c", "approval_policy=\"never\""].map(str::to_owned));
    }
    if let Some(model) = invocation.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(invocation.mounted.iter().cloned());
    args.extend(invocation.more.iter().cloned());
    // The instructions of a repository are part of the prompt if they count; the checkout may have another version of them. Of two
    // values for one key the last one counts, so that arguments of the operator cannot replace it.
    args.extend(["-c", "project_doc_max_bytes=0", "-"].map(str::to_owned));
    args
}

/// Parser of the output of `codex`.
#[derive(Debug, Default)]
pub(super) struct Codex {
    session: Option<SessionId>,
    /// Ids of tool calls that have started and not ended.
    tools: HashSet<String>,
    text: BoundedText,
    usage: Option<Usage>,
    raw_usage: RawUsage,
    end: Option<Result<(), Failure>>,
}

impl Codex {
    fn item(
        &mut self,
        line: &Map<String, Value>,
        is_end: bool,
        events: &mut VecDeque<RunEvent>,
    ) -> LineKind {
        let Some(item) = line.get("item").and_then(Value::as_object) else {
            return LineKind::Text;
        };
        match text(item, "type").unwrap_or_default() {
            "agent_message" if is_end => {
                let said = text(item, "text").unwrap_or_default();
                self.text.push(said);
                push_output(said, events);
            }
            "error" if is_end => push_output(text(item, "message").unwrap_or_default(), events),
            "agent_message" | "error" | "reasoning" | "todo_list" => {}
            "command_execution" | "mcp_tool_call" | "file_change" | "web_search" => {
                self.tool(item, is_end, events);
            }
            _ => return LineKind::Text,
        }
        LineKind::Work
    }

    /// Adds the events of a tool call. `codex` reports some calls only at their end; those get a start event as well.
    fn tool(&mut self, item: &Map<String, Value>, is_end: bool, events: &mut VecDeque<RunEvent>) {
        let id = text(item, "id").unwrap_or_default().to_owned();
        let kind = text(item, "type").unwrap_or_default();
        let name = match (kind, text(item, "server"), text(item, "tool")) {
            ("mcp_tool_call", Some(server), Some(tool)) => format!("{server}.{tool}"),
            _ => kind.to_owned(),
        };
        if !self.tools.contains(&id) {
            let args = ["command", "arguments", "changes", "query"]
                .iter()
                .find_map(|name| item.get(*name));
            events.push_back(RunEvent::ToolStart {
                id: id.clone(),
                name: name.clone(),
                args: args.unwrap_or(&Value::Null).to_string(),
            });
            if self.tools.len() < MOST_TOOLS {
                self.tools.insert(id.clone());
            }
        }
        if !is_end {
            return;
        }
        self.tools.remove(&id);
        let has_failed = text(item, "status") == Some("failed")
            || item
                .get("exit_code")
                .and_then(Value::as_i64)
                .is_some_and(|code| code != 0);
        let status = if has_failed {
            ToolStatus::Error
        } else {
            ToolStatus::Ok
        };
        events.push_back(RunEvent::ToolEnd { id, name, status });
    }
}

impl OutputParser for Codex {
    fn read(&mut self, line: &str, events: &mut VecDeque<RunEvent>) -> LineKind {
        let Some(object) = object(line) else {
            return LineKind::Text;
        };
        match text(&object, "type").unwrap_or_default() {
            "thread.started" => {
                first_session(&mut self.session, text(&object, "thread_id"), events);
                LineKind::Event
            }
            "turn.started" | "item.updated" => LineKind::Event,
            "item.started" => self.item(&object, false, events),
            "item.completed" => self.item(&object, true, events),
            // `codex` prints an `error` for each failed retry too; only the end of a turn decides.
            "error" => {
                push_output(text(&object, "message").unwrap_or_default(), events);
                LineKind::Event
            }
            "turn.completed" => {
                // One run has one turn; a second line of this kind must not replace or double its counts.
                if self.usage.is_none() {
                    self.raw_usage.push(object.get("usage"));
                }
                let line = Value::Object(object);
                let cached = count(&line, "/usage/cached_input_tokens");
                self.usage.get_or_insert(Usage {
                    // `input_tokens` includes the cached ones here; elsewhere the two are disjoint.
                    input: count(&line, "/usage/input_tokens").saturating_sub(cached),
                    output: count(&line, "/usage/output_tokens"),
                    thinking: 0,
                    cached,
                    cost: None,
                });
                self.end = Some(Ok(()));
                LineKind::End
            }
            "turn.failed" => {
                let line = Value::Object(object);
                let message = text_at(&line, "/error/message").unwrap_or("the turn failed");
                self.end = Some(Err(failure(message)));
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
        match &self.end {
            Some(Ok(())) => ReportedEnd::Success,
            Some(Err(failure)) => ReportedEnd::Failure(failure.clone()),
            // Messages without the end of a turn may be those of an interrupted stream.
            None => ReportedEnd::Unexplained(Failure::new(
                FailureKind::Protocol,
                "codex ended before its turn was completed",
            )),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Arbitrary
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        Some((self.usage?, self.raw_usage.to_json()))
    }

    fn text(&self) -> String {
        self.text.join()
    }
}
