//! Agents and their conversations.
//!
//! An [`AgentDefinition`](definition::AgentDefinition) is a file with front matter and a prompt. A conversation belongs to the exact pair of an agent
//! and a sender, and its log has a line for each message, reply, call and end. [`Conversations`] takes messages, runs one turn of
//! each conversation at a time over the tool loop of `daemon-provider`, and lists, shows and deletes.
//!
//! ```
//! use daemon_agent::definition::AgentDefinition;
//!
//! let text = "---\ndescription: Finds things.\ntools: [read, search]\n---\nYou find things.\n";
//! let agent = AgentDefinition::parse("scout".parse()?, text)?;
//! assert_eq!(agent.prompt, "You find things.\n");
//! assert!(agent.tools.has("read") && !agent.tools.has("write"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What this crate does not do
//! It calls no model API and starts no program: the [`AgentHost`] opens the model, the tools and the place of a turn. It reads no
//! clock and no configuration, and serves no client.
//!
//! # Guarantees
//! A message is on disk before the model is called, a reply before its tools start, a result before the next call of the model, and
//! the end before it is announced. A torn last line is cut off; a bad line elsewhere makes this conversation answer `damaged` and
//! changes nothing. A turn without an end is closed as interrupted and never run again, unless it waits for an answer of the user.

mod agents;
mod bus;
mod compaction;
mod conversation;
mod conversations;
mod cron;
pub mod definition;
mod drive;
mod error;
mod event;
mod failpoint;
mod feed;
mod hook;
mod hooks;
mod host;
mod inbox;
mod line;
mod listing;
mod live;
mod log;
mod memories;
mod name;
mod program_calls;
mod recovery;
mod reminders;
mod running;
mod skills;
mod transcript;
mod turn;

pub use agents::{Agents, ListedAgent};
pub use bus::{BusEvent, PublishedEvent, Subscription};
pub use compaction::Compacted;
pub use conversations::{Conversations, NewMessage};
pub use cron::{Cron, cron_id, cron_key, crons_repo, utc};
pub use error::AgentError;
pub use event::{AgentEvent, NumberedEvent, SHOWN_OUTPUT};
pub use feed::{FeedEvent, FeedFilter, FeedStream, NumberedFeedEvent};
pub use hook::{Hook, HookTurn, Injected};
pub use hooks::{AgentHooks, HookCollision, MemoryHook, SkillsHook};
pub use host::{
    AgentHost, ConversationBounds, ConversationPaths, OnDisconnect, OpenedTurn, TurnRequest,
};
pub use line::{TurnChain, TurnOutcome, TurnTokens};
pub use listing::ListedConversation;
pub use live::{Followed, TurnConclusion, TurnStream};
pub use log::LogError;
pub use memories::{Memories, MemoryOfFile};
pub use name::{
    AgentName, InvalidPairPart, InvalidSkillName, Pair, Sender, SkillName, is_plain_name,
};
pub use recovery::{Entries, RecoveredEntry, RecoveryEntry, RecoveryFile};
pub use reminders::{Dismissed, NewReminder, Recipient, Reminder};
pub use skills::{ListedSkill, SkillBundle, SkillProblem, Skills};
pub use transcript::TurnResult;
