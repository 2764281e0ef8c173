//! `chat`: talks with an agent, in a terminal or with one message.

mod lines;
mod shown;
mod thoughts;

use daemon_api::control::{CallError, Client};
use daemon_api::ops::Operation;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use self::lines::{Input, Lines};
use self::shown::Shown;
use crate::cli::ChatArgs;
use crate::commands::call::text_or_stdin;
use crate::failure::{CommandFailure, ExitKind};
use crate::out::Out;
use crate::place::Place;
use crate::session::{call_failure, live, no_host};

/// What a person can type in addition to messages.
const HELP: &str = "/history      what was said\n/compact      has the agent summarise what was said\n/kill         ends the running turn\n/list         your conversations\n\
    /delete       deletes this conversation\n/quit         ends; the conversation stays\n\
    A line that ends in \\ continues. Ctrl-C ends a turn, and the program when it is pressed again.";

/// A conversation from the client's side.
struct Chat<'a> {
    place: &'a Place,
    pair: Map<String, Value>,
    out: Out,
}

/// What follows after a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Another message may come.
    Message,
    /// The person ended the program.
    Quit,
}

/// Talks with an agent.
pub(crate) async fn run(args: &ChatArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let uid = rustix::process::getuid().as_raw();
    let sender = args.sender.clone().unwrap_or_else(|| format!("cli:{uid}"));
    let pair = Map::from_iter([
        ("agent".to_owned(), json!(args.agent)),
        ("sender".to_owned(), json!(sender)),
    ]);
    let chat = Chat { place, pair, out };
    match &args.prompt {
        Some(prompt) => chat.once(&text_or_stdin(prompt)?).await,
        None => chat.talk().await,
    }
}

impl Chat<'_> {
    async fn client(&self) -> Result<Client, CommandFailure> {
        live(self.place).await?.ok_or_else(|| no_host().into())
    }

    fn params(&self, more: &[(&str, Value)]) -> Map<String, Value> {
        let more = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.pair.clone().into_iter().chain(more).collect()
    }

    async fn call(
        &self,
        operation: Operation,
        more: &[(&str, Value)],
    ) -> Result<Map<String, Value>, CommandFailure> {
        let mut client = self.client().await?;
        client
            .call(operation, self.params(more))
            .await
            .map_err(call_failure)
    }

    /// Sends one message, and prints the reply or, for programs, the result.
    async fn once(&self, content: &str) -> Result<(), CommandFailure> {
        let mut lines = Lines::none();
        let (next, result) = self.turn(content, &mut lines).await?;
        if next == Next::Quit {
            return Err(CommandFailure::new(
                ExitKind::Interrupted,
                "interrupted",
                "interrupted",
            ));
        }
        let result = result?;
        match self.out.is_json() {
            true => self.out.envelope(result),
            false => Ok(()),
        }
    }

    /// Talks until the input ends.
    async fn talk(&self) -> Result<(), CommandFailure> {
        self.greet().await?;
        let mut lines = Lines::of_stdin();
        loop {
            let text = match lines.next(self.out).await? {
                Input::End => return Ok(()),
                Input::Interrupt => {
                    self.out.note("ctrl-C again ends the program");
                    continue;
                }
                Input::InterruptTwice => {
                    return Err(CommandFailure::new(
                        ExitKind::Interrupted,
                        "interrupted",
                        "interrupted",
                    ));
                }
                Input::Text(text) => text,
            };
            let next = match text.trim() {
                "" => Next::Message,
                "/quit" | "/exit" => Next::Quit,
                command if command.starts_with('/') => {
                    if let Err(failure) = self.command(command).await {
                        self.out.failure(&failure);
                    }
                    Next::Message
                }
                _ => {
                    let (next, result) = self.turn(&text, &mut lines).await?;
                    // Who ended the turn was notified of that already.
                    if let Err(failure) = result
                        && failure.code != "killed"
                    {
                        // What a program sends next was written for a turn that succeeds.
                        if !lines.has_prompt {
                            return Err(failure);
                        }
                        self.out.failure(&failure);
                    }
                    next
                }
            };
            if next == Next::Quit {
                return Ok(());
            }
        }
    }

    /// Shows what the agent is for, and what was said last.
    async fn greet(&self) -> Result<(), CommandFailure> {
        // An agent that does not exist is an error before the first message, not after it.
        let agent = self.pair.get("agent").cloned().unwrap_or_default();
        let named = Map::from_iter([("name".to_owned(), agent)]);
        let mut client = self.client().await?;
        let found = client
            .call(Operation::AgentGet, named)
            .await
            .map_err(call_failure);
        let found = found.map_err(|failure| match failure.code.as_str() {
            "unknown-agent" => {
                failure.help("`daemon-run agent list` lists agents, `agent new NAME` makes one")
            }
            _ => failure,
        })?;
        let said = found["agent"]["description"].as_str().unwrap_or_default();
        self.out.note(&format!("{said}\n/help lists commands"));
        match client
            .call(Operation::ConversationHistory, self.pair.clone())
            .await
        {
            Ok(history) => self
                .out
                .text(&shown::history(&history["lines"], shown::LAST)),
            Err(CallError::Refused(body)) if body.data.code == "not-found" => Ok(()),
            Err(error) => Err(call_failure(error)),
        }
    }

    async fn command(&self, command: &str) -> Result<(), CommandFailure> {
        match command {
            "/help" => self.out.text(HELP),
            "/history" => {
                let history = self.call(Operation::ConversationHistory, &[]).await?;
                self.out
                    .text(&shown::history(&history["lines"], usize::MAX))
            }
            "/compact" => {
                let compacted = self.call(Operation::ConversationCompact, &[]).await?;
                self.out.text(&shown::terminal_text(
                    compacted["summary"].as_str().unwrap_or_default(),
                ))
            }
            "/kill" => self.kill().await,
            "/list" => {
                let mut client = self.client().await?;
                let listed = client.call(Operation::ConversationList, Map::new()).await;
                let listed = listed.map_err(call_failure)?;
                self.out
                    .text(&shown::conversations(&listed["conversations"]))
            }
            "/delete" => {
                self.call(Operation::ConversationDelete, &[]).await?;
                self.out
                    .note("deleted; the next message begins another conversation");
                Ok(())
            }
            _ => Err(CommandFailure::usage("no such command; /help lists them")),
        }
    }

    async fn kill(&self) -> Result<(), CommandFailure> {
        let killed = self.call(Operation::ConversationKill, &[]).await?;
        let said = match killed["killed"] == true {
            true => "the turn was ended",
            false => "no turn runs",
        };
        self.out.note(said);
        Ok(())
    }

    /// Sends a message and shows its turn. The first ctrl-C ends the turn, the second the program.
    async fn turn(
        &self,
        content: &str,
        lines: &mut Lines,
    ) -> Result<(Next, Result<Map<String, Value>, CommandFailure>), CommandFailure> {
        let mut client = self.client().await?;
        let (sender, mut events) = mpsc::unbounded_channel();
        let params = self.params(&[("content", json!(content))]);
        // Unbounded: the host bounds what one turn sends before its client reads.
        let mut heard = move |event: Value| sender.send(event).unwrap_or_default();
        let streaming = client.stream(Operation::ConversationStream, params, &mut heard);
        tokio::pin!(streaming);
        let mut shown = Shown::new(self.out);
        let mut n_interrupts = 0;
        let result = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    shown.event(&event)?;
                    if event["type"] == "ask_user" {
                        self.answer(&event, lines).await?;
                    }
                }
                () = lines::interrupted() => {
                    n_interrupts += 1;
                    if n_interrupts > 1 {
                        return Ok((Next::Quit, Ok(Map::new())));
                    }
                    self.kill().await?;
                }
                result = &mut streaming => break result,
            }
        };
        while let Ok(event) = events.try_recv() {
            shown.event(&event)?;
        }
        shown.end()?;
        Ok((Next::Message, result.map_err(call_failure)))
    }

    /// Reads the answer to a question and sends it.
    async fn answer(&self, event: &Value, lines: &mut Lines) -> Result<(), CommandFailure> {
        let answer = match lines.next(self.out).await? {
            Input::Text(answer) => answer,
            Input::Interrupt | Input::InterruptTwice => return self.kill().await,
            Input::End => {
                self.out.note("no answer can be read here; the turn waits, and `daemon-run call conversation/reply_to_ask` answers");
                return Ok(());
            }
        };
        let more = [
            ("ask_id", event["ask_id"].clone()),
            ("content", json!(answer)),
        ];
        self.call(Operation::ConversationReplyToAsk, &more)
            .await
            .map(drop)
    }
}
