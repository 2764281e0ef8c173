//! The language of a plain command: lines that are events, and all other text.

use std::collections::{HashMap, VecDeque};

use daemon_provider::{Failure, FailureKind, MicroUsd, RunEvent, SessionId, ToolStatus, Usage};

use serde_json::Value;

use super::ResultRule;
use super::lines::{LineEvent, ToolUse, add};
use crate::bounded::{BoundedText, RawUsage};
use crate::ending::{ExitCodes, Told};
use crate::run::{Dialect, Reading};

/// More open uses of tools are not told apart.
const MOST_TOOLS: usize = 1000;
/// How much of what was told becomes the message of a failure.
const MESSAGE_CHARS: usize = 500;

#[derive(Debug)]
pub(crate) struct CommandDialect {
    rule: ResultRule,
    can_resume: bool,
    session: Option<SessionId>,
    tools: HashMap<ToolUse, String>,
    usage: Option<Usage>,
    raw_usage: RawUsage,
    text: BoundedText,
    result: Option<ToldResult>,
}

/// What a program told as its result.
#[derive(Debug)]
struct ToldResult {
    ok: bool,
    text: String,
}

impl CommandDialect {
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

    /// Takes an event; a line that is none after all is text.
    fn take(&mut self, event: LineEvent, told: &mut VecDeque<RunEvent>) -> Reading {
        match event {
            LineEvent::Session { id } => {
                let Ok(id) = id.parse::<SessionId>() else {
                    return Reading::Text;
                };
                if self.session.is_none() {
                    self.session = Some(id.clone());
                    told.push_back(RunEvent::Session(id));
                }
            }
            LineEvent::ToolStart { id, name, args } => {
                let used = id.to_string();
                if self.tools.len() < MOST_TOOLS {
                    self.tools.insert(id, name.clone());
                }
                let args = args.to_string();
                told.push_back(RunEvent::ToolStart {
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
                told.push_back(RunEvent::ToolEnd {
                    id: id.to_string(),
                    name,
                    status,
                });
            }
            LineEvent::Usage(usage) => {
                let Some(counts) = usage.counts() else {
                    return Reading::Text;
                };
                add(self.usage.get_or_insert_default(), counts);
                self.raw_usage
                    .push(serde_json::to_value(usage).ok().as_ref());
            }
            LineEvent::Output { output } => told.push_back(RunEvent::Proposed(output)),
            LineEvent::Result { ok, text } => {
                self.result = Some(ToldResult { ok, text });
                return Reading::End;
            }
        }
        Reading::Event
    }
}

impl Dialect for CommandDialect {
    fn read(&mut self, line: &str, told: &mut VecDeque<RunEvent>) -> Reading {
        match LineEvent::parse(line) {
            Some(event) => self.take(event, told),
            None => Reading::Text,
        }
    }

    fn may_begin(&self, line: &str) -> bool {
        LineEvent::may_begin(line)
    }

    fn text_line(&mut self, line: &str) {
        self.text.push(line);
    }

    fn session(&self) -> Option<SessionId> {
        self.session.clone().filter(|_| self.can_resume)
    }

    fn told(&self) -> Told {
        let failed = |kind, message: &str| Failure::new(kind, message);
        match (&self.result, self.rule) {
            (Some(ToldResult { ok: true, .. }), _) | (None, ResultRule::Optional) => Told::Success,
            (Some(ToldResult { ok: false, text }), _) if text.is_empty() => Told::Unexplained(
                failed(FailureKind::Provider, "the program reported a failure"),
            ),
            (Some(ToldResult { ok: false, text }), _) => {
                let message: String = text.chars().take(MESSAGE_CHARS).collect();
                Told::Failure(failed(FailureKind::Provider, &message))
            }
            (None, ResultRule::Required) => Told::Failure(failed(
                FailureKind::Protocol,
                "the program ended without a result",
            )),
        }
    }

    fn codes(&self) -> ExitCodes {
        ExitCodes::Conventional
    }

    fn usage(&self) -> Option<(Usage, Value)> {
        Some((self.usage?, self.raw_usage.told()))
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
