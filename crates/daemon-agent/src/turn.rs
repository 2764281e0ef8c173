//! A turn while it runs: what the tool loop does becomes lines of the log, then events for clients.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use daemon_provider::redact::Redactor;
use daemon_provider::tool_loop::{LoopCall, LoopCallResult, ModelReply, Observer, ReplyPart};
use daemon_provider::{Failure, FailureKind, MicroUsd, Usage};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use crate::conversation::{Conversation, LogAccess};
use crate::conversations::Conversations;
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::event::{AgentEvent, shown};
use crate::hook::HookTurn;
use crate::hooks::{ASK_USER, AgentHooks};
use crate::line::{CallLine, Entry, Line, TurnChain, TurnTokens};
use crate::live::{LiveTurn, StopWhy};

/// The bytes of text without white space that are held back, because they may be the beginning of a secret.
const HELD_BACK: usize = 8 << 10;

/// What a turn begins with.
pub(crate) struct TurnStart {
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) hooks: AgentHooks,
    pub(crate) turn: u64,
    /// The message that began the turn.
    pub(crate) content: String,
    pub(crate) chain: TurnChain,
    pub(crate) redactor: Redactor,
    /// Where the turn works.
    pub(crate) directory: PathBuf,
}

/// What a running turn and its tools share.
pub(crate) struct TurnContext {
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) live: Arc<LiveTurn>,
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) hooks: AgentHooks,
    pub(crate) turn: u64,
    /// The message that began the turn.
    pub(crate) content: String,
    /// What led to the turn.
    pub(crate) chain: TurnChain,
    pub(crate) redactor: Redactor,
    /// Where the turn works.
    directory: PathBuf,
    /// The call whose tool runs.
    calling: Mutex<String>,
    waited: Mutex<Waited>,
    /// Whether the model is replying, so that a program that is the model may call tools.
    pub(crate) is_replying: AsyncMutex<bool>,
}

/// How long a turn waited for its user, which does not count as its own time.
#[derive(Debug, Default)]
struct Waited {
    since: Option<Instant>,
    before: Duration,
}

/// A turn waits for its user until this is dropped.
pub(crate) struct WaitsForUser<'a>(&'a TurnContext);

impl Drop for WaitsForUser<'_> {
    fn drop(&mut self) {
        let mut waited = self.0.waited.lock().expect("no holder panics");
        let since = waited.since.take();
        waited.before += since.map_or(Duration::ZERO, |since| since.elapsed());
    }
}

impl std::fmt::Debug for TurnContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnContext")
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl TurnContext {
    pub(crate) fn new(
        conversations: Arc<Conversations>,
        conversation: Arc<Conversation>,
        live: Arc<LiveTurn>,
        start: TurnStart,
    ) -> Self {
        Self {
            conversations,
            conversation,
            live,
            agent: start.agent,
            hooks: start.hooks,
            turn: start.turn,
            content: start.content,
            chain: start.chain,
            redactor: start.redactor,
            directory: start.directory,
            calling: Mutex::default(),
            waited: Mutex::default(),
            is_replying: AsyncMutex::default(),
        }
    }

    /// Returns the turn as hooks see it.
    pub(crate) fn turn(&self) -> HookTurn<'_> {
        HookTurn {
            agent: &self.agent,
            pair: &self.conversation.pair,
            number: self.turn,
            content: &self.content,
            directory: &self.directory,
            context: self,
        }
    }

    /// Sends an event to the clients that follow, then to the hooks.
    pub(crate) async fn show(&self, event: AgentEvent) {
        self.live.emit(event.clone());
        self.hooks.on_event(self, &event).await;
    }

    /// Returns where the log is, and the time.
    pub(crate) fn place(&self) -> LogAccess {
        self.conversations.place(&self.conversation)
    }

    /// Appends an entry.
    pub(crate) async fn append(&self, entry: Entry) -> Result<Vec<Line>, AgentError> {
        self.conversation
            .append(self.place(), |_| vec![entry])
            .await
    }

    /// Notes that the turn waits for its user.
    pub(crate) fn wait_for_user(&self) -> WaitsForUser<'_> {
        self.waited.lock().expect("no holder panics").since = Some(Instant::now());
        WaitsForUser(self)
    }

    /// Returns how long the turn has waited for its user since this was called last.
    pub(crate) fn take_waited(&self) -> Duration {
        let mut waited = self.waited.lock().expect("no holder panics");
        let now = Instant::now();
        let current = waited.since.map_or(Duration::ZERO, |since| now - since);
        waited.since = waited.since.map(|_| now);
        std::mem::take(&mut waited.before) + current
    }

    /// Notes that a tool is about to start, and shows it.
    pub(crate) async fn tool_begins(&self, call: &LoopCall) {
        call.id
            .clone_into(&mut self.calling.lock().expect("no holder panics"));
        self.show(AgentEvent::ToolStart {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: self.redactor.json(&call.arguments),
        })
        .await;
    }

    /// Stores the result of a call, then shows it.
    pub(crate) async fn tool_ends(
        &self,
        result: &LoopCallResult,
        took: Duration,
    ) -> Result<(), AgentError> {
        let output = self.redactor.text(&result.text).into_owned();
        self.append(Entry::Tool {
            turn: self.turn,
            call_id: result.call.id.clone(),
            output: output.clone(),
            is_error: result.is_error,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        })
        .await?;
        self.show(AgentEvent::ToolResult {
            id: result.call.id.clone(),
            name: result.call.name.clone(),
            output: shown(&output),
            is_error: result.is_error,
        })
        .await;
        Ok(())
    }

    /// Returns the id of the call whose tool runs.
    pub(crate) fn calling(&self) -> String {
        self.calling.lock().expect("no holder panics").clone()
    }
}

/// Records a loop.
pub(crate) struct TurnRecorder {
    context: Arc<TurnContext>,
    model: String,
    attempt: u32,
    text: HeldText,
    thinking: HeldText,
    /// Why the log could not be written.
    pub(crate) fault: Option<AgentError>,
}

/// Text that arrived and was not shown. It is shown at white space, so that no secret is cut in two and missed.
#[derive(Debug, Default)]
struct HeldText(String);

impl HeldText {
    fn push(&mut self, piece: &str) -> Option<String> {
        self.0.push_str(piece);
        let end = match self.0.rfind(char::is_whitespace) {
            Some(at) => at + self.0[at..].chars().next().map_or(0, char::len_utf8),
            None if self.0.len() > HELD_BACK => self.0.len(),
            None => return None,
        };
        let rest = self.0.split_off(end);
        Some(std::mem::replace(&mut self.0, rest))
    }

    fn take(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.0)).filter(|text| !text.is_empty())
    }
}

impl TurnRecorder {
    pub(crate) fn new(context: Arc<TurnContext>, model: String) -> Self {
        Self {
            context,
            model,
            attempt: 0,
            text: HeldText::default(),
            thinking: HeldText::default(),
            fault: None,
        }
    }

    fn emit(&self, event: AgentEvent) {
        self.context.live.emit(event);
    }

    fn show_text(&self, text: Option<String>) {
        if let Some(text) = text {
            let text = self.context.redactor.text(&text).into_owned();
            let attempt = self.attempt;
            self.emit(AgentEvent::Text { text, attempt });
        }
    }

    fn show_thinking(&self, text: Option<String>) {
        if let Some(text) = text {
            let text = self.context.redactor.text(&text).into_owned();
            let attempt = self.attempt;
            self.emit(AgentEvent::Thinking { text, attempt });
        }
    }

    /// Begins another call of the model.
    fn begin_attempt(&mut self) {
        self.attempt += 1;
        self.text = HeldText::default();
        self.thinking = HeldText::default();
    }

    /// Ends the loop if a line could not be written.
    fn written<T>(&mut self, written: Result<T, AgentError>) -> Result<(), Failure> {
        written.map(drop).map_err(|error| {
            let failure = Failure::new(FailureKind::Resource, error.to_string());
            self.fault = Some(error);
            failure
        })
    }
}

#[async_trait]
impl Observer for TurnRecorder {
    async fn turn(&mut self, _turn: u32) -> Result<(), Failure> {
        *self.context.is_replying.lock().await = true;
        self.begin_attempt();
        Ok(())
    }

    fn heard(&mut self, part: ReplyPart<'_>) {
        match part {
            ReplyPart::Text(text) => {
                let text = self.text.push(text);
                self.show_text(text);
            }
            ReplyPart::Thinking(text) => {
                let text = self.thinking.push(text);
                self.show_thinking(text);
            }
            ReplyPart::ToolStart { id, name, args } => self.emit(AgentEvent::ToolStart {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: serde_json::from_str(args)
                    .map_or_else(|_| args.into(), |args| self.context.redactor.json(&args)),
            }),
            ReplyPart::ToolEnd { id, name, is_error } => self.emit(AgentEvent::ToolResult {
                id: id.to_owned(),
                name: name.to_owned(),
                output: String::new(),
                is_error,
            }),
        }
    }

    async fn replied(&mut self, reply: &ModelReply, cost: MicroUsd) -> Result<(), Failure> {
        *self.context.is_replying.lock().await = false;
        let (thinking, text) = (self.thinking.take(), self.text.take());
        self.show_thinking(thinking);
        self.show_text(text);
        let redactor = self.context.redactor.clone();
        let calls = reply.calls.iter().map(|call| CallLine {
            arguments: redactor.json(&CallLine::from(call).arguments),
            ..CallLine::from(call)
        });
        let line = Entry::Assistant {
            turn: self.context.turn,
            content: redactor.text(&reply.text).into_owned(),
            calls: calls.collect(),
            model: self.model.clone(),
            usage: tokens(&reply.usage, cost),
            session: reply.session.as_ref().map(ToString::to_string),
        };
        let appended = self.context.append(line).await;
        self.written(appended)
    }

    async fn tool_started(&mut self, call: &LoopCall) -> Result<(), Failure> {
        self.context.tool_begins(call).await;
        Ok(())
    }

    async fn tool_ended(&mut self, result: &LoopCallResult, took: Duration) -> Result<(), Failure> {
        let is_stopping = self.context.live.why() == Some(StopWhy::Stopping);
        if is_stopping && result.call.name == ASK_USER {
            // The question stays open for the next host. The loop stops before it needs a result.
            return Ok(());
        }
        let ended = self.context.tool_ends(result, took).await;
        self.written(ended)
    }

    async fn limited(&mut self, name: &str, detail: &str) {
        tracing::info!(agent = %self.context.conversation.pair.agent, name, detail, "a turn waits or was limited");
        self.begin_attempt();
    }
}

/// Converts counts of a reply.
pub(crate) fn tokens(usage: &Usage, cost: MicroUsd) -> TurnTokens {
    TurnTokens {
        input: usage.input,
        output: usage.output,
        thinking: usage.thinking,
        cached: usage.cached,
        cost_micros: Some(cost.0),
    }
}
