//! A home with an agent, a scripted model, and clients.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use daemon_agent::{
    AgentError, AgentEvent, AgentHooks, AgentHost, Agents, BusEvent, ConversationBounds,
    ConversationPaths, Conversations, Cron, Followed, Hook, NewMessage, OpenedTurn, Pair,
    TurnChain, TurnConclusion, TurnRequest, TurnStream,
};
use daemon_provider::redact::Redactor;
use daemon_provider::tool_loop::{
    Chat, ChatMessage, LoopCall, Model, ModelError, ModelErrorKind, ModelReply, ReplyPart,
    RetryPolicy, Stop, ToolError, ToolOutput, ToolSource, ToolSpec,
};
use daemon_provider::{Failure, Limits, MicroUsd, NoGrants, OpenedLoop, Usage};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// One reply of the model.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Say(&'static str),
    Call(&'static str, &'static str, Value),
    Fail,
    /// Never replies.
    Hang,
}

/// A model that plays steps, and remembers what it received.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    steps: Mutex<Vec<Step>>,
    received: Mutex<Vec<Vec<String>>>,
    pub(crate) called: Notify,
}

impl Scripted {
    /// Returns the messages of each call.
    pub(crate) fn received(&self) -> Vec<Vec<String>> {
        self.received.lock().unwrap().clone()
    }

    /// Adds steps.
    pub(crate) fn then(&self, steps: impl IntoIterator<Item = Step>) {
        self.steps.lock().unwrap().extend(steps);
    }
}

fn shown(message: &ChatMessage) -> String {
    match message {
        ChatMessage::User(text) => format!("user: {text}"),
        ChatMessage::Assistant { text, calls, .. } => {
            let calls = calls
                .iter()
                .map(|call| format!(" {}({})", call.name, call.arguments));
            format!("assistant: {text}{}", calls.collect::<String>())
        }
        ChatMessage::Tool(result) => format!("tool {}: {}", result.call.id, result.text),
    }
}

#[async_trait]
impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn endpoint(&self) -> &str {
        "here"
    }

    fn most(&self, _: &Chat) -> MicroUsd {
        MicroUsd(0)
    }

    fn cost(&self, usage: &Usage) -> MicroUsd {
        MicroUsd(usage.input)
    }

    async fn reply(
        &self,
        chat: &Chat,
        heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let messages = chat.system().map(|system| format!("system: {system}"));
        let messages = messages
            .into_iter()
            .chain(chat.messages().iter().map(shown));
        self.received.lock().unwrap().push(messages.collect());
        self.called.notify_one();
        let step = {
            let mut steps = self.steps.lock().unwrap();
            if steps.is_empty() {
                Step::Fail
            } else {
                steps.remove(0)
            }
        };
        let mut reply = ModelReply {
            text: String::new(),
            calls: Vec::new(),
            usage: Usage {
                input: 10,
                output: 2,
                ..Usage::default()
            },
            stop: Stop::Itself,
            native: None,
            session: None,
        };
        match step {
            Step::Say(text) => {
                heard(ReplyPart::Text(text));
                reply.text = text.to_owned();
            }
            Step::Call(id, name, arguments) => reply.calls.push(LoopCall {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments,
            }),
            Step::Fail => return Err(ModelError::new(ModelErrorKind::Final, "no more steps")),
            Step::Hang => std::future::pending().await,
        }
        Ok(reply)
    }
}

/// A tool that repeats its argument.
#[derive(Debug)]
struct Echo;

#[async_trait]
impl ToolSource for Echo {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: "echo".to_owned(),
            description: "Repeats.".to_owned(),
            schema: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
        }]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        Ok(arguments["text"].as_str().unwrap_or_default().to_owned())
    }
}

/// The host of a bench.
struct Host {
    model: Arc<Scripted>,
    hooks: AgentHooks,
    stored: Arc<Mutex<Vec<BusEvent>>>,
    bounds: Arc<Mutex<ConversationBounds>>,
}

#[async_trait]
impl AgentHost for Host {
    fn now(&self) -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn bounds(&self) -> ConversationBounds {
        *self.bounds.lock().unwrap()
    }

    fn hooks(&self) -> AgentHooks {
        self.hooks.clone()
    }

    async fn store_event(&self, event: BusEvent) -> Result<String, Failure> {
        let mut stored = self.stored.lock().unwrap();
        stored.push(event);
        Ok(format!("e{}", stored.len()))
    }

    async fn schedule_cron(&self, _: u64, _: Option<&Cron>) -> Result<(), Failure> {
        Ok(())
    }

    async fn open_turn(&self, turn: TurnRequest) -> Result<OpenedTurn, Failure> {
        Ok(OpenedTurn {
            tools: OpenedLoop {
                model: Arc::clone(&self.model) as _,
                sources: vec![Arc::new(Echo)],
                retry: RetryPolicy {
                    first_delay: Duration::from_millis(1),
                    ..RetryPolicy::default()
                },
                network: None,
                calls: None,
            },
            limits: Limits {
                max_turns: Some(turn.agent.max_iterations),
                ..Limits::default()
            },
            grants: Arc::new(NoGrants),
            redactor: Redactor::of(["sk-secret-0123456789".to_owned()]),
            directory: "/work".into(),
            guard: Box::new(()),
        })
    }

    async fn forget(&self, _: &Pair) {}
}

pub(crate) struct Bench {
    home: tempfile::TempDir,
    pub(crate) model: Arc<Scripted>,
    pub(crate) conversations: Arc<Conversations>,
    /// The events that the host stored.
    pub(crate) stored: Arc<Mutex<Vec<BusEvent>>>,
    /// The bounds of the host.
    pub(crate) bounds: Arc<Mutex<ConversationBounds>>,
}

pub(crate) fn pair(sender: &str) -> Pair {
    Pair {
        agent: "scout".parse().unwrap(),
        sender: sender.parse().unwrap(),
    }
}

pub(crate) fn message(content: &str) -> NewMessage {
    NewMessage {
        content: content.to_owned(),
        via: "test".to_owned(),
        key: None,
        cwd: None,
        tool_choice: None,
        chain: TurnChain::default(),
    }
}

impl Bench {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with_hooks([], steps)
    }

    /// Makes a bench whose turns have further hooks.
    pub(crate) fn with_hooks(
        hooks: impl IntoIterator<Item = Arc<dyn Hook>>,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        for name in ["agents", "sessions", "events", "notices"] {
            fs::create_dir(home.path().join(name)).unwrap();
        }
        let agent = "---\ndescription: Finds.\nmax_iterations: 4\n---\nBe brief.\n";
        fs::write(home.path().join("agents/scout.md"), agent).unwrap();
        Self::at(home, AgentHooks::new(hooks).unwrap(), steps)
    }

    fn at(
        home: tempfile::TempDir,
        hooks: AgentHooks,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        let model = Arc::new(Scripted::default());
        model.then(steps);
        let stored = Arc::<Mutex<Vec<BusEvent>>>::default();
        let bounds = Arc::<Mutex<ConversationBounds>>::default();
        let host = Arc::new(Host {
            model: Arc::clone(&model),
            hooks,
            stored: Arc::clone(&stored),
            bounds: Arc::clone(&bounds),
        });
        let agents = Agents::new(home.path().join("agents"));
        let paths = ConversationPaths {
            sessions: home.path().join("sessions"),
            subscriptions: home.path().join("events/subscriptions.toml"),
            crons: home.path().join("cron/crons.toml"),
            reminders: home.path().join("notices/cron.json"),
        };
        let conversations = Conversations::new(paths, agents, host);
        Self {
            home,
            model,
            conversations,
            stored,
            bounds,
        }
    }

    /// Uses the home with another host, as after a crash: nothing of the old one is closed.
    pub(crate) fn restart(self, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::at(self.home, AgentHooks::new([]).unwrap(), steps)
    }

    pub(crate) fn send(&self, content: &str) -> TurnStream {
        self.conversations
            .send(pair("a"), message(content))
            .unwrap()
    }

    /// Sends a message and waits for the end.
    pub(crate) async fn say(&self, content: &str) -> TurnConclusion {
        self.send(content).end().await
    }

    /// Replaces the file of an agent.
    pub(crate) fn write_agent(&self, name: &str, text: &str) {
        let path = self.home.path().join(format!("agents/{name}.md"));
        fs::write(path, text).unwrap();
    }

    /// Returns the file of subscriptions.
    pub(crate) fn subscriptions(&self) -> PathBuf {
        self.home.path().join("events/subscriptions.toml")
    }

    /// Returns the notice of reminders.
    pub(crate) fn reminders(&self) -> PathBuf {
        self.home.path().join("notices/cron.json")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.home
            .path()
            .join("sessions")
            .join(format!("{}.jsonl", pair("a").file_stem()))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.log()).unwrap()
    }

    /// Returns the lines of the log without number and time.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.bytes()).unwrap();
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let members = line.as_object_mut().unwrap();
            members.remove("n");
            members.remove("at");
            line
        });
        lines.collect()
    }

    /// Returns the types of the lines.
    pub(crate) fn types(&self) -> Vec<String> {
        let lines = self.lines();
        lines
            .iter()
            .map(|line| line["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Reads a turn to its end.
pub(crate) async fn story(stream: &mut TurnStream) -> (Vec<AgentEvent>, TurnConclusion) {
    let mut events = Vec::new();
    loop {
        match stream.next().await {
            Followed::Event(event) => {
                assert_eq!(event.seq, events.len() as u64 + 1);
                events.push(event.event.clone());
            }
            Followed::End(end) => return (events, end),
        }
    }
}

pub(crate) fn text(end: TurnConclusion) -> String {
    end.unwrap().text
}

pub(crate) fn error(end: TurnConclusion) -> AgentError {
    end.unwrap_err()
}
