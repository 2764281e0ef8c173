//! The driver of a conversation: takes its work one after another, each turn to its durable end.

use std::path::PathBuf;
use std::sync::Arc;

use daemon_provider::tool_loop::{LoopEnd, StopSignal, ToolLoop, ToolSet};
use daemon_provider::{Failure, FailureKind};

use crate::compaction::{self, Compacted};
use crate::conversation::{Conversation, OpenLog};
use crate::conversations::Conversations;
use crate::definition::ToolChoice;
use crate::error::AgentError;
use crate::event::AgentEvent;
use crate::host::{OpenedTurn, TurnRequest};
use crate::inbox::{QueuedMessage, Work};
use crate::line::{Entry, TurnChain, TurnOutcome};
use crate::live::{LiveTurn, StopWhy, TurnConclusion};
use crate::running::run;
use crate::transcript::TurnResult;
use crate::turn::{TurnContext, TurnStart};

/// What the log says about a message that is about to be answered.
enum Begun {
    /// Its turn has begun.
    Turn(BegunTurn),
    /// The turn with its key has ended before.
    Same(TurnResult),
    /// A turn of an earlier host continues first.
    Unfinished,
    /// The conversation works in another directory.
    Elsewhere(Option<String>),
}

/// A turn whose message is on disk.
struct BegunTurn {
    turn: u64,
    content: String,
    chain: TurnChain,
    cwd: Option<PathBuf>,
    session: Option<String>,
    tool_choice: Option<ToolChoice>,
}

/// Fails what waits in a conversation if its driver panics.
struct DriverGuard(Arc<Conversation>);

impl Drop for DriverGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for work in self.0.inbox().broke() {
                work.live()
                    .finish(Err(AgentError::Defect("its driver panicked")));
            }
        }
    }
}

impl Conversations {
    /// Works until nothing waits.
    pub(crate) async fn drive(self: Arc<Self>, conversation: Arc<Conversation>) {
        let guard = DriverGuard(Arc::clone(&conversation));
        loop {
            let Some(work) = conversation.inbox().take() else {
                break;
            };
            match work {
                Work::Message(message, live) => {
                    if let Some(end) = self.answer(&conversation, message, &live).await {
                        live.finish(end);
                    }
                }
                Work::Resume(live) => self.continue_turn(&conversation, &live).await,
                Work::Compact(live, end) => {
                    let compacted = self.compact_now(&conversation, &live).await;
                    // Set before the end is announced, and once: this is its only place.
                    end.set(compacted).unwrap_or_default();
                    live.finish(Err(AgentError::Conflict("it was no turn".to_owned())));
                }
            }
        }
        drop(guard);
        conversation.rest().await;
        self.release(&conversation);
    }

    /// Answers a message; `None` if an unfinished turn continues first, and the message waits again.
    async fn answer(
        self: &Arc<Self>,
        conversation: &Arc<Conversation>,
        message: QueuedMessage,
        live: &Arc<LiveTurn>,
    ) -> Option<TurnConclusion> {
        if live.why() == Some(StopWhy::Stopping) {
            return Some(Err(AgentError::Stopping));
        }
        let begun = match self.begin(conversation, message).await {
            Ok(begun) => begun,
            Err(error) => return Some(Err(error)),
        };
        Some(match begun {
            Begun::Same(result) => ended(result, None),
            Begun::Unfinished => {
                let resumed = conversation.live_turn();
                conversation.inbox().precede(&resumed);
                self.continue_turn(conversation, &resumed).await;
                return None;
            }
            Begun::Elsewhere(cwd) => {
                let place = cwd.map_or("its own place".to_owned(), |cwd| format!("`{cwd}`"));
                let message = format!("`cwd`: this conversation works in {place}");
                Err(AgentError::Conflict(message))
            }
            Begun::Turn(begun) => {
                live.begin(begun.turn);
                live.emit(AgentEvent::Start { turn: begun.turn });
                self.carry_out(conversation, live, begun, None).await
            }
        })
    }

    /// Stores the message.
    async fn begin(
        &self,
        conversation: &Conversation,
        message: QueuedMessage,
    ) -> Result<Begun, AgentError> {
        let place = self.place(conversation);
        conversation
            .with_log(place, move |opened, place| {
                let asked_cwd = message.cwd.map(|cwd| cwd.to_string_lossy().into_owned());
                if opened.is_none() {
                    *opened = Some(OpenLog::create(place, asked_cwd.clone())?);
                }
                let log = opened.as_mut().expect("it was opened or created");
                let known = &log.transcript;
                if known.open.is_some() {
                    return Ok(Begun::Unfinished);
                }
                let same = message.key.as_deref().and_then(|key| known.ended_turn(key));
                if let Some(result) = same {
                    return Ok(Begun::Same(result.clone()));
                }
                if asked_cwd.is_some() && asked_cwd != known.cwd {
                    return Ok(Begun::Elsewhere(known.cwd.clone()));
                }
                let turn = known.n_turns + 1;
                let begun = BegunTurn {
                    turn,
                    content: message.content.clone(),
                    chain: message.chain,
                    cwd: known.cwd.as_ref().map(PathBuf::from),
                    session: known.session.clone(),
                    tool_choice: message.tool_choice,
                };
                let user = Entry::User {
                    turn,
                    content: message.content,
                    via: message.via,
                    key: message.key,
                    chain: message.chain,
                };
                log.append(vec![user], place.now)?;
                Ok(Begun::Turn(begun))
            })
            .await
    }

    /// Continues the turn that an earlier host left with a question, if there is one.
    async fn continue_turn(
        self: &Arc<Self>,
        conversation: &Arc<Conversation>,
        live: &Arc<LiveTurn>,
    ) {
        let place = self.place(conversation);
        let read = conversation.with_log(place, |opened, _| {
            let known = opened.as_ref().map(|opened| &opened.transcript);
            Ok(known.and_then(|known| {
                let open = known.open.as_ref()?;
                let asked = open
                    .ask
                    .as_ref()
                    .map(|ask| (ask.ask_id.clone(), ask.call_id.clone()));
                let answered = open
                    .answer
                    .as_ref()
                    .map(|(call, _)| (String::new(), call.clone()));
                let begun = BegunTurn {
                    turn: open.turn,
                    content: open.content.clone(),
                    chain: open.chain,
                    cwd: known.cwd.as_ref().map(PathBuf::from),
                    session: known.session.clone(),
                    tool_choice: None,
                };
                Some((begun, asked.or(answered)?))
            }))
        });
        let end = match read.await {
            Ok(Some((begun, question))) => {
                live.begin(begun.turn);
                self.carry_out(conversation, live, begun, Some(question))
                    .await
            }
            Ok(None) => Err(AgentError::Conflict(
                "no turn waits for an answer".to_owned(),
            )),
            Err(error) => Err(error),
        };
        if let Err(error) = &end {
            tracing::info!(agent = %conversation.pair.agent, %error, "a turn that waited for an answer did not continue");
        }
        live.finish(end);
    }

    /// Runs a turn to its end on disk. `question` is the id of a question of an earlier host and of its call.
    async fn carry_out(
        self: &Arc<Self>,
        conversation: &Arc<Conversation>,
        live: &Arc<LiveTurn>,
        begun: BegunTurn,
        question: Option<(String, String)>,
    ) -> TurnConclusion {
        let (turn, chain, choice) = (begun.turn, begun.chain, begun.tool_choice);
        let mut known = None;
        let end = match self.open(conversation, live, begun).await {
            Ok((context, opened)) => {
                let choice = choice.unwrap_or(context.agent.tool_choice);
                known = Some(Arc::clone(&context));
                run(choice, opened, context, question).await
            }
            Err(AgentError::Storage(error)) => return Err(AgentError::Storage(error)),
            Err(AgentError::Failed {
                kind,
                class,
                message,
            }) => Ok(LoopEnd::Failed(Failure {
                kind,
                class,
                message,
            })),
            Err(error) => Ok(LoopEnd::Failed(Failure::new(
                FailureKind::Spawn,
                error.to_string(),
            ))),
        };
        // The log failed: an end could not be stored either, and the next use of the log closes the turn.
        let (outcome, mut failure) = outcome_of(end?, live.why());
        // A service may quote the request that it refused, with its key.
        if let (Some(failure), Some(context)) = (&mut failure, &known) {
            failure.message = context.redactor.text(&failure.message).into_owned();
        }
        let error = failure.as_ref().map(|failure| failure.message.clone());
        let (result, is_stored) = self.close_turn(conversation, outcome, error).await?;
        if is_stored {
            let error = result.error.clone();
            let event = AgentEvent::End {
                turn,
                outcome,
                error,
            };
            match known {
                Some(context) => context.show(event).await,
                None => live.emit(event),
            }
            if outcome == TurnOutcome::Done {
                self.publish_done(&conversation.pair, &result, chain);
            }
        }
        ended(result, failure)
    }

    /// Stores the end of the open turn, and returns its result and whether an end was stored: a turn that waits for its user when
    /// the host stops continues with the next host.
    async fn close_turn(
        &self,
        conversation: &Conversation,
        outcome: TurnOutcome,
        error: Option<String>,
    ) -> Result<(TurnResult, bool), AgentError> {
        let place = self.place(conversation);
        let closed = conversation.with_log(place, move |opened, place| {
            let Some(opened) = opened else {
                return Ok(None);
            };
            let Some(open) = &opened.transcript.open else {
                return Ok(None);
            };
            let result = open.result(outcome, error.as_deref());
            if outcome == TurnOutcome::Interrupted && open.ask.is_some() {
                return Ok(Some((result, false)));
            }
            let closing = opened.transcript.closing(outcome, error);
            opened.append(closing, place.now)?;
            Ok(Some((result, true)))
        });
        closed.await?.ok_or_else(|| conversation.unknown())
    }

    /// Replaces the messages of an idle conversation by a summary.
    async fn compact_now(
        self: &Arc<Self>,
        conversation: &Arc<Conversation>,
        live: &Arc<LiveTurn>,
    ) -> Result<Compacted, AgentError> {
        let place = self.place(conversation);
        let read = conversation.with_log(place, |opened, _| {
            let known = opened.as_ref().map(|opened| &opened.transcript);
            Ok(known.map(|known| (known.open.is_some(), known.n_turns, known.cwd.clone())))
        });
        let (is_open, turn, cwd) = read.await?.ok_or_else(|| conversation.unknown())?;
        if is_open {
            return Err(AgentError::Conflict(
                "a turn waits for an answer".to_owned(),
            ));
        }
        let begun = BegunTurn {
            turn,
            content: String::new(),
            chain: TurnChain::default(),
            cwd: cwd.map(PathBuf::from),
            session: None,
            tool_choice: None,
        };
        let (context, opened) = self.open(conversation, live, begun).await?;
        for source in &opened.tools.sources {
            source.close().await;
        }
        let tools = ToolLoop {
            model: opened.tools.model,
            tool_set: Arc::new(ToolSet::new(Vec::new()).expect("no tools cannot collide")),
            retry: opened.tools.retry,
            limits: opened.limits,
            grants: opened.grants,
            stopped: StopSignal::new(live.stopped()),
        };
        compaction::only(tools, &context).await
    }

    /// Reads the agent and opens what its turn runs with.
    async fn open(
        self: &Arc<Self>,
        conversation: &Arc<Conversation>,
        live: &Arc<LiveTurn>,
        begun: BegunTurn,
    ) -> Result<(Arc<TurnContext>, OpenedTurn), AgentError> {
        let agent = Arc::new(self.agents.get(&conversation.pair.agent)?);
        let request = TurnRequest {
            agent: Arc::clone(&agent),
            pair: conversation.pair.clone(),
            turn: begun.turn,
            cwd: begun.cwd,
            session: begun.session,
            ask: self.host.bounds().ask,
        };
        let opened = self
            .host
            .open_turn(request)
            .await
            .map_err(AgentError::from)?;
        let start = TurnStart {
            agent,
            hooks: self.host.hooks().with_sources(&opened.tools.sources),
            turn: begun.turn,
            content: begun.content,
            chain: begun.chain,
            redactor: opened.redactor.clone(),
            directory: opened.directory.clone(),
        };
        let context = TurnContext::new(
            Arc::clone(self),
            Arc::clone(conversation),
            Arc::clone(live),
            start,
        );
        Ok((Arc::new(context), opened))
    }
}

/// Returns the outcome of a turn whose loop ended, and its failure.
fn outcome_of(end: LoopEnd, why: Option<StopWhy>) -> (TurnOutcome, Option<Failure>) {
    match (end, why) {
        (LoopEnd::Done, _) => (TurnOutcome::Done, None),
        (LoopEnd::Failed(failure), _) if failure.kind == FailureKind::Limit => {
            (TurnOutcome::Limit, Some(failure))
        }
        (LoopEnd::Failed(failure), _) => (TurnOutcome::Failed, Some(failure)),
        (LoopEnd::Stopped, Some(StopWhy::Timeout)) => {
            let failure = Failure::new(FailureKind::Limit, "the turn reached its time limit");
            (TurnOutcome::Limit, Some(failure))
        }
        (LoopEnd::Stopped, Some(StopWhy::Stopping)) => (TurnOutcome::Interrupted, None),
        (LoopEnd::Stopped, Some(StopWhy::Killed) | None) => (TurnOutcome::Killed, None),
    }
}

/// Returns the end of a turn for its clients.
fn ended(result: TurnResult, failure: Option<Failure>) -> TurnConclusion {
    match (result.outcome, failure) {
        (TurnOutcome::Done | TurnOutcome::Limit, _) => Ok(result),
        (TurnOutcome::Killed, _) => Err(AgentError::Killed),
        (TurnOutcome::Interrupted, _) => Err(AgentError::Stopping),
        (TurnOutcome::Failed, Some(failure)) => Err(failure.into()),
        (TurnOutcome::Failed, None) => {
            let message = result.error.unwrap_or_default();
            Err(Failure::new(FailureKind::Provider, message).into())
        }
    }
}
