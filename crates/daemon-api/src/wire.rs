//! The JSON objects of operations: the same on the command line, over HTTP and over the control socket.

mod bus;
mod conversation;
mod cron;
mod fact;
mod roster;
mod skill;
mod versioned;

pub use bus::{AGENT_EVENT_KINDS, FeedEventObject, SubscriptionObject};
pub use conversation::{
    AgentEventObject, AgentObject, ConversationObject, ListedAgentObject, TurnObject, UsageObject,
};
pub use cron::{CronObject, CronTickObject};
pub use fact::FactObject;
pub use roster::{
    AuditObject, BatonObject, CharterObject, CheckInObject, ListedRowObject, ResetObject,
    RosterMetaObject, RosterRowObject, RosterWarningObject, SignalObject, WindDownObject,
};
pub use skill::{ListedSkillObject, SkillObject};
pub use versioned::{FailureObject, Versioned};

use daemon_engine::{Activation, Output};
use daemon_event::{ActivationId, Event, Field, TriggerKey};
pub use daemon_records::{RunErrorObject, RunObject, TokensObject, instant};
use daemon_store::{DaemonRow, EventRow, StoredTick, Validity};
pub use daemon_view::state_word;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A registered daemon.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DaemonObject {
    /// The id, unique within its repository.
    pub id: String,
    /// The repository that contains its file.
    pub repo: String,
    /// The path of its file in the repository.
    pub path: String,
    /// The content hash of the file and its support tree.
    pub rev: String,
    /// The `purpose` of its file.
    pub purpose: String,
    /// What can wake it: `watch`, `schedule`.
    pub modes: Vec<&'static str>,
    /// Whether the linter found no error; an invalid daemon never wakes.
    pub valid: bool,
    /// The diagnostics of the linter.
    pub diagnostics: Value,
    /// `open`, `held` or `tripped`.
    pub gate: &'static str,
    /// The next instant of its schedule; null without a schedule.
    pub next_tick: Option<String>,
    /// Its newest activation; null if it was never woken.
    pub last_activation: Option<ActivationObject>,
}

impl DaemonObject {
    /// Builds the object from a row, its next tick and its newest activation.
    pub fn new(
        row: &DaemonRow,
        next_tick: Option<Timestamp>,
        last: Option<ActivationObject>,
    ) -> Self {
        let modes = [("watch", row.modes.watch), ("schedule", row.modes.schedule)];
        Self {
            id: row.key.id.to_string(),
            repo: row.key.repo.to_string(),
            path: row.path.clone(),
            rev: row.rev.clone(),
            purpose: row.purpose.clone(),
            modes: modes
                .into_iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| name)
                .collect(),
            valid: row.validity == Validity::Valid,
            // An unreadable column must not hide the daemon from a listing.
            diagnostics: serde_json::from_str(&row.diagnostics)
                .unwrap_or_else(|_| Value::Array(Vec::new())),
            gate: row.gate.as_str(),
            next_tick: next_tick.map(instant),
            last_activation: last,
        }
    }
}

/// The triggers of an activation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TriggerObject {
    /// `event`, `tick` or `person`.
    pub kind: &'static str,
    /// The key of the first trigger, unique among those of the daemon.
    pub key: String,
    /// The ids of the events, for an activation woken by events.
    pub event_ids: Vec<String>,
    /// The instant of the newest tick, for an activation woken by ticks.
    pub scheduled_at: Option<String>,
    /// The indexes of the conditions that the events matched.
    pub conditions: Vec<u32>,
    /// The person who requested it.
    pub by: Option<String>,
}

/// The place of an activation in a chain of daemons that wake each other through outputs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChainObject {
    /// The id of the activation that began the chain.
    pub root: String,
    /// The number of outputs between it and this activation, from 1.
    pub depth: u32,
}

/// An activation: one cycle of waking a daemon and running its provider.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ActivationObject {
    /// The id of the activation.
    pub id: String,
    /// The id of its daemon.
    pub daemon_id: String,
    /// The repository of its daemon.
    pub repo: String,
    /// The revision of the daemon that it runs with.
    pub rev: String,
    /// Its triggers.
    pub trigger: TriggerObject,
    /// The state, such as `pending` or `succeeded`.
    pub state: &'static str,
    /// Whether its newest run only reported, because no model ran.
    pub reported: bool,
    /// The number of attempts so far.
    pub attempts: u32,
    /// The fence of the newest attempt.
    pub run_lease: u64,
    /// The instant at which it was created.
    pub created_at: String,
    /// The instant at which a provider was first started.
    pub started_at: Option<String>,
    /// The instant at which it ended.
    pub finished_at: Option<String>,
    /// What it waits for, or why it ended.
    pub reason: Option<String>,
    /// The keys of its outputs.
    pub outputs: Vec<String>,
    /// The tokens that its runs used.
    pub tokens: Option<u64>,
    /// The cost of its runs, in US dollars.
    pub cost_usd: Option<f64>,
    /// The chain that it continues; absent if no output woke it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainObject>,
}

impl ChainObject {
    /// Builds the object of an activation; `None` if no output woke it.
    pub fn of(activation: &Activation) -> Option<Self> {
        (activation.chain.depth > 0).then(|| Self {
            root: activation.chain.root.to_string(),
            depth: activation.chain.depth,
        })
    }
}

impl ActivationObject {
    /// Builds the object from an activation and its outputs.
    pub fn new(activation: &Activation, outputs: &[Output]) -> Self {
        Self {
            id: activation.id.to_string(),
            daemon_id: activation.daemon.id.to_string(),
            repo: activation.daemon.repo.to_string(),
            rev: activation.rev.clone(),
            trigger: trigger(activation),
            state: activation.state.as_str(),
            reported: false,
            attempts: activation.attempts,
            run_lease: activation.run_lease.0,
            created_at: instant(activation.created_at),
            started_at: activation.started_at.map(instant),
            finished_at: activation.finished_at.map(instant),
            reason: activation.reason.clone(),
            outputs: outputs
                .iter()
                .map(|output| output.key.to_string())
                .collect(),
            tokens: activation.tokens,
            cost_usd: activation.cost_usd,
            chain: ChainObject::of(activation),
        }
    }
}

fn trigger(activation: &Activation) -> TriggerObject {
    let mut object = TriggerObject {
        kind: "person",
        key: String::new(),
        event_ids: Vec::new(),
        scheduled_at: None,
        conditions: Vec::new(),
        by: None,
    };
    for (index, trigger) in activation.triggers.iter().enumerate() {
        if index == 0 {
            object.key = trigger.key.to_string();
            object.kind = match trigger.key {
                TriggerKey::Event(_) => "event",
                TriggerKey::Tick(_) => "tick",
                TriggerKey::Person(_) => "person",
            };
        }
        match &trigger.key {
            TriggerKey::Event(id) => object.event_ids.push(id.to_string()),
            TriggerKey::Tick(at) => object.scheduled_at = Some(instant(*at)),
            TriggerKey::Person(_) => {}
        }
        object.conditions.extend(&trigger.conditions);
        object.by = object.by.or_else(|| trigger.by.clone());
    }
    object.conditions.sort_unstable();
    object.conditions.dedup();
    object
}

/// The verdict of one condition of one daemon about an event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerdictObject {
    /// The id of the daemon.
    pub daemon_id: String,
    /// The index of the condition in the file.
    pub condition: u32,
    /// Whether the condition wakes the daemon.
    pub wakes: bool,
    /// The activation that has the event as trigger.
    pub activation_id: Option<String>,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventObject {
    /// The id of the event.
    pub id: String,
    /// The service that reported it.
    pub source: &'static str,
    /// The service's name for its kind.
    pub kind: String,
    /// The service's name for its action.
    pub action: Option<String>,
    /// The subject, such as `github:o/r#7`.
    pub subject: Option<String>,
    /// The title of the subject; null if none is known, and for one of more than 1 KiB in a listing.
    pub title: Option<String>,
    /// The name of the user who acted.
    pub actor: Option<String>,
    /// The time that the service reported.
    pub time: String,
    /// The time at which the host received it.
    pub received_at: String,
    /// The service's id of the delivery.
    pub delivery_id: String,
    /// The repository that it names.
    pub repo: Option<String>,
    /// The number of later reports and repeated deliveries.
    pub duplicates: u64,
    /// The conditions that it matched; for a single event, also those that it did not match.
    pub verdicts: Vec<VerdictObject>,
    /// The chain that the activations of the event continue; absent if no output caused it, or it woke no daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainObject>,
}

impl EventObject {
    /// Builds the object from a row, with the verdicts that woke a daemon.
    pub fn new(row: &EventRow) -> Self {
        let Event {
            id,
            source,
            kind,
            action,
            subject,
            actor,
            repo,
            time,
            received_at,
            delivery,
            facts,
            ..
        } = &row.event;
        Self {
            id: id.to_string(),
            source: source.as_str(),
            kind: kind.clone(),
            action: action.clone(),
            subject: subject.as_ref().map(ToString::to_string),
            title: facts.text(Field::Title).map(str::to_owned),
            actor: actor.as_ref().map(|actor| actor.name.clone()),
            time: instant(*time),
            received_at: instant(*received_at),
            delivery_id: delivery.to_string(),
            repo: repo.as_ref().map(ToString::to_string),
            duplicates: row.duplicates,
            verdicts: row.triggers.iter().flat_map(woken).collect(),
            chain: None,
        }
    }
}

fn woken(trigger: &daemon_store::EventTrigger) -> impl Iterator<Item = VerdictObject> + '_ {
    trigger.conditions.iter().map(|condition| VerdictObject {
        daemon_id: trigger.daemon.id.to_string(),
        condition: *condition,
        wakes: true,
        activation_id: trigger.activation.as_ref().map(ActivationId::to_string),
    })
}

/// A recorded tick, or an unbroken range of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TickObject {
    /// The id of the daemon.
    pub daemon_id: String,
    /// The repository of the daemon.
    pub repo: String,
    /// The first instant of a range; null for a single instant.
    pub first: Option<String>,
    /// The instant, or the last one of a range.
    pub scheduled_at: String,
    /// The instant at which it was recorded.
    pub recorded_at: String,
    /// The outcome, such as `enqueued` or `coalesced`.
    pub outcome: &'static str,
    /// The number of instants of the range.
    pub count: u64,
    /// The activation that it made or joined.
    pub activation_id: Option<String>,
}

impl TickObject {
    /// Builds the object from a row.
    pub fn new(tick: &StoredTick) -> Self {
        Self {
            daemon_id: tick.daemon.id.to_string(),
            repo: tick.daemon.repo.to_string(),
            first: (tick.count > 1).then(|| instant(tick.first)),
            scheduled_at: instant(tick.scheduled_at),
            recorded_at: instant(tick.recorded_at),
            outcome: tick.outcome.as_str(),
            count: tick.count,
            activation_id: tick.activation.as_ref().map(ToString::to_string),
        }
    }
}

/// One effect on a surface.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OutputObject {
    /// The idempotency key.
    pub key: String,
    /// The activation that proposed it.
    pub activation_id: String,
    /// The id of the daemon.
    pub daemon_id: String,
    /// The position among the activation's outputs.
    pub ordinal: u32,
    /// The kind of surface, such as `git`.
    pub surface: String,
    /// The destination on the surface, such as a branch.
    pub target: String,
    /// The state, such as `planned` or `confirmed`.
    pub state: &'static str,
    /// The surface's id of the result.
    pub remote_id: Option<String>,
    /// The address of the result, if the surface has one.
    pub url: Option<String>,
    /// The number of sends so far.
    pub attempts: u32,
    /// The instant at which it was stored.
    pub created_at: String,
    /// The instant at which it was confirmed.
    pub delivered_at: Option<String>,
    /// The error of the newest send.
    pub error: Option<String>,
}

impl OutputObject {
    /// Builds the object from a row.
    pub fn new(output: &Output) -> Self {
        Self {
            key: output.key.to_string(),
            activation_id: output.activation.to_string(),
            daemon_id: output.daemon.id.to_string(),
            ordinal: output.ordinal,
            surface: output.surface.clone(),
            target: output.target.clone(),
            state: output.state.as_str(),
            remote_id: output.remote_id.clone(),
            url: output.url.clone(),
            attempts: output.attempts,
            created_at: instant(output.created_at),
            delivered_at: output.delivered_at.map(instant),
            error: output.error.clone(),
        }
    }
}
