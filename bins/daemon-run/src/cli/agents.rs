//! The commands about agents and conversations.

use clap::{Args, Subcommand};

/// Arguments of `chat`.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The agent
    pub(crate) agent: String,
    /// Who talks: the same name resumes the same conversation [default: cli:<uid>]
    #[arg(long, value_name = "NAME")]
    pub(crate) sender: Option<String>,
    /// Sends one message, prints the reply and ends; `-` reads standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
}

/// Arguments of `agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) verb: AgentVerb,
}

/// The subcommands of `agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Lists agents
    List,
    /// Shows one agent with its prompt
    Show {
        /// The name of the agent
        name: String,
    },
    /// Creates an agent, to be edited in its file
    New(NewAgentArgs),
}

/// Arguments of `agent new`.
#[derive(Debug, Args)]
pub(crate) struct NewAgentArgs {
    /// The name of the agent: small letters, digits and hyphens
    pub(crate) name: String,
    /// What it is for, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// The provider, or the model of one, that answers [default: provider.default]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The prompt; `-` reads standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
}

/// Arguments of `call`.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The method, such as conversation/list
    pub(crate) method: String,
    /// Its parameters, a JSON object; `-` reads standard input
    #[arg(value_name = "JSON")]
    pub(crate) params: Option<String>,
}
