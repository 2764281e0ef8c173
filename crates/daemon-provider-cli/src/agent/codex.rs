//! `codex exec --json`.

use std::collections::{HashSet, VecDeque};

use daemon_provider::{Failure, FailureKind, Permissions, RunEvent, SessionId, ToolStatus, Usage};
use serde_json::{Map, Value};

use super::values::{
    count, failure, first_session, joined, may_be_object, object, say, text, text_at,
};
use super::{Asked, Help};
use crate::bounded::{BoundedText, RawUsage};
use crate::ending::{ExitCodes, Told};
use crate::run::{Dialect, Reading};

/// Every flag that is used.
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

/// Where they are listed; a resumed run knows fewer.
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

/// What a caller may not add beside those: what touches permissions, the sandbox, configuration, the session or directories.
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

/// Every flag that a caller may not add; the last is the model, which a caller may choose where the host names none.
pub(super) const RESERVED: [&str; FLAGS.len() + WIDER.len()] = joined(&WIDER, &FLAGS);

/// More open uses of tools are not told apart.
const MOST_TOOLS: usize = 1000;

/// Returns the arguments of one run; the last makes it read the prompt from its standard input.
pub(super) fn args(asked: &Asked<'_>) -> Vec<String> {
    let mut args = vec!["exec".to_owned()];
    let session = asked.request.resume.as_ref();
    if let Some(session) = session {
        args.extend(["resume".to_owned(), session.to_string()]);
    }
    args.push("--json".to_owned());
    if session.is_none() {
        args.extend(["--color", "never"].map(str::to_owned));
    }
    args.extend(["--skip-git-repo-check", "--ignore-rules"].map(str::to_owned));
    let sandbox = match asked.permissions {
        Permissions::Read => Some("read-only"),
        Permissions::Propose | Permissions::Write => Some("workspace-write"),
        Permissions::Bypass => None,
    };
    match (sandbox, session) {
        (None, _) => args.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
        (Some(mode), None) => args.extend(["--sandbox".to_owned(), mode.to_owned()]),
        // A resumed run has no flag for it.
        (Some(mode), Some(_)) => args.extend(["-c".to_owned(), format!("sandbox_mode=\"{mode}\"")]),
    }
    if sandbox.is_some() {
        args.extend(["-c", "approval_policy=\"never\""].map(str::to_owned));
    }
    if let Some(model) = asked.model {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(asked.mounted.iter().cloned());
    args.extend(asked.more.iter().cloned());
    args.push("-".to_owned());
    args
}

/// What `codex` prints.
#[derive(Debug, Default)]
pub(super) struct Codex {
    session: Option<SessionId>,
    /// The tools in use.
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
        told: &mut VecDeque<RunEvent>,
    ) -> Reading {
        let Some(item) = line.get("item").and_then(Value::as_object) else {
            return Reading::Text;
        };
        match text(item, "type").unwrap_or_default() {
            "agent_message" if is_end => {
                let said = text(item, "text").unwrap_or_default();
                self.text.push(said);
                say(said, told);
            }
            "error" if is_end => say(text(item, "message").unwrap_or_default(), told),
            "agent_message" | "error" | "reasoning" | "todo_list" => {}
            "command_execution" | "mcp_tool_call" | "file_change" | "web_search" => {
                self.tool(item, is_end, told);
            }
            _ => return Reading::Text,
        }
        Reading::Work
    }

    /// A tool that is told only when it ended began just before.
    fn tool(&mut self, item: &Map<String, Value>, is_end: bool, told: &mut VecDeque<RunEvent>) {
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
            told.push_back(RunEvent::ToolStart {
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
        told.push_back(RunEvent::ToolEnd { id, name, status });
    }
}

impl Dialect for Codex {
    fn read(&mut self, line: &str, told: &mut VecDeque<RunEvent>) -> Reading {
        let Some(object) = object(line) else {
            return Reading::Text;
        };
        match text(&object, "type").unwrap_or_default() {
            "thread.started" => {
                first_session(&mut self.session, text(&object, "thread_id"), told);
                Reading::Event
            }
            "turn.started" | "item.updated" => Reading::Event,
            "item.started" => self.item(&object, false, told),
            "item.completed" => self.item(&object, true, told),
            // It tells of tries as well as of ends; only a turn decides.
            "error" => {
                say(text(&object, "message").unwrap_or_default(), told);
                Reading::Event
            }
            "turn.completed" => {
                if self.usage.is_none() {
                    self.raw_usage.push(object.get("usage"));
                }
                let line = Value::Object(object);
                let cached = count(&line, "/usage/cached_input_tokens");
                self.usage.get_or_insert(Usage {
                    input: count(&line, "/usage/input_tokens").saturating_sub(cached),
                    output: count(&line, "/usage/output_tokens"),
                    thinking: 0,
                    cached,
                    cost: None,
                });
                self.end = Some(Ok(()));
                Reading::End
            }
            "turn.failed" => {
                let line = Value::Object(object);
                let message = text_at(&line, "/error/message").unwrap_or("the turn failed");
                self.end = Some(Err(failure(message)));
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
        match &self.end {
            Some(Ok(())) => Told::Success,
            Some(Err(failure)) => Told::Failure(failure.clone()),
            // Messages alone may be those of a stream that was cut.
            None => Told::Unexplained(Failure::new(
                FailureKind::Protocol,
                "codex ended before its turn was completed",
            )),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Arbitrary
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        Some((self.usage?, self.raw_usage.told()))
    }

    fn text(&self) -> String {
        self.text.join()
    }
}
