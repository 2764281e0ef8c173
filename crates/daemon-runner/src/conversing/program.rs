//! A program as the model of a conversation: each reply is a whole run, and the session of the one before continues.

use std::sync::Arc;

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

/// A program that holds a conversation.
pub(super) struct ProgramModel {
    provider: Arc<dyn Provider>,
    request: RunRequest,
    session: Option<SessionId>,
    name: String,
}

impl ProgramModel {
    /// Makes the model of a turn.
    pub(super) fn new(
        provider: Arc<dyn Provider>,
        request: RunRequest,
        turn: &TurnRequest,
    ) -> Self {
        let name = provider.model().unwrap_or(provider.name()).to_owned();
        let session = turn.session.as_deref();
        Self {
            // A session that the log names and that cannot be parsed begins another one.
            session: session.and_then(|session| session.parse().ok()),
            provider,
            request,
            name,
        }
    }

    /// Returns what the program reads: the new messages if it continues its session, else the prompt of the agent and all messages.
    fn prompt(&self, chat: &Chat) -> String {
        let messages = chat.messages();
        if self.session.is_some() {
            let since = messages
                .iter()
                .rposition(|message| !matches!(message, ChatMessage::User(_)));
            let new = messages.iter().skip(since.map_or(0, |at| at + 1));
            return new.filter_map(text_of).collect::<Vec<_>>().join("\n\n");
        }
        let system = chat.system().map(str::to_owned);
        let spoken = match messages {
            [ChatMessage::User(only)] => vec![only.clone()],
            all => all.iter().filter_map(spoken).collect(),
        };
        let parts: Vec<String> = system.into_iter().chain(spoken).collect();
        parts.join("\n\n")
    }

    async fn run(
        &self,
        chat: &Chat,
        heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let request = RunRequest {
            prompt: self.prompt(chat).into_bytes(),
            resume: self.session.clone(),
            ..self.request.clone()
        };
        let mut run = self
            .provider
            .start(request)
            .await
            .map_err(|error| lost(&error))?;
        let mut reply = ModelReply {
            text: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            stop: Stop::Itself,
            native: None,
            session: None,
        };
        loop {
            let event = run.next().await.map_err(|error| lost(&error))?;
            let Some(event) = event else {
                return Err(failed(Failure::new(
                    FailureKind::Protocol,
                    "the run ended without an end",
                )));
            };
            match event {
                RunEvent::Session(session) if reply.session.is_none() => {
                    reply.session = Some(session);
                }
                RunEvent::Usage { usage, .. } | RunEvent::ModelCall { usage, .. } => {
                    add(&mut reply.usage, &usage);
                }
                RunEvent::Terminal { outcome, text } => {
                    finish(&mut *run).await;
                    return ended(reply, outcome, text);
                }
                event => pass_on(&event, heard),
            }
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
        ChatMessage::User(text) | ChatMessage::Assistant { text, .. } if !text.is_empty() => {
            Some(text.clone())
        }
        ChatMessage::User(_) | ChatMessage::Assistant { .. } | ChatMessage::Tool(_) => None,
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
