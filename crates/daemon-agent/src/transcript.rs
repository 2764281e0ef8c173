//! The state of a conversation, as the lines of its log leave it.

use std::collections::HashMap;

use daemon_provider::tool_loop::{Chat, ChatMessage, LoopCall, LoopCallResult, ToolSpec};
use jiff::Timestamp;
use serde_json::Value;

use crate::hook::Injected;
use crate::line::{CallLine, Entry, Line, TurnChain, TurnOutcome, TurnTokens};

/// The characters of the first message that are the title of a conversation.
const TITLE_CHARS: usize = 80;
/// The result of a call whose tool did not end, for the model.
const NOT_ENDED: &str = "error: the turn ended before the tool did";
/// What precedes a summary that replaces earlier messages.
const SUMMARISED: &str = "Summary of the conversation so far:\n\n";

/// How a turn ended, and what it said last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnResult {
    /// The number of the turn, from 1.
    pub turn: u64,
    /// The last text of the model; empty without one.
    pub text: String,
    /// How it ended.
    pub outcome: TurnOutcome,
    /// The model that replied last; empty without a reply.
    pub model: String,
    /// The tokens of all its replies.
    pub usage: TurnTokens,
    /// Why it failed.
    pub error: Option<String>,
}

/// A question that was not answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenAsk {
    pub(crate) ask_id: String,
    pub(crate) call_id: String,
    pub(crate) asked_at: Timestamp,
}

/// A turn without an end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenTurn {
    pub(crate) turn: u64,
    /// The message that began it.
    pub(crate) content: String,
    pub(crate) chain: TurnChain,
    key: Option<String>,
    text: String,
    model: String,
    usage: TurnTokens,
    /// The calls of the last reply without a result.
    pub(crate) calls: Vec<CallLine>,
    pub(crate) ask: Option<OpenAsk>,
    /// The answer to its question, if its tool has not ended.
    pub(crate) answer: Option<(String, String)>,
}

/// What the lines of a log say.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConversationState {
    pub(crate) cwd: Option<String>,
    pub(crate) title: String,
    pub(crate) n_turns: u64,
    pub(crate) open: Option<OpenTurn>,
    /// The session that a program can continue.
    pub(crate) session: Option<String>,
    /// The number of the last line.
    pub(crate) last: u64,
    /// What the model read and wrote at its last reply, in tokens.
    pub(crate) context_tokens: u64,
    summary: Option<String>,
    messages: Vec<(u64, ChatMessage)>,
    keyed: HashMap<String, TurnResult>,
    n_asks: u64,
    /// The line of the message that began the last turn.
    pub(crate) begun_at: u64,
}

impl ConversationState {
    /// Reads lines.
    pub(crate) fn of(lines: &[Line]) -> Self {
        let mut transcript = Self::default();
        for line in lines {
            transcript.apply(line);
        }
        transcript
    }

    /// Adds a line.
    pub(crate) fn apply(&mut self, line: &Line) {
        self.last = line.n;
        match &line.entry {
            Entry::Meta { cwd, .. } => self.cwd.clone_from(cwd),
            Entry::User { .. } => self.began(line.n, &line.entry),
            Entry::Assistant { .. } => self.replied(line.n, &line.entry),
            Entry::Tool {
                call_id,
                output,
                is_error,
                ..
            } => self.tool_ended(line.n, (call_id, output, *is_error)),
            Entry::Ask {
                ask_id, call_id, ..
            } => {
                self.n_asks += 1;
                if let Some(open) = &mut self.open {
                    open.ask = Some(OpenAsk {
                        ask_id: ask_id.clone(),
                        call_id: call_id.clone(),
                        asked_at: line.at,
                    });
                }
            }
            Entry::Answer { content, .. } => {
                if let Some(open) = &mut self.open {
                    let asked = open.ask.take();
                    open.answer = asked.map(|ask| (ask.call_id, content.clone()));
                }
            }
            Entry::End {
                turn,
                outcome,
                error,
                ..
            } => self.ended(*turn, *outcome, error.as_deref()),
            Entry::Compact {
                summary,
                title,
                upto,
                ..
            } => {
                self.messages.retain(|(n, _)| n > upto);
                self.summary = Some(summary.clone());
                self.title.clone_from(title);
                self.context_tokens = 0;
                // The session of a program has the messages that the summary replaces.
                self.session = None;
            }
        }
    }

    fn began(&mut self, n: u64, entry: &Entry) {
        let Entry::User {
            turn,
            content,
            key,
            chain,
            ..
        } = entry
        else {
            return;
        };
        self.n_turns = *turn;
        self.begun_at = n;
        if self.title.is_empty() {
            let line = content.lines().find(|line| !line.trim().is_empty());
            self.title = line
                .unwrap_or_default()
                .trim()
                .chars()
                .take(TITLE_CHARS)
                .collect();
        }
        self.messages.push((n, ChatMessage::User(content.clone())));
        self.open = Some(OpenTurn {
            turn: *turn,
            content: content.clone(),
            chain: *chain,
            key: key.clone(),
            text: String::new(),
            model: String::new(),
            usage: TurnTokens::default(),
            calls: Vec::new(),
            ask: None,
            answer: None,
        });
    }

    fn replied(&mut self, n: u64, entry: &Entry) {
        let Entry::Assistant {
            content,
            calls,
            model,
            usage,
            session,
            ..
        } = entry
        else {
            return;
        };
        if session.is_some() {
            self.session.clone_from(session);
        }
        self.context_tokens = usage.context();
        if let Some(open) = &mut self.open {
            if !content.trim().is_empty() {
                open.text.clone_from(content);
            }
            open.model.clone_from(model);
            open.usage.add(*usage);
            open.calls.clone_from(calls);
        }
        // No API takes a reply without any content.
        if !content.is_empty() || !calls.is_empty() {
            let message = ChatMessage::Assistant {
                text: content.clone(),
                calls: calls.iter().map(tool_call).collect(),
                native: None,
            };
            self.messages.push((n, message));
        }
    }

    fn tool_ended(&mut self, n: u64, (call_id, output, is_error): (&str, &str, bool)) {
        let Some(open) = &mut self.open else { return };
        let Some(at) = open.calls.iter().position(|call| call.id == call_id) else {
            return;
        };
        let call = tool_call(&open.calls.remove(at));
        if open.ask.as_ref().is_some_and(|ask| ask.call_id == call_id) {
            open.ask = None;
        }
        if open
            .answer
            .as_ref()
            .is_some_and(|(call, _)| call == call_id)
        {
            open.answer = None;
        }
        let result = LoopCallResult {
            call,
            text: output.to_owned(),
            is_error,
        };
        self.messages.push((n, ChatMessage::Tool(result)));
    }

    fn ended(&mut self, turn: u64, outcome: TurnOutcome, error: Option<&str>) {
        let Some(open) = self.open.take_if(|open| open.turn == turn) else {
            return;
        };
        if let Some(key) = open.key.clone() {
            self.keyed.insert(key, open.result(outcome, error));
        }
    }

    /// Returns how the turn of a key ended.
    pub(crate) fn ended_turn(&self, key: &str) -> Option<&TurnResult> {
        self.keyed.get(key)
    }

    /// Returns the id of the next question.
    pub(crate) fn next_ask(&self) -> String {
        format!("ask-{}", self.n_asks + 1)
    }

    /// Returns the entries that end the open turn: results of the calls that have none, and the end.
    pub(crate) fn closing(&self, outcome: TurnOutcome, error: Option<String>) -> Vec<Entry> {
        let Some(open) = &self.open else {
            return Vec::new();
        };
        let turn = open.turn;
        let results = open.calls.iter().map(|call| Entry::Tool {
            turn,
            call_id: call.id.clone(),
            output: NOT_ENDED.to_owned(),
            is_error: true,
            duration_ms: 0,
        });
        let end = Entry::End {
            turn,
            outcome,
            error,
            usage: open.usage,
        };
        results.chain([end]).collect()
    }

    /// Returns the entries for the calls without a result: that of the answered call, and errors for the others.
    pub(crate) fn results(
        &self,
        turn: u64,
        (answered, output, is_error): (&str, String, bool),
    ) -> Vec<Entry> {
        let calls = self.open.iter().flat_map(|open| &open.calls);
        let results = calls.map(|call| match call.id == answered {
            true => (call, output.clone(), is_error),
            false => (call, NOT_ENDED.to_owned(), true),
        });
        results
            .map(|(call, output, is_error)| Entry::Tool {
                turn,
                call_id: call.id.clone(),
                output,
                is_error,
                duration_ms: 0,
            })
            .collect()
    }

    /// Makes the chat that a model continues. What hooks inject precedes the message of the turn.
    pub(crate) fn chat(
        &self,
        system: Option<String>,
        tools: &[ToolSpec],
        injected: Vec<Injected>,
    ) -> Chat {
        let mut chat = Chat::new(system, tools);
        let (earlier, turn) = self.messages_around(self.begun_at);
        let injected = injected.into_iter().map(|text| ChatMessage::User(text.0));
        for message in earlier.chain(injected).chain(turn) {
            chat.push(message);
        }
        chat
    }

    /// Makes a chat without tools of the messages whose lines precede one.
    pub(crate) fn chat_before(&self, line: u64, system: Option<String>) -> Chat {
        let mut chat = Chat::new(system, &[]);
        for message in self.messages_around(line).0 {
            chat.push(message);
        }
        chat
    }

    /// Returns the messages whose lines precede one, after the summary of those before them, and the others.
    fn messages_around(
        &self,
        line: u64,
    ) -> (
        impl Iterator<Item = ChatMessage>,
        impl Iterator<Item = ChatMessage>,
    ) {
        let summary = self.summary.as_ref();
        let summary = summary.map(|text| ChatMessage::User(format!("{SUMMARISED}{text}")));
        let at = self.messages.partition_point(|(n, _)| *n < line);
        let (earlier, later) = self.messages.split_at(at);
        let cloned = |(_, message): &(u64, ChatMessage)| message.clone();
        let earlier = summary.into_iter().chain(earlier.iter().map(cloned));
        (earlier, later.iter().map(cloned))
    }
}

impl OpenTurn {
    /// Returns the result of the turn if it ends now.
    pub(crate) fn result(&self, outcome: TurnOutcome, error: Option<&str>) -> TurnResult {
        TurnResult {
            turn: self.turn,
            text: self.text.clone(),
            outcome,
            model: self.model.clone(),
            usage: self.usage,
            error: error.map(str::to_owned),
        }
    }
}

fn tool_call(call: &CallLine) -> LoopCall {
    let CallLine {
        id,
        name,
        arguments,
    } = call.clone();
    LoopCall {
        id,
        name,
        arguments,
    }
}

impl From<&LoopCall> for CallLine {
    fn from(call: &LoopCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: match &call.arguments {
                // Some models send null for a call without arguments, which an API does not take back.
                Value::Null => Value::Object(serde_json::Map::new()),
                arguments => arguments.clone(),
            },
        }
    }
}
