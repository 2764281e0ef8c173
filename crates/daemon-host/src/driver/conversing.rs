//! Conversations of a host: what their turns use of it, and how they end with it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use daemon_agent::{
    AgentHooks, AgentHost, Agents, BusEvent, ConversationBounds, ConversationPaths, Conversations,
    Cron, OpenedTurn, Pair, TurnRequest, cron_key,
};
use daemon_event::{Event, EventFacts, EventId, Source};
use daemon_provider::{Failure, FailureKind};
use daemon_records::error::chain;
use daemon_records::random;
use daemon_runner::servers::{McpHook, SharedServers};
use daemon_runner::{RunContext, conversing};
use daemon_store::{Identity, Matching, NewEvent};
use jiff::Timestamp;

use super::Host;
use super::crons::schedule_of;
use super::run_directory::SharedRuntime;
use super::signals::Signals;
use crate::dispatching::AgentDispatch;
use crate::home::Home;

/// How long turns may take to end after they were stopped.
const ENDING: Duration = Duration::from_secs(4);

/// The host as its conversations see it.
struct ConversationHost {
    context: Arc<RunContext>,
    runtime: SharedRuntime,
    servers: Arc<SharedServers>,
    signals: Arc<Signals>,
    dispatch: AgentDispatch,
}

/// Makes the conversations of a host.
pub(super) fn conversations(
    home: &Home,
    context: &Arc<RunContext>,
    servers: &Arc<SharedServers>,
    (runtime, signals): (&SharedRuntime, &Arc<Signals>),
    dispatch: &AgentDispatch,
) -> Arc<Conversations> {
    let host = ConversationHost {
        context: Arc::clone(context),
        runtime: runtime.clone(),
        servers: Arc::clone(servers),
        signals: Arc::clone(signals),
        dispatch: dispatch.clone(),
    };
    let agents = Agents::new(home.agents());
    let paths = ConversationPaths {
        sessions: home.sessions(),
        subscriptions: home.subscriptions(),
        crons: home.crons(),
        reminders: home.reminders(),
    };
    Conversations::new(paths, agents, Arc::new(host))
}

#[async_trait]
impl AgentHost for ConversationHost {
    fn now(&self) -> Timestamp {
        self.context.now()
    }

    fn bounds(&self) -> ConversationBounds {
        self.runtime.get().config.conversation_bounds()
    }

    fn hooks(&self) -> AgentHooks {
        let mcp = McpHook::new(Arc::clone(&self.servers));
        let hooks = self.runtime.get().parts.hooks.and(Arc::new(mcp));
        let [runs, roster] = self.dispatch.hooks();
        hooks.and(runs).and(roster)
    }

    async fn store_event(&self, event: BusEvent) -> Result<String, Failure> {
        let now = self.context.now();
        let id = random::event_id(now);
        let stored = self.context.store.accept(vec![new_event(event, &id, now)]);
        match stored.await {
            Ok(_) => Ok(id.to_string()),
            Err(error) => Err(Failure::new(FailureKind::Resource, chain(&error))),
        }
    }

    async fn schedule_cron(&self, id: u64, cron: Option<&Cron>) -> Result<(), Failure> {
        let store = &self.context.store;
        let covered = store.cover(cron_key(id), cron.map(schedule_of), self.context.now());
        let covered = covered.await;
        self.signals.ticks.notify_one();
        covered.map_err(|error| Failure::new(FailureKind::Resource, chain(&error)))
    }

    async fn open_turn(&self, turn: TurnRequest) -> Result<OpenedTurn, Failure> {
        // Their tools are offered once they are connected.
        self.servers.ready(&turn.agent.mcps).await;
        conversing::open(&self.context, &turn).await
    }

    async fn forget(&self, pair: &Pair) {
        conversing::forget(&self.context, pair).await;
    }
}

/// Makes the row of a published event, which wakes no daemon.
fn new_event(event: BusEvent, id: &EventId, now: Timestamp) -> NewEvent {
    let delivery = format!("bus-{id}");
    NewEvent {
        event: Event {
            id: id.clone(),
            source: Source::Cloudevents,
            kind: event.source,
            action: None,
            subject: None,
            actor: None,
            repo: None,
            time: now,
            received_at: now,
            delivery: delivery.parse().expect("it is a valid id"),
            facts: EventFacts::default(),
            payload: event.payload.to_string().into_bytes().into(),
        },
        identities: vec![Identity {
            key: format!("id:bus:{id}"),
            within: None,
        }],
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Done,
    }
}

/// Waits for the stop of the host, gives turns the drain time to end, and stops the others and the MCP servers of agents.
pub(super) async fn drain(host: Arc<Host>) {
    end_turns(&host.conversations, &host.runs().context).await;
    host.servers.close().await;
}

async fn end_turns(conversations: &Conversations, context: &RunContext) {
    context.lifetime.stop.cancelled().await;
    conversations.close();
    let drain = context.host.settings().bounds.drain;
    let gentle = drain.saturating_sub(Duration::from_secs(5));
    if tokio::time::timeout(gentle, conversations.finished())
        .await
        .is_ok()
    {
        return;
    }
    conversations.stop();
    if tokio::time::timeout(ENDING, conversations.finished())
        .await
        .is_err()
    {
        tracing::warn!("turns of conversations did not end in time; the next use closes them");
    }
}
