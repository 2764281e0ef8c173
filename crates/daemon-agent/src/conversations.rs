//! The conversations of a home.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use tokio_util::task::TaskTracker;

use crate::agents::Agents;
use crate::bus::EventBus;
use crate::compaction::Compacted;
use crate::conversation::{Conversation, LogAccess};
use crate::cron::Cron;
use crate::definition::ToolChoice;
use crate::error::AgentError;
use crate::feed::Feed;
use crate::host::{AgentHost, ConversationPaths};
use crate::inbox::{Admitted, CompactEnd, QueuedMessage, Work};
use crate::line::{Entry, TurnChain, TurnOutcome};
use crate::listing::{ListedConversation, Summaries};
use crate::live::{LiveTurn, StopWhy, TurnStream};
use crate::log::{self, LogError};
use crate::name::{AgentName, Pair};
use crate::recovery::RecoveryFile;
use crate::reminders::Reminders;

/// The longest message, in bytes.
const MAX_CONTENT: usize = 1 << 20;
/// The longest key of a message, in bytes.
const MAX_KEY: usize = 256;
/// The lines of one page of history.
const PAGE: usize = 200;

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// The text.
    pub content: String,
    /// The way on which it came, such as `rpc`.
    pub via: String,
    /// By which a repetition is recognised.
    pub key: Option<String>,
    /// The working directory, which the first turn fixes.
    pub cwd: Option<PathBuf>,
    /// Whether the model may call tools in this turn; `None` is what the agent says.
    pub tool_choice: Option<ToolChoice>,
    /// What led to it.
    pub chain: TurnChain,
}

/// The conversations of a home, and its agents.
pub struct Conversations {
    directory: PathBuf,
    pub(crate) agents: Agents,
    pub(crate) host: Arc<dyn AgentHost>,
    /// The conversations that something uses. All users of a pair share one, so that its log has one writer.
    used: Mutex<HashMap<Pair, Arc<Conversation>>>,
    summaries: Arc<Summaries>,
    pub(crate) drivers: TaskTracker,
    pub(crate) bus: EventBus,
    pub(crate) crons: RecoveryFile<Cron>,
    /// The crons whose turns run or wait.
    pub(crate) running_crons: Mutex<BTreeSet<u64>>,
    pub(crate) reminders: Reminders,
    pub(crate) feed: Arc<Feed>,
}

impl std::fmt::Debug for Conversations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversations")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl Conversations {
    /// Uses the files of a home and its agents.
    pub fn new(paths: ConversationPaths, agents: Agents, host: Arc<dyn AgentHost>) -> Arc<Self> {
        Arc::new(Self {
            directory: paths.sessions,
            agents,
            host,
            used: Mutex::default(),
            summaries: Arc::default(),
            drivers: TaskTracker::new(),
            bus: EventBus::open(paths.subscriptions),
            crons: RecoveryFile::open(paths.crons),
            running_crons: Mutex::default(),
            reminders: Reminders::open(paths.reminders),
            feed: Arc::default(),
        })
    }

    /// Returns the agents.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Sends a message. The turn continues whether or not the stream is read.
    ///
    /// # Errors
    /// If there is no such agent, an argument is invalid, too many messages wait, or the host stops.
    pub fn send(
        self: &Arc<Self>,
        pair: Pair,
        message: NewMessage,
    ) -> Result<TurnStream, AgentError> {
        Ok(self.offer(pair, message)?.1)
    }

    /// Sends a message, and returns its turn and the stream of it.
    pub(crate) fn offer(
        self: &Arc<Self>,
        pair: Pair,
        message: NewMessage,
    ) -> Result<(Arc<LiveTurn>, TurnStream), AgentError> {
        check(&message)?;
        self.agents.get(&pair.agent)?;
        if self.drivers.is_closed() {
            return Err(AgentError::Stopping);
        }
        let conversation = self.conversation(pair);
        let live = conversation.live_turn();
        let stream = live.follow();
        let message = QueuedMessage {
            content: message.content,
            via: message.via,
            key: message.key,
            cwd: message.cwd,
            tool_choice: message.tool_choice,
            chain: message.chain,
        };
        let most = self.host.bounds().queue;
        let admitted = conversation
            .inbox()
            .admit(Work::Message(message, Arc::clone(&live)), most);
        match admitted {
            Admitted::Start => self.start(conversation),
            Admitted::Waits => {}
            Admitted::Same(live) => {
                let stream = live.follow();
                return Ok((live, stream));
            }
            Admitted::Busy(waiting) => return Err(AgentError::Busy { waiting }),
        }
        Ok((live, stream))
    }

    /// Answers a question, and returns the number of the turn that continues.
    ///
    /// # Errors
    /// If there is no such conversation, or it does not wait for an answer to this question.
    pub async fn reply_to_ask(
        self: &Arc<Self>,
        pair: Pair,
        ask_id: &str,
        content: String,
    ) -> Result<u64, AgentError> {
        if content.len() > MAX_CONTENT {
            return Err(AgentError::Argument(format!(
                "`content` has more than {MAX_CONTENT} bytes"
            )));
        }
        let conversation = self.conversation(pair);
        let replied = self.answer_ask(&conversation, ask_id, content).await;
        self.release(&conversation);
        replied
    }

    async fn answer_ask(
        self: &Arc<Self>,
        conversation: &Arc<Conversation>,
        ask_id: &str,
        content: String,
    ) -> Result<u64, AgentError> {
        let (asked, text) = (ask_id.to_owned(), content.clone());
        let stored = conversation.with_log(self.place(conversation), move |opened, place| {
            let Some(opened) = opened else {
                return Ok(None);
            };
            let open = opened.transcript.open.as_ref();
            let is_open = open.and_then(|open| open.ask.as_ref());
            let turn = match (open, is_open) {
                (Some(open), Some(ask)) if ask.ask_id == asked => open.turn,
                _ => return Ok(Some(None)),
            };
            let answer = Entry::Answer {
                ask_id: asked,
                content: text,
            };
            opened.append(vec![answer], place.now)?;
            Ok(Some(Some(turn)))
        });
        let stored = stored.await?.ok_or_else(|| conversation.unknown())?;
        let turn = stored.ok_or_else(|| {
            let id: String = ask_id.chars().take(80).collect();
            AgentError::Conflict(format!("nothing waits for an answer to `{id}`"))
        })?;
        let waiting = conversation.asked().take_if(|asked| asked.ask_id == ask_id);
        let is_heard = waiting.is_some_and(|asked| asked.reply.send(content).is_ok());
        // A driver that has not come to the question yet finds the answer in the log.
        if !is_heard
            && matches!(
                conversation.inbox().resume(conversation.live_turn()),
                Admitted::Start
            )
        {
            self.start(Arc::clone(conversation));
        }
        Ok(turn)
    }

    /// Ends the running turn, and returns its number once the end is on disk; `None` if no turn ran. Messages that wait follow.
    ///
    /// # Errors
    /// If there is no such conversation, or the end could not be stored.
    pub async fn kill(self: &Arc<Self>, pair: Pair) -> Result<Option<u64>, AgentError> {
        let conversation = self.conversation(pair);
        let running = conversation
            .inbox()
            .all()
            .next()
            .map(|work| Arc::clone(work.live()));
        let killed = match running {
            Some(live) => {
                let mut stream = live.follow();
                live.stop(StopWhy::Killed);
                match stream.end().await {
                    Ok(result) => Ok(Some(result.turn)),
                    Err(AgentError::Storage(error)) => Err(AgentError::Storage(error)),
                    Err(_) => Ok(live.turn()),
                }
            }
            None => self.kill_waiting(&conversation).await,
        };
        self.release(&conversation);
        killed
    }

    /// Ends the turn that waits for an answer since an earlier host.
    async fn kill_waiting(&self, conversation: &Conversation) -> Result<Option<u64>, AgentError> {
        let closed = conversation.with_log(self.place(conversation), |opened, place| {
            let Some(opened) = opened else {
                return Ok(None);
            };
            let turn = opened.transcript.open.as_ref().map(|open| open.turn);
            if turn.is_some() {
                let closing = opened.transcript.closing(TurnOutcome::Killed, None);
                opened.append(closing, place.now)?;
            }
            Ok(Some(turn))
        });
        let closed = closed.await?.ok_or_else(|| conversation.unknown());
        conversation.rest().await;
        closed
    }

    /// Has the model replace the messages so far by a summary, once the work before it has ended.
    ///
    /// # Errors
    /// If there is no such conversation, nothing to summarise, or the model failed.
    pub async fn compact(self: &Arc<Self>, pair: Pair) -> Result<Compacted, AgentError> {
        if self.drivers.is_closed() {
            return Err(AgentError::Stopping);
        }
        let conversation = self.conversation(pair);
        let (live, end) = (conversation.live_turn(), Arc::new(CompactEnd::new()));
        let mut stream = live.follow();
        let work = Work::Compact(live, Arc::clone(&end));
        let admitted = conversation.inbox().admit(work, self.host.bounds().queue);
        match admitted {
            Admitted::Start => self.start(conversation),
            Admitted::Waits | Admitted::Same(_) => {}
            Admitted::Busy(waiting) => return Err(AgentError::Busy { waiting }),
        }
        let broke = stream.end().await;
        match (end.get(), broke) {
            (Some(compacted), _) => compacted.clone(),
            (None, Err(error)) => Err(error),
            (None, Ok(_)) => Err(AgentError::Defect("a summary ended as a turn")),
        }
    }

    /// Returns lines of the log as they are stored, oldest first: the newest 200 whose numbers are below `before`.
    ///
    /// # Errors
    /// If there is no such conversation, or its log is damaged or cannot be read.
    pub async fn history(
        self: &Arc<Self>,
        pair: Pair,
        before: Option<u64>,
    ) -> Result<Vec<String>, AgentError> {
        let conversation = self.conversation(pair);
        let is_idle = !conversation.inbox().is_active();
        let read = async {
            if is_idle {
                // The turn of an earlier host is closed first, so that history has its end.
                conversation
                    .with_log(self.place(&conversation), |_, _| Ok(()))
                    .await?;
                conversation.rest().await;
            }
            let (path, pair) = (conversation.path().to_owned(), conversation.pair.clone());
            let read = tokio::task::spawn_blocking(move || page(&path, &pair, before));
            read.await
                .or(Err(AgentError::Defect("reading the log panicked")))?
        };
        let lines = read.await;
        self.release(&conversation);
        lines?.ok_or_else(|| conversation.unknown())
    }

    /// Lists the conversations, of one agent or of all, in the order of their files.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub async fn list(
        self: &Arc<Self>,
        agent: Option<AgentName>,
    ) -> Result<Vec<ListedConversation>, AgentError> {
        let this = Arc::clone(self);
        let listed = tokio::task::spawn_blocking(move || {
            let mut listed = this.summaries.read(&this.directory)?;
            listed.retain(|one| agent.as_ref().is_none_or(|agent| one.pair.agent == *agent));
            let used = this.used();
            for one in &mut listed {
                let conversation = used.get(&one.pair);
                one.is_active = conversation.is_some_and(|known| known.inbox().is_active());
            }
            Ok(listed)
        });
        listed
            .await
            .or(Err(AgentError::Defect("the listing panicked")))?
    }

    /// Returns what turns and summaries that ended since an instant have cost, each in millionths of a US dollar.
    ///
    /// # Errors
    /// If the logs cannot be listed.
    pub async fn costs(&self, since: Timestamp) -> Result<Vec<(Timestamp, u64)>, AgentError> {
        let (summaries, directory) = (Arc::clone(&self.summaries), self.directory.clone());
        let listed = tokio::task::spawn_blocking(move || summaries.read(&directory));
        let listed = listed
            .await
            .or(Err(AgentError::Defect("the listing panicked")))??;
        let costs = listed.into_iter().flat_map(|one| one.costs);
        Ok(costs.filter(|(at, _)| *at >= since).collect())
    }

    /// Deletes a conversation with its place.
    ///
    /// # Errors
    /// If it does not exist, something runs in it, or its file cannot be removed.
    pub async fn delete(self: &Arc<Self>, pair: Pair) -> Result<(), AgentError> {
        let conversation = self.conversation(pair);
        let active = conversation.inbox().is_active();
        let deleted = if active {
            Err(AgentError::Conflict(
                "a turn of this conversation runs".to_owned(),
            ))
        } else {
            let path = conversation.path().to_owned();
            let removed = conversation.remove(move || fs::remove_file(&path)).await;
            match removed {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err(conversation.unknown())
                }
                Err(source) => Err(LogError::Io {
                    path: conversation.path().to_owned(),
                    source,
                }
                .into()),
                Ok(()) => {
                    self.host.forget(&conversation.pair).await;
                    Ok(())
                }
            }
        };
        self.release(&conversation);
        deleted
    }

    /// Returns the number of conversations with a turn that runs or waits.
    pub fn n_active(&self) -> usize {
        let used = self.used();
        used.values()
            .filter(|known| known.inbox().is_active())
            .count()
    }

    /// Accepts no more messages. Turns that run continue.
    ///
    /// Turns that wait for an answer of the user end their waiting: the next host continues with them.
    pub fn close(&self) {
        self.drivers.close();
        self.stop_where(|conversation| conversation.asked().is_some());
    }

    /// Waits until no turn runs; only after [`Conversations::close`].
    pub async fn finished(&self) {
        self.drivers.wait().await;
    }

    /// Stops all turns, those that wait before they begin.
    pub fn stop(&self) {
        self.stop_where(|_| true);
    }

    fn stop_where(&self, stops: impl Fn(&Conversation) -> bool) {
        for conversation in self.used().values().filter(|one| stops(one)) {
            let inbox = conversation.inbox();
            for work in inbox.all() {
                work.live().stop(StopWhy::Stopping);
            }
        }
    }

    /// Returns where the log of a conversation is, and the time.
    pub(crate) fn place(&self, conversation: &Conversation) -> LogAccess {
        conversation.place(self.host.now(), self.host.bounds().ask)
    }

    fn start(self: &Arc<Self>, conversation: Arc<Conversation>) {
        self.drivers.spawn(Arc::clone(self).drive(conversation));
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Pair, Arc<Conversation>>> {
        self.used.lock().expect("no holder panics")
    }

    fn conversation(&self, pair: Pair) -> Arc<Conversation> {
        let mut used = self.used();
        let known = used.entry(pair.clone());
        Arc::clone(
            known.or_insert_with(|| Arc::new(Conversation::new(&self.directory, pair, &self.feed))),
        )
    }

    /// Forgets a conversation that nothing else uses.
    pub(crate) fn release(&self, conversation: &Arc<Conversation>) {
        let mut used = self.used();
        // The map, and the caller. Another user got its own count under the lock that is held here.
        if Arc::strong_count(conversation) <= 2 && !conversation.inbox().is_active() {
            used.remove(&conversation.pair);
        }
    }
}

/// Checks a message.
fn check(message: &NewMessage) -> Result<(), AgentError> {
    let invalid = |message: String| Err(AgentError::Argument(message));
    if message.content.trim().is_empty() || message.content.len() > MAX_CONTENT {
        return invalid(format!(
            "`content` must be text of at most {MAX_CONTENT} bytes"
        ));
    }
    let is_key =
        |key: &String| (1..=MAX_KEY).contains(&key.len()) && !key.chars().any(char::is_control);
    if message.key.as_ref().is_some_and(|key| !is_key(key)) {
        return invalid(format!(
            "`key` must be 1 to {MAX_KEY} bytes without control characters"
        ));
    }
    if message.cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
        return invalid("`cwd` must be an absolute path".to_owned());
    }
    Ok(())
}

/// Reads a page of a log; `None` without one.
fn page(path: &Path, pair: &Pair, before: Option<u64>) -> Result<Option<Vec<String>>, AgentError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(LogError::Io {
                path: path.to_owned(),
                source,
            }
            .into());
        }
    };
    let n_lines = log::parse(path, &bytes, pair)?.lines.len();
    let end = before.map_or(n_lines, |before| {
        usize::try_from(before.saturating_sub(1))
            .unwrap_or(n_lines)
            .min(n_lines)
    });
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().take(end).skip(end.saturating_sub(PAGE));
    Ok(Some(lines.map(str::to_owned).collect()))
}
