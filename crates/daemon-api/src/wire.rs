//! The objects that leave the host, as JSON: the same on the command line, over HTTP and over the control socket.

mod fact;
mod versioned;

pub use fact::FactObject;
pub use versioned::{FailureObject, Versioned};

use daemon_engine::{Activation, Output};
use daemon_event::{ActivationId, Event, TriggerKey};
use daemon_runner::runs;
pub use daemon_runner::runs::{RunErrorObject, RunObject, TokensObject, instant};
use daemon_store::{DaemonRow, EventRow, StoredTick, Validity};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Returns the word that people read for the state of an activation or a run, which the `daemon` tool calls its `status`.
pub fn state_word(object: &Value) -> &str {
    let state = object["state"].as_str().or(object["status"].as_str());
    runs::state_word(state.unwrap_or_default(), object["reported"] == true)
}

/// A registered daemon.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DaemonObject {
    /// Its id.
    pub id: String,
    /// Its repository.
    pub repo: String,
    /// The path of its file.
    pub path: String,
    /// The content hash of the file and its support tree.
    pub rev: String,
    /// What it is for.
    pub purpose: String,
    /// What can wake it: `watch`, `schedule`.
    pub modes: Vec<&'static str>,
    /// Whether it may wake.
    pub valid: bool,
    /// What the linter says of the file.
    pub diagnostics: Value,
    /// `open`, `held` or `tripped`.
    pub gate: &'static str,
    /// When its schedule is due next.
    pub next_tick: Option<String>,
    /// Its newest activation.
    pub last_activation: Option<ActivationObject>,
}

impl DaemonObject {
    /// Builds the object from a row and what was looked up beside it.
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
            diagnostics: serde_json::from_str(&row.diagnostics)
                .unwrap_or_else(|_| Value::Array(Vec::new())),
            gate: row.gate.as_str(),
            next_tick: next_tick.map(instant),
            last_activation: last,
        }
    }
}

/// Why an activation exists.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TriggerObject {
    /// `event`, `tick` or `person`.
    pub kind: &'static str,
    /// Unique together with the daemon.
    pub key: String,
    /// The events, for one woken by events.
    pub event_ids: Vec<String>,
    /// The tick's instant.
    pub scheduled_at: Option<String>,
    /// Indexes of the conditions that the events met.
    pub conditions: Vec<u32>,
    /// Who asked.
    pub by: Option<String>,
}

/// One wake-execute cycle.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ActivationObject {
    /// Its id.
    pub id: String,
    /// Its daemon.
    pub daemon_id: String,
    /// Its repository.
    pub repo: String,
    /// The revision it runs, or ran, on.
    pub rev: String,
    /// Why it exists.
    pub trigger: TriggerObject,
    /// Where it stands.
    pub state: &'static str,
    /// Whether its newest run only reported, since no model ran.
    pub reported: bool,
    /// How many attempts were made.
    pub attempts: u32,
    /// The fence of the newest attempt.
    pub run_lease: u64,
    /// When it was made.
    pub created_at: String,
    /// When a provider first began.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// What it waits for, or why it ended so.
    pub reason: Option<String>,
    /// The keys of its outputs.
    pub outputs: Vec<String>,
    /// Tokens it used.
    pub tokens: Option<u64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
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

/// What one condition of one daemon said of an event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerdictObject {
    /// The daemon.
    pub daemon_id: String,
    /// The index of the condition.
    pub condition: u32,
    /// Whether it wakes.
    pub wakes: bool,
    /// The activation that carries the event.
    pub activation_id: Option<String>,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EventObject {
    /// Its id.
    pub id: String,
    /// Where it came from.
    pub source: &'static str,
    /// The source's name for its kind.
    pub kind: String,
    /// The source's name for what was done.
    pub action: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// Who did it.
    pub actor: Option<String>,
    /// When it happened.
    pub time: String,
    /// When it was received.
    pub received_at: String,
    /// The sender's id for the delivery.
    pub delivery_id: String,
    /// The repository it names.
    pub repo: Option<String>,
    /// How often it was told again.
    pub duplicates: u64,
    /// Whom it woke; asked for alone, also why it did not wake the others.
    pub verdicts: Vec<VerdictObject>,
}

impl EventObject {
    /// Builds the object from a row, with the verdicts that woke somebody.
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
            ..
        } = &row.event;
        Self {
            id: id.to_string(),
            source: source.as_str(),
            kind: kind.clone(),
            action: action.clone(),
            subject: subject.as_ref().map(ToString::to_string),
            actor: actor.as_ref().map(|actor| actor.name.clone()),
            time: instant(*time),
            received_at: instant(*received_at),
            delivery_id: delivery.to_string(),
            repo: repo.as_ref().map(ToString::to_string),
            duplicates: row.duplicates,
            verdicts: row.triggers.iter().flat_map(woken).collect(),
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
    /// The daemon.
    pub daemon_id: String,
    /// Its repository.
    pub repo: String,
    /// The first instant of a range; none where there is one instant.
    pub first: Option<String>,
    /// The instant, or the last of the range.
    pub scheduled_at: String,
    /// When it was recorded.
    pub recorded_at: String,
    /// What became of it.
    pub outcome: &'static str,
    /// How many instants the range has.
    pub count: u64,
    /// The activation it made or joined.
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
    /// Its idempotency key.
    pub key: String,
    /// The activation that proposed it.
    pub activation_id: String,
    /// The daemon.
    pub daemon_id: String,
    /// Its place among the activation's outputs.
    pub ordinal: u32,
    /// The surface.
    pub surface: String,
    /// Where on the surface.
    pub target: String,
    /// Where it stands.
    pub state: &'static str,
    /// The surface's own id.
    pub remote_id: Option<String>,
    /// Where to look at it.
    pub url: Option<String>,
    /// How often it was sent.
    pub attempts: u32,
    /// When it was stored.
    pub created_at: String,
    /// When it was confirmed.
    pub delivered_at: Option<String>,
    /// The newest trouble.
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
