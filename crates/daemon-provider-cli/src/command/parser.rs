//! Parser of a command's output: event lines and text.

use std::collections::{HashMap, VecDeque};

use daemon_provider::{Failure, FailureKind, MicroUsd, RunEvent, SessionId, ToolStatus, Usage};

use serde_json::Value;

use super::ResultRule;
use super::lines::{LineEvent, ToolUse, add};
use crate::bounded::{BoundedText, RawUsage};
use crate::process_end::{ExitCodes, ReportedEnd};
use crate::run::{LineKind, OutputParser};

/// The most open tool calls whose names are remembered.
const MOST_TOOLS: usize = 1000;
/// The most characters of a reported text that the message of a failure keeps.
const MESSAGE_CHARS: usize = 500;

#[derive(Debug)]
pub(crate) struct CommandParser {
    rule: ResultRule,
    can_resume: bool,
    session: Option<SessionId>,
    tools: HashMap<ToolUse, String>,
    usage: Option<Usage>,
    raw_usage: RawUsage,
    text: BoundedText,
    result: Option<ReportedResult>,
}

/// The fields of a `result` line.
#[derive(Debug)]
struct ReportedResult {
    ok: bool,
    text: String,
}

impl CommandParser {
    pub(crate) fn new(rule: ResultRule, can_resume: bool) -> Self {
        Self {
            rule,
            can_resume,
            session: None,
            tools: HashMap::new(),
            usage: None,
            raw_usage: RawUsage::default(),
            text: BoundedText::default(),
            result: None,
        }
    }

    /// Records an event. A line whose values are out of range counts as text.
    fn take(&mut self, event: LineEvent, events: &mut VecDeque<RunEvent>) -> LineKind {
        match event {
            LineEvent::Session { id } => {
                let Ok(id) = id.parse::<SessionId>() else {
                    return LineKind::Text;
                };
                if self.session.is_none() {
                    self.session = Some(id.clone());
                    events.push_back(RunEvent::Session(id));
                }
            }
            LineEvent::ToolStart { id, name, args } => {
                let used = id.to_string();
                if self.tools.len() < MOST_TOOLS {
                    self.tools.insert(id, name.clone());
                }
                let args = args.to_string();
                events.push_back(RunEvent::ToolStart {
                    id: used,
                    name,
                    args,
                });
            }
            LineEvent::ToolEnd { id, ok } => {
                let name = self
                    .tools
                    .remove(&id)
                    .unwrap_or_else(|| "unknown".to_owned());
                let status = if ok {
                    ToolStatus::Ok
                } else {
                    ToolStatus::Error
                };
                events.push_back(RunEvent::ToolEnd {
                    id: id.to_string(),
                    name,
                    status,
                });
            }
            LineEvent::Usage(usage) => {
                let Some(counts) = usage.counts() else {
                    return LineKind::Text;
                };
                add(self.usage.get_or_insert_default(), counts);
                self.raw_usage
                    .push(serde_json::to_value(usage).ok().as_ref());
            }
            LineEvent::Output { output } => events.push_back(RunEvent::Proposed(output)),
            LineEvent::Result { ok, text } => {
                self.result = Some(ReportedResult { ok, text });
                return LineKind::End;
            }
        }
        LineKind::Event
    }
}

impl OutputParser for CommandParser {
    fn read(&mut self, line: &str, events: &mut VecDeque<RunEvent>) -> LineKind {
        match LineEvent::parse(line) {
            Some(event) => self.take(event, events),
            None => LineKind::Text,
        }
    }

    fn may_begin(&self, line: &str) -> bool {
        LineEvent::may_begin(line)
    }

    fn text_line(&mut self, line: &str) {
        self.text.push(line);
    }

    fn session(&self) -> Option<SessionId> {
        // Without arguments to resume with, a session id is of no use to a follow-up.
        self.session.clone().filter(|_| self.can_resume)
    }

    fn reported_end(&self) -> ReportedEnd {
        // The last result line counts: a program may report a failure and then recover from it.
        let failed = |kind, message: &str| Failure::new(kind, message);
        match (&self.result, self.rule) {
            (Some(ReportedResult { ok: true, .. }), _) | (None, ResultRule::Optional) => {
                ReportedEnd::Success
            }
            (Some(ReportedResult { ok: false, text }), _) if text.is_empty() => {
                ReportedEnd::Unexplained(failed(
                    FailureKind::Provider,
                    "the program reported a failure",
                ))
            }
            (Some(ReportedResult { ok: false, text }), _) => {
                let message: String = text.chars().take(MESSAGE_CHARS).collect();
                ReportedEnd::Failure(failed(FailureKind::Provider, &message))
            }
            (None, ResultRule::Required) => ReportedEnd::Failure(failed(
                FailureKind::Protocol,
                "the program ended without a result",
            )),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Conventional
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        Some((self.usage?, self.raw_usage.to_json()))
    }

    fn cost(&self) -> Option<MicroUsd> {
        self.usage?.cost
    }

    fn text(&self) -> String {
        match &self.result {
            Some(result) => result.text.clone(),
            None => self.text.join(),
        }
    }
}
