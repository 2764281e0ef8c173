//! One conversation in memory: its messages, its log while it is used, and the question that it waits for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Mutex as AsyncMutex, oneshot};

use crate::error::AgentError;
use crate::feed::Feed;
use crate::inbox::Inbox;
use crate::line::{Entry, Line, TurnOutcome};
use crate::live::LiveTurn;
use crate::log::{LogError, SessionLog};
use crate::name::Pair;
use crate::transcript::{ConversationState, OpenAsk};

/// Why a turn of an earlier host was closed.
const HOST_ENDED: &str = "the host ended while the turn was under way";

/// A conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) pair: Pair,
    path: PathBuf,
    feed: Arc<Feed>,
    inbox: Mutex<Inbox>,
    /// The open log; `None` while nothing uses it, and after an append failed.
    log: AsyncMutex<Option<OpenLog>>,
    /// The question that the running turn waits for.
    asked: Mutex<Option<AwaitedReply>>,
}

/// A question of the running turn.
#[derive(Debug)]
pub(crate) struct AwaitedReply {
    pub(crate) ask_id: String,
    pub(crate) reply: oneshot::Sender<String>,
}

/// A log with what its lines say.
#[derive(Debug)]
pub(crate) struct OpenLog {
    log: SessionLog,
    pub(crate) transcript: ConversationState,
}

impl OpenLog {
    /// Opens a log, and closes the turn that an earlier host left under way, unless it can continue.
    fn open(place: &LogAccess) -> Result<Option<Self>, LogError> {
        let Some((log, lines)) = SessionLog::open(&place.path, &place.pair)? else {
            return Ok(None);
        };
        let mut opened = Self {
            log,
            transcript: ConversationState::of(&lines.lines),
        };
        let goes_on = opened.transcript.open.as_ref().is_none_or(|open| {
            open.answer.is_some() || open.ask.as_ref().is_some_and(|ask| place.is_awaited(ask))
        });
        if !goes_on {
            let error = Some(HOST_ENDED.to_owned());
            let closing = opened.transcript.closing(TurnOutcome::Interrupted, error);
            opened.append(closing, place.now)?;
        }
        Ok(Some(opened))
    }

    /// Creates the log of a conversation.
    pub(crate) fn create(place: &LogAccess, cwd: Option<String>) -> Result<Self, LogError> {
        let meta = Entry::meta(&place.pair, cwd);
        let (log, meta) = SessionLog::create(&place.path, meta, place.now)?;
        Ok(Self {
            log,
            transcript: ConversationState::of(&[meta]),
        })
    }

    /// Appends entries and returns their lines once they are on disk.
    pub(crate) fn append(
        &mut self,
        entries: Vec<Entry>,
        at: Timestamp,
    ) -> Result<Vec<Line>, LogError> {
        let lines = self.log.append(entries, at)?;
        for line in &lines {
            self.transcript.apply(line);
        }
        Ok(lines)
    }
}

impl Conversation {
    pub(crate) fn new(directory: &Path, pair: Pair, feed: &Arc<Feed>) -> Self {
        let path = directory.join(format!("{}.jsonl", pair.file_stem()));
        Self {
            pair,
            path,
            feed: Arc::clone(feed),
            inbox: Mutex::default(),
            log: AsyncMutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Makes what follows a turn.
    pub(crate) fn live_turn(&self) -> Arc<LiveTurn> {
        LiveTurn::new(&self.pair, &self.feed)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().expect("no holder panics")
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Option<AwaitedReply>> {
        self.asked.lock().expect("no holder panics")
    }

    /// Does something with the log, on a thread for blocking calls; `None` is a conversation without a log. After an error the
    /// log is closed: what the file contains is unknown, and the next use reads it.
    pub(crate) async fn with_log<T: Send + 'static>(
        &self,
        place: LogAccess,
        use_log: impl FnOnce(&mut Option<OpenLog>, &LogAccess) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, AgentError> {
        let mut held = self.log.lock().await;
        let known = held.take();
        let worked = tokio::task::spawn_blocking(move || {
            let mut opened = match known {
                Some(opened) => Some(opened),
                None => OpenLog::open(&place)?,
            };
            let answer = use_log(&mut opened, &place)?;
            Ok((answer, opened))
        });
        let worked: Result<_, LogError> = worked
            .await
            .or(Err(AgentError::Defect("the log panicked")))?;
        let (answer, opened) = worked?;
        *held = opened;
        Ok(answer)
    }

    /// Returns the place of the log at a time.
    pub(crate) fn place(&self, now: Timestamp, ask: Duration) -> LogAccess {
        LogAccess {
            path: self.path.clone(),
            pair: self.pair.clone(),
            now,
            ask,
        }
    }

    /// Appends entries to the log of a conversation that exists.
    pub(crate) async fn append(
        &self,
        place: LogAccess,
        entries: impl FnOnce(&ConversationState) -> Vec<Entry> + Send + 'static,
    ) -> Result<Vec<Line>, AgentError> {
        let appended = self.with_log(place, move |opened, place| {
            let Some(opened) = opened else {
                return Ok(None);
            };
            let entries = entries(&opened.transcript);
            opened.append(entries, place.now).map(Some)
        });
        appended.await?.ok_or_else(|| self.unknown())
    }

    /// Closes the log and removes its file.
    pub(crate) async fn remove(
        &self,
        remove: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let mut held = self.log.lock().await;
        *held = None;
        let removed = tokio::task::spawn_blocking(remove).await;
        removed.map_err(io::Error::other)?
    }

    /// Returns the error of a conversation without a log.
    pub(crate) fn unknown(&self) -> AgentError {
        AgentError::NotFound {
            what: "conversation",
            id: format!("{} {}", self.pair.agent, self.pair.sender),
        }
    }

    /// Closes the log if nothing runs, so that idle conversations take no memory.
    pub(crate) async fn rest(&self) {
        let mut held = self.log.lock().await;
        if !self.inbox().is_active() {
            *held = None;
        }
    }
}

/// Where the log of a conversation is, and when it is used.
#[derive(Clone, Debug)]
pub(crate) struct LogAccess {
    path: PathBuf,
    pair: Pair,
    pub(crate) now: Timestamp,
    /// How long a question waits for its answer.
    ask: Duration,
}

impl LogAccess {
    /// Reports whether a question is still waiting for its answer.
    fn is_awaited(&self, ask: &OpenAsk) -> bool {
        self.now.duration_since(ask.asked_at).unsigned_abs() < self.ask
    }
}
