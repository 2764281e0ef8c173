//! Reminders: messages that are due at an instant, kept in the notice `cron.json` of the home.
//!
//! Memory is authoritative, and the file has each change before it counts. A reminder of a client is marked as due on disk, then
//! announced, and stays until it is dismissed. One of a conversation stays until its turn has ended: the message has a key, so that
//! a host that starts after a crash sends it again without a second turn.

mod notice;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use daemon_run_folder::write_atomic;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Mutex, Notify};

use crate::conversations::{Conversations, NewMessage};
use crate::error::AgentError;
use crate::line::TurnChain;
use crate::log::LogError;
use crate::name::{AgentName, Pair, Sender};

/// The most reminders that a home keeps, due or not.
const MOST: usize = 64;
/// The longest text, in bytes.
const MAX_TEXT: usize = 4_000;
/// How long a reminder waits before its message is offered again to a conversation that cannot take it.
const AGAIN: Duration = Duration::from_secs(5);

/// A reminder that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReminder {
    /// When it is due.
    pub at: Timestamp,
    /// What it says.
    pub text: String,
    /// Who is reminded.
    pub recipient: Recipient,
}

/// Who is reminded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// The client of this address.
    Parent(String),
    /// A conversation, in which a turn starts.
    Conversation {
        /// Its agent.
        #[serde(with = "crate::name::as_text")]
        agent: AgentName,
        /// Its sender.
        sender: String,
    },
}

impl Recipient {
    /// Makes the recipient of a conversation.
    pub fn conversation(pair: &Pair) -> Self {
        Self::Conversation {
            agent: pair.agent.clone(),
            sender: pair.sender.as_str().to_owned(),
        }
    }
}

/// A reminder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    /// The number by which it is dismissed, from 1.
    pub id: u64,
    /// When it is due.
    #[serde(with = "crate::line::stamp")]
    pub at: Timestamp,
    /// What it says.
    pub text: String,
    /// Who is reminded.
    #[serde(flatten)]
    pub recipient: Recipient,
    /// Whether it was due, and was announced.
    #[serde(default)]
    pub is_due: bool,
}

/// Which reminders are dismissed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dismissed<'a> {
    /// Every one.
    All,
    /// The one with this id.
    One(u64),
    /// The one with this id, if it belongs to this conversation.
    Own(u64, &'a Pair),
}

impl Dismissed<'_> {
    fn has(self, reminder: &Reminder) -> bool {
        match self {
            Self::All => true,
            Self::One(id) => reminder.id == id,
            Self::Own(id, pair) => {
                reminder.id == id && reminder.recipient == Recipient::conversation(pair)
            }
        }
    }
}

/// What the file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    next_id: u64,
    reminders: Vec<Reminder>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            next_id: 1,
            reminders: Vec::new(),
        }
    }
}

/// The reminders of a home.
#[derive(Debug)]
pub(crate) struct Reminders {
    path: PathBuf,
    kept: Mutex<Result<Kept, Arc<LogError>>>,
    /// The reminders whose messages are on their way into their conversations.
    sending: std::sync::Mutex<BTreeSet<u64>>,
    changed: Notify,
}

impl Reminders {
    /// Reads the file. One that does not exist has no reminders; one that cannot be read fails each use, and is never written.
    pub(crate) fn open(path: PathBuf) -> Self {
        Self {
            kept: Mutex::new(read(&path)),
            path,
            sending: std::sync::Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Reads the file again if it could not be read before.
    pub(crate) async fn reopen(&self) {
        let mut kept = self.kept.lock().await;
        if kept.is_err() {
            *kept = read(&self.path);
            self.changed.notify_one();
        }
    }

    fn sending(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.sending.lock().expect("no holder panics")
    }

    async fn kept(&self) -> Result<Kept, AgentError> {
        let kept = self.kept.lock().await;
        kept.clone().map_err(AgentError::Storage)
    }

    /// Changes the reminders, and returns once the file has the change. Nothing is written if nothing changes.
    async fn change<T: Send>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Kept) -> T + Send,
    ) -> Result<T, AgentError> {
        let mut held = self.kept.lock().await;
        let before = held
            .as_ref()
            .map_err(|why| AgentError::Storage(Arc::clone(why)))?;
        let mut kept = before.clone();
        let changed = change(&mut kept);
        if kept != *before {
            let (path, text) = (self.path.clone(), notice::text(&kept, now));
            let written = tokio::task::spawn_blocking(move || {
                write_atomic(&path, text.as_bytes()).map_err(|source| failed(&path, source))
            });
            let panicked = Err(AgentError::Defect("writing the reminders panicked"));
            written.await.or(panicked)??;
            *held = Ok(kept);
            self.changed.notify_one();
        }
        Ok(changed)
    }
}

fn read(path: &Path) -> Result<Kept, Arc<LogError>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::default()),
        Err(source) => return Err(Arc::new(failed(path, source))),
    };
    notice::parse(&bytes).map_err(|error| {
        tracing::error!(path = %path.display(), %error, "the reminders cannot be read; repair the file and reload");
        Arc::new(failed(path, error.into()))
    })
}

fn failed(path: &Path, source: io::Error) -> LogError {
    LogError::Io {
        path: path.to_owned(),
        source,
    }
}

impl Conversations {
    /// Keeps a reminder, and returns its id once it is on disk. If there are too many, the oldest one that was due goes.
    ///
    /// # Errors
    /// If there is no such agent, the text or the sender is invalid, too many reminders are not due yet, or it could not be stored.
    pub async fn remind(&self, new: NewReminder) -> Result<u64, AgentError> {
        if new.text.trim().is_empty() || new.text.len() > MAX_TEXT {
            let message = format!("`text` must be 1 to {MAX_TEXT} bytes");
            return Err(AgentError::Argument(message));
        }
        if let Recipient::Conversation { agent, sender } = &new.recipient {
            self.agents.get(agent)?;
            sender.parse::<Sender>()?;
        }
        let added = self.reminders.change(self.host.now(), |kept| {
            if kept.reminders.len() >= MOST {
                let oldest = kept.reminders.iter().position(|one| one.is_due);
                kept.reminders.remove(oldest?);
            }
            let id = kept.next_id;
            kept.next_id += 1;
            kept.reminders.push(Reminder {
                id,
                at: new.at,
                text: new.text,
                recipient: new.recipient,
                is_due: false,
            });
            Some(id)
        });
        added.await?.ok_or(AgentError::Busy { waiting: MOST })
    }

    /// Removes reminders, due or not, and returns how many.
    ///
    /// # Errors
    /// If the change could not be stored.
    pub async fn dismiss_reminders(&self, which: Dismissed<'_>) -> Result<usize, AgentError> {
        let dismissed = self.reminders.change(self.host.now(), |kept| {
            let before = kept.reminders.len();
            kept.reminders.retain(|one| !which.has(one));
            before - kept.reminders.len()
        });
        dismissed.await
    }

    /// Returns the reminders, the oldest first.
    ///
    /// # Errors
    /// If their file could not be read.
    pub async fn reminders(&self) -> Result<Vec<Reminder>, AgentError> {
        Ok(self.reminders.kept().await?.reminders)
    }

    /// Returns the content of the notice of the reminders.
    ///
    /// # Errors
    /// If their file could not be read.
    pub async fn reminder_notice(&self) -> Result<Value, AgentError> {
        let kept = self.reminders.kept().await?;
        Ok(notice::content(&kept, self.host.now()))
    }

    /// Waits until the reminders change.
    pub async fn reminders_changed(&self) {
        self.reminders.changed.notified().await;
    }

    /// Returns when the next reminder is due; `None` if none is, or their file could not be read.
    pub async fn next_reminder(&self) -> Option<Timestamp> {
        let kept = self.reminders.kept().await.ok()?;
        let sending = self.reminders.sending();
        let mut waiting = kept.reminders;
        waiting.retain(|one| !one.is_due && !sending.contains(&one.id));
        waiting.iter().map(|one| one.at).min()
    }

    /// Starts the turns of the reminders that are due, and returns those of clients, which are marked as due on disk.
    ///
    /// # Errors
    /// If that could not be stored; the reminders of clients are due again then.
    pub async fn fire_reminders(self: &Arc<Self>) -> Result<Vec<Reminder>, AgentError> {
        let now = self.host.now();
        let kept = self.reminders.kept().await?;
        let due = kept
            .reminders
            .into_iter()
            .filter(|one| !one.is_due && one.at <= now);
        let (of_clients, of_conversations): (Vec<_>, Vec<_>) =
            due.partition(|one| matches!(one.recipient, Recipient::Parent(_)));
        for reminder in of_conversations {
            if self.reminders.sending().insert(reminder.id) {
                self.drivers.spawn(Arc::clone(self).send_reminder(reminder));
            }
        }
        let ids: BTreeSet<u64> = of_clients.iter().map(|one| one.id).collect();
        let marked = self.reminders.change(now, |kept| {
            let mut marked = kept.reminders.iter_mut();
            marked
                .by_ref()
                .filter(|one| ids.contains(&one.id))
                .for_each(|one| one.is_due = true);
        });
        marked.await?;
        Ok(of_clients)
    }

    /// Sends the message of a reminder, and removes it once its turn has ended.
    async fn send_reminder(self: Arc<Self>, reminder: Reminder) {
        let id = reminder.id;
        let Err(error) = self.turn_of_reminder(&reminder).await else {
            return self.forget_reminder(id).await;
        };
        match error {
            // The next host sends it.
            AgentError::Stopping => return,
            AgentError::Busy { .. } | AgentError::Storage(_) => tokio::time::sleep(AGAIN).await,
            error => {
                tracing::warn!(reminder = id, %error, "the turn of a reminder failed");
                return self.forget_reminder(id).await;
            }
        }
        self.reminders.sending().remove(&id);
        self.reminders.changed.notify_one();
    }

    async fn turn_of_reminder(self: &Arc<Self>, reminder: &Reminder) -> Result<(), AgentError> {
        let Recipient::Conversation { agent, sender } = &reminder.recipient else {
            return Ok(());
        };
        let pair = Pair {
            agent: agent.clone(),
            sender: sender.parse()?,
        };
        let message = NewMessage {
            content: format!(
                "Reminder {} of {}: {}",
                reminder.id, reminder.at, reminder.text
            ),
            via: "reminder".to_owned(),
            key: Some(format!("reminder:{}:{}", reminder.id, reminder.at)),
            cwd: None,
            tool_choice: None,
            chain: TurnChain::default(),
        };
        self.send(pair, message)?.end().await.map(drop)
    }

    async fn forget_reminder(&self, id: u64) {
        // It may have been dismissed.
        if let Err(error) = self.dismiss_reminders(Dismissed::One(id)).await {
            tracing::error!(reminder = id, %error, "a reminder could not be removed; the next host finds its turn");
            return;
        }
        self.reminders.sending().remove(&id);
    }
}

#[cfg(test)]
mod tests;
