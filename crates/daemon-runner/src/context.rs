//! What a provider receives for an activation, gathered from what the host knows.

use std::collections::BTreeMap;

use daemon_context::{
    ActivationContext, ContextError, ContextLimits, ContextParts, Counter, CoveredTicks, Payload,
    Reason, Remainder, RemainingBudget, StateView, SupportListing, SupportRow,
};
use daemon_engine::{Activation, DaemonState, Occasion, Trigger};
use daemon_event::TriggerKey;
use daemon_provider::Limits;
use daemon_store::EventRow;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::random;
use daemon_provider::Permissions;
use daemon_registry::Registered;

/// What goes into a context.
pub struct Ingredients<'a> {
    /// The daemon.
    pub daemon: &'a Registered,
    /// Its file.
    pub file: &'a [u8],
    /// Why it woke.
    pub activation: &'a Activation,
    /// The events of its triggers, oldest first.
    pub events: &'a [EventRow],
    /// What it remembers.
    pub state: &'a DaemonState,
    /// What it may do.
    pub permissions: Permissions,
    /// How long it may take and what it may cost.
    pub limits: &'a Limits,
    /// The MCP servers that it is granted.
    pub servers: &'a [String],
    /// The most bytes its provider takes.
    pub cap: Option<u64>,
    /// The instant of the attempt.
    pub now: Timestamp,
}

/// A context, and what else is told of the same things.
#[derive(Clone, Debug)]
pub struct Built {
    /// The context.
    pub context: ActivationContext,
    /// The bytes that the provider receives.
    pub bytes: Vec<u8>,
    /// What the run is about, in a sentence.
    pub task: String,
    /// Why it woke, in a few words.
    pub why: String,
    /// The trigger, for programs.
    pub trigger: Value,
    /// The state, for programs.
    pub state: Value,
}

/// The verbs that each capability may propose.
const READ_VERBS: [&str; 2] = ["state", "no_op"];
const PROPOSE_VERBS: [&str; 3] = ["push_branch", "state", "no_op"];

/// Builds the context of an activation.
///
/// # Errors
/// If the daemon file alone does not fit what the provider takes.
pub fn build(from: &Ingredients<'_>) -> Result<Built, ContextError> {
    let local = local_times(from);
    let conditions = conditions_met(from);
    let missed = missed(from);
    let reasons = reasons(from, &conditions, &local, missed.as_ref());
    let remainders = remainders(from);
    let payloads: Vec<Payload<'_>> = from
        .events
        .iter()
        .rev()
        .flat_map(|row| std::iter::once(&row.event).chain(&row.later_reports))
        .map(|event| Payload {
            event,
            whole_in: "event.json",
        })
        .collect();
    let values: Vec<(&str, &str)> = from
        .state
        .values
        .iter()
        .map(|(key, json)| (key.as_str(), json.as_str()))
        .collect();
    let counters = [
        Counter {
            name: "activations in the last 24 hours",
            value: from.state.activations_today,
        },
        Counter {
            name: "outputs in the last 24 hours",
            value: from.state.outputs_today,
        },
    ];
    let history: Vec<daemon_context::HistoryEntry<'_>> =
        from.state.history.iter().map(past).collect();
    let support: Vec<SupportRow<'_>> = from
        .daemon
        .definition
        .support
        .iter()
        .map(|file| SupportRow {
            path: &file.path,
            size: file.bytes,
            mode: if file.executable { "755" } else { "644" },
        })
        .collect();
    let left_out: Vec<&str> = from
        .daemon
        .source
        .iter()
        .flat_map(|source| &source.support.left_out)
        .map(daemon_repo::TreePath::as_str)
        .collect();
    let servers: Vec<&str> = from.servers.iter().map(String::as_str).collect();
    let row = &from.daemon.row;
    let parts = ContextParts {
        daemon: row.key.id.as_str(),
        repo: row.key.repo.as_str(),
        path: &row.path,
        file: from.file,
        reasons: &reasons,
        remainders: &remainders,
        payloads: &payloads,
        state: StateView {
            values: &values,
            counters: &counters,
            history: &history,
            open_outputs: &[],
        },
        support: SupportListing {
            files: &support,
            left_out: &left_out,
            n_left_out: from
                .daemon
                .source
                .as_ref()
                .map_or(0, |source| source.support.n_left_out),
        },
        capability: daemon_context::RunPermissions {
            name: from.permissions.as_str(),
            verbs: if from.permissions == Permissions::Read {
                &READ_VERBS
            } else {
                &PROPOSE_VERBS
            },
            budget: from.limits.budget.map(|budget| RemainingBudget {
                activation_cents: budget.0 / 10_000,
                day_cents: budget.0 / 10_000,
            }),
            deadline: from.now.checked_add(from.limits.wall).ok(),
            servers: &servers,
        },
    };
    let limits = ContextLimits {
        context_bytes: from
            .cap
            .map(|cap| usize::try_from(cap).unwrap_or(usize::MAX)),
    };
    let context = ActivationContext::build(&parts, limits, random::boundary)?;
    let why = why(from);
    Ok(Built {
        bytes: context.bytes().to_vec(),
        context,
        task: format!("{} woke: {why}", row.key.id),
        why,
        trigger: trigger_json(from),
        state: state_json(from.state),
    })
}

/// Says why the daemon woke, in a few words.
fn why(from: &Ingredients<'_>) -> String {
    match (
        from.events.last(),
        from.activation.triggers.last().map(|trigger| &trigger.key),
    ) {
        (Some(row), _) => {
            let event = &row.event;
            let action = event
                .action
                .as_ref()
                .map(|action| format!(".{action}"))
                .unwrap_or_default();
            let subject = event
                .subject
                .as_ref()
                .map(|subject| format!(" on {subject}"))
                .unwrap_or_default();
            format!("{} {}{action}{subject}", event.source, event.kind)
        }
        (None, Some(TriggerKey::Tick(at))) => format!("its schedule at {at}"),
        (None, _) => "a person asked".to_owned(),
    }
}

/// What clocks showed at each tick, as it was recorded; for a tick that told nothing, by the daemon's zone.
fn local_times(from: &Ingredients<'_>) -> Vec<String> {
    let zone = from
        .daemon
        .schedule
        .as_ref()
        .map(|schedule| schedule.zone().time_zone().clone());
    let shown = |trigger: &Trigger| match (&trigger.occasion, &trigger.key, &zone) {
        (Some(occasion), ..) => occasion.local.clone(),
        (None, TriggerKey::Tick(at), Some(zone)) => at
            .to_zoned(zone.clone())
            .strftime("%Y-%m-%d %H:%M %:z")
            .to_string(),
        (None, TriggerKey::Tick(at), None) => at.to_string(),
        (None, ..) => String::new(),
    };
    from.activation.triggers.iter().map(shown).collect()
}

/// The conditions that each trigger met, with the author's words.
fn conditions_met<'a>(from: &Ingredients<'a>) -> Vec<Vec<(u32, &'a str)>> {
    let watch = &from.daemon.definition.watch;
    let words = |index: &u32| Some((*index, watch.get(usize::try_from(*index).ok()?)?.as_str()));
    from.activation
        .triggers
        .iter()
        .map(|trigger| trigger.conditions.iter().filter_map(words).collect())
        .collect()
}

/// Counts the ticks that got no activation of their own: those that joined the newest one, and what each of them tells.
fn missed(from: &Ingredients<'_>) -> Option<daemon_schedule::MissedTicks> {
    let ticks: BTreeMap<Timestamp, Option<&daemon_schedule::MissedTicks>> = from
        .activation
        .triggers
        .iter()
        .filter_map(|trigger| {
            let TriggerKey::Tick(at) = trigger.key else {
                return None;
            };
            let occasion = trigger.occasion.as_ref();
            Some((at, occasion.and_then(|told| told.missed.as_ref())))
        })
        .collect();
    let newest = *ticks.last_key_value()?.0;
    let told = || ticks.values().flatten();
    let joined = ticks.keys().copied().filter(|at| *at != newest);
    let mut list: Vec<Timestamp> = told()
        .flat_map(|missed| missed.list.iter().copied())
        .chain(joined.clone())
        .collect();
    list.sort_unstable();
    list.dedup();
    let oldest = told().map(|missed| missed.first).min();
    let count = told().map(|missed| missed.count).sum::<u64>()
        + u64::try_from(joined.count()).expect("a count fits");
    Some(daemon_schedule::MissedTicks {
        count,
        first: oldest.into_iter().chain(list.first().copied()).min()?,
        last: *list.last()?,
        list: list.split_off(list.len().saturating_sub(100)),
    })
}

fn reasons<'a>(
    from: &Ingredients<'a>,
    conditions: &'a [Vec<(u32, &'a str)>],
    local: &'a [String],
    missed: Option<&'a daemon_schedule::MissedTicks>,
) -> Vec<Reason<'a>> {
    let schedule = from.daemon.schedule_text();
    let newest_tick = from
        .activation
        .triggers
        .iter()
        .rposition(|trigger| matches!(trigger.key, TriggerKey::Tick(_)));
    let mut reasons = Vec::new();
    for (index, trigger) in from.activation.triggers.iter().enumerate().rev() {
        match &trigger.key {
            TriggerKey::Event(id) => {
                if let Some(row) = from.events.iter().find(|row| row.event.id == *id) {
                    reasons.push(Reason::Event {
                        event: &row.event,
                        conditions: &conditions[index],
                    });
                }
            }
            TriggerKey::Tick(at) if newest_tick == Some(index) => {
                let told = trigger.occasion.as_ref();
                let told = told.map(|told| (told.expression.as_str(), told.zone.as_str()));
                let (expression, zone) = told.or(schedule).unwrap_or(("", "UTC"));
                let missed = missed.map(|missed| CoveredTicks {
                    count: missed.count,
                    first: missed.first,
                    last: missed.last,
                    list: &missed.list,
                });
                reasons.push(Reason::Tick {
                    expression,
                    zone,
                    scheduled_at: *at,
                    local: &local[index],
                    lateness: from.now.duration_since(*at),
                    missed,
                });
            }
            TriggerKey::Tick(_) => {}
            TriggerKey::Person(_) => {
                let by = trigger.by.as_deref().unwrap_or("a person");
                reasons.push(Reason::Person {
                    by,
                    at: trigger.recorded_at,
                });
            }
        }
    }
    reasons
}

/// The words of the met conditions that no filter stands for.
fn remainders<'a>(from: &Ingredients<'a>) -> Vec<Remainder<'a>> {
    let mut met: Vec<u32> = from
        .activation
        .triggers
        .iter()
        .flat_map(|trigger| trigger.conditions.iter().copied())
        .collect();
    met.sort_unstable();
    met.dedup();
    let mut remainders = Vec::new();
    for index in met {
        let Ok(at) = usize::try_from(index) else {
            continue;
        };
        let daemon = from.daemon;
        let (Some(line), Some(reading)) =
            (daemon.definition.watch.get(at), daemon.readings.get(at))
        else {
            continue;
        };
        remainders.extend(reading.remainder.iter().map(|span| Remainder {
            condition: index,
            text: span.of(line),
        }));
    }
    remainders
}

fn past(past: &daemon_engine::PastActivation) -> daemon_context::HistoryEntry<'_> {
    daemon_context::HistoryEntry {
        id: past.id.as_str(),
        trigger: &past.trigger,
        outcome: past.state.as_str(),
        finished_at: past.finished_at,
        outputs: &[],
        summary: past.summary.as_deref(),
    }
}

fn trigger_json(from: &Ingredients<'_>) -> Value {
    let triggers: Vec<Value> = from
        .activation
        .triggers
        .iter()
        .map(|trigger| {
            let mut object = json!({
                "key": trigger.key.to_string(),
                "conditions": trigger.conditions,
                "by": trigger.by,
                "recorded_at": trigger.recorded_at.to_string(),
            });
            if let (TriggerKey::Tick(at), Some(told)) = (&trigger.key, &trigger.occasion) {
                object["tick"] = tick_json(*at, told, trigger.recorded_at);
            }
            object
        })
        .collect();
    json!({
        "version": 1,
        "activation_id": from.activation.id.as_str(),
        "daemon_id": from.daemon.row.key.id.as_str(),
        "repo": from.daemon.row.key.repo.as_str(),
        "rev": from.daemon.row.rev,
        "triggers": triggers,
    })
}

fn tick_json(at: Timestamp, told: &Occasion, recorded_at: Timestamp) -> Value {
    let missed = told.missed.as_ref().map(|missed| {
        let list: Vec<String> = missed.list.iter().map(ToString::to_string).collect();
        json!({
            "count": missed.count,
            "first": missed.first.to_string(),
            "last": missed.last.to_string(),
            "list": list,
        })
    });
    json!({
        "expression": told.expression,
        "zone": told.zone,
        "scheduled_at": at.to_string(),
        "local": told.local,
        "lateness_s": recorded_at.duration_since(at).as_secs(),
        "missed": missed,
    })
}

fn state_json(state: &DaemonState) -> Value {
    let values: serde_json::Map<String, Value> = state
        .values
        .iter()
        .map(|(key, json)| {
            (
                key.clone(),
                serde_json::from_str(json).unwrap_or(Value::Null),
            )
        })
        .collect();
    json!({"version": 1, "values": values})
}
