//! A program as the model of a conversation: each reply is a whole run, and the session of the one before continues.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_agent::TurnRequest;
use daemon_provider::tool_loop::{
    Chat, ChatMessage, Model, ModelError, ModelErrorKind, ModelReply, ReplyPart, Stop,
};
use daemon_provider::{
    Failure, FailureKind, MicroUsd, Outcome, OutputStream, Pricing, Provider, ProviderError, Run,
    RunEvent, RunRequest, SessionId, ToolStatus, Usage,
};
use daemon_records::error::chain;

use super::tools::{TurnCalls, TurnTools};

/// A program that holds a conversation.
pub(super) struct ProgramModel {
    provider: Arc<dyn Provider>,
    request: RunRequest,
    session: Option<SessionId>,
    name: String,
    /// The access to the tools of the agent, which the first reply with tools takes: a program has one reply in a turn.
    tools: Mutex<Option<TurnTools>>,
}

impl ProgramModel {
    /// Makes the model of a turn.
    pub(super) fn new(
        provider: Arc<dyn Provider>,
        request: RunRequest,
        turn: &TurnRequest,
        tools: Option<TurnTools>,
    ) -> Self {
        let name = provider.model().unwrap_or(provider.name()).to_owned();
        let session = turn.session.as_deref();
        Self {
            // A session that the log names and that cannot be parsed begins another one.
            session: session.and_then(|session| session.parse().ok()),
            provider,
            request,
            name,
            tools: Mutex::new(tools),
        }
    }

    /// Returns what the program reads: what is new if it continues its session, else the prompt of the agent and all messages. The
    /// results of its last calls are new, because the run that made them ended before it could read them.
    fn prompt(&self, chat: &Chat) -> String {
        let messages = chat.messages();
        let replied = messages
            .iter()
            .rposition(|message| matches!(message, ChatMessage::Assistant { .. }));
        let (known, new) = messages.split_at(replied.map_or(0, |at| at + 1));
        if self.session.is_some() {
            return new
                .iter()
                .filter_map(text_of)
                .collect::<Vec<_>>()
                .join("\n\n");
        }
        let system = chat.system().map(str::to_owned);
        let spoken = match messages {
            [ChatMessage::User(only)] => vec![only.clone()],
            _ => {
                let results = new.iter().filter_map(result_of);
                known
                    .iter()
                    .chain(new)
                    .filter_map(spoken)
                    .chain(results)
                    .collect()
            }
        };
        let parts: Vec<String> = system.into_iter().chain(spoken).collect();
        parts.join("\n\n")
    }

    async fn run(
        &self,
        chat: &Chat,
        heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let mut request = RunRequest {
            prompt: self.prompt(chat).into_bytes(),
            resume: self.session.clone(),
            ..self.request.clone()
        };
        let mut tools = None;
        if !chat.tools().is_empty() {
            tools = self.tools.lock().expect("no holder panics").take();
        }
        if let Some(tools) = &mut tools {
            tools.mount(&mut request, chat.tools()).map_err(|error| {
                let message = format!("the tools of the agent: {error}");
                failed(Failure::new(FailureKind::Resource, message))
            })?;
        }
        let calls = tools.as_ref().map(TurnTools::calls);
        let run = self.provider.start(request).await;
        let run = run.map_err(|error| lost(&error))?;
        let served = async {
            match &mut tools {
                Some(tools) => tools.serve().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            replied = follow(run, calls, heard) => replied,
            () = served => unreachable!("it does not end"),
        }
    }
}

/// Reads a run to its end.
async fn follow(
    mut run: Box<dyn Run>,
    calls: Option<Arc<TurnCalls>>,
    heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
) -> Result<ModelReply, ModelError> {
    let mut reply = ModelReply {
        text: String::new(),
        calls: Vec::new(),
        usage: Usage::default(),
        stop: Stop::Itself,
        native: None,
        session: None,
    };
    // The calls of the agent's tools, which the turn shows itself.
    let mut shown = BTreeSet::new();
    loop {
        let event = run.next().await.map_err(|error| lost(&error))?;
        let Some(event) = event else {
            let message = "the run ended without an end";
            return Err(failed(Failure::new(FailureKind::Protocol, message)));
        };
        match event {
            RunEvent::Session(session) if reply.session.is_none() => {
                if let Some(calls) = &calls {
                    calls.began(&session);
                }
                reply.session = Some(session);
            }
            RunEvent::Usage { usage, .. } | RunEvent::ModelCall { usage, .. } => {
                add(&mut reply.usage, &usage);
            }
            RunEvent::Terminal { outcome, text } => {
                finish(&mut *run).await;
                return ended(reply, outcome, text);
            }
            RunEvent::ToolStart { id, name, .. }
                if calls.as_ref().is_some_and(|calls| calls.has(&name)) =>
            {
                shown.insert(id);
            }
            RunEvent::ToolEnd { id, .. } if shown.remove(&id) => {}
            event => pass_on(&event, heard),
        }
    }
}

/// Shows an event to the clients of the turn.
fn pass_on(event: &RunEvent, heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send)) {
    match event {
        RunEvent::Output {
            stream: OutputStream::Stdout,
            text,
            ..
        } => heard(ReplyPart::Text(&format!("{text}\n"))),
        RunEvent::ToolStart { id, name, args } => heard(ReplyPart::ToolStart { id, name, args }),
        RunEvent::ToolEnd { id, name, status } => heard(ReplyPart::ToolEnd {
            id,
            name,
            is_error: *status == ToolStatus::Error,
        }),
        _ => {}
    }
}

/// Reads a run to its last event, so that its processes have ended.
async fn finish(run: &mut dyn Run) {
    while let Ok(Some(_)) = run.next().await {}
}

fn ended(mut reply: ModelReply, outcome: Outcome, text: String) -> Result<ModelReply, ModelError> {
    reply.text = text;
    match outcome {
        Outcome::Done => Ok(reply),
        Outcome::Failed(failure) => Err(failed(failure)),
        Outcome::Stopped(why) => Err(failed(Failure::new(
            FailureKind::Provider,
            format!("the run was stopped: {}", why.as_str()),
        ))),
    }
}

#[async_trait]
impl Model for ProgramModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> &str {
        self.provider.name()
    }

    fn most(&self, _chat: &Chat) -> MicroUsd {
        // A program calls its models itself; what it may spend is the whole budget of the turn.
        self.request.limits.budget.unwrap_or_default()
    }

    fn cost(&self, usage: &Usage) -> MicroUsd {
        let is_used = *usage != Usage::default();
        match (usage.cost, self.provider.pricing()) {
            (Some(cost), _) => cost,
            // As for a run: what a model costs is not known to be nothing.
            (None, Pricing::Assumed) if is_used => self.request.limits.budget.unwrap_or_default(),
            (None, _) => MicroUsd::default(),
        }
    }

    async fn reply(
        &self,
        chat: &Chat,
        heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError> {
        self.run(chat, heard).await
    }
}

fn add(acc: &mut Usage, more: &Usage) {
    acc.input = acc.input.saturating_add(more.input);
    acc.output = acc.output.saturating_add(more.output);
    acc.thinking = acc.thinking.saturating_add(more.thinking);
    acc.cached = acc.cached.saturating_add(more.cached);
    acc.cost = match (acc.cost, more.cost) {
        (None, None) => None,
        (one, two) => Some(MicroUsd(
            one.unwrap_or_default()
                .0
                .saturating_add(two.unwrap_or_default().0),
        )),
    };
}

fn text_of(message: &ChatMessage) -> Option<String> {
    match message {
        ChatMessage::User(text) | ChatMessage::Assistant { text, .. } => {
            Some(text.clone()).filter(|text| !text.is_empty())
        }
        ChatMessage::Tool(_) => result_of(message),
    }
}

/// Returns the result of a call, for a program whose run ended before it could read it.
fn result_of(message: &ChatMessage) -> Option<String> {
    match message {
        ChatMessage::Tool(result) => {
            let (name, text) = (&result.call.name, &result.text);
            Some(format!("The result of your call of `{name}`: {text}"))
        }
        ChatMessage::User(_) | ChatMessage::Assistant { .. } => None,
    }
}

/// Returns a message with the name of its speaker, for a program that has not received it.
fn spoken(message: &ChatMessage) -> Option<String> {
    let who = match message {
        ChatMessage::User(_) => "User",
        ChatMessage::Assistant { .. } => "Assistant",
        ChatMessage::Tool(_) => return None,
    };
    text_of(message).map(|text| format!("{who}: {text}"))
}

fn failed(failure: Failure) -> ModelError {
    ModelError {
        kind: ModelErrorKind::Final,
        failure: failure.kind,
        message: failure.message,
        has_begun: true,
    }
}

fn lost(error: &ProviderError) -> ModelError {
    ModelError {
        // A program that was lost may have acted already, so that it is not started again within a turn.
        kind: ModelErrorKind::Final,
        failure: FailureKind::Spawn,
        message: chain(error),
        has_begun: false,
    }
}
