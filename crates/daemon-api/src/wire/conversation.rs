//! The objects of agents and conversations.

use daemon_agent::definition::{AgentDefinition, AllowedNames, ToolChoice};
use daemon_agent::{AgentEvent, ListedAgent, ListedConversation, TurnResult, TurnTokens};
use daemon_provider::MicroUsd;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::instant;

/// TurnTokens of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UsageObject {
    /// Input tokens, without cached ones.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// TurnTokens spent on thinking.
    pub thinking: u64,
    /// Input tokens read from or written to a cache.
    pub cached: u64,
    /// The cost; null if it is not known.
    pub cost_usd: Option<f64>,
}

impl From<TurnTokens> for UsageObject {
    fn from(tokens: TurnTokens) -> Self {
        Self {
            input: tokens.input,
            output: tokens.output,
            thinking: tokens.thinking,
            cached: tokens.cached,
            cost_usd: tokens.cost_micros.map(|micros| MicroUsd(micros).as_usd()),
        }
    }
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnObject {
    /// The number of the turn.
    pub turn: u64,
    /// The last text of the model.
    pub text: String,
    /// `done` or `limit`.
    pub outcome: &'static str,
    /// The model.
    pub model: String,
    /// The tokens of all its replies.
    pub usage: UsageObject,
}

impl From<TurnResult> for TurnObject {
    fn from(result: TurnResult) -> Self {
        Self {
            turn: result.turn,
            text: result.text,
            outcome: result.outcome.as_str(),
            model: result.model,
            usage: result.usage.into(),
        }
    }
}

/// A conversation in a listing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConversationObject {
    /// The agent.
    pub agent: String,
    /// The sender.
    pub sender: String,
    /// The first line of the first message, or the title of a summary.
    pub title: String,
    /// When it began.
    pub created_at: String,
    /// When its last line was stored.
    pub updated_at: String,
    /// The number of its turns.
    pub turns: u64,
    /// Whether a turn runs or waits.
    pub active: bool,
    /// The question that waits for an answer.
    pub ask_id: Option<String>,
}

impl From<ListedConversation> for ConversationObject {
    fn from(listed: ListedConversation) -> Self {
        Self {
            agent: listed.pair.agent.to_string(),
            sender: listed.pair.sender.to_string(),
            title: listed.title,
            created_at: instant(listed.created_at),
            updated_at: instant(listed.updated_at),
            turns: listed.turns,
            active: listed.is_active,
            ask_id: listed.ask_id,
        }
    }
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentObject {
    /// The name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The provider, or the model of one; null is the host's choice.
    pub model: Option<String>,
    /// The most calls of the model in one turn.
    pub max_iterations: u32,
    /// `auto` or `none`.
    pub tool_choice: &'static str,
    /// The names of the tools that it may use; `*` is all.
    pub tools: Vec<String>,
    /// The names of the agents that it may delegate to; `*` is all.
    pub members: Vec<String>,
    /// The names of the skills that it may use; `*` is all.
    pub skills: Vec<String>,
    /// The names of the MCP servers whose tools it may use; `*` is all.
    pub mcps: Vec<String>,
    /// The tokens beyond which earlier messages are summarised.
    pub compact_threshold: u64,
    /// The prompt.
    pub prompt: String,
}

impl From<AgentDefinition> for AgentObject {
    fn from(agent: AgentDefinition) -> Self {
        Self {
            name: agent.name.to_string(),
            description: agent.description,
            model: agent.model,
            max_iterations: agent.max_iterations,
            tool_choice: match agent.tool_choice {
                ToolChoice::Auto => "auto",
                ToolChoice::None => "none",
            },
            tools: names(agent.tools),
            members: names(agent.members),
            skills: names(agent.skills),
            mcps: names(agent.mcps),
            compact_threshold: agent.compact_threshold,
            prompt: agent.prompt,
        }
    }
}

/// Returns the names of a list as a definition writes them.
fn names(allowed: AllowedNames) -> Vec<String> {
    match allowed {
        AllowedNames::All => vec!["*".to_owned()],
        AllowedNames::Only(names) => names,
    }
}

/// An agent in a listing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedAgentObject {
    /// The name.
    pub name: String,
    /// What it is for; null if its file is invalid.
    pub description: Option<String>,
    /// As for one agent.
    pub model: Option<String>,
    /// The hash of its file; null if it is invalid.
    pub rev: Option<String>,
    /// What is wrong with its file; null if nothing is.
    pub problem: Option<String>,
}

impl From<ListedAgent> for ListedAgentObject {
    fn from(listed: ListedAgent) -> Self {
        let name = listed.name.to_string();
        match listed.agent {
            Ok(agent) => Self {
                name,
                description: Some(agent.description),
                model: agent.model,
                rev: Some(agent.rev),
                problem: None,
            },
            Err(problem) => Self {
                name,
                description: None,
                model: None,
                rev: None,
                problem: Some(problem),
            },
        }
    }
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEventObject {
    /// The message is on disk.
    Start {
        /// The number of the turn.
        turn: u64,
    },
    /// The next text. A call of the model that broke off is repeated; the text of earlier attempts of a step does not count.
    Text {
        /// The text.
        text: String,
        /// The number of the call of the model within the turn.
        attempt: u32,
    },
    /// The next thoughts.
    Thinking {
        /// The text.
        text: String,
        /// As for `text`.
        attempt: u32,
    },
    /// A tool is about to start.
    ToolStart {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// A tool ended.
    ToolResult {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The beginning of its output.
        output: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// The turn waits for an answer.
    AskUser {
        /// Names the question in `conversation/reply_to_ask`.
        ask_id: String,
        /// The questions.
        questions: Value,
    },
    /// A summary replaced earlier messages.
    Compacted {
        /// The title of the conversation.
        title: String,
        /// The last line that it replaces.
        upto: u64,
    },
    /// The end of the turn is on disk.
    End {
        /// The number of the turn.
        turn: u64,
        /// `done`, `failed`, `killed`, `interrupted` or `limit`.
        outcome: &'static str,
        /// Why it failed; null if it did not.
        error: Option<String>,
    },
    /// An event of a later version.
    Unknown,
}

impl AgentEventObject {
    /// Makes the object of an event.
    pub fn new(event: &AgentEvent) -> Self {
        match event.clone() {
            AgentEvent::Start { turn } => Self::Start { turn },
            AgentEvent::Text { text, attempt } => Self::Text { text, attempt },
            AgentEvent::Thinking { text, attempt } => Self::Thinking { text, attempt },
            AgentEvent::ToolStart {
                id,
                name,
                arguments,
            } => Self::ToolStart {
                id,
                name,
                arguments,
            },
            AgentEvent::ToolResult {
                id,
                name,
                output,
                is_error,
            } => Self::ToolResult {
                id,
                name,
                output,
                is_error,
            },
            AgentEvent::AskUser { ask_id, questions } => Self::AskUser { ask_id, questions },
            AgentEvent::Compacted { title, upto } => Self::Compacted { title, upto },
            AgentEvent::End {
                turn,
                outcome,
                error,
            } => Self::End {
                turn,
                outcome: outcome.as_str(),
                error,
            },
            _ => Self::Unknown,
        }
    }
}
