//! The context of an activation, which its provider receives.

mod offered;
mod tallies;

use std::collections::BTreeMap;
use std::time::Duration;

use daemon_context::{
    ActivationContext, BaseView, CheckoutView, ContextError, ContextLimits, ContextParts, Counter,
    CoveredTicks, HistoryEntry, OpenOutput, Payload, Reason, Remainder, RemainingBudget,
    RepositoryInstructions, StateView, SupportListing, SupportRow,
};
use daemon_engine::proposal::ProposalRules;
use daemon_engine::{Activation, DaemonState, Occasion, Trigger};
use daemon_event::TriggerKey;
use daemon_store::EventRow;
use jiff::Timestamp;
use serde_json::{Value, json};

use daemon_provider::Permissions;
use daemon_records::random;
use daemon_registry::Registered;
use daemon_repo::{ObjectId, RefName};

use crate::attempt::checkout::RunSource;
use offered::Offered;

pub use offered::remaining_budget;
pub use tallies::Tallies;

pub(crate) use tallies::Periods;

/// The data that a context is made from.
pub struct Ingredients<'a> {
    /// The daemon.
    pub daemon: &'a Registered,
    /// The bytes of the daemon file, verbatim.
    pub file: &'a [u8],
    /// The activation, whose triggers are the reasons.
    pub activation: &'a Activation,
    /// The events of its triggers, oldest first.
    pub events: &'a [EventRow],
    /// The commit, the branches and the instructions; `None` outside of a repository.
    pub source: Option<&'a RunSource>,
    /// The state that the daemon stored.
    pub state: &'a DaemonState,
    /// What it did today and this week.
    pub tallies: &'a Tallies,
    /// The permissions of the run.
    pub permissions: Permissions,
    /// What it may propose.
    pub rules: &'a ProposalRules,
    /// The longest duration of the run.
    pub wall: Duration,
    /// What is left to spend; see [`remaining_budget`].
    pub budget: Option<RemainingBudget>,
    /// The names of the granted MCP servers.
    pub servers: &'a [String],
    /// The most bytes that the provider accepts; `None` is without a limit.
    pub cap: Option<u64>,
    /// The time of the attempt.
    pub now: Timestamp,
}

/// A context, and the other summaries and objects made from the same data.
#[derive(Clone, Debug)]
pub struct Built {
    /// The context.
    pub context: ActivationContext,
    /// The bytes that the provider receives.
    pub bytes: Vec<u8>,
    /// The task in one sentence, for listings.
    pub task: String,
    /// Why the daemon woke, in a few words.
    pub why: String,
    /// The JSON of `trigger.json`.
    pub trigger: Value,
    /// The JSON of `state.json`.
    pub state: Value,
}

/// Builds the context of an activation.
///
/// # Errors
/// The daemon file alone is larger than the provider's limit.
pub fn build(from: &Ingredients<'_>) -> Result<Built, ContextError> {
    let local = local_times(from);
    let conditions = conditions_met(from);
    let missed = missed(from);
    let reasons = reasons(from, &conditions, &local, missed.as_ref());
    let remainders = remainders(from);
    let payloads = payloads(from);
    let values = state_values(from.state);
    let named = from.tallies.counters();
    let counters = counters(&named);
    let past_outputs = past_outputs(from);
    let history = from.state.history.iter().zip(&past_outputs);
    let history: Vec<HistoryEntry<'_>> = history.map(|(one, outputs)| past(one, outputs)).collect();
    let support = support(from.daemon);
    let source = from.daemon.source.as_ref();
    let left_out = source.iter().flat_map(|source| &source.support.left_out);
    let left_out: Vec<&str> = left_out.map(|file| file.path.as_str()).collect();
    let servers: Vec<&str> = from.servers.iter().map(String::as_str).collect();
    let offered = Offered::by(from.rules);
    let open_outputs: Vec<OpenOutput<'_>> = offered.open_outputs().collect();
    let row = &from.daemon.row;
    let parts = ContextParts {
        daemon: row.key.id.as_str(),
        repo: row.key.repo.as_str(),
        path: &row.path,
        file: from.file,
        instructions: from.source.and_then(instructions),
        checkout: from.source.map(checkout),
        reasons: &reasons,
        remainders: &remainders,
        payloads: &payloads,
        state: StateView {
            values: &values,
            counters: &counters,
            history: &history,
            open_outputs: &open_outputs,
        },
        support: SupportListing {
            files: &support,
            left_out: &left_out,
            n_left_out: source.map_or(0, |source| source.support.n_left_out),
        },
        capability: offered.permissions(from, &servers),
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
        state: state_json(from),
    })
}

/// Returns the instructions of the repository, if they contain text.
fn instructions(source: &RunSource) -> Option<RepositoryInstructions<'_>> {
    let file = source.instructions.file.as_ref();
    let file = file.filter(|file| !file.text.trim().is_empty())?;
    Some(RepositoryInstructions {
        name: file.name,
        text: &file.text,
    })
}

/// Returns the commit and the branches of the run.
fn checkout(source: &RunSource) -> CheckoutView<'_> {
    let branches = &source.checkout.branches;
    CheckoutView {
        commit: source.checkout.commit.as_str(),
        branch: source.branch.as_ref().map(RefName::short),
        base: source.base.as_ref().map(|base| BaseView {
            branch: base.short(),
            commit: branches.get(base).map(ObjectId::as_str),
        }),
    }
}

/// Returns the payloads, newest first. A later report of the same change follows the report that came first.
fn payloads<'a>(from: &Ingredients<'a>) -> Vec<Payload<'a>> {
    let rows = from.events.iter().rev();
    rows.flat_map(|row| std::iter::once(&row.event).chain(&row.later_reports))
        .map(|event| Payload {
            event,
            whole_in: "event.json",
        })
        .collect()
}

/// Returns the stored values of the daemon, as JSON.
fn state_values(state: &DaemonState) -> Vec<(&str, &str)> {
    let values = state.values.iter();
    values
        .map(|(key, json)| (key.as_str(), json.as_str()))
        .collect()
}

fn counters(named: &[(String, u64)]) -> Vec<Counter<'_>> {
    let mut acc = Vec::new();
    for (name, value) in named {
        acc.push(Counter {
            name,
            value: *value,
        });
    }
    acc
}

/// Returns the outputs of each activation of the history.
fn past_outputs<'a>(from: &Ingredients<'a>) -> Vec<Vec<&'a str>> {
    let history = from.state.history.iter();
    history
        .map(|past| from.tallies.outputs_of(&past.id))
        .collect()
}

/// Returns the files of the support tree.
fn support(daemon: &Registered) -> Vec<SupportRow<'_>> {
    let files = daemon.definition.support.iter();
    files
        .map(|file| SupportRow {
            path: &file.path,
            size: file.bytes,
            mode: if file.executable { "755" } else { "644" },
        })
        .collect()
}

/// Returns why the daemon woke, in a few words.
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

/// Returns the local time of each tick. Rows of earlier releases do not record it; they get the time in the daemon's zone.
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

/// Returns the conditions that each trigger met, with the author's words.
fn conditions_met<'a>(from: &Ingredients<'a>) -> Vec<Vec<(u32, &'a str)>> {
    let watch = &from.daemon.definition.watch;
    let words = |index: &u32| Some((*index, watch.get(usize::try_from(*index).ok()?)?.as_str()));
    from.activation
        .triggers
        .iter()
        .map(|trigger| trigger.conditions.iter().filter_map(words).collect())
        .collect()
}

/// Returns the ticks that got no activation of their own: the ones that joined the newest tick, and the ones that each of these
/// covers.
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
            Some((at, occasion.and_then(|occasion| occasion.missed.as_ref())))
        })
        .collect();
    let newest = *ticks.last_key_value()?.0;
    let covered = || ticks.values().flatten();
    let joined = ticks.keys().copied().filter(|at| *at != newest);
    let mut list: Vec<Timestamp> = covered()
        .flat_map(|missed| missed.list.iter().copied())
        .chain(joined.clone())
        .collect();
    list.sort_unstable();
    list.dedup();
    let oldest = covered().map(|missed| missed.first).min();
    let count = covered().map(|missed| missed.count).sum::<u64>()
        + u64::try_from(joined.count()).expect("a count fits");
    Some(daemon_schedule::MissedTicks {
        count,
        first: oldest.into_iter().chain(list.first().copied()).min()?,
        last: *list.last()?,
        // A schedule of every minute misses 1,440 ticks a day. The list has the newest; the count covers all.
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
                let recorded = trigger.occasion.as_ref();
                // The schedule may have changed since the tick.
                let recorded = recorded.map(|tick| (tick.expression.as_str(), tick.zone.as_str()));
                let (expression, zone) = recorded.or(schedule).unwrap_or(("", "UTC"));
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

/// Returns the words of the met conditions that no filter covers.
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

fn past<'a>(past: &'a daemon_engine::PastActivation, outputs: &'a [&'a str]) -> HistoryEntry<'a> {
    HistoryEntry {
        id: past.id.as_str(),
        trigger: &past.trigger,
        outcome: past.state.as_str(),
        finished_at: past.finished_at,
        outputs,
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
            if let (TriggerKey::Tick(at), Some(occasion)) = (&trigger.key, &trigger.occasion) {
                object["tick"] = tick_json(*at, occasion, trigger.recorded_at);
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

fn tick_json(at: Timestamp, occasion: &Occasion, recorded_at: Timestamp) -> Value {
    let missed = occasion.missed.as_ref().map(|missed| {
        let list: Vec<String> = missed.list.iter().map(ToString::to_string).collect();
        json!({
            "count": missed.count,
            "first": missed.first.to_string(),
            "last": missed.last.to_string(),
            "list": list,
        })
    });
    json!({
        "expression": occasion.expression,
        "zone": occasion.zone,
        "scheduled_at": at.to_string(),
        "local": occasion.local,
        "lateness_s": recorded_at.duration_since(at).as_secs(),
        "missed": missed,
    })
}

fn state_json(from: &Ingredients<'_>) -> Value {
    let values: serde_json::Map<String, Value> = from
        .state
        .values
        .iter()
        .map(|(key, json)| {
            (
                key.clone(),
                serde_json::from_str(json).unwrap_or(Value::Null),
            )
        })
        .collect();
    json!({"version": 1, "values": values, "counters": from.tallies.to_json()})
}
