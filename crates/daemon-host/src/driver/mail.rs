//! The mail of one-off runs: a turn of an agent, or a message to another run.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use daemon_agent::{AgentName, Conversations, NewMessage, Pair, TurnChain};
use daemon_runner::mail::{Postbox, RunMail};
use daemon_runner::{RunContext, emanation};

/// Delivers mail, once the host has conversations. Clones share it.
#[derive(Clone, Default)]
pub(super) struct HostPostbox(Arc<OnceLock<Recipients>>);

/// Who takes mail. The host has them, so that they are not held here.
struct Recipients {
    conversations: Weak<Conversations>,
    runs: Weak<RunContext>,
}

impl HostPostbox {
    /// Begins to deliver.
    pub(super) fn begin(&self, conversations: &Arc<Conversations>, runs: &Arc<RunContext>) {
        self.0.get_or_init(|| Recipients {
            conversations: Arc::downgrade(conversations),
            runs: Arc::downgrade(runs),
        });
    }

    fn conversations(&self) -> Option<Arc<Conversations>> {
        self.0.get()?.conversations.upgrade()
    }
}

#[async_trait]
impl Postbox for HostPostbox {
    fn has_agents(&self) -> bool {
        let conversations = self.conversations();
        let agents = conversations.map(|conversations| conversations.agents().list());
        // A directory that cannot be read has no agents that could be sent to.
        agents.is_some_and(|agents| agents.is_ok_and(|agents| !agents.is_empty()))
    }

    async fn deliver(&self, mail: RunMail) -> Result<String, String> {
        let to = mail.mail.to.clone();
        if let Ok(run) = to.parse() {
            let runs = self.0.get().and_then(|known| known.runs.upgrade());
            let runs = runs.ok_or("the host does not serve")?;
            let text = runs.secrets.removed_from(&mail.text());
            emanation::deliver(&runs, &mail.parent, run, &text).await?;
            return Ok(format!("the run `{to}` has it"));
        }
        let agent: AgentName = to
            .parse()
            .map_err(|error| format!("`to` is neither an agent nor a run: {error}"))?;
        let runs = self.0.get().and_then(|known| known.runs.upgrade());
        let (runs, conversations) = runs
            .zip(self.conversations())
            .ok_or("the host does not serve")?;
        let sender = format!("run:{}", mail.from);
        let pair = Pair {
            agent,
            sender: sender.parse().expect("an id is short and plain"),
        };
        let message = NewMessage {
            content: runs.secrets.removed_from(&mail.text()),
            via: "email".to_owned(),
            key: None,
            cwd: None,
            tool_choice: None,
            // Otherwise an agent whose runs send it mail, for which it dispatches runs, would never end.
            chain: TurnChain::last(),
        };
        // The turn continues without a client that follows it.
        let sent = conversations.send(pair, message);
        sent.map(|_| format!("the agent `{to}` has it, in its conversation with `{sender}`"))
            .map_err(|error| error.to_string())
    }
}
